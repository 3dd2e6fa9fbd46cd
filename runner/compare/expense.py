"""Latency, tokens and cost of two runs side by side.

Latency is that of live calls (see runner.metrics.aggregate.latency). The load of the machine during the two runs is
unknown; runner.compare.timed explains what their percentiles allow to conclude.

Tokens and USD are those of the requests of finished cases, each once, whether a model or the cache answered: an
interrupted run costs as much as an uninterrupted one, and a replayed run as much as the original. Indexing, checks of a
judge and lost requests are no cost of a case. Values are means a case, so that runs over samples of different size can
be compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.compare import timed
from runner.compare.snapshots import Snapshot
from runner.compare.timed import Doubt
from runner.metrics.metric import Direction
from runner.metrics.statistics import Floats

STAGE = "case"
DIRECTION: Direction = "lower"  # latency and cost are better when lower
PERCENTILES = {"p50_ms": 50.0, "p95_ms": 95.0}


@dataclass(frozen=True, slots=True)
class Expense:
    """One number of both runs; None where it is unknown. `n`: number of calls or cases. `p`: of the hypothesis that the
    candidate is not slower, with the `doubt` of that test, `p_faster`: not faster; only for latencies of cases."""

    name: str  # latency.STAGE.p95_ms, cost.usd, cost.ROLE.tokens
    baseline: float | None
    candidate: float | None
    n_baseline: int
    n_candidate: int
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_faster: float | None = None
    doubt: Doubt | None = None

    @property
    def difference(self) -> float | None:
        """Candidate minus baseline; None where one is unknown."""
        if self.baseline is None or self.candidate is None:
            return None
        return self.candidate - self.baseline


def is_expense(name: str) -> bool:
    """Whether a rule of the gate names a latency or a cost instead of a metric."""
    return name.startswith(("latency.", "cost."))


def latencies(baseline: Snapshot, candidate: Snapshot, *, seed: int) -> list[Expense]:
    """Compare the latency of two runs.

    Args:
        baseline: one run.
        candidate: the other.
        seed: of intervals.

    Returns:
        `latency.STAGE.p50_ms` and `p95_ms` of every stage that either run timed; the whole case comes last.
    """
    baseline_stages, candidate_stages = _stages(baseline), _stages(candidate)
    expenses = []
    for stage in sorted({*baseline_stages, *candidate_stages}, key=lambda stage: (stage == STAGE, stage)):
        times = _times(baseline, candidate) if stage == STAGE else None
        for name, rank in PERCENTILES.items():
            left, right = (_measurement(stages.get(stage), name) for stages in (baseline_stages, candidate_stages))
            compared = () if times is None else _compare(*times, rank, seed)
            expenses.append(Expense(f"latency.{stage}.{name}", left[0], right[0], left[1], right[1], *compared))
    return expenses


def _compare(
    baseline: Floats, candidate: Floats, rank: float, seed: int
) -> tuple[float, float, float, float, Doubt | None]:
    """(low, high, p, p_faster, doubt)"""
    low, high = timed.interval(baseline, candidate, rank, seed=seed)
    slower = timed.slowdown(baseline, candidate, rank, seed=seed)
    faster = timed.slowdown(candidate, baseline, rank, seed=seed)
    return low, high, slower.p, faster.p, slower.doubt


def _times(baseline: Snapshot, candidate: Snapshot) -> tuple[Floats, Floats] | None:
    one, other = (run.cases.latency_ms[~np.isnan(run.cases.latency_ms)] for run in (baseline, candidate))
    return (one, other) if len(one) and len(other) else None


def _stages(snapshot: Snapshot) -> Mapping[str, Any]:
    return snapshot.timing.get("latency") or {}


def _measurement(entry: Mapping[str, Any] | None, name: str) -> tuple[float | None, int]:
    n = int((entry or {}).get("n") or 0)
    value = (entry or {}).get(name)
    return (float(value), n) if n and value is not None else (None, n)


# --- tokens and cost ------------------------------------------------------------------------------


def costs(baseline: Snapshot, candidate: Snapshot) -> list[Expense]:
    """Compare what a case costs.

    Args:
        baseline: one run.
        candidate: the other.

    Returns:
        `cost.usd` and `cost.tokens` of a case, in total and by role (`cost.judge.usd`); empty where neither run called
        a model.
    """
    baseline_roles, candidate_roles = _by_role(baseline), _by_role(candidate)
    n_one, n_other = (run.cost.get("cases", len(run.cases)) for run in (baseline, candidate))
    return [
        Expense(f"cost.{role}.{unit}" if role else f"cost.{unit}", left, right, n_one, n_other)
        for role in sorted({*baseline_roles, *candidate_roles})
        for unit in ("usd", "tokens")
        for left, right in [(_of_role(baseline_roles, role, unit), _of_role(candidate_roles, role, unit))]
    ]


def _by_role(snapshot: Snapshot) -> dict[str, dict[str, float | None]]:
    """Role ("" for all) -> unit -> mean of a case, None where a price is unknown. Empty for runs of older versions that
    did not record the cost of cases."""
    roles, n = snapshot.cost.get("roles") or {}, snapshot.cost.get("cases") or 0
    if not roles or not n:
        return {role: {} for role in _roles(snapshot)}
    everything = list(roles.values())
    parts = {"": everything, **{role: [spent] for role, spent in roles.items()}}
    return {role: {"usd": _usd(found, n), "tokens": _tokens(found, n)} for role, found in parts.items()}


def _roles(snapshot: Snapshot) -> list[str]:
    """The roles of called models, and "" for all."""
    usage = snapshot.timing.get("usage") or {}
    parts = {role: [part for model in models.values() for part in model.values()] for role, models in usage.items()}
    roles = [role for role, found in parts.items() if any(part.get("requests") for part in found)]
    return ["", *roles] if roles else []


def _usd(parts: Sequence[Mapping[str, Any]], n: int) -> float | None:
    usd = [part["usd"] for part in parts]
    return None if None in usd else math.fsum(usd) / n


def _tokens(parts: Sequence[Mapping[str, Any]], n: int) -> float:
    return float(sum(part["input_tokens"] + part["output_tokens"] for part in parts)) / n


def _of_role(roles: Mapping[str, Mapping[str, float | None]], role: str, unit: str) -> float | None:
    """The mean in a role: 0 where the run called models in other roles only."""
    return roles[role].get(unit) if role in roles else 0.0
