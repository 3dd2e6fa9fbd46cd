"""report.html of a sweep: its runs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.report import metric, sweep_cost
from runner.report.figures import series_along, x_axis
from runner.report.html.head import pairs, told
from runner.report.html.markup import Html, found_in_data, joined, paragraph, table, tag
from runner.report.html.metric_sections import slice_cell
from runner.report.html.page import Page, Section
from runner.report.html.plot import Line, plot
from runner.report.sweep import Cell, Sweep, View, read_sweep

FILE = "report.html"


def write_sweep(folder: Path) -> None:
    """Write report.html from sweep.json and the folders of its runs. Raises InputError when `folder` is no sweep
    folder."""
    sweep = read_sweep(folder)
    title = sweep.say("sweep.title", experiment=sweep.head.get("experiment") or "")
    found = [_runs(sweep), _failures(sweep), _cost(sweep)]
    sections = [section for section in found if section is not None]
    Page(sweep.say, title, _head(sweep, title), sections).write(folder / FILE)


def _head(sweep: Sweep, title: str) -> Html:
    say, done = sweep.say, sum(cell.status == "completed" for cell in sweep.cells)
    notes = [(say("sweep.goes_on"), True)] if sweep.head.get("status") == "partial" else []
    notes += [(warning, True) for warning in sweep.warnings]
    notes += [(say("baselines", names=", ".join(sweep.baselines)), False)] if sweep.baselines else []
    facts = {
        "ran.sweep": sweep.head.get("id"),
        "ran.status": say.name("status", str(sweep.head.get("status"))),
        "ran.cases": say("sweep.cells", done=done, total=len(sweep.cells)),
        **{name: ", ".join(dict.fromkeys(cell.params.get(name, "") for cell in sweep.cells)) for name in sweep.params},
    }
    shown = [(say.texts.get(name, name), str(value)) for name, value in facts.items() if value]
    return tag("header", tag("h1", title), told(notes), pairs(shown, "key"))


def _runs(sweep: Sweep) -> Section:
    say = sweep.say
    views = [part for view in sweep.views for part in _view(sweep, view)]
    return Section("runs", say("html.runs"), joined([*views, paragraph(say("sweep.explain"), "note")]))


def _view(sweep: Sweep, view: View) -> Iterator[Html]:
    """Runs that can be compared: a table, and drawings against what was varied."""
    yield paragraph(view.note)
    names = sweep.metrics
    headers = [sweep.say("sweep.folder"), *sweep.params, sweep.say("sweep.status")]
    headers += [metric.label(name, sweep.k, sweep.say) for name in names]
    rows = [_row(sweep, view, cell) for cell in sweep.cells]
    yield table(headers, rows, label=sweep.say("html.runs"), class_="slices")
    yield from _plots(sweep, view)


def _row(sweep: Sweep, view: View, cell: Cell) -> Sequence[str]:
    metrics = view.metrics.get(cell.folder, {})
    values = [metric.value_of(metrics, name) for name in sweep.metrics]
    best = {name: view.best(name) for name in sweep.metrics}
    return [
        tag("a", cell.folder, href=f"{cell.folder}/{FILE}"),
        *(found_in_data(cell.params.get(name, "")) for name in sweep.params),
        sweep.say.name("status", cell.status),
        *(
            slice_cell(each, sweep.say, is_best=each.value is not None and each.value == view.best(each.name))
            for each in values
        ),
    ]


def _plots(sweep: Sweep, view: View) -> Iterator[Html]:
    """One for each combination of what is not on the x axis, all on the same scale."""
    cells: list[Mapping[str, Any]] = [
        {"params": cell.record()["params"], "metrics": view.metrics[cell.folder]}
        for cell in sweep.cells
        if view.metrics.get(cell.folder)
    ]
    x = x_axis(sweep.params, cells)
    names = [name for name in metric.MAIN if any(metric.scored(cell["metrics"], [name]) for cell in cells)]
    if x is None or not names or len(cells) < 2:
        return
    drawings = []
    for rest, members in series_along(x, cells).items():
        lines = [
            Line(metric.label(name, sweep.k, sweep.say), [metric.value_of(cell["metrics"], name) for cell in members])
            for name in names
        ]
        title = sweep.say("html.against", x=x)
        heading = found_in_data(f"{title}, {rest}" if rest else title, "h3")
        places = [cell["params"].get(x, "") for cell in members]
        drawings.append(tag("div", heading, plot(x, places, lines, title)))
    yield tag("div", *drawings, class_="beside plots")


def _failures(sweep: Sweep) -> Section | None:
    say = sweep.say
    broken = [cell for cell in sweep.cells if cell.status != "completed"]
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
    return Section("cost", say("head.cost"), joined([shown, paragraph(say("cost.explain"), "note")]))
