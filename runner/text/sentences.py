"""Sentences of Korean and English prose, chat and Markdown.

A sentence ends at an end mark, or without one after a formal or polite Korean ending (합니다, 했어요).
Headings, list items (also those numbered within a line), table rows and the lines of a code block are
sentences of their own. A line break ends a sentence unless the line looks wrapped: it is at least
`WRAPPED_WIDTH` columns wide, or the next line starts with a small letter.

Kept whole: decimals and 1.2억, $10,000, v0.4, addresses and file names, abbreviations (e.g., Dr., U.S.),
initials, list numbers, dates (2024. 3. 5.), ellipses, quotations and parentheses of up to 200 characters.
A citation such as [1] belongs to the sentence before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from runner.text.patterns import compile_late

WRAPPED_WIDTH = 50
NEAR = 80  # characters around an end mark that decide whether it ends a sentence

_HEADING = compile_late(r"\s{0,3}#{1,6}\s|\s*\|.*\|\s*$|\s*([-=*_])(\s*\1){2,}\s*$")
_ITEM = compile_late(r"\s*(?:>\s*)?(?:[-*+•‣▪]|\(?\d{1,3}[.)]|[A-Za-z가-하][.)])\s+(?=\S)")
_FENCE = compile_late(r"\s*(?:```|~~~)")
_NUMBERED = compile_late(r"(?<!\S)\(?(\d{1,2})[.)](?=\s+\S)")
_END = compile_late(r"([.!?。！？…]+)([\"'”’»)\]」』】*_]*)((?:\s*\[\d+(?:\s*,\s*\d+)*\])*)(?=\s|$|[가-힣])")
_BARE_ENDING = compile_late(
    r"[가-힣](?:니다|니까|세요|셔요|십시오|네요|군요|거든요|잖아요|어요|아요|해요|예요|에요|지요|죠)(?=\s+[가-힣A-Za-z0-9])"
)
_WHOLE = compile_late(
    r"“[^”]{1,200}”|‘[^’]{1,200}’|「[^」]{1,200}」|『[^』]{1,200}』|(?<![A-Za-z0-9])\"(?=\S)[^\"]{1,200}\""
    r"|(?<!\w)'(?=\S)[^'\n]{1,200}'(?!\w)|\([^()]{1,200}\)|`[^`]{1,200}`"
    r"|\d{4}\.\s?\d{1,2}\.\s?\d{1,2}\.(?=\s)"
)
_WORD_BEFORE = compile_late(r"[^\s(\[\"“‘'「『]+$")
_QUOTING = compile_late(r"(?:이?라[고며는]|이라면서|라면서|하[고며는]|하면서|[고며]|만)(?![가-힣])")
_KOREAN_END = compile_late(r"[다요죠까]$")

# Abbreviations that a name, a number or nothing in particular follows; the last kind may end a sentence.
_NAME_FOLLOWS = """
mr mrs ms dr prof gen col rev gov sen rep lt capt sgt hon pres vs e.g i.e cf al approx dept est ca viz mt
"""
_NUMBER_FOLLOWS = "no nos fig figs p pp sec ch vol eq art ver v"
_MAY_END = "etc inc ltd co corp jr sr bros ph.d a.m p.m st ave"
_STARTERS = """
a an the this that these those it its he she they we you i his her their our your my there here in on at for from to as
if when while after before since although however but and so then also no not what who which where why how do does did
is are was were can could will would should may some many most all each both one two
"""
_BEFORE_NAME, _BEFORE_NUMBER = frozenset(_NAME_FOLLOWS.split()), frozenset(_NUMBER_FOLLOWS.split())
_ABBREVIATIONS, _FIRST_WORDS = frozenset(_MAY_END.split()), frozenset(_STARTERS.split())


def split_sentences(text: str) -> list[str]:
    """Sentences in order, white space collapsed, Markdown markers kept; none without a letter or digit."""
    return [" ".join(text[start:end].split()) for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence in `text`, in order and disjoint; all letters and digits are covered."""
    pieces = (piece for block in _blocks(text) for piece in _sentences_of(text, *block))
    trimmed = (_trim(text, *piece) for piece in pieces)
    return [(start, end) for start, end in trimmed if any(character.isalnum() for character in text[start:end])]


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, max(start, start + len(piece.strip()))


# --- blocks: headings, items, paragraphs ------------------------------------------------------------


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Character ranges that no sentence crosses."""
    start, offset, previous, in_fence = 0, 0, "", False
    for line in text.splitlines(keepends=True):
        fence = _FENCE.match(line) is not None
        if offset and (fence or in_fence or not _continues(previous, line)):
            yield start, offset
            start = offset
        in_fence ^= fence
        previous = line
        offset += len(line)
    if start < offset:
        yield start, offset


def _continues(previous: str, line: str) -> bool:
    """Whether a paragraph or item continues in the next line."""
    if not previous.strip() or not line.strip() or any(_HEADING.match(each) for each in (previous, line)):
        return False
    if _ITEM.match(line):
        return False
    return line.lstrip()[0].islower() or _width(previous.strip()) >= WRAPPED_WIDTH


def _width(line: str) -> int:
    return sum(2 if "ᄀ" <= character <= "힣" else 1 for character in line)


# --- sentences of one block -------------------------------------------------------------------------


def _sentences_of(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    block = text[start:end]
    boundary_before = 0
    for boundary in sorted(set(_boundaries(block))):
        yield start + boundary_before, start + boundary
        boundary_before = boundary
    yield start + boundary_before, end


def _boundaries(block: str) -> Iterator[int]:
    indivisible = [match.span() for match in _WHOLE.finditer(block)]
    numbers = _numbering(block)
    yield from (first for first, _ in numbers if first > 0)
    marker = _ITEM.match(block)
    after_marker = marker.end() if marker else 0
    for match in _END.finditer(block):
        number = match.start(1) < after_marker or _inside(numbers, match.start(1))
        if not number and not _inside(indivisible, match.end(2)) and _ends(block, match):
            yield match.end()
    for match in _BARE_ENDING.finditer(block):
        if not _inside(indivisible, match.end()) and _ends_bare(block, match):
            yield match.end()


def _inside(spans: Sequence[tuple[int, int]], position: int) -> bool:
    """Whether a position lies within one of the ordered spans, not at its ends."""
    before = bisect_left(spans, (position, position)) - 1
    return before >= 0 and spans[before][0] < position < spans[before][1]


def _numbering(block: str) -> list[tuple[int, int]]:
    """Markers of a list numbered within a line: 1. … 2. … (at least two, counting up from one)."""
    chain: list[tuple[int, int]] = []
    for match in _NUMBERED.finditer(block):
        if int(match[1]) == len(chain) + 1:
            chain.append(match.span())
    return chain if len(chain) > 1 else []


def _ends_bare(block: str, match: re.Match[str]) -> bool:
    if match[0].endswith(("니다", "니까")) and (ord(match[0][0]) - 0xAC00) % 28 != 17:  # 17: final ㅂ (합니다)
        return False
    return _QUOTING.match(block[match.end() : match.end() + NEAR].lstrip()) is None


def _ends(block: str, match: re.Match[str]) -> bool:
    mark, closers, after = match[1], match[2], block[match.end() : match.end() + NEAR]
    following = after.lstrip()
    if not following:
        return False  # the end of the block anyway
    before = block[max(0, match.start() - NEAR) : match.start()]
    if following == after:  # Korean text continues without a space
        return not closers and (mark[-1] != "." or _KOREAN_END.search(before) is not None) and not _QUOTING.match(after)
    if closers and (following[0].islower() or _QUOTING.match(following)):
        return False
    if "…" in mark or ".." in mark:
        capital = following[0].isupper() and not re.match(r"I\b", following)
        return capital or _KOREAN_END.search(before) is not None
    return mark != "." or bool(closers) or _full_stop_ends(before, following)


def _full_stop_ends(before: str, following: str) -> bool:
    found = _WORD_BEFORE.search(before)
    word = found[0] if found else ""
    key = word.lower()
    if word.isdigit() and len(word) <= 2 and re.search(r"(?:^|[.:;!?])\s*$", before[: -len(word)]):
        return False  # a list number
    if key in _BEFORE_NUMBER and following[0].isdigit():
        return False
    if key in _BEFORE_NAME:
        return False
    initial = re.fullmatch(r"[A-Z]|(?:[A-Za-z]\.)+[A-Za-z]", word) is not None
    if initial or key in _ABBREVIATIONS:
        return re.split(r"[\s,]", following, maxsplit=1)[0].lower() in _FIRST_WORDS and following[0].isupper()
    return not (following[0].islower() and word[:1].isupper() and len(word) <= 5)
