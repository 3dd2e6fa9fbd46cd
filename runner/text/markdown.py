"""The outline of a Markdown text: headings with their places, sections, anchors, and blocks of code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

SHORT = 10_000  # characters of a text whose headings are kept in memory
_MAY_HAVE_HEADING = re.compile(r"^ {0,3}(?:#|=+[ \t]*$|-+[ \t]*$)", re.MULTILINE)
_ATTRIBUTES = re.compile(
    r"\s*\{:?\s*(?:[#.][\w-]+|[\w-]+=\S+)(?:\s+[^{}]*)?\}\s*$"
)  # of kramdown and pandoc: {#id .class}
_ATTRIBUTE_ID = re.compile(r"\{:?[^{}\n]*?#([^\s{}]+)[^{}\n]*\}")
_HTML_ID = re.compile(r"""<[a-z][^<>]*?\s(?:id|name)\s*=\s*(?:"([^"<>]+)"|'([^'<>]+)'|([^\s"'<>]+))""", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:>[ \t]*)*(`{3,}|~{3,})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Heading:
    """`start` is the offset of its line, `level` 1 to 6, `title` plain text without markup and attributes (`{#id}`)."""

    start: int
    level: int
    title: str


def headings(text: str) -> Sequence[Heading]:
    """Headings by CommonMark, `#` and underlined ones; none in code, quotations, lists or comments."""
    if _MAY_HAVE_HEADING.search(text) is None:
        return ()
    return _headings_of_short(text) if len(text) <= SHORT else _headings(text)


@lru_cache(maxsize=1000)  # some megabytes: the cells of a sweep cut the same documents in several ways
def _headings_of_short(text: str) -> Sequence[Heading]:
    return _headings(text)


def _headings(text: str) -> Sequence[Heading]:
    tokens = _blocks().parse(text)
    starts = _line_starts(text)
    return tuple(
        Heading(starts[opening.map[0]], int(opening.tag[1]), plain_text(_ATTRIBUTES.sub("", content.content)))
        for opening, content in pairwise(tokens)
        if opening.type == "heading_open" and opening.level == 0 and opening.map is not None
    )


def anchors(text: str) -> set[str]:
    """Ids that the text gives its headings and other places: `{#id}` and `{: #id}` (kramdown, pandoc), and `id` and
    `name` of HTML elements. None of code."""
    code = fenced_spans(text)
    ids = [(match.start(), match[1]) for match in _ATTRIBUTE_ID.finditer(text)]
    ids += [(match.start(), match[1] or match[2] or match[3]) for match in _HTML_ID.finditer(text)]
    return {id for place, id in ids if not any(start <= place < end for start, end in code)}


def sections(text: str) -> list[tuple[int, int, tuple[str, ...]]]:
    """(start, end, titles of the headings it stands under, outermost first); together they are the text."""
    parts: list[tuple[int, int, tuple[str, ...]]] = []
    path: list[Heading] = []
    start = 0
    for heading in headings(text):
        if text[start : heading.start].strip():
            parts.append((start, heading.start, _titles(path)))
            start = heading.start
        path = [*(outer for outer in path if outer.level < heading.level), heading]
    return [*parts, (start, len(text), _titles(path))]


def fenced_spans(text: str) -> list[tuple[int, int]]:
    """Ranges of fenced code; a fence that is not closed runs to the end."""
    spans: list[tuple[int, int]] = []
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None:
            opening = fence
        elif fence[1][0] == opening[1][0] and len(fence[1]) >= len(opening[1]):
            spans.append((opening.start(), fence.end()))
            opening = None
    return [*spans, (opening.start(), len(text))] if opening is not None else spans


def plain_text(inline: str) -> str:
    """Inline Markdown without its markup: `**Set** [up](x.md)` is `Set up`."""
    return " ".join("".join(_texts(_inline().parseInline(inline))).split())


def _texts(tokens: list[Token]) -> list[str]:
    texts: list[str] = []
    for token in tokens:
        if token.children:
            texts += _texts(token.children)
        elif token.type in ("text", "code_inline"):
            texts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            texts.append(" ")
    return texts


def _titles(path: list[Heading]) -> tuple[str, ...]:
    return tuple(heading.title for heading in path if heading.title)


def _line_starts(text: str) -> list[int]:
    """Offsets of lines as CommonMark counts them."""
    return [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]


@cache
def _blocks() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable("inline")


@cache
def _inline() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")
