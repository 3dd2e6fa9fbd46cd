"""Blocks for the terminal: what fits 80 columns and needs no colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table as Grid
from rich.text import Text

from runner.report.blocks import Block, Cell, Facts, Mark, Note, Section, Steps, Table, Warnings, in_medium, text_of

NARROWEST = 12  # columns of text that wrap
STYLES: dict[Mark, str] = {"": "", "strong": "bold", "alarm": "bold red", "quiet": "dim"}


def renderables(blocks: Iterable[Block]) -> list[RenderableType]:
    """The blocks that the terminal shows, with an empty line between sections."""
    parts = [list(_shown(block)) for block in in_medium(blocks, "terminal")]
    return [line for part in parts for line in [*part, Text()]][:-1]


def _shown(block: Block) -> Iterator[RenderableType]:
    match block:
        case Section(title=title, blocks=blocks):
            yield Text(f"{title}:")
            for part in blocks:
                yield from _shown(part)
        case Note(text=text, mark=mark):
            yield Text(text, style=STYLES[mark])
        case Warnings(notes=notes):
            yield from (Text(note.text, style=STYLES[note.mark]) for note in notes)
        case Steps(items=items):
            yield from (Text(f"  {number}. {item}") for number, item in enumerate(items, start=1))
        case Table():
            yield _table(block)
        case Facts(pairs=pairs):
            yield _facts(pairs)


def _table(block: Table) -> Grid:
    """Columns stand under their headers; one without any headers has no head."""
    shown = Grid(box=None, padding=(0, 2, 0, 0), header_style="", show_header=any(block.headers))
    for place, header in enumerate(block.headers):
        right = place in block.numbers
        head = Text(header if place or not block.title else block.title)
        least = max((len(text_of(row[place])) for row in block.rows), default=0)
        shown.add_column(head, justify="right" if right else "left", no_wrap=right, min_width=min(least + 2, NARROWEST))
    for row in block.rows:
        shown.add_row(*(_cell(cell, "  " if place == 0 else "") for place, cell in enumerate(row)))
    return shown


def _cell(cell: str | Cell, indent: str) -> Text:
    if isinstance(cell, str):
        return Text(indent + cell)
    return Text.assemble(indent, (cell.text, STYLES[cell.mark]), (f" {cell.limits}" if cell.limits else "", "dim"))


def _facts(pairs: Sequence[tuple[str, str]]) -> Grid:
    shown = Grid.grid(padding=(0, 2))
    for name, text in pairs:
        shown.add_row(Text(f"{name}:"), Text(text))
    return shown
