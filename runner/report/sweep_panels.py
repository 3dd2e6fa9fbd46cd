"""The runs of a sweep as a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from runner.report import metric, sweep_comparison, sweep_cost, sweep_gap
from runner.report.columns import fitted, grid
from runner.report.sweep import Cell, Sweep, View, read_sweep, swept

SHOWN = 5  # metrics at most
MARK = "*"  # before a value that stands out, where nothing is bold


def sweep_panels(folder: Path, *, errors: bool = True, bold: bool | None = None) -> list[RenderableType]:
    """What differs and the main metrics with their intervals, one row a cell; fits 80 columns. `errors`: with why runs
    have failed. `bold`: what stands out is bold, not marked; by default where stdout shows what is bold."""
    sweep = read_sweep(folder)
    say = sweep.say
    title = say("sweep.panel", id=sweep.head.get("id", ""))
    mark = "" if (Console().color_system is not None if bold is None else bold) else MARK
    shown = [(view, *_that_fit(sweep, view)) for view in sweep.views]
    tables = [_table(sweep, *parts, title if number == 0 else "", mark) for number, parts in enumerate(shown)]
    notes = [Text(warning, style="bold red") for warning in sweep.warnings]
    legends = dict.fromkeys(sweep.legend(mark or say("sweep.bold"), [view], names) for view, _, names in shown)
    notes += [Text(note, style="dim") for note in [*filter(None, legends), *_notes(sweep, errors=errors)]]
    return [
        *(part for parts in tables for part in parts),
        *notes,
        *sweep_comparison.panels(sweep),
        *sweep_gap.panel(sweep),
        *sweep_cost.panel(sweep),
    ]


def _table(
    sweep: Sweep, view: View, left: Sequence[Sequence[str]], names: Sequence[str], title: str, mark: str
) -> list[RenderableType]:
    shown = grid()
    for name, *_ in left:
        shown.add_column(Text(name), overflow="fold")
    for name in names:
        shown.add_column(Text(_heading(sweep, name)), justify="right", no_wrap=True)
    for cell, *texts in zip(sweep.cells, *(texts for _, *texts in left), strict=True):
        shown.add_row(*map(Text, texts), *_numbers(sweep, view, cell, names, mark))
    head: list[RenderableType] = [Text(text, style="bold") for text in (title, view.note) if text]
    return [*head, shown] if sweep.metrics else head


def _heading(sweep: Sweep, name: str) -> str:
    return metric.short(name, sweep.k, sweep.say)


def _that_fit(sweep: Sweep, view: View) -> tuple[list[list[str]], list[str]]:
    """What was swept, and the first of the metrics, as many as there is room for beside it."""
    names = sweep.metrics[:SHOWN]
    cells = [cell for cell in sweep.cells if cell.folder in view.metrics]
    columns = [[_heading(sweep, name), *(_number(sweep, view, cell, name).plain for cell in cells)] for name in names]
    left, fitting = fitted(swept(sweep), columns)
    return left, names[:fitting]


def _numbers(sweep: Sweep, view: View, cell: Cell, names: Sequence[str], mark: str) -> Iterator[Text]:
    """Value over interval; of a run whose numbers cannot be compared only how it ended."""
    metrics = view.metrics.get(cell.folder)
    if metrics is None:
        yield Text(sweep.say.name("status", cell.status), style="bold red")
        return
    for name in names:
        yield _number(sweep, view, cell, name, mark)


def _number(sweep: Sweep, view: View, cell: Cell, name: str, mark: str = MARK) -> Text:
    value = metric.value_of(view.metrics[cell.folder], name)
    shown = metric.four(value.value, sweep.say)
    first = (f"{mark}{shown}", "bold") if sweep.stands_out(view, cell.folder, name) else shown
    narrow = metric.narrow(metric.interval(value.low, value.high, digits=2)).replace(", ", " ")
    return Text.assemble(first, (f"\n{narrow}" if narrow else "", "dim"))


def _notes(sweep: Sweep, *, errors: bool) -> list[str]:
    notes = [sweep.say("sweep.goes_on")] if sweep.goes_on else []
    notes += [sweep.say("baselines", names=", ".join(sweep.baselines))] if sweep.baselines else []
    failed = [cell for cell in sweep.runs if cell.error_message] if errors else []
    return notes + [f"{sweep_comparison.called(sweep, cell.folder)}: {cell.error_message}" for cell in failed]
