"""The runs of a sweep as a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from runner.report import metric
from runner.report.sweep import Cell, Sweep, read_sweep

SHOWN = 5  # metrics; more do not fit 80 columns


def sweep_panels(folder: Path) -> list[RenderableType]:
    """What differs and the main metrics with their intervals, one row a cell; fits 80 columns."""
    sweep = read_sweep(folder)
    say, names = sweep.say, sweep.metrics[:SHOWN]
    shown = Table(title=Text(say("sweep.panel", id=sweep.head.get("id", "")), style="bold"), title_justify="left")
    for name in sweep.params or [say("sweep.folder")]:
        shown.add_column(Text(name), overflow="fold")
    if any(cell.status != "completed" for cell in sweep.cells):
        shown.add_column(Text(say("sweep.status")))
    for name in names:
        shown.add_column(Text(metric.label(name, sweep.k, say)), justify="right")
    for cell in sweep.cells:
        shown.add_row(*_terminal_row(sweep, cell, names))
    notes = [say("sweep.differs"), *_notes(sweep)]
    return [shown, *(Text(note, style="dim") for note in notes)]


def _terminal_row(sweep: Sweep, cell: Cell, names: Sequence[str]) -> Iterator[Text]:
    yield from (Text(cell.params.get(name, "")) for name in sweep.params)
    if not sweep.params:
        yield Text(cell.folder)
    if any(other.status != "completed" for other in sweep.cells):
        yield Text(sweep.say.name("status", cell.status))
    for name in names:
        value = metric.value_of(cell.metrics, name)
        style = "bold" if value.value is not None and value.value == sweep.best(name) else ""
        narrow = metric.interval(value.low, value.high, digits=2).replace("0.", ".").replace(", ", " ")
        yield Text.assemble((metric.four(value.value, sweep.say), style), (f"\n{narrow}" if narrow else "", "dim"))


def _notes(sweep: Sweep) -> list[str]:
    notes = [sweep.say("baselines", names=", ".join(sweep.baselines))] if sweep.baselines else []
    return notes + [f"{cell.folder}: {cell.error_message}" for cell in sweep.cells if cell.error_message]
