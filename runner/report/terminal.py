"""Blocks for the terminal: what fits 80 columns and needs no colour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from runner.report.blocks import (
    Block,
    CaseFacts,
    Cell,
    Fact,
    Facts,
    Fit,
    Mark,
    Note,
    Points,
    Section,
    Stack,
    Steps,
    Table,
    Warnings,
    in_medium,
    text_of,
)
from runner.report.markdown import lines_of

WIDTH = 200  # at most, however wide the terminal
GAP = 2  # of each column of a table beside its text, those at the edges included
NARROWEST = 12  # columns of text that wrap
STYLES: dict[Mark, str] = {"": "", "strong": "bold", "alarm": "bold red", "quiet": "dim"}
VERDICTS = {
    "better": "bold green",
    "worse": "bold red",
    "mixed": "bold yellow",
    "identical": "bold green",
    "within_noise": "bold green",
    "different": "bold red",
}  # of comparisons, and of records that were run again

_PIECES = re.compile(r"[^\s./=,:]*[\s./=,:]*")


def renderables(blocks: Iterable[Block], *, dense: bool = False) -> list[RenderableType]:
    """The blocks that the terminal shows: the parts of a section under one heading each, and an empty line between
    sections; `dense`: under bold headings, without empty lines."""
    parts = [list(_render(block, dense)) for block in in_medium(blocks, "terminal")]
    if dense:
        return [line for part in parts for line in part]
    return [line for part in parts for line in [*part, Text()]][:-1]


def _render(block: Block, dense: bool = False, indent: str = "") -> Iterator[RenderableType]:
    """`indent`: of the rows of a table below a title."""
    match block:
        case Section(title=title, blocks=blocks):
            yield Text(title, style="bold") if dense else Text(f"{title}:")
            for part in blocks:
                yield from _render(part, dense, "" if dense else "  ")
        case Note(text=text, lead=lead):
            yield Text.assemble((f"{lead}: ", "bold"), (text, _style(block))) if lead else Text(text, _style(block))
        case Warnings(notes=notes):
            yield from (Text(note.text, style=_style(note)) for note in notes)
        case Steps(items=items):
            yield from (Text(f"  {number}. {item}") for number, item in enumerate(items, start=1))
        case Points(items=items, mark=mark):
            yield from (Text(item, style=STYLES[mark]) for item in items)
        case _:
            yield from _grids(block, indent)


def _grids(block: Block, indent: str) -> Iterator[RenderableType]:
    match block:
        case Table(fit=None):
            yield _table(block, indent)
        case Table(fit=Fit() as fit):
            yield _fit(block, fit)
        case Facts(pairs=pairs):
            yield _facts(pairs)
        case CaseFacts(facts=facts):
            yield _case(fact for fact in facts if "terminal" in fact.media)


def _style(marked: Note | Cell) -> str:
    return VERDICTS.get(marked.verdict) or STYLES[marked.mark]


def _table(block: Table, indent: str) -> Grid:
    """Columns stand under their headers; one without any headers has no head."""
    has_head = any(block.headers)
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="", show_header=has_head, pad_edge=has_head)
    for place, header in enumerate(block.headers):
        right = place in block.numbers
        head = Text(header if place or not block.title else block.title)
        least = min(max((len(text_of(row[place])) for row in block.rows), default=0) + len(indent), NARROWEST)
        grid.add_column(head, justify="right" if right else "left", no_wrap=right, min_width=least)
    for row in block.rows:
        grid.add_row(*(_cell(cell, "" if place else indent) for place, cell in enumerate(row)))
    return grid


def _cell(cell: str | Cell, indent: str = "") -> Text:
    if isinstance(cell, str):
        return Text(indent + cell)
    if cell.short is None:
        return Text.assemble(indent, (cell.text, _style(cell)), (f" {cell.limits}" if cell.limits else "", "dim"))
    first, *rest = cell.short.split("\n")
    return Text.assemble(indent, (first, _style(cell)), *((f"\n{line}", "dim") for line in rest))


def _facts(pairs: Sequence[tuple[str, str]]) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    for name, text in pairs:
        grid.add_row(Text(f"{name}:"), Text(text))
    return grid


def _case(facts: Iterable[Fact]) -> Grid:
    """Contexts have a row each."""
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")  # rich would cut wide letters that do not fit with an ellipsis
    for fact in facts:
        if fact.size == "context":
            for item in fact.items:
                grid.add_row(Text(f"{item.lead} {item.name}".strip()), Text(item.text))
        else:
            grid.add_row(Text(fact.title), Text("\n".join(lines_of(fact))))
    return grid


# --- wide tables ----------------------------------------------------------------------------------


def _fit(block: Table, fit: Fit) -> Grid:
    """The table with the columns for which there is room, and lines between groups."""
    stacks = fit.stacks
    columns = [[Text(stack.header), *(_stack(row, stack) for row in block.rows)] for stack in stacks]
    left, places = room_for(columns[: fit.left], columns[fit.left :], fit)
    grid = Grid(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    texts = [*left, *(columns[fit.left + place] for place in places)]
    for place, (header, *_) in zip([*range(fit.left), *(fit.left + place for place in places)], texts, strict=True):
        right = place >= fit.left and stacks[place].columns[0] in block.numbers
        grid.add_column(header, justify="right" if right else "left", no_wrap=right, overflow="fold")
    ends = {sum(count for _, count in block.groups[: number + 1]) for number in range(len(block.groups))}
    for number, row in enumerate(zip(*(column[1:] for column in texts), strict=True), start=1):
        grid.add_row(*row, end_section=number in ends)
    return grid


def _stack(row: Sequence[str | Cell], stack: Stack) -> Text:
    """Cells below each other; those below the first are quiet."""
    first, *rest = (_cell(row[place]) for place in stack.columns)
    return Text.assemble(first, *((f"\n{text.plain}", "dim") for text in rest))


def room_for(
    head_columns: Sequence[Sequence[Text]], columns: Sequence[Sequence[Text]], fit: Fit
) -> tuple[list[list[Text]], list[int]]:
    """The head columns, folded if necessary, and the numbers of the other columns for which there is room. Each column
    is its header and the text of every row; texts may have several lines."""
    width = min(WIDTH, Console().width)
    order = fit.order or range(len(columns))
    for fold in (None, fit.fold):
        folded_left = [[text if fold is None else _fold(text, fold) for text in column] for column in head_columns]
        room, shown_columns = width - sum(_width(column) + GAP for column in folded_left), list[int]()
        for place in order:
            column_width = _width(columns[place]) + GAP
            if room < column_width and len(shown_columns) >= fit.kept:
                break
            room -= column_width
            shown_columns.append(place)
        if len(shown_columns) == len(columns):
            break
    if fold is not None and len(head_columns) == 1:
        folded_left = [[_fold(text, max(fold, _width(folded_left[0]) + room)) for text in head_columns[0]]]
    return folded_left, sorted(shown_columns)


def _fold(text: Text, width: int) -> Text:
    """Fold the first line of a text into lines of at most `width`."""
    first, *later_lines = text.split("\n", allow_blank=True) or [Text()]
    lines = fold_text(first.plain, width)
    style = first.spans[0].style if first.spans else ""
    return Text("\n").join([Text(lines, style), *later_lines])


def fold_text(text: str, width: int) -> str:
    """A text in lines of `width` at most, broken after a space, a point or the like; within a word only where one is
    longer than a line."""
    lines = [""]
    for piece in _PIECES.findall(text):
        remainder = piece
        if cell_len(lines[-1] + remainder.rstrip()) > width and lines[-1]:
            lines.append("")
        while cell_len(remainder.rstrip()) > width:
            most = next(place for place in range(len(remainder), 0, -1) if cell_len(remainder[:place]) <= width)
            cut = max(remainder.rfind("_", 0, most), remainder.rfind("-", 0, most)) + 1 or most
            lines[-1], remainder = remainder[:cut], remainder[cut:]
            lines.append("")
        lines[-1] += remainder
    return "\n".join(line.rstrip() for line in lines)


def _width(column: Iterable[Text]) -> int:
    return max((cell_len(line) for text in column for line in text.plain.splitlines()), default=0)
