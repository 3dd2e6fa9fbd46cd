"""Blocks for the terminal: what fits 80 columns and needs no colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table as Grid
from rich.text import Text

from runner.report.blocks import (
    Block,
    CaseFacts,
    Cell,
    Fact,
    Facts,
    Mark,
    Note,
    Section,
    Steps,
    Table,
    Warnings,
    in_medium,
    text_of,
)
from runner.report.markdown import lines_of

NARROWEST = 12  # columns of text that wrap
STYLES: dict[Mark, str] = {"": "", "strong": "bold", "alarm": "bold red", "quiet": "dim"}


def renderables(blocks: Iterable[Block]) -> list[RenderableType]:
    """The blocks that the terminal shows, with an empty line between sections."""
    parts = [list(_shown(block)) for block in in_medium(blocks, "terminal")]
    return [line for part in parts for line in [*part, Text()]][:-1]


def _shown(block: Block, indent: str = "") -> Iterator[RenderableType]:
    """`indent`: of the rows of a table below a title."""
    match block:
        case Section(title=title, blocks=blocks):
            yield Text(f"{title}:")
            for part in blocks:
                yield from _shown(part, "  ")
        case Note(text=text, mark=mark):
            yield Text(text, style=STYLES[mark])
        case Warnings(notes=notes):
            yield from (Text(note.text, style=STYLES[note.mark]) for note in notes)
        case Steps(items=items):
            yield from (Text(f"  {number}. {item}") for number, item in enumerate(items, start=1))
        case Table():
            yield _table(block, indent)
        case Facts(pairs=pairs):
            yield _facts(pairs)
        case CaseFacts(facts=facts):
            yield _case(fact for fact in facts if "terminal" in fact.media)


def _table(block: Table, indent: str) -> Grid:
    """Columns stand under their headers; one without any headers has no head."""
    shown = Grid(box=None, padding=(0, 2, 0, 0), header_style="", show_header=any(block.headers))
    for place, header in enumerate(block.headers):
        right = place in block.numbers
        head = Text(header if place or not block.title else block.title)
        least = max((len(text_of(row[place])) for row in block.rows), default=0)
        shown.add_column(head, justify="right" if right else "left", no_wrap=right, min_width=min(least + 2, NARROWEST))
    for row in block.rows:
        shown.add_row(*(_cell(cell, "" if place else indent) for place, cell in enumerate(row)))
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


def _case(facts: Iterable[Fact]) -> Grid:
    """Contexts have a row each."""
    shown = Grid.grid(padding=(0, 2))
    shown.add_column(no_wrap=True, style="bold")
    shown.add_column(overflow="fold")  # rich would cut wide letters that do not fit with an ellipsis
    for fact in facts:
        if fact.size == "context":
            for item in fact.items:
                shown.add_row(Text(f"{item.lead} {item.name}".strip()), Text(item.text))
        else:
            shown.add_row(Text(fact.title), Text("\n".join(lines_of(fact))))
    return shown
