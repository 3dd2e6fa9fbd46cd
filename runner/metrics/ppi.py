"""The mean that people would give to a large sample which only a judge has seen, from a part that both have.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan, Zrnic, Science 382, 2023), with the
weight of the judge tuned for the narrowest interval (PPI++; Angelopoulos, Duchi, Zrnic, 2023). With human
scores Y and judge's scores f of the n labelled cases, and judge's scores f' of the N others:

    mean = mean(Y) + w (mean(f') - mean(f))
    variance = var(mean(Y) - w mean(f)) + w² var(mean(f'))
    w = cov(mean(Y), mean(f)) / (var(mean(f)) + var(mean(f')))

w = 1 is the estimator of 2023, w = 0 the labels alone. For independent cases var(mean) is var / n and w is that
of PPI++, but for the variance of f, which PPI++ takes over both samples together. Labelled cases that come in
groups (several answers to one question) are not independent: var(mean) is then G/(G-1) times the sum of squared
totals of deviations over the G groups, over n². The interval takes the quantile of Student's t with G-1 degrees
of freedom where the sources take the normal one, which is too narrow for a few dozen labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A mean with its interval, and how much the judge counted in it."""

    value: float
    low: float
    high: float
    weight: float


def corrected_mean(
    human: Floats,
    judge: Floats,
    unlabelled: Floats,
    groups: Codes | None = None,
    weight: float | None = None,
    confidence: float = 0.95,
) -> CorrectedMean | None:
    """The mean of human scores over a run, from those of labelled cases and those of the judge.

    Args:
        human: scores of the labelled cases, float64 [n].
        judge: the judge's scores of the same cases, float64 [n].
        unlabelled: the judge's scores of other cases from where the labelled ones come from, float64 [N].
        groups: numbers from 0, one a labelled case (default: each by itself).
        weight: w above (default: tuned).
        confidence: of the interval.

    Returns:
        The mean with its interval; None with fewer than two groups of labelled cases or two others, which do not show
        how far a mean may be off.
    """
    from scipy.stats import t

    sample = _Sample.of(human, judge, unlabelled, groups)
    if sample is None:
        return None
    if weight is None:
        judge_variance = sample.covariance(sample.judge, sample.judge)
        total = judge_variance + sample.unlabelled_variance
        weight = sample.covariance(sample.human, sample.judge) / total if judge_variance > 0 else 0.0
    value = float(human.mean() + weight * (unlabelled.mean() - judge.mean()))
    residuals = sample.human - weight * sample.judge
    variance = sample.covariance(residuals, residuals) + weight**2 * sample.unlabelled_variance
    margin = float(t.ppf((1 + confidence) / 2, sample.n_groups - 1)) * math.sqrt(variance)
    return CorrectedMean(value, value - margin, value + margin, weight)


def labels_to_halve(human: Floats, judge: Floats, unlabelled: Floats, groups: Codes | None = None) -> int | None:
    """How many more labels would halve the interval of `corrected_mean`. With m times as many groups, var(mean(Y)),
    cov(mean(Y), mean(f)) and var(mean(f)) are 1/m of what they are, the others stay; the weight is tuned again.

    Args:
        human: scores of the labelled cases, float64 [n].
        judge: the judge's scores of the same cases, float64 [n].
        unlabelled: the judge's scores of other cases, float64 [N].
        groups: numbers from 0, one a labelled case (default: each by itself).

    Returns:
        A number of cases; None where it cannot be told.
    """
    from scipy.stats import t

    sample = _Sample.of(human, judge, unlabelled, groups)
    if sample is None:
        return None
    human_variance = sample.covariance(sample.human, sample.human)
    covariance = sample.covariance(sample.human, sample.judge)
    judge_variance = sample.covariance(sample.judge, sample.judge)

    def margin(times: float) -> float:
        total = judge_variance / times + sample.unlabelled_variance
        gain = (covariance / times) ** 2 / total if judge_variance > 0 else 0.0
        return float(t.ppf(0.975, times * sample.n_groups - 1)) * math.sqrt(max(human_variance / times - gain, 0.0))

    target = margin(1.0) / 2
    if target <= 0:
        return None
    low, high = 1.0, 2.0
    while margin(high) > target:
        low, high = high, high * 2
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if margin(middle) > target else (low, middle)
    return math.ceil((high - 1) * len(human))


@dataclass(frozen=True, slots=True)
class _Sample:
    """The labelled cases by group, and the variance of the mean of the others. `human`, `judge`: sums of deviations
    from the mean of all, one a group, float64 [n_groups]."""

    n_cases: int
    n_groups: int
    human: Floats
    judge: Floats
    unlabelled_variance: float

    @classmethod
    def of(cls, human: Floats, judge: Floats, unlabelled: Floats, groups: Codes | None) -> _Sample | None:
        """None with fewer than two groups or two other cases."""
        codes = np.arange(len(human)) if groups is None else groups
        n_groups = len(np.unique(codes))
        if n_groups < 2 or len(unlabelled) < 2:
            return None
        unlabelled_variance = float(np.var(unlabelled, ddof=1)) / len(unlabelled)
        return cls(len(human), n_groups, _totals(human, codes), _totals(judge, codes), unlabelled_variance)

    def covariance(self, first: Floats, second: Floats) -> float:
        """The covariance of two means, from their totals by group."""
        return self.n_groups / (self.n_groups - 1) / self.n_cases**2 * float(first @ second)


def _totals(values: Floats, groups: Codes) -> Floats:
    """Sums of deviations from the mean of all, one a group."""
    return np.asarray(np.bincount(groups, values - values.mean()), dtype=np.float64)
