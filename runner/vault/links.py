"""Links of a note, by CommonMark with wiki links: `[[note#heading|alias]]`, `![[note#^block]]`, `[text](note.md#part)`.

What stands in code, in HTML blocks or behind a backslash is no link. Addresses elsewhere (`https:` and the like) are
none either. Tags are those of the text: `#tag`, not alone of digits, at the start or behind a space.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_WIKI = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
_BAR = re.compile(r"\\?\|")  # in a table the bar has a backslash
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]+:|//", re.IGNORECASE)
_MAY_HOLD_LINKS = re.compile(r"\[\[|\]\(|\]:|\]\[")
_TAG = re.compile(r"(?:^|(?<=\s))#((?:[\w-]+/)*[\w-]+)")
_LINE_END = re.compile(r"\r\n|\n|\r")

Kind = Literal["wiki", "markdown", "embed"]


@dataclass(frozen=True, slots=True)
class Link:
    """`reference` is the note as it is written, without heading, block and alias; "" is the note itself. `start` and
    `end` are characters in the text, `line` is 1-based. `alias` is what the link shows, where it says so itself."""

    kind: Kind
    reference: str
    heading: str | None
    block: str | None
    alias: str | None
    start: int
    end: int
    line: int
    in_code: bool = False


@dataclass(frozen=True, slots=True)
class Markup:
    """What one note says of others, in the order of its text. `code_links` would be wiki links if they did not stand in
    code, whether inline or in a block."""

    links: tuple[Link, ...] = ()
    code_links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()


NOTHING = Markup()


def links_of(text: str, first_line: int = 1) -> list[Link]:
    """In the order of the text, the first line of which has the number `first_line`."""
    return _moved(markup_of(text).links, first_line)


def code_links(text: str, first_line: int = 1) -> list[Link]:
    """What would be wiki links if it were not code, inline or in a block."""
    return _moved(markup_of(text).code_links, first_line)


def _moved(links: tuple[Link, ...], first_line: int) -> list[Link]:
    return [replace(link, line=link.line + first_line - 1) for link in links]


def may_hold_markup(text: str) -> bool:
    """False for most texts that hold neither links nor tags, without parsing them."""
    return may_hold_links(text) or ("#" in text and _TAG.search(text) is not None)


def may_hold_links(text: str) -> bool:
    return "[" in text and _MAY_HOLD_LINKS.search(text) is not None


def markups_of(texts: Sequence[str]) -> list[Markup]:
    return [markup_of(text) for text in texts]


def markup_of(text: str) -> Markup:
    if not may_hold_markup(text):
        return NOTHING
    places = _Places(text)
    links: list[Link] = []
    code_links: list[Link] = []
    tags: dict[str, None] = {}
    for block in _parser().parse(text):
        if block.type in ("fence", "code_block"):
            code_links += places.links_in_block(block)
        inner = block.children or []
        for place, token in enumerate(inner):
            if token.type in ("wiki", "link_open") and token.meta:  # one written <https:…> has no place
                links += _link(token, block, places, inner[place + 1 :])
            elif token.type == "code_inline":
                code_links += _links_in_code(token, block, places)
            elif token.type == "text":
                tags |= dict.fromkeys(tag for tag in _TAG.findall(token.content) if not tag.isdigit())
    return Markup(tuple(links), tuple(code_links), tuple(tags))


# --- from tokens to links -------------------------------------------------------------------------


class _Places:
    """Where the characters of inline content stand in the text."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\0", "�")  # as the parser does
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def of(self, block: Token, offset: int) -> tuple[int, int]:
        """(offset in the text, number of the line)."""
        before = block.content.count("\n", 0, offset)
        line = (block.map or [0])[0] + before
        content = block.content.split("\n")[before]
        column = offset - (block.content.rfind("\n", 0, offset) + 1)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._text)
        indent = len(content) - len(content.lstrip())
        return self._text.rfind(content.strip(), start, end) - indent + column, line + 1

    def links_in_block(self, block: Token) -> Iterator[Link]:
        first, behind = block.map or (0, 0)
        end = self._starts[behind] if behind < len(self._starts) else len(self._text)
        for match in _WIKI.finditer(self._text, self._starts[first], end):
            line = bisect_right(self._starts, match.start())
            link = _wiki(match, match.start(), match.end(), line)
            if link is not None:
                yield replace(link, in_code=True)


def _link(token: Token, block: Token, places: _Places, behind: list[Token]) -> Iterator[Link]:
    (start, line), (end, _) = (places.of(block, token.meta[side]) for side in ("start", "end"))
    if token.type == "wiki":
        match = _WIKI.match(block.content, token.meta["start"])
        link = _wiki(match, start, end, line) if match is not None else None
    else:
        shown = takewhile(lambda inner: inner.type != "link_close", behind)
        label = "".join([" " if inner.type == "softbreak" else inner.content for inner in shown])
        link = _markdown(str(token.attrs.get("href", "")), label, start, end, line)
    if link is not None:
        yield link


def _links_in_code(token: Token, block: Token, places: _Places) -> Iterator[Link]:
    for match in _WIKI.finditer(block.content, token.meta["start"], token.meta["end"]):
        (start, line), (end, _) = places.of(block, match.start()), places.of(block, match.end())
        link = _wiki(match, start, end, line)
        if link is not None:
            yield replace(link, in_code=True)


def _wiki(match: re.Match[str], start: int, end: int, line: int) -> Link | None:
    target, *alias = _BAR.split(match[2], maxsplit=1)
    reference, heading, block = _parts(target)
    if not (reference or heading or block):
        return None
    shown = alias[0].strip() if alias else ""
    return Link("embed" if match[1] else "wiki", reference, heading, block, shown or None, start, end, line)


def _markdown(href: str, label: str, start: int, end: int, line: int) -> Link | None:
    if not href or _ELSEWHERE.match(href):
        return None
    reference, heading, block = _parts(unquote(href))
    return Link("markdown", reference, heading, block, label or None, start, end, line)


def _parts(target: str) -> tuple[str, str | None, str | None]:
    """(note, heading, block). The last of headings in a row (`note#a#b`) is the one that is meant; a name may end with
    a number sign (`C#`)."""
    reference, _, place = target.strip().partition("#")
    place = place.rpartition("#")[2].strip()
    if not place:
        return target.strip(), None, None
    if place.startswith("^"):
        return reference.strip(), None, place[1:]
    return reference.strip(), place, None


# --- parsing --------------------------------------------------------------------------------------


@cache
def _parser() -> MarkdownIt:
    """CommonMark whose tokens of links and code know where they stand in the inline content."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import backtick, link

    def placed(rule: Any, kind: str) -> Any:
        def run(state: StateInline, silent: bool) -> bool:
            start, before = state.pos, len(state.tokens)
            if not rule(state, silent):
                return False
            for token in [] if silent else state.tokens[before:]:
                if token.type == kind:
                    token.meta = {"start": start, "end": state.pos}
                    break
            return True

        return run

    parser = MarkdownIt("commonmark")
    parser.inline.ruler.at("backticks", placed(backtick, "code_inline"))
    parser.inline.ruler.at("link", placed(link, "link_open"))
    parser.inline.ruler.before("link", "wiki", _wiki_rule)
    parser.block.ruler.before("reference", "footnote", _footnote_rule)
    return parser


def _wiki_rule(state: StateInline, silent: bool) -> bool:
    match = _WIKI.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("wiki", "", 0)
        token.meta = {"start": state.pos, "end": match.end()}
    state.pos = match.end()
    return True


def _footnote_rule(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Keeps `[^1]: [[note]]` a paragraph: by CommonMark it would be the address of a reference, not text."""
    from markdown_it.rules_block import paragraph

    begin = state.bMarks[start_line] + state.tShift[start_line]
    return state.src.startswith("[^", begin) and paragraph(state, start_line, end_line, silent)
