"""Renders blocks as Markdown, with untrusted text escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from runner.report.blocks import (
    Block,
    CaseFacts,
    Cell,
    Code,
    Fact,
    Facts,
    Item,
    Matrix,
    Note,
    Points,
    Section,
    Size,
    Steps,
    Table,
    Warnings,
    in_medium,
)
from runner.system.terminal import visible

# An underscore inside a word is harmless.
_PUNCTUATION = re.compile(r"([\\`*\[\]|~#$]|(?<![^\W_])_|_(?![^\W_]))")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_SPACE = re.compile(r"\s+")
LIMITS: Mapping[Size, int] = {"question": 400, "answer": 600, "reason": 400}  # characters of a text of a case
TITLE = 60  # characters of the title of a document
_AT_LINE_START = re.compile(r"^([-+=:]|\d+(?=[.)](?:\s|$)))")
_INTERVAL = re.compile(r"\\\[([-+−]?[\d.,]+%?, [-+−]?[\d.,]+%?)\\\]")  # two numbers name no link


class Markdown(str):
    """Text that is Markdown already and is not escaped again."""

    __slots__ = ()


def markdown(blocks: Iterable[Block], level: int = 2) -> str:
    """The blocks that Markdown shows, with sections at `level` and below."""
    return "\n\n".join(part for block in in_medium(blocks, "markdown") for part in _render(block, level) if part)


def _render(block: Block, level: int) -> Iterator[str]:
    match block:
        case Section(title=title, blocks=blocks):
            number = "" if block.number is None else f"{block.number}. "
            yield f"{'#' * level} {number}{_inside(title)}"
            yield markdown(blocks, level + 1)
        case Note():
            yield _note(block)
        case Warnings(notes=notes):
            yield quote(bold(note.text) if note.mark in ("strong", "alarm") else note.text for note in notes)
        case Steps(items=items):
            yield number_items(items)
        case Points(items=items, mark=mark):
            yield "\n".join(f"- {bold(item) if mark else escape(item)}" for item in items)
        case Table(headers=headers, rows=rows):
            yield table(headers, [[_cell(cell) for cell in row] for row in rows], sorted(block.numbers))
        case Matrix():
            yield from _render(block.table(), level)
        case Facts(pairs=pairs, headers=headers):
            yield table(headers, pairs) if any(headers) else _pairs(pairs)
        case _:
            yield from _text(block)


def _text(block: Block) -> Iterator[str]:
    match block:
        case Code(text=text, language=language):
            yield code_block(text, language)
        case CaseFacts(facts=facts):
            yield "\n".join(_fact(fact) for fact in facts if "markdown" in fact.media)


def _fact(fact: Fact) -> str:
    """An item of a list; one of several lines holds a list of them."""
    lines = lines_of(fact)
    if len(lines) < 2:
        return f"- {bold(fact.title)}: {escape(' '.join(lines))}"
    return "\n".join([f"- {bold(fact.title)}:", *(f"  - {escape(line)}" for line in lines)])


def lines_of(fact: Fact) -> list[str]:
    """A fact of a case as text: no more of it than lines have room for."""
    if not fact.items:
        limit = LIMITS.get(fact.size)
        return [shorten(fact.text, limit)] if limit else fact.text.split("\n")
    if fact.most:
        return ["; ".join(map(_in_line, fact.items[: fact.most]))]
    return [shorten(_line(item), LIMITS["answer"]) for item in fact.items]


def _in_line(item: Item) -> str:
    """`1. doc-1 ✓ Title (0.91)`"""
    tick = " ✓" if item.mark == "expected" else ""
    title = f" {shorten(item.title, TITLE)}" if item.title else ""
    return f"{item.lead} {item.name}{tick}{title}" + ("" if item.value is None else f" ({item.value:.2f})")


def _line(item: Item) -> str:
    return f"{item.lead} {item.name} → {item.text}." if item.text else item.name


def _note(note: Note) -> str:
    text = bold(note.text) if note.mark in ("strong", "alarm") else escape(note.text)
    return f"{bold(note.lead)}: {text}" if note.lead else text


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {bold(name)}: {escape(text)}" for name, text in pairs)


def _cell(cell: str | Cell) -> str:
    if isinstance(cell, str):
        return cell
    text = bold(cell.text) if cell.mark == "strong" and cell.text else escape(cell.text)
    return Markdown(f"{text} {escape(cell.limits)}" if cell.limits else text)


def escape(text: str) -> Markdown:
    """One line of Markdown that shows `text`: no table cell, tag, link or block breaks out of it.

    White space is folded; control and invisible direction characters become U+FFFD.
    """
    if isinstance(text, Markdown):
        return text
    return Markdown(_AT_LINE_START.sub(_no_block, _inside(text)))


def _inside(text: str) -> str:
    """Escape a text that does not begin a line, such as that of a heading."""
    line = _SPACE.sub(" ", text).strip()
    if not line.isprintable():  # which is the case for all that `visible` changes
        line = "".join(map(visible, line))
    return _INTERVAL.sub(r"[\1]", _PUNCTUATION.sub(r"\\\1", line.translate(_ENTITIES)))


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, white space folded."""
    line = _SPACE.sub(" ", text).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def bold(text: str) -> Markdown:
    """A text in bold, escaped."""
    return Markdown(f"**{escape(text)}**")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table; columns numbered in `right` are right-aligned. Cells are escaped."""
    rule = ["---:" if column in right else "---" for column in range(len(headers))]
    return "\n".join(_row(cells) for cells in [headers, [Markdown(cell) for cell in rule], *rows])


def quote(paragraphs: Iterable[str]) -> str:
    """Paragraphs as one block quote, escaped."""
    return "\n>\n".join(f"> {escape(text)}" for text in paragraphs)


def number_items(items: Iterable[str]) -> str:
    """A numbered list, escaped."""
    return "\n".join(f"{number}. {escape(item)}" for number, item in enumerate(items, start=1))


def code_block(text: str, language: str = "") -> str:
    """Fenced with more backticks than the text holds in a row."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{''.join(visible(c) if c != chr(10) else c for c in text)}\n{fence}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escape(cell) for cell in cells) + " |"


def _no_block(match: re.Match[str]) -> str:
    mark = match[1]
    return f"{mark}\\" if mark.isdigit() else f"\\{mark}"
