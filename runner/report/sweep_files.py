"""summary.json, summary.md, cells.csv and report.html of a sweep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.metrics.catalogue import DECLARED
from runner.report import html, metric, sweep_comparison, sweep_cost, sweep_gap, trace_sweep
from runner.report.markdown import Markdown, bold, escape, quote, table
from runner.report.metric_sections import slice_cell
from runner.report.summary import replace_text
from runner.report.sweep import Cell, Sweep, View, read_sweep
from runner.system.writing import csv_of

SCHEMA = 1


def write_sweep(folder: Path, comparison: Mapping[str, Any] | None = None) -> None:
    """Write summary.json, summary.md, cells.csv and report.html of a sweep from sweep.json and the folders of its runs.
    `comparison` is what runner.compare.sweep says; by default what an earlier summary.json has. The same files
    give the same bytes."""
    sweep = read_sweep(folder, comparison)
    record = {
        "schema": SCHEMA,
        **{name: sweep.head.get(name) for name in ("id", "experiment", "status")},
        "language": sweep.say.language,
        "params": sweep.params,
        DECLARED: sweep.say.catalogue.record(name for cell in sweep.runs for name in cell.metrics),
        "cells": [cell.record() for cell in sweep.cells],
        **({"references": [cell.record() for cell in sweep.references]} if sweep.references else {}),
        **({"paired": sweep.paired.record()} if sweep.paired else {}),
        **({"comparison": sweep.comparison} if sweep.comparison else {}),
    }
    replace_text(folder / "summary.json", json.dumps(record, ensure_ascii=False, indent=2) + "\n")
    replace_text(folder / "summary.md", _markdown(sweep))
    replace_text(folder / "cells.csv", _csv(sweep))
    html.write_sweep(folder, sweep)


def _markdown(sweep: Sweep) -> str:
    say = sweep.say
    done = sum(cell.status == "completed" for cell in sweep.cells)
    blocks = [
        f"# {escape(say('sweep.title', experiment=sweep.head.get('experiment') or ''))}",
        quote(_notes(sweep)),
        escape(say("sweep.cells", done=done, total=len(sweep.cells))),
        *(block for view in sweep.views for block in (escape(view.note), _cells_table(sweep, view))),
        escape(f"{say('sweep.explain')} {sweep.legend(say('sweep.bold'), sweep.views, sweep.metrics)}".strip()),
        _failures(sweep),
        *trace_sweep.sections(sweep),
        *sweep_comparison.sections(sweep),
        *sweep_gap.section(sweep),
        sweep_cost.section(sweep),
        escape(say("sweep.reports", example=f"{sweep.cells[0].folder}/summary.md")) if sweep.cells else "",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _notes(sweep: Sweep) -> list[str]:
    """What a reader must know before the numbers."""
    say = sweep.say
    notes: list[str] = [bold(say("sweep.goes_on"))] if sweep.goes_on else []
    notes += map(bold, sweep.warnings)
    return notes + ([say("baselines", names=", ".join(sweep.baselines))] if sweep.baselines else [])


def _cells_table(sweep: Sweep, view: View) -> str:
    say, names = sweep.say, sweep.metrics
    headers = [say("sweep.folder"), *sweep.params, say("sweep.status")]
    headers += [metric.label(name, sweep.k, say) for name in names]
    rows = [
        [
            cell.folder,
            *(cell.params.get(name, "") for name in sweep.params),
            say.name("status", cell.status),
            *(_markdown_cell(sweep, view, cell, name) for name in names),
        ]
        for cell in sweep.cells
    ]
    return table(headers, rows, right=range(2 + len(sweep.params), len(headers)))


def _markdown_cell(sweep: Sweep, view: View, cell: Cell, name: str) -> str:
    """Nothing for a run whose numbers are not comparable."""
    metrics = view.metrics.get(cell.folder, {})
    text = slice_cell(metrics, name, sweep.say("none"))
    if not sweep.stands_out(view, cell.folder, name):
        return text
    number, _, rest = text.partition(" ")
    return Markdown(f"{bold(Markdown(number))} {rest}")


def _failures(sweep: Sweep) -> str:
    broken = [cell for cell in sweep.runs if cell.status != "completed"]
    if not broken:
        return ""
    say = sweep.say
    rows = [
        [cell.folder, " ".join(cell.overrides), say.name("status", cell.status), cell.error_message or ""]
        for cell in broken
    ]
    headers = [say("sweep.folder"), say("sweep.overrides"), say("sweep.status"), say("worst.error")]
    return f"## {escape(say('sweep.failures'))}\n\n{table(headers, rows)}"


def _csv(sweep: Sweep) -> str:
    """One row a cell; `NAME`, `NAME_ci_low`, `NAME_ci_high` and `NAME_n_scored` of every metric of any cell, over
    the cases that the cell has finished; what the models cost, where there are any."""
    names = list(dict.fromkeys(name for cell in sweep.cells for name in cell.metrics))
    rows: list[Sequence[Any]] = []
    heads = [f"{name}{part}" for name in names for part in ("", "_ci_low", "_ci_high", "_n_scored")]
    cost = sweep_cost.COLUMNS if sweep_cost.has_cost(sweep) else ()
    rows.append(["folder", "status", *sweep.params, *heads, *cost])
    for cell in sweep.cells:
        found = [metric.value_of(cell.metrics, name) for name in names]
        numbers = [number for value in found for number in (value.value, value.low, value.high, value.n_scored)]
        row = [cell.folder, cell.status, *(cell.params.get(name, "") for name in sweep.params), *numbers]
        rows.append([*row, *(sweep_cost.numbers(cell) if cost else ())])
    return csv_of(rows)
