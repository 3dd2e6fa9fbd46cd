"""The Pareto front of a sweep: the runs that no other run dominates.

There are three objectives: quality (the means of the main metrics that represent it), the cost of answering a case, and
the p95 latency of a case. Cost is USD where it is known for all runs and not 0 in all; else tokens, under the same
condition; else k, the number of chunks in the prompt, where the runs differ in it; else it does not count. The cost of
judging and of writing questions is no cost of the system. Latency counts where all runs have measured it, and only
large differences.

A run is dominated by another one that is no worse in any objective, and better beyond chance in one:

- quality: p of the paired difference below .05, adjusted (Holm) over all pairs of runs and all metrics of quality, an
  interval without 0, and a difference of at least the margin;
- cost: USD and tokens less by a twentieth or more, because models do not say the same twice; k less by anything;
- latency: p95 less as runner.compare.timed has it; less than that is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from runner.compare.cells import Cells
from runner.compare.expense import costs
from runner.compare.snapshots import Snapshot
from runner.metrics import paired
from runner.metrics.paired import PairedResult
from runner.metrics.swaps import ALPHA

NOT_ANSWERING = ("judge", "testset")  # roles
LESS = 0.95  # a lower share of the cost of another run is beyond chance

IsFaster = Callable[[str, str], bool]  # whether the first run is better than the second, beyond chance


@dataclass(frozen=True, eq=False)
class _Run:
    """`qualities`: higher is better; `cost`: 0 where it is not known for all runs."""

    folder: str
    qualities: Sequence[float]
    cost: float
    p95_ms: float | None

    def is_no_worse(self, other: _Run) -> bool:
        return self.cost <= other.cost and all(
            one >= two for one, two in zip(self.qualities, other.qualities, strict=True)
        )


def front(
    cells: Cells, values: Mapping[str, Mapping[str, float]], *, margin: float, is_faster: IsFaster
) -> dict[str, Any]:
    """The Pareto front of a sweep.

    Args:
        cells: the runs.
        values: metric of quality -> folder -> mean; a run that lacks one is left out.
        margin: the least difference in quality that counts, a share of the range of the metric.
        is_faster: whether the first of two runs is faster than the second; None where latency does not count.

    Returns:
        JSON values: `dominated_by` is empty for the runs of the front, `latency` says whether it counted.
    """
    folders = [name for name in cells.snapshots if all(name in means for means in values.values())]
    unit, cost = _cost({name: cells.snapshots[name] for name in folders})
    signs = {name: -1.0 if cells.catalogue.direction(name) == "lower" else 1.0 for name in values}
    runs = [
        _Run(
            folder,
            [signs[name] * means[folder] for name, means in values.items()],
            cost.get(folder, 0.0),
            _p95(cells.snapshots[folder]),
        )
        for folder in folders
    ]
    timed = is_faster if all(run.p95_ms is not None for run in runs) else None
    dominated = _dominators(cells, list(values), runs, margin, timed, 1.0 if unit == "k" else LESS)
    return {
        "qualities": list(values),
        "cost": unit,
        "latency": timed is not None,
        "cells": [
            {
                "folder": run.folder,
                "qualities": {name: means[run.folder] for name, means in values.items()},
                "cost": run.cost if unit else None,
                "p95_ms": run.p95_ms,
                "dominated_by": dominated[run.folder],
            }
            for run in runs
        ],
    }


def _dominators(
    cells: Cells, names: Sequence[str], runs: Sequence[_Run], margin: float, timed: IsFaster | None, less: float
) -> dict[str, list[str]]:
    """Run -> the runs that dominate it, by folder."""
    orders = [(one, two) for one in runs for two in runs if one is not two]
    pairs = [(one, two) for one, two in orders if one.is_no_worse(two)]
    if timed is not None:
        pairs = [(one, two) for one, two in pairs if not timed(two.folder, one.folder)]
    leads = _leads(cells, names, [run.folder for run in runs], [(one.folder, two.folder) for one, two in pairs], margin)
    better_runs: dict[str, list[str]] = {run.folder: [] for run in runs}
    for first, second in pairs:
        is_cheaper = first.cost < second.cost and first.cost <= less * second.cost
        faster = timed is not None and timed(first.folder, second.folder)
        if is_cheaper or faster or (first.folder, second.folder) in leads:
            better_runs[second.folder].append(first.folder)
    return better_runs


def _leads(
    cells: Cells, names: Sequence[str], folders: Sequence[str], pairs: Sequence[tuple[str, str]], margin: float
) -> set[tuple[str, str]]:
    """The pairs whose first run is significantly better in quality. All pairs of runs count as tests."""
    differing: dict[tuple[str, str, str], PairedResult] = {}
    rows = {name: cells.rows(name, folders) for name in names}
    for first, second in dict.fromkeys(tuple(sorted(pair)) for pair in pairs):
        for name, numbers in cells.between(first, second, rows).items():
            if numbers.differs and numbers.is_enough:
                differing[first, second, name] = numbers
    n_tests = len(names) * len(list(combinations(folders, 2)))
    chances = paired.holm([*(numbers.p for numbers in differing.values()), *([1.0] * (n_tests - len(differing)))])
    leads = set()
    for (key, numbers), p in zip(differing.items(), chances, strict=False):
        first, second, name = key
        variant = cells.catalogue.variant(name)
        if p < ALPHA and abs(numbers.difference) >= margin * variant.span:
            second_leads = (numbers.difference > 0) == (variant.direction == "higher")
            leads.add((second, first) if second_leads else (first, second))
    return leads


def _cost(runs: Mapping[str, Snapshot]) -> tuple[str | None, Mapping[str, float]]:
    """The cost of a case in each run, in usd, tokens or k."""
    for unit in ("usd", "tokens"):
        spent = {folder: value for folder, run in runs.items() if (value := _spending(run, unit)) is not None}
        if len(spent) == len(runs) and any(spent.values()):
            return unit, spent
    ks = {folder: float(run.k) for folder, run in runs.items() if run.k is not None}
    return ("k", ks) if len(ks) == len(runs) and len(set(ks.values())) > 1 else (None, {})


def _spending(run: Snapshot, unit: str) -> float | None:
    """The cost of a case in a unit; None where it is unknown."""
    total = 0.0
    for expense in costs(run, run):  # cost.ROLE.UNIT, and cost.UNIT of all roles together
        _, *role, found = expense.name.split(".")
        if role and role[0] not in NOT_ANSWERING and found == unit:
            if expense.candidate is None:
                return None
            total += expense.candidate
    return total


def _p95(run: Snapshot) -> float | None:
    live = run.cases.latency_ms[~np.isnan(run.cases.latency_ms)]
    return float(np.percentile(live, 95)) if len(live) else None
