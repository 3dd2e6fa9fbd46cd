"""report.html of a sweep: its runs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from runner.report import metric, sweep_cost
from runner.report.figures import series_along, x_axis
from runner.report.html import memory_sections, sweep_sections, trace_quality_sections
from runner.report.html.head import pairs, told
from runner.report.html.markup import Html, found_in_data, joined, paragraph, scrolled, table, tag
from runner.report.html.metric_sections import slice_cell
from runner.report.html.page import FILE, Page, Section
from runner.report.html.plot import NARROW, WIDE, legend, plot
from runner.report.sweep import Cell, Sweep, View


def write_sweep(folder: Path, sweep: Sweep) -> None:
    """Write report.html, unless the runs were configured to leave reports out. The same sweep gives the same bytes."""
    if any((cell.run.get("config") or {}).get("format") == "json" for cell in sweep.cells):
        return
    title = sweep.say("sweep.title", experiment=sweep.head.get("experiment") or "")
    found = [
        _runs(sweep, folder),
        memory_sections.retention(sweep),
        trace_quality_sections.by_profile(sweep),
        *sweep_sections.sections(sweep),
        _failures(sweep),
        _cost(sweep),
    ]
    sections = [section for section in found if section is not None]
    Page(sweep.say, title, _head(sweep, title), sections).write(folder / FILE)


def _head(sweep: Sweep, title: str) -> Html:
    say, done = sweep.say, sum(cell.status == "completed" for cell in sweep.cells)
    notes = [(say("sweep.goes_on"), True)] if sweep.goes_on else []
    notes += [(warning, True) for warning in sweep.warnings]
    notes += [(say("baselines", names=", ".join(sweep.baselines)), False)] if sweep.baselines else []
    facts = {
        "ran.sweep": sweep.head.get("id"),
        "ran.status": say.name("status", str(sweep.head.get("status"))),
        "html.runs": say("sweep.cells", done=done, total=len(sweep.cells)),
        **{name: ", ".join(dict.fromkeys(cell.params.get(name, "") for cell in sweep.cells)) for name in sweep.params},
    }
    shown = [(say.texts.get(name, name), str(value)) for name, value in facts.items() if value]
    return tag("header", tag("h1", title), told(notes), pairs(shown, "key"))


def _runs(sweep: Sweep, folder: Path) -> Section:
    parts = (part for view in sweep.views for part in _view(sweep, view, folder))
    return Section("runs", sweep.say("html.runs"), joined(parts))


def _view(sweep: Sweep, view: View, folder: Path) -> Iterator[Html]:
    """Runs that can be compared: a table, and drawings against what was varied."""
    yield paragraph(view.note)
    names = sweep.metrics
    headers = [sweep.say("sweep.folder"), *sweep.params, sweep.say("sweep.status")]
    headers += [metric.label(name, sweep.k, sweep.say) for name in names]
    rows = [_row(sweep, view, cell, folder) for cell in sweep.cells]
    yield table(headers, rows, label=sweep.say("html.runs"), class_="slices")
    legend = sweep.legend(sweep.say("sweep.bold"), [view], names)
    yield paragraph(f"{sweep.say('sweep.explain')} {legend}".strip(), "note")
    yield from _plots(sweep, view)


def _row(sweep: Sweep, view: View, cell: Cell, folder: Path) -> Sequence[str]:
    metrics = view.metrics.get(cell.folder, {})
    values = [metric.value_of(metrics, name) for name in sweep.metrics]
    return [
        _link(cell, folder),
        *(found_in_data(cell.params.get(name, "")) for name in sweep.params),
        sweep.say.name("status", cell.status),
        *(slice_cell(each, sweep.say, is_best=sweep.stands_out(view, cell.folder, each.name)) for each in values),
    ]


def _link(cell: Cell, folder: Path) -> str:
    """To the report of the run, where it has one."""
    is_there = (folder / cell.folder / FILE).is_file()
    return tag("a", cell.folder, href=f"./{quote(cell.folder)}/{FILE}") if is_there else cell.folder


def _plots(sweep: Sweep, view: View) -> Iterator[Html]:
    """One for each combination of what is not on the x axis, all on the same scale."""
    cells: list[Mapping[str, Any]] = [
        {"params": cell.record()["params"], "metrics": view.metrics[cell.folder]}
        for cell in sweep.cells
        if view.metrics.get(cell.folder)
    ]
    x = x_axis(sweep.params, cells)
    names = [name for name in _headlines(cells, sweep) if sweep.say.catalogue.variant(name).is_share]
    if x is None or not names or len(cells) < 2:
        return
    series = series_along(x, cells)
    title, labels = sweep.say("html.against", x=x), [metric.label(name, sweep.k, sweep.say) for name in names]
    drawings = []
    for rest, members in series.items():
        lines = [[metric.value_of(cell["metrics"], name) for cell in members] for name in names]
        drawing = plot(x, [cell["params"].get(x, "") for cell in members], lines, NARROW if len(series) > 1 else WIDE)
        drawings.append(tag("div", found_in_data(rest, "h4") if rest else Html(""), scrolled(drawing, rest or title)))
    yield joined([tag("h3", title), legend(labels), tag("div", *drawings, class_="plots")])


def _headlines(cells: Sequence[Mapping[str, Any]], sweep: Sweep) -> list[str]:
    names = dict.fromkeys(value.name for cell in cells for value in metric.scored(cell["metrics"], cell["metrics"]))
    return sweep.say.catalogue.headlines(names)


def _failures(sweep: Sweep) -> Section | None:
    say = sweep.say
    broken = [cell for cell in sweep.runs if cell.status != "completed"]
    rows = [
        [cell.folder, " ".join(cell.overrides), say.name("status", cell.status), cell.error_message or ""]
        for cell in broken
    ]
    headers = [say("sweep.folder"), say("sweep.overrides"), say("sweep.status"), say("worst.error")]
    title = say("sweep.failures")
    return Section("failures", title, table(headers, rows, label=title)) if rows else None


def _cost(sweep: Sweep) -> Section | None:
    headers, rows = sweep_cost.costs(sweep)
    if not rows:
        return None
    say = sweep.say
    shown = table(
        headers, rows, label=say("head.cost"), right=range(1 + len(sweep.params), len(headers)), class_="total"
    )
    return Section("cost", say("head.cost"), joined([shown, paragraph(" ".join(sweep_cost.notes(sweep)), "note")]))
