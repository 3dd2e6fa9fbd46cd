"""Cuts a document into passages: at headings, then paragraphs, then sentences, then wherever it must be.

Every character that is not white space is in at least one passage, and a passage is never longer than
`max_chars`. Where a section has to be divided its parts come out about equally long. A cut inside a
sentence prefers a line break, then white space, and does not part a letter from its combining marks.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from math import ceil

from runner.text.markdown import fenced_spans, sections

_BLANK_LINES = re.compile(r"\n(?:[ \t\r]*\n)+")
# Linear in the length of the text, unlike a full sentence splitter; a wrong guess costs little here.
_SENTENCE_END = re.compile(
    r"(?<!\b\d)(?<!\b\d\d)[.!?…][\"'”’»)\]*_]*\s+|[。！？][”’」』)]*\s*|\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t])"
)
_JOINERS = "\u200d\ufe0e\ufe0f\u20e3"  # zero-width joiner, variation selectors, keycap

Cut = Callable[[str, int, int, int], list[int]]


@dataclass(frozen=True, slots=True)
class Passage:
    """`text[start:end]`, without white space at its ends; `headings` from the outermost to its own."""

    start: int
    end: int
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutter:
    """`overlap` characters at most are repeated from the passage before, within a section.

    With `headings`, a Markdown heading begins a new passage; sections shorter than `min_chars` stay
    with the next one, as far as `max_chars` allows.
    """

    max_chars: int = 3000
    min_chars: int = 200
    overlap: int = 0
    headings: bool = False

    def __post_init__(self) -> None:
        if self.max_chars < 20:
            raise ValueError(f"max_chars: expected 20 or more, found {self.max_chars}")
        if not 0 <= self.overlap <= self.max_chars // 2:
            raise ValueError(f"overlap: expected 0 to half of max_chars ({self.max_chars // 2}), found {self.overlap}")

    def passages(self, text: str) -> list[Passage]:
        """The passages in document order; none for a blank text."""
        if not self.headings:
            return list(self._section(text, 0, len(text), ()))
        parts = _join_short(sections(text), self.min_chars, self.max_chars)
        return [passage for part in parts for passage in self._section(text, *part)]

    def _section(self, text: str, start: int, end: int, headings: tuple[str, ...]) -> Iterator[Passage]:
        start, end = _trim(text, start, end)
        if end - start <= self.max_chars:
            if start < end:
                yield Passage(start, end, headings)
            return
        cuts = list(_cuts(text, start, end, self.max_chars - self.overlap, (_paragraphs, _sentences, _hard)))
        begin = start
        for first, last in pairwise(_even_bounds([start, *cuts, end], self.max_chars - self.overlap)):
            begin = _overlap_start(text, cuts, max(first - self.overlap, begin + 1), first)
            begin, stop = _trim(text, begin, last)
            if begin < stop:
                yield Passage(begin, stop, headings)


PLAIN, AT_HEADINGS = Cutter(), Cutter(headings=True)

Section = tuple[int, int, tuple[str, ...]]


def _join_short(parts: Sequence[Section], min_chars: int, max_chars: int) -> list[Section]:
    """Joins short sections with the one that follows, the last one with the one before."""
    merged_sections: list[Section] = []
    for part in parts:
        is_last = part is parts[-1]
        if merged_sections and (_is_short(merged_sections[-1], min_chars) or (is_last and _is_short(part, min_chars))):
            section = _join_sections(merged_sections[-1], part)
            if not _is_short(section, max_chars + 1):
                merged_sections.append(part)
            else:
                merged_sections[-1] = section
        else:
            merged_sections.append(part)
    return merged_sections


def _is_short(part: Section, chars: int) -> bool:
    return part[1] - part[0] < chars


def _join_sections(first: Section, second: Section) -> Section:
    """Under the headings that both have."""
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(first[2], second[2], strict=False))
    return first[0], second[1], tuple(title for title, _ in shared)


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


# --- where to cut -----------------------------------------------------------------------------------


def _cuts(text: str, start: int, end: int, limit: int, levels: Sequence[Cut]) -> Iterator[int]:
    """Offsets, ascending, strictly between start and end, that leave no piece longer than `limit`."""
    if end - start <= limit:
        return
    bounds = [start, *levels[0](text, start, end, limit), end]
    for first, last in pairwise(bounds):
        if first != start:
            yield first
        yield from _cuts(text, first, last, limit, levels[1:])


def _paragraphs(text: str, start: int, end: int, limit: int) -> list[int]:
    """Cuts after blank lines, except in fenced code."""
    fences = [(start + first, start + last) for first, last in fenced_spans(text[start:end])]
    ends = (match.end() for match in _BLANK_LINES.finditer(text, start, end))
    return [cut for cut in ends if cut < end and not _inside(cut, fences)]


def _inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    before = bisect_left(spans, (place,))
    return before > 0 and place < spans[before - 1][1]


def _sentences(text: str, start: int, end: int, limit: int) -> list[int]:
    ends = (match.end() for match in _SENTENCE_END.finditer(text, start, end))
    return [cut for cut in ends if cut < end]


def _hard(text: str, start: int, end: int, limit: int) -> list[int]:
    cuts = []
    while end - start > limit:
        start = _best_cut(text, start, start + limit)
        cuts.append(start)
    return cuts


def _best_cut(text: str, start: int, latest: int) -> int:
    """The last line break in the second half, else the last white space, else between two letters."""
    middle = (start + latest) // 2
    line = text.rfind("\n", middle, latest)
    if line >= 0:
        return line + 1
    for place in range(latest, middle, -1):
        if text[place - 1].isspace():
            return place
    place = latest
    while place > middle and not _between_letters(text, place):
        place -= 1
    return place if place > middle else latest


def _between_letters(text: str, cut: int) -> bool:
    """False inside what is read as one character: combining marks, joined emoji, flags, old Hangul."""
    before, after = text[cut - 1], text[cut]
    if unicodedata.category(after)[0] == "M" or after in _JOINERS or before == "\u200d":
        return False
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\u1160" <= after <= "\u11ff":  # skin tones, vowel and final jamo
        return False
    return not ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")


# --- how much goes together -------------------------------------------------------------------------


def _even_bounds(bounds: Sequence[int], limit: int) -> list[int]:
    """The `bounds` that make the fewest pieces, of similar length."""
    kept_bounds = [bounds[0]]
    for index in range(1, len(bounds) - 1):
        remaining = bounds[-1] - kept_bounds[-1]
        target = remaining / ceil(remaining / limit)
        here, following = bounds[index] - kept_bounds[-1], bounds[index + 1] - kept_bounds[-1]
        if following > limit or (here + following) / 2 > target:
            kept_bounds.append(bounds[index])
    return [*kept_bounds, bounds[-1]]


def _overlap_start(text: str, cuts: Sequence[int], earliest: int, first: int) -> int:
    """Where a passage begins that overlaps the one before: at the first cut from `earliest` on, else behind the first
    space, else at `first`."""
    known = bisect_left(cuts, earliest)
    if known < len(cuts) and cuts[known] < first:
        return cuts[known]
    spaces = (cut for cut in range(earliest, first) if text[cut - 1].isspace())
    return next(spaces, first)
