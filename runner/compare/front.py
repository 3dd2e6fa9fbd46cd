"""The Pareto front of a sweep: runs that no other run beats in one respect without losing in another.

Three respects: quality (the mean of one main metric), what answering a case costs, and the p95 latency of a case.
Cost is USD where it is known for all runs and not 0 in all, else tokens on the same terms, else k, the number of
chunks that is handed on, where the runs differ in it, else nothing; what judging and writing questions cost is no
cost of the system. Latency counts where all runs have measured it.

A run is dominated by another whose mean, cost and p95 are all no worse, and one of them better beyond chance: it
is within noise of the best run and the dominated one is not, or it costs less, or it is faster and the interval of
the difference (bootstrap) excludes 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.compare.expense import costs, percentile_difference
from runner.compare.snapshots import Snapshot
from runner.metrics.statistics import Floats

NOT_ANSWERING = ("judge", "testset")  # roles


@dataclass(frozen=True, eq=False)
class _Run:
    """`quality` is better the higher it is, `cost` is 0 where it is not known for all runs, and `live_ms` are the times
    of cases that were live."""

    folder: str
    quality: float
    near_best: bool
    cost: float
    live_ms: Floats

    @property
    def p95_ms(self) -> float | None:
        return float(np.percentile(self.live_ms, 95)) if len(self.live_ms) else None


def front(
    snapshots: Mapping[str, Snapshot],
    metric: str,
    values: Mapping[str, float],
    near_best: Collection[str],
    *,
    is_lower: bool = False,
    seed: int,
) -> dict[str, Any]:
    """Of the runs with a value, by folder; `near_best` are within noise of the best one. JSON values: `dominated_by`
    is empty for the runs of the front, `latency` tells whether it counted; `is_lower`: less of the metric is better."""
    found = {folder: snapshots[folder] for folder in values}
    unit, cost = _cost(found)
    runs = [
        _Run(folder, -value if is_lower else value, folder in near_best, cost.get(folder, 0.0), _live(found[folder]))
        for folder, value in values.items()
    ]
    timed = all(len(run.live_ms) for run in runs)
    return {
        "quality": metric,
        "cost": unit,
        "latency": timed,
        "cells": [
            {
                "folder": run.folder,
                "quality": values[run.folder],
                "cost": run.cost if unit else None,
                "p95_ms": run.p95_ms,
                "dominated_by": [
                    other.folder for other in runs if other is not run and _dominates(other, run, timed, seed)
                ],
            }
            for run in runs
        ],
    }


def _dominates(one: _Run, other: _Run, timed: bool, seed: int) -> bool:
    if one.quality < other.quality or one.cost > other.cost:
        return False
    high = 0.0
    if timed:
        if float(np.percentile(one.live_ms, 95)) > float(np.percentile(other.live_ms, 95)):
            return False
        _, high, _ = percentile_difference(other.live_ms, one.live_ms, 95, seed=seed)
    return (one.near_best and not other.near_best) or one.cost < other.cost or high < 0


def _cost(runs: Mapping[str, Snapshot]) -> tuple[str | None, Mapping[str, float]]:
    """What a case costs in each run, in usd, tokens or k."""
    for unit in ("usd", "tokens"):
        spent = {folder: value for folder, run in runs.items() if (value := _spent(run, unit)) is not None}
        if len(spent) == len(runs) and any(spent.values()):
            return unit, spent
    ks = {folder: float(run.k) for folder, run in runs.items() if run.k is not None}
    return ("k", ks) if len(ks) == len(runs) and len(set(ks.values())) > 1 else (None, {})


def _spent(run: Snapshot, unit: str) -> float | None:
    """None where it is not known."""
    total = 0.0
    for expense in costs(run, run):  # cost.ROLE.UNIT, and cost.UNIT of all roles together
        _, *role, found = expense.name.split(".")
        if role and role[0] not in NOT_ANSWERING and found == unit:
            if expense.candidate is None:
                return None
            total += expense.candidate
    return total


def _live(run: Snapshot) -> Floats:
    return run.cases.latency_ms[~np.isnan(run.cases.latency_ms)]
