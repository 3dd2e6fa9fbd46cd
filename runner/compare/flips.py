"""Questions that went from right to wrong, and back.

A question is right where the deciding main metric of the runs is 1, and wrong where its case failed. Without such a
metric, it is right where it failed at no stage (label `lost_at` is `none`). Where the two runs are of different
evaluations, or have no such label, the first common metric that separates right from wrong decides, at k where both
have the same k, else at 10. Pairs with different questions or labels do not count. Flips are ordered by weight: the
mean change of the main metrics of the case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from runner.compare.differences import CONFIDENCE, PairedRuns
from runner.compare.snapshots import Cases, Snapshot
from runner.metrics.catalogue import merge_catalogues

CUTOFF = 10
LABEL = "lost_at"
RIGHT, WRONG, UNTOLD = 1, 0, -1
States = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Flip:
    """`lost_at_…` is `failed` for a failed case. `changes` maps main metrics to their two values. `judge_noise`:
    whether only scores of a judge changed, each by less than another judgement of the same answer might; None where it
    is unknown. `texts` is empty without the rows of both runs."""

    id: str
    baseline_id: str
    kind: Literal["lost", "won"]
    weight: float
    lost_at_baseline: str | None
    lost_at_candidate: str | None
    changes: Mapping[str, tuple[float | None, float | None]]
    judge_noise: bool | None
    texts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Flips:
    """`by`: the label or metric that decides whether a case is right; None where the runs share none."""

    by: str | None
    right_in_both: int
    wrong_in_both: int
    lost: Sequence[Flip]
    won: Sequence[Flip]


def flips_of(runs: PairedRuns, metrics: Sequence[str], judged_metrics: Sequence[str]) -> Flips:
    """Find the cases whose outcome changed.

    Args:
        runs: a pair of runs.
        metrics: the comparable main metrics.
        judged_metrics: those that a judge scores.

    Returns:
        The flips, the largest changes first.
    """
    by = deciding_name(runs.baseline, runs.candidate)
    if by is None:
        return Flips(None, 0, 0, (), ())
    before = states(runs.baseline.cases, by)[runs.pairing.baseline]
    after = states(runs.candidate.cases, by)[runs.pairing.candidate]
    alike = ~(runs.pairing.new_question | runs.pairing.new_gold | runs.decided_differently(by)[1])
    lost_cases = np.flatnonzero((before == RIGHT) & (after == WRONG) & alike)
    won_cases = np.flatnonzero((before == WRONG) & (after == RIGHT) & alike)
    table = _Table(runs, metrics, judged_metrics)
    return Flips(
        by,
        int(((before == RIGHT) & (after == RIGHT) & alike).sum()),
        int(((before == WRONG) & (after == WRONG) & alike).sum()),
        table.flips(lost_cases.tolist(), "lost"),
        table.flips(won_cases.tolist(), "won"),
    )


def deciding_name(baseline: Snapshot, candidate: Snapshot) -> str | None:
    """The label or metric that decides between right and wrong in both runs."""
    catalogue = merge_catalogues([candidate.catalogue, baseline.catalogue])
    both = [catalogue.variant(name) for name in candidate.cases.values if name in baseline.cases.values]
    telling = [
        variant for variant in both if variant.metric is not None and variant.metric.tells_right and variant.is_whole
    ]
    usable = [variant for variant in telling if variant.fixed in (None, CUTOFF)]
    usable = [variant for variant in usable if not variant.is_own_k or baseline.k == candidate.k]
    if main := [variant for variant in usable if variant.is_main]:
        return min(main, key=lambda variant: variant.priority).name
    same = baseline.run.get("evaluation_type") == candidate.run.get("evaluation_type")
    if same and all(LABEL in run.cases.labels for run in (baseline, candidate)):
        return LABEL
    best = min(
        usable, key=lambda variant: (variant.is_own_k or variant.fixed is not None, variant.priority), default=None
    )
    return None if best is None else best.name


def states(cases: Cases, by: str) -> States:
    """RIGHT, WRONG or UNTOLD, int8 [n_cases]."""
    if by == LABEL:
        told = {"none": RIGHT, None: UNTOLD}
        case_states = np.array([told.get(label, WRONG) for label in cases.labels[by]], dtype=np.int8)
    else:
        values = cases.values[by]
        case_states = np.where(np.isnan(values), UNTOLD, np.where(values >= 1, RIGHT, WRONG)).astype(np.int8)
    return np.where(cases.failed, WRONG, case_states).astype(np.int8)


class _Table:
    """The values of the pairs."""

    def __init__(self, runs: PairedRuns, metrics: Sequence[str], judged_metrics: Sequence[str]) -> None:
        self._runs, self._judged_metrics = runs, frozenset(judged_metrics)
        self._values = {name: runs.values(name) for name in metrics}

    def flips(self, pairs: Sequence[int], kind: Literal["lost", "won"]) -> list[Flip]:
        found = [self._flip(pair, kind) for pair in pairs]
        return sorted(found, key=lambda flip: (-flip.weight, flip.id))

    def _flip(self, pair: int, kind: Literal["lost", "won"]) -> Flip:
        baseline, candidate = self._runs.baseline.cases, self._runs.candidate.cases
        baseline_row, candidate_row = int(self._runs.pairing.baseline[pair]), int(self._runs.pairing.candidate[pair])
        changes = {
            name: (_number(before[pair]), _number(after[pair])) for name, (before, after) in self._values.items()
        }
        changes = {name: values for name, values in changes.items() if values != (None, None)}
        sizes = [abs(after - before) for before, after in changes.values() if before is not None and after is not None]
        return Flip(
            id=candidate.ids[candidate_row],
            baseline_id=baseline.ids[baseline_row],
            kind=kind,
            weight=sum(sizes) / len(sizes) if sizes else 0.0,
            lost_at_baseline=_lost_at(baseline, baseline_row),
            lost_at_candidate=_lost_at(candidate, candidate_row),
            changes=changes,
            judge_noise=self._is_noise(changes, baseline_row, candidate_row),
        )

    def _is_noise(
        self, changes: Mapping[str, tuple[float | None, float | None]], baseline_place: int, candidate_place: int
    ) -> bool | None:
        moved = {name: values for name, values in changes.items() if values[0] != values[1]}
        if not moved.keys() <= self._judged_metrics:
            return False
        errors = [self._error(name, baseline_place, candidate_place) for name in moved]
        if None in errors or not moved:
            return None
        limits = [CONFIDENCE * error for error in errors if error is not None]
        return all(
            before is not None and after is not None and abs(after - before) <= limit
            for (before, after), limit in zip(moved.values(), limits, strict=True)
        )

    def _error(self, metric: str, one: int, other: int) -> float | None:
        """Standard error of the difference of the two scores; None for a single vote."""
        sides = ((self._runs.baseline.cases, one), (self._runs.candidate.cases, other))
        errors = [cases.noise[metric][place] for cases, place in sides if metric in cases.noise]
        known = [float(error) for error in errors if not np.isnan(error)]
        return math.hypot(*known) if len(known) == len(sides) else None


def _lost_at(cases: Cases, place: int) -> str | None:
    if cases.failed[place]:
        return "failed"
    return cases.labels[LABEL][place] if LABEL in cases.labels else None


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
