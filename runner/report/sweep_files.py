"""summary.json, summary.md, cells.csv and report.html of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.metrics.catalogue import DECLARED
from runner.report import metric, sweep_cost
from runner.report.blocks import Section
from runner.report.markdown import markdown
from runner.report.page import FILE, write_page
from runner.report.summary import replace_text
from runner.report.sweep import Sweep, read_sweep
from runner.report.sweep_answers import answers
from runner.report.sweep_sections import sections
from runner.system.metadata import write_json
from runner.system.writing import csv_of

SCHEMA = 1


def write_sweep(folder: Path, comparison: Mapping[str, Any] | None = None) -> Sweep:
    """Write summary.json, summary.md, cells.csv and report.html of a sweep from sweep.json and the folders of its runs.
    `comparison` is what runner.compare.sweep says; by default what an earlier summary.json has. The same files
    give the same bytes. Returns the sweep, for what is shown of it."""
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
        **({"search": sweep.head["search"]} if sweep.head.get("search") else {}),
    }
    write_json(folder / "summary.json", record)
    blocks = sections(sweep, folder)
    replace_text(folder / "summary.md", _markdown(blocks))
    replace_text(folder / "cells.csv", _csv(sweep))
    _page(folder, sweep, blocks)
    return sweep


def _markdown(sections: Sequence[Section]) -> str:
    head, *rest = sections
    return markdown([replace(head, blocks=[*head.blocks, *rest])], level=1) + "\n"


def _page(folder: Path, sweep: Sweep, sections: Sequence[Section]) -> None:
    """report.html, unless the runs were configured to leave reports out."""
    if not any((cell.run.get("config") or {}).get("format") == "json" for cell in sweep.cells):
        beside = answers(sweep, folder)
        write_page(folder / FILE, sweep.say, sections if beside is None else [*sections, beside])


def _csv(sweep: Sweep) -> str:
    """One row a cell; `NAME`, `NAME_ci_low`, `NAME_ci_high` and `NAME_n_scored` of every metric of any cell, over
    the cases that the cell has finished; what the models cost, where there are any."""
    names = list(dict.fromkeys(name for cell in sweep.cells for name in cell.metrics))
    rows: list[Sequence[Any]] = []
    heads = [f"{name}{part}" for name in names for part in ("", "_ci_low", "_ci_high", "_n_scored")]
    cost = sweep_cost.COLUMNS if sweep_cost.has_cost(sweep) else ()
    rows.append(["folder", "status", *sweep.params, *heads, *cost])
    for cell in sweep.cells:
        values = [metric.value_of(cell.metrics, name) for name in names]
        numbers = [number for value in values for number in (value.value, value.low, value.high, value.n_scored)]
        row = [cell.folder, cell.status, *(cell.params.get(name, "") for name in sweep.params), *numbers]
        rows.append([*row, *(sweep_cost.numbers(cell) if cost else ())])
    return csv_of(rows)
