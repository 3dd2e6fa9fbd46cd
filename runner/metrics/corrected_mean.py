"""The mean that people would give to a large sample which only a judge has seen, from a part that both have.

With human scores Y and judge's scores f of the n labelled cases, judge's scores of the N others, and F the mean of all
n + N scores of the judge:

- **Yes and no from both** (Tenenbein, A double sampling scheme for estimating from binomial data with
  misclassifications, JASA 65, 1970). The share of good cases is s a + (1 - s) b: s is the share that the judge calls
  good, known from all cases; a and b are the shares that people call good among those that the judge calls good, and
  among the others. Each limit is a quantile of s a + (1 - s) b with s, a and b drawn from beta distributions, which
  count half a case more in each stratum: a bad one for the lower limit, a good one for the upper (Fay, Proschan and
  Brittain, Combining one-sided confidence procedures to make inferences in the two-sample problem, Biometrics 71, 2015,
  count a whole one). Where nobody labelled a case of a stratum, its share is anything from 0 to 1
- **Scores in between.** The mean of r = Y - w (f - F), w = cov(Y, f) / var(f) within 0..1, has the interval of
  runner.metrics.bounded over the values that r can have, -w (1 - F) to 1 + w F. The variance of F is added to the
  square of each side (the method of variance estimates recovery; Zou and Donner, Construction of confidence limits
  about effect measures, Statistics in Medicine 27, 2008)

Both estimate mean(Y) + w (F - mean(f)); w is a - b for yes and no. A t interval of the same estimate, which
prediction-powered inference takes, has no width where all labels are equal. Labelled cases that come in groups (several
answers to one question) count as the number of independent cases of runner.metrics.clusters.

All of it holds where the labelled cases are a random part of all; `random_part_p` says whether that can be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.metrics.bounded import TAIL, bounded_intervals
from runner.metrics.clusters import Clusters, effective_shares

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

SEED = 1  # of draws that stand for a distribution
DRAWS = 20_000
SEARCH_DRAWS = 4_000  # for a number of labels
SUBSETS = 1_999
MOST_TIMES = 4096  # as many labels as now
_Z = 1.959963984540054
_UNIT = np.array([(0.0, 1.0)])
_DUST = 1e-12


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A mean with its 95 % interval, and how much the judge counted in it."""

    value: float
    low: float
    high: float
    weight: float


def corrected_mean(
    human: Floats, judge: Floats, unlabelled: Floats, groups: Codes | None = None
) -> CorrectedMean | None:
    """The mean of human scores over a run, from those of labelled cases and those of the judge.

    Args:
        human: scores of the labelled cases, float64 [n] in 0..1.
        judge: the judge's scores of the same cases, float64 [n] in 0..1.
        unlabelled: the judge's scores of other cases, of which the labelled ones are like a random part, float64 [N].
        groups: numbers from 0, one a labelled case (default: each by itself).

    Returns:
        The mean with its interval; None with fewer than two groups of labelled cases or two others, which do not show
        how far a mean may be off.
    """
    sample = _sample(human, judge, unlabelled, groups)
    if sample is None:
        return None
    low, high = sample.limits(1.0, DRAWS)
    value = float(np.clip(human.mean() + sample.weight * (sample.judge_mean - judge.mean()), 0.0, 1.0))
    return CorrectedMean(value, min(low, value), max(high, value), sample.weight)


def labels_alone(human: Floats, groups: Codes | None = None) -> CorrectedMean | None:
    """The mean of the labels with its interval, without the judge.

    Args:
        human: scores of the labelled cases, float64 [n] in 0..1.
        groups: numbers from 0, one a labelled case (default: each by itself).

    Returns:
        The mean with a weight of 0; None with fewer than two groups.
    """
    if _n_groups(human, groups) < 2:
        return None
    counted = _effective_share(human, groups)
    low, high = bounded_intervals(human[:, None], _UNIT, shares_of_case=np.array([counted]))[0]
    return CorrectedMean(float(human.mean()), float(low), float(high), 0.0)


def labels_to_halve(human: Floats, judge: Floats, unlabelled: Floats, groups: Codes | None = None) -> int | None:
    """How many more labels would halve the interval of `corrected_mean`, if they were like those that are there.

    Args:
        human: scores of the labelled cases, float64 [n] in 0..1.
        judge: the judge's scores of the same cases, float64 [n] in 0..1.
        unlabelled: the judge's scores of other cases, float64 [N].
        groups: numbers from 0, one a labelled case (default: each by itself).

    Returns:
        A number of cases; None where it cannot be told, and where thousands of times as many would not do.
    """
    sample = _sample(human, judge, unlabelled, groups)
    if sample is None:
        return None
    times = _times_to_halve(lambda times: float(np.ptp(sample.limits(times, SEARCH_DRAWS))))
    return None if times is None else math.ceil((times - 1) * len(human))


def random_part_p(judge: Floats, unlabelled: Floats, groups: Codes | None = None) -> float:
    """How often a random part of all cases has a mean score of the judge as far from that of all as the labelled cases.

    Args:
        judge: the judge's scores of the labelled cases, float64 [n], n >= 1.
        unlabelled: the judge's scores of the others, float64 [N].
        groups: numbers from 0, one a labelled case (default: each by itself).

    Returns:
        Twice the smaller tail among `SUBSETS` random parts, at most 1.
    """
    every, random = np.concatenate([judge, unlabelled]), np.random.default_rng(SEED)
    means = [random.choice(every, len(judge), replace=False, shuffle=False).mean() for _ in range(SUBSETS)]
    deviations = np.array(means) - every.mean()
    seen = (judge.mean() - every.mean()) * math.sqrt(_effective_share(judge, groups))
    tail = min(np.sum(deviations >= seen - _DUST), np.sum(deviations <= seen + _DUST))
    return min(1.0, 2 * (1 + int(tail)) / (SUBSETS + 1))


@dataclass(frozen=True, slots=True)
class _Strata:
    """Yes and no: labelled cases by what the judge said, each counted as a share of an independent case."""

    good: tuple[float, float]  # labelled good where the judge says yes, no
    bad: tuple[float, float]
    judged: tuple[float, float]  # cases that nobody labelled: yes, no
    n_labelled: tuple[float, float]  # whole cases: yes, no
    weight: float

    @classmethod
    def of(cls, human: Floats, judge: Floats, unlabelled: Floats, groups: Codes | None) -> _Strata:
        strata = [human[judge == said] for said in (1.0, 0.0)]
        shares = [float(part.mean()) if len(part) else math.nan for part in strata]
        residuals = human - np.where(judge == 1.0, *shares)
        counted = _effective_share(residuals, groups)
        good, bad = ([counted * float((part == kind).sum()) for part in strata] for kind in (1.0, 0.0))
        judged = float(unlabelled.sum()), float((1 - unlabelled).sum())
        weight = 0.0 if math.isnan(shares[0] - shares[1]) else shares[0] - shares[1]
        return cls((good[0], good[1]), (bad[0], bad[1]), judged, (float(len(strata[0])), float(len(strata[1]))), weight)

    @property
    def judge_mean(self) -> float:
        return (self.judged[0] + self.n_labelled[0]) / (sum(self.judged) + sum(self.n_labelled))

    def limits(self, times: float, draws: int) -> tuple[float, float]:
        """With `times` as many labels."""
        random = np.random.default_rng(SEED)
        yes, no = (random.standard_gamma(j + times * n + 0.5, draws) for j, n in self._judged_and_labelled())
        says_yes = yes / (yes + no)
        low, high = np.zeros(draws), np.ones(draws)
        for said, good, bad in zip((says_yes, 1 - says_yes), self.good, self.bad, strict=True):
            is_good, is_bad, beside = (random.standard_gamma(k, draws) for k in (times * good, times * bad, 0.5))
            total = is_good + is_bad + beside
            low += said * is_good / total
            high -= said * is_bad / total
        return float(np.quantile(low, TAIL)), float(np.quantile(high, 1 - TAIL))

    def _judged_and_labelled(self) -> list[tuple[float, float]]:
        return list(zip(self.judged, self.n_labelled, strict=True))


@dataclass(frozen=True, slots=True)
class _Residuals:
    """Scores in between: what the judge leaves of the human scores. `counted`: share of an independent case."""

    values: Floats
    weight: float
    judge_mean: float
    judge_variance: float
    n_unlabelled: int
    counted: float

    @classmethod
    def of(cls, human: Floats, judge: Floats, unlabelled: Floats, groups: Codes | None) -> _Residuals:
        every = np.concatenate([judge, unlabelled])
        variance = float(judge.var())
        covariance = float(((human - human.mean()) * (judge - judge.mean())).mean())
        weight = min(max(covariance / variance, 0.0), 1.0) if variance > _DUST else 0.0
        values = human - weight * (judge - every.mean())
        counted = _effective_share(values, groups)
        return cls(values, weight, float(every.mean()), float(every.var()), len(unlabelled), counted)

    def limits(self, times: float, draws: int) -> tuple[float, float]:
        """With `times` as many labels; nothing is drawn."""
        ends = np.array([(-self.weight * (1 - self.judge_mean), 1 + self.weight * self.judge_mean)])
        low, high = bounded_intervals(self.values[:, None], ends, shares_of_case=np.array([times * self.counted]))[0]
        middle = float(self.values.mean())
        judged = _Z**2 * self.weight**2 * self.judge_variance / (self.n_unlabelled + times * len(self.values))
        below, above = (math.sqrt(side**2 + judged) for side in (middle - low, high - middle))
        return max(middle - below, 0.0), min(middle + above, 1.0)


def _sample(human: Floats, judge: Floats, unlabelled: Floats, groups: Codes | None) -> _Strata | _Residuals | None:
    """None with fewer than two groups or two other cases."""
    if _n_groups(human, groups) < 2 or len(unlabelled) < 2:
        return None
    is_yes_or_no = all(np.isin(values, (0.0, 1.0)).all() for values in (human, judge, unlabelled))
    return (_Strata if is_yes_or_no else _Residuals).of(human, judge, unlabelled, groups)


def _n_groups(values: Floats, groups: Codes | None) -> int:
    return len(values) if groups is None else len(np.unique(groups))


def _effective_share(values: Floats, groups: Codes | None) -> float:
    """How much of an independent case each labelled case counts for."""
    clusters = None if groups is None else Clusters.of(groups.tolist())
    return 1.0 if clusters is None else float(effective_shares(values[:, None], clusters)[0])


def _times_to_halve(width: Callable[[float], float]) -> float | None:
    """The factor of labels that halves a falling width, to 1 %."""
    target, low, high = width(1.0) / 2, 1.0, 2.0
    while width(high) > target:
        low, high = high, high * 2
        if high > MOST_TIMES:
            return None
    while high - low > 0.01 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if width(middle) > target else (low, middle)
    return high
