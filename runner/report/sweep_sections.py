"""Sections of the report of a sweep: its runs side by side, their comparison, failures, the cost of models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console, RenderableType

from runner.report import metric, sweep_cost
from runner.report.blocks import (
    EVERYWHERE,
    FILES,
    MARKDOWN,
    PAGE,
    TERMINAL,
    Block,
    Cell,
    Chart,
    Charts,
    Facts,
    Fit,
    Note,
    Section,
    Stack,
    Table,
    Warnings,
    section,
    text_of,
)
from runner.report.figures import series_along, x_axis
from runner.report.findings import findings
from runner.report.metrics import measured_cell
from runner.report.page import FILE
from runner.report.reporting import sections_of_sweep
from runner.report.search import search
from runner.report.sweep import Cell as Run
from runner.report.sweep import Sweep, View, read_sweep
from runner.report.sweep_comparison import comparison_with_baseline, front, gap, run_label
from runner.report.sweep_judges import judges
from runner.report.terminal import renderables

COLUMNS = 7  # metrics beside each other on a page
MARK = "*"  # before a value that stands out, where nothing is bold


def sweep_panels(folder: Path, *, errors: bool = True, bold: bool | None = None) -> list[RenderableType]:
    """What differs and the main metrics with their intervals, one row a cell; fits 80 columns. `errors`: with why runs
    have failed. `bold`: what stands out is bold, not marked; by default where stdout shows what is bold."""
    is_bold = Console().color_system is not None if bold is None else bold
    blocks = sections(read_sweep(folder), folder, errors=errors, mark="" if is_bold else MARK)
    return renderables(blocks, dense=True)


def sections(sweep: Sweep, folder: Path, *, errors: bool = True, mark: str = "") -> list[Section]:
    """`errors`: list the errors of failed runs; `mark`: put before the best values in the terminal."""
    candidates = (
        head(sweep),
        search(sweep),
        findings(sweep, folder),
        runs(sweep, folder, errors=errors, mark=mark),
        failures(sweep),
        *of_evaluations(sweep),
        comparison_with_baseline(sweep),
        front(sweep),
        gap(sweep),
        judges(sweep),
        sweep_cost.costs(sweep),
        _reports(sweep),
    )
    return [part for part in candidates if part is not None]


def of_evaluations(sweep: Sweep) -> Iterator[Section]:
    """The sections of evaluations for the report of their sweeps."""
    for number, part in enumerate(sections_of_sweep(sweep)):
        yield replace(part, id=part.id or f"own-{number}")


# --- what ran -------------------------------------------------------------------------------------


def head(sweep: Sweep) -> Section:
    """The title of a sweep: its parameters and their values, how many runs are completed, warnings."""
    say, done = sweep.say, sum(cell.status == "completed" for cell in sweep.cells)
    completed = say("sweep.cells", done=done, total=len(sweep.cells))
    facts = {
        "ran.sweep": sweep.head.get("id"),
        "ran.status": say.name("status", str(sweep.head.get("status"))),
        "html.runs": completed,
        **{name: ", ".join(dict.fromkeys(cell.params.get(name, "") for cell in sweep.cells)) for name in sweep.params},
    }
    pairs = [(say.texts.get(name, name), str(value)) for name, value in facts.items() if value]
    blocks: list[Block] = [Facts(pairs, media=PAGE, is_key=True), Note(completed, media=MARKDOWN)]
    warnings = [Warnings(notes)] if (notes := list(_notes(sweep))) else []
    title = say("sweep.title", experiment=sweep.head.get("experiment") or "")
    return Section("", title, [*warnings, *blocks], FILES)


def _notes(sweep: Sweep) -> Iterator[Note]:
    """The notes that a reader needs before the numbers."""
    if sweep.goes_on:
        yield Note(sweep.say("sweep.goes_on"), "alarm")
    yield from (Note(warning, "alarm") for warning in sweep.warnings)
    if sweep.baselines:
        yield Note(sweep.say("baselines", names=", ".join(sweep.baselines)))


def runs(sweep: Sweep, folder: Path, *, errors: bool, mark: str) -> Section:
    """Runs that can be compared side by side, and drawn against what was varied."""
    say = sweep.say
    views = [block for view in sweep.views for block in _view(sweep, view, folder, mark)]
    legend = sweep.legend(say("sweep.bold"), sweep.views, sweep.metrics)
    explained = Note(f"{say('sweep.explain')} {legend}".strip(), "quiet")
    charts = [chart for view in sweep.views if (chart := _charts(sweep, view)) is not None]
    title = Note(say("sweep.panel", id=sweep.head.get("id", "")), "strong", TERMINAL)
    in_short = list(_terminal_notes(sweep, errors=errors, mark=mark))
    blocks = [title, *views, explained, *charts, *in_short]
    return Section("runs", say("html.runs"), blocks, untitled=TERMINAL)


def _terminal_notes(sweep: Sweep, *, errors: bool, mark: str) -> Iterator[Note]:
    """The notes below the tables of the terminal."""
    yield from (Note(warning, "alarm", TERMINAL) for warning in sweep.warnings)
    name = mark or sweep.say("sweep.bold")
    legends = dict.fromkeys(sweep.legend(name, [view], sweep.metrics) for view in sweep.views)
    lines = [*legends, *(note.text for note in _notes(sweep) if note.text not in sweep.warnings)]
    if errors:
        lines += [f"{run_label(sweep, run.folder)}: {run.error_message}" for run in sweep.runs if run.error_message]
    yield from (Note(line, "quiet", TERMINAL) for line in lines if line)


def _view(sweep: Sweep, view: View, folder: Path, mark: str) -> Iterator[Block]:
    say, names, params = sweep.say, sweep.metrics, sweep.params
    if view.note:
        yield Note(view.note)
        yield Note(view.note, "strong", TERMINAL)
    headers = [say("sweep.folder"), *params, say("sweep.status"), *(metric.label(name, sweep.k, say) for name in names)]
    start = 2 + len(params)
    left = [Stack(name, (place,)) for place, name in enumerate(params, start=1)] or [Stack(headers[0], (0,))]
    short = [Stack(metric.short_label(name, sweep.k, say), (start + place,)) for place, name in enumerate(names)]
    fit = Fit([*left, *short], len(left))
    rows = [_row(sweep, view, cell, folder, mark) for cell in sweep.cells]
    media = EVERYWHERE if names else FILES
    further = [start + place for place, name in enumerate(names) if name not in sweep.say.catalogue.headlines(names)]
    on_page = dict.fromkeys(further if len(names) > COLUMNS else (), PAGE)
    yield Table(headers, rows, say("html.runs"), right=range(start, len(headers)), media=media, fit=fit, not_in=on_page)
    if on_page:
        places = [0, *range(1, 1 + len(params)), *further]
        cut = [[text_of(row[0]), *(row[place] for place in places[1:])] for row in rows]  # the links stand above
        page_headers, title = [headers[place] for place in places], say("html.runs.further")
        others = Table(page_headers, cut, title, right=range(1 + len(params), len(places)), media=PAGE)
        yield Section("", title, [others], PAGE)


def _row(sweep: Sweep, view: View, cell: Run, folder: Path, mark: str) -> list[str | Cell]:
    """The row of a run; without values where its numbers are not comparable; the terminal shows how it ended."""
    status = sweep.say.name("status", cell.status)
    has_report = (folder / cell.folder / FILE).is_file()
    metrics = view.metrics.get(cell.folder)
    if metrics is None:
        none = sweep.say("none")
        values = [Cell(none, "alarm", short="" if place else status) for place in range(len(sweep.metrics))]
    else:
        values = [_value(sweep, view, cell, name, mark) for name in sweep.metrics]
    return [
        Cell(cell.folder, href=f"./{quote(cell.folder)}/{FILE}" if has_report else ""),
        *(Cell(cell.params.get(name, ""), is_data=True) for name in sweep.params),
        status,
        *values,
    ]


def _value(sweep: Sweep, view: View, cell: Run, name: str, mark: str) -> Cell:
    """The cell of a value; in the terminal, with four digits over a narrow interval."""
    value = metric.value_of(view.metrics[cell.folder], name)
    stands_out = sweep.stands_out(view, cell.folder, name)
    limits = metric.drop_zero(metric.interval(value.low, value.high, digits=2)).replace(", ", " ")
    short = f"{mark if stands_out else ''}{metric.four(value.value, sweep.say)}{limits and chr(10)}{limits}"
    return replace(measured_cell(value, sweep.say, is_best=stands_out), short=short)


def _charts(sweep: Sweep, view: View) -> Section | None:
    """One for each combination of what is not on the x axis, all on the same scale."""
    cells: list[Mapping[str, Any]] = [
        {"params": cell.record()["params"], "metrics": view.metrics[cell.folder]}
        for cell in sweep.cells
        if view.metrics.get(cell.folder)
    ]
    x = x_axis(sweep.params, cells)
    names = [name for name in _headlines(cells, sweep) if sweep.say.catalogue.variant(name).is_share]
    if x is None or not names or len(cells) < 2:
        return None
    charts = [_chart(sweep, x, rest, members, names) for rest, members in series_along(x, cells).items()]
    return section("", sweep.say("html.against", x=x), Charts(charts), media=PAGE)


def _chart(sweep: Sweep, x: str, title: str, members: Sequence[Mapping[str, Any]], names: Iterable[str]) -> Chart:
    lines = {
        metric.label(name, sweep.k, sweep.say): [metric.value_of(cell["metrics"], name) for cell in members]
        for name in names
    }
    return Chart(f"metrics_against_{x}", x, [cell["params"].get(x, "") for cell in members], lines, title=title)


def _headlines(cells: Sequence[Mapping[str, Any]], sweep: Sweep) -> list[str]:
    names = dict.fromkeys(value.name for cell in cells for value in metric.scores(cell["metrics"], cell["metrics"]))
    return sweep.say.catalogue.headlines(names)


# --- the rest -------------------------------------------------------------------------------------


def failures(sweep: Sweep) -> Section | None:
    """The runs that did not complete, with their error."""
    say = sweep.say
    rows = [
        [run.folder, " ".join(run.overrides), say.name("status", run.status), run.error_message or ""]
        for run in sweep.runs
        if run.status != "completed"
    ]
    headers = [say("sweep.folder"), say("sweep.overrides"), say("sweep.status"), say("worst.error")]
    title = say("sweep.failures")
    return section("failures", title, Table(headers, rows, title, right=()))


def _reports(sweep: Sweep) -> Section | None:
    if not sweep.cells:
        return None
    pointer = Note(sweep.say("sweep.reports", example=f"{sweep.cells[0].folder}/summary.md"), media=MARKDOWN)
    return Section("reports", "", [pointer], MARKDOWN, untitled=MARKDOWN)
