"""How the cases of a run were decided: which are undecided, and by a rule of which kind the others were.

A metric may leave a case undecided (`Metric.decided_by`): its label names the reason, and it has no value. Left out, it
would favour the run that is harder to decide; so it counts as the middle of the range in comparisons, and every pair
stays in. Pairs that two runs decided by rules of different kinds say nothing about the runs and are left out.
"""

from __future__ import annotations

import numpy as np

from runner.compare.pairing import Pairing
from runner.compare.snapshots import Bools, Cases
from runner.metrics.metric import Metric
from runner.metrics.statistics import Floats


def undecided(cases: Cases, metric: Metric | None, name: str) -> Bools:
    """bool [n_cases]: the cases whose value of the metric `name` is undecided."""
    values, labels = cases.values.get(name), _labels(cases, metric)
    if values is None or labels is None:
        return np.zeros(len(cases), dtype=bool)
    is_labelled = np.fromiter((label is not None for label in labels), dtype=bool, count=len(cases))
    flagged = cases.unscored.get(name, np.zeros(len(cases), dtype=bool))
    return np.asarray(np.isnan(values) & is_labelled & ~flagged & ~cases.failed)


def with_undecided(cases: Cases, metric: Metric | None, name: str) -> Floats:
    """The values of a metric that the cases have, float64 [n_cases]; undecided cases have the middle of its range."""
    values = cases.values[name]
    if metric is None or not metric.decided_by:
        return values
    return np.where(undecided(cases, metric, name), sum(metric.range) / 2, values)


def decided_differently(
    pairing: Pairing, baseline: Cases, candidate: Cases, metric: Metric | None
) -> tuple[Bools, Bools]:
    """Args:
        pairing: of the cases of two runs.
        baseline: cases of one run.
        candidate: cases of the other run.
        metric: that was decided.

    Returns:
        bool [n_pairs] each: the pairs whose rules could differ, and those of them whose rules are of different kinds.
    """
    one, other = (_kinds(cases, metric) for cases in (baseline, candidate))
    if metric is None or one is None or other is None:
        return np.zeros(len(pairing), dtype=bool), np.zeros(len(pairing), dtype=bool)
    before, after = one[pairing.baseline], other[pairing.candidate]
    both = (before != "") & (after != "")
    return both, both & (before != after)


def _kinds(cases: Cases, metric: Metric | None) -> np.typing.NDArray[np.str_] | None:
    """The kind of rule by which each case was decided; "" where it goes with any. None without such a label."""
    labels = _labels(cases, metric)
    if metric is None or labels is None:
        return None
    return np.array([metric.rules.get(label, label) if label is not None else "" for label in labels], dtype=np.str_)


def _labels(cases: Cases, metric: Metric | None) -> list[str | None] | None:
    labels = None if metric is None else cases.labels.get(metric.decided_by)
    return None if labels is None else list(labels)
