"""Two runs over the same cases: is the difference of a metric more than chance?

A metric has a value v and a weight w (mostly 1) for each case and run. Its mean is sum(w v) / sum(w), and the
difference is the mean of the candidate minus that of the baseline.

One test decides: swapping the two results of cases, or of whole clusters of them (runner.metrics.swaps). p, the
interval and the detectable difference are three readings of it.

- p: of that test. Where cases weigh differently, value and weight are swapped together
- interval: the shifts of the differences that the same swaps do not reject, and Hall's limits, which correct for
  skewness (On the removal of skewness by transformation, Journal of the Royal Statistical Society B 54, 1992); the
  outer ends of both. A sample says nothing of what it did not draw: where fewer than 20 cases differ, or the skewness
  of the mean is above .25, the ends are also at least those of runner.metrics.bounded, between minus and plus the
  largest difference of a case (the range of the metric where fewer than 8 differ). Of right and wrong answers it is
  this one alone, which excludes 0 where McNemar's test has p < .05. For whole clusters Hall's limits are left out, and
  the bounded interval is that of fewer cases (runner.metrics.clusters). Last, the interval excludes 0 exactly if p is
  below .05. Where cases weigh differently, it is that of d_i = difference + n (influence of the case)
- detectable: the difference that this test finds in four of five tries (runner.metrics.power)
- effect size: the mean over the standard deviation of the differences of cases (Cohen's d_z)

The interval covers in at least 93 % of samples, unless differences larger than any that was drawn are that rare that a
sample may miss them: up to 3 / n of the cases. p tests whether the change does nothing to any case; where many small
gains balance few large losses, it is below .05 in up to 11 % of small samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.metrics import bounded, statistics
from runner.metrics.clusters import FEWEST_CLUSTERS, Clusters, effective_shares, t_quantile
from runner.metrics.power import Power
from runner.metrics.statistics import Floats
from runner.metrics.swaps import ALPHA, MANY, ROUNDING, SWAPS, SwapTest, almost, differ_alike, p_of_draws, swap_test

FEWEST = 10  # pairs that can tell something
FEW_DIFFER = 20  # cases, below which the interval allows for what was not drawn
NO_SIZE = 8  # cases that differ, below which they do not say how large differences are
SKEWED = 0.25  # skewness of a mean above which the same applies
_BLOCK = 1 << 22  # signs held at once


@dataclass(frozen=True, slots=True)
class PairedResult:
    """One metric over `n` cases that both runs scored. `low` and `high` are None where the interval is unknown:
    differences that are all equal, of a metric whose range is unknown. `effect_size` is None where it is undefined: for
    one case, where all differences are equal, and where cases weigh differently. `n_clusters`: None where the cases
    are independent; `widening`: how much wider the clusters make the interval."""

    n: int
    baseline: float
    candidate: float
    difference: float
    low: float | None
    high: float | None
    p: float
    effect_size: float | None
    power: Power
    n_clusters: int | None = None
    widening: float = 1.0

    @property
    def differs(self) -> bool:
        """Whether any case differs."""
        return self.power.differing > 0

    @property
    def is_enough(self) -> bool:
        """Whether there are enough cases, and clusters of them, to tell anything."""
        return self.n >= FEWEST and (self.n_clusters is None or self.n_clusters >= FEWEST_CLUSTERS)

    def detectable(self, tests: int = 1) -> float | None:
        """The smallest difference that is found in four of five tries, where p is adjusted for `tests`; None where even
        the largest is not."""
        return self.power.detectable(tests)

    def is_within(self, margin: float) -> bool:
        """Whether the interval lies within the margin around 0."""
        return self.low is not None and self.high is not None and -margin <= self.low and self.high <= margin


def compare_means(
    baseline: Floats,
    candidate: Floats,
    *,
    seed: int,
    ranges: Floats | None = None,
    clusters: Clusters | None = None,
) -> list[PairedResult]:
    """Compare many metrics over the same cases.

    Args:
        baseline: float64 [n_cases, n_metrics], finite, n_cases >= 1.
        candidate: the same for the other run.
        seed: of tests that draw.
        ranges: lowest and highest value of a metric, float64 [n_metrics, 2]; infinite where unknown (default: all are).
        clusters: of cases that depend on each other (default: none do).

    Returns:
        One result a metric, in order.
    """
    differences = candidate - baseline
    spans = _spans(baseline, candidate, ranges)
    units = _Units.of(differences, clusters)
    is_yes_no = np.zeros(len(spans), dtype=bool) if clusters is not None else differ_alike(differences)
    test = swap_test(units.totals, units.sizes, seed=seed, without_interval=is_yes_no)
    intervals = _intervals(units, test, spans, is_yes_no)
    return [
        PairedResult(
            n=len(differences),
            baseline=statistics.mean(baseline[:, column]) or 0.0,
            candidate=statistics.mean(candidate[:, column]) or 0.0,
            difference=units.means[column],
            low=_end(intervals[column, 0]),
            high=_end(intervals[column, 1]),
            p=float(test.p[column]),
            effect_size=_effect_size(differences[:, column], units.means[column]),
            power=units.power(column, float(spans[column]), bool(is_yes_no[column])),
            n_clusters=None if clusters is None else clusters.n,
            widening=units.widening(column),
        )
        for column in range(differences.shape[1])
    ]


def compare_weighted(
    baseline: Floats,
    candidate: Floats,
    baseline_weights: Floats,
    candidate_weights: Floats,
    *,
    seed: int,
    ends: tuple[float, float] = (-math.inf, math.inf),
    clusters: Clusters | None = None,
) -> PairedResult | None:
    """Compare one metric whose cases weigh differently, perhaps in each run. A case counts where its weight is above 0
    in either run.

    Args:
        baseline: float64 [n_cases].
        candidate: float64 [n_cases].
        baseline_weights: float64 [n_cases], >= 0.
        candidate_weights: float64 [n_cases], >= 0.
        seed: of tests that draw.
        ends: lowest and highest value of the metric, where they are known.
        clusters: of cases that depend on each other (default: none do).

    Returns:
        The result; None when one of the runs has no case with a weight.
    """
    has_weight = (baseline_weights > 0) | (candidate_weights > 0)
    weights = [baseline_weights[has_weight], candidate_weights[has_weight]]
    if any(weight.sum() == 0 for weight in weights):
        return None
    sums = [
        np.column_stack([value[has_weight] * weight, weight])
        for value, weight in zip((baseline, candidate), weights, strict=True)
    ]
    parts = np.hstack(sums)  # [n, 4]: w v and w of the baseline, then of the candidate
    sides = [value[has_weight][weight > 0] for value, weight in zip((baseline, candidate), weights, strict=True)]
    is_bounded = bool(bounded.fits(np.concatenate(sides)[:, None], np.array([ends]))[0])
    inside = None if clusters is None else clusters.of_cases(has_weight)
    return _compare_ratios(parts, ends if is_bounded else None, inside, seed)


def _compare_ratios(
    parts: Floats, ends: tuple[float, float] | None, clusters: Clusters | None, seed: int
) -> PairedResult:
    """Compare the ratios of sums of two runs; parts float64 [n_cases, 4]."""
    total, n = parts.sum(axis=0), len(parts)
    difference, influences = float(_ratio_difference(total[None])[0]), _influences(parts)
    units = _Units.of((difference + influences)[:, None], clusters, _n_moved(parts, clusters))
    test = swap_test(units.totals, units.sizes, seed=seed)
    test.p[0] = _weighted_p(parts if clusters is None else clusters.totals(parts), difference, seed)
    span = math.inf if ends is None else ends[1] - ends[0]
    beside = None if ends is None else _case_beside(parts, influences, ends, units)
    low, high = _intervals(units, test, np.array([span]), np.array([False]), beside)[0]
    return PairedResult(
        n=n,
        baseline=float(total[0] / total[1]),
        candidate=float(total[2] / total[3]),
        difference=difference,
        low=_end(low),
        high=_end(high),
        p=float(test.p[0]),
        effect_size=None,
        power=units.power(0, span, False),
        n_clusters=None if clusters is None else clusters.n,
        widening=units.widening(0),
    )


def holm(chances: Sequence[float]) -> list[float]:
    """Adjust p values for their number (Holm, A simple sequentially rejective multiple test procedure, 1979).

    Args:
        chances: p values.

    Returns:
        Adjusted p values in the same order; never below p, at most 1.
    """
    adjusted = [0.0] * len(chances)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=lambda place: chances[place])):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[place]))
        adjusted[place] = highest
    return adjusted


def _end(end: float) -> float | None:
    return None if not math.isfinite(end) else float(end)


def _effect_size(differences: Floats, mean: float) -> float | None:
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return mean / spread if spread > ROUNDING * float(np.abs(differences).max()) else None


def _spans(baseline: Floats, candidate: Floats, ranges: Floats | None) -> Floats:
    """The largest difference that a case can have, float64 [n_metrics]; infinite where it is unknown."""
    if ranges is None:
        return np.full(baseline.shape[1], np.inf)
    fits = bounded.fits(baseline, ranges) & bounded.fits(candidate, ranges)
    return np.where(fits, ranges[:, 1] - ranges[:, 0], np.inf)


# --- what is swapped ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Units:
    """Cases or clusters of them: the `totals` of their differences, float64 [n_units, n_columns], and their `sizes` in
    cases, None where each is one. `differing`: how many differ, by column."""

    differences: Floats
    totals: Floats
    sizes: Floats | None
    clusters: Clusters | None
    means: list[float]
    differing: NDArray[np.intp]
    deviations: Floats  # of the totals from what the mean would give, float64 [n_units, n_columns]

    @classmethod
    def of(cls, differences: Floats, clusters: Clusters | None, differing: int | None = None) -> _Units:
        """`differing`: of one column, where the differences do not say it."""
        totals = differences if clusters is None else clusters.totals(differences)
        sizes = None if clusters is None else clusters.sizes
        means = [statistics.mean(column) or 0.0 for column in differences.T]
        expected = np.array(means) * (1.0 if sizes is None else sizes[:, None])
        count = (totals != 0).sum(axis=0) if differing is None else np.array([differing])
        return cls(differences, totals, sizes, clusters, means, count, totals - expected)

    @property
    def skewness(self) -> Floats:
        """Of the mean difference, float64 [n_columns]; 9 where all units are equal."""
        squares = (self.deviations**2).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(squares > 0, np.abs((self.deviations**3).sum(axis=0)) / squares**1.5, 9.0)

    def error(self, column: int) -> float:
        """The standard error of the mean difference."""
        n, n_units = len(self.differences), len(self.totals)
        squares = float((self.deviations[:, column] ** 2).sum())
        return math.sqrt(squares * n_units / max(1, n_units - 1)) / n

    def widening(self, column: int) -> float:
        """The standard error over that of as many independent cases."""
        if self.clusters is None:
            return 1.0
        n = len(self.differences)
        independent = float(self.differences[:, column].std(ddof=1)) / math.sqrt(n)
        return self.error(column) / independent if independent > 0 else 1.0

    def power(self, column: int, span: float, is_yes_no: bool) -> Power:
        """What the test finds."""
        n, n_units = len(self.differences), len(self.totals)
        amounts, differing = np.abs(self.totals[:, column]), int(self.differing[column])
        largest = span if math.isfinite(span) else float(np.abs(self.differences[:, column]).max())
        total = float(amounts.sum())  # 0 where only weights differ, of values that are all 0
        size = total / differing * n_units / n if total > 0 else largest
        return Power(n_units, differing, size, self.error(column), largest, is_yes_no or not differing)


# --- intervals ------------------------------------------------------------------------------------


def _intervals(
    units: _Units, test: SwapTest, spans: Floats, is_yes_no: NDArray[np.bool_], beside: Floats | None = None
) -> Floats:
    """(low, high) of the mean difference of each column, float64 [n_columns, 2]; infinite or NaN where it is unknown.
    `beside`: limits of the bounded interval of one column, where they are not those of the differences."""
    ends = np.column_stack([test.low, test.high])
    n_units = len(units.totals)
    takes_bounded = (units.differing < FEW_DIFFER) | (units.skewness > SKEWED) | is_yes_no
    takes_bounded |= n_units < FEWEST_CLUSTERS
    hall = ~takes_bounded if units.clusters is None else np.zeros_like(takes_bounded)
    if hall.any():
        ends[hall] = _hull(ends[hall], _hall_limits(units.differences[:, hall]))
    if takes_bounded.any():
        limits = _bounded_limits(units, spans, takes_bounded) if beside is None else beside[None]
        ends[takes_bounded] = _hull(ends[takes_bounded], limits, outer_unknown=False)
    ends[:, 0], ends[:, 1] = np.maximum(ends[:, 0], -spans), np.minimum(ends[:, 1], spans)
    return _agreeing(ends, test, np.array(units.means), np.abs(units.differences).max(axis=0))


def _hull(ends: Floats, limits: Floats, *, outer_unknown: bool = True) -> Floats:
    """The outer ends of both; an end that no swap rejects counts only with `outer_unknown`."""
    if not outer_unknown:
        ends = np.where(np.isinf(ends), np.nan, ends)
    return np.column_stack([np.fmin(ends[:, 0], limits[:, 0]), np.fmax(ends[:, 1], limits[:, 1])])


def _hall_limits(differences: Floats) -> Floats:
    """m - T(t) s / sqrt(n), T(x) = 3 sqrt(n) / g (cbrt(1 + g / sqrt(n) (x - g / (6 sqrt(n)))) - 1), for the skewness
    g and the quantiles t; float64 [n_columns, 2]."""
    n = len(differences)
    mean, spread, root = differences.mean(axis=0), differences.std(axis=0, ddof=1), math.sqrt(n)
    cubes = ((differences - mean) ** 3).mean(axis=0)
    skewness = cubes / spread**3 * n * n / ((n - 1) * (n - 2))
    skewness = np.where(np.abs(skewness) > 1e-6, skewness, 1e-6)
    limits = []
    for quantile in (t_quantile(1 - ALPHA / 2, n - 1), -t_quantile(1 - ALPHA / 2, n - 1)):
        turned = np.cbrt(1 + skewness / root * (quantile - skewness / (6 * root))) - 1
        limits.append(mean - 3 * root / skewness * turned * spread / root)
    return np.column_stack(limits)


def _bounded_limits(units: _Units, spans: Floats, columns: NDArray[np.bool_]) -> Floats:
    """Bounded intervals between minus and plus the largest difference of a case, or the largest that there can be where
    few differ; NaN where that is unknown and all differences are equal."""
    values = units.differences[:, columns]
    largest = np.abs(values).max(axis=0)
    is_few = (units.differing[columns] < NO_SIZE) & np.isfinite(spans[columns])
    largest = np.where(is_few, spans[columns], largest)
    is_unknown = np.isinf(spans[columns]) & (values == values[0]).all(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    shares = None if units.clusters is None else effective_shares(values, units.clusters)
    limits = bounded.bounded_intervals(values, np.column_stack([-largest, largest]), None, shares)
    limits[is_unknown] = np.nan
    return limits


def _agreeing(ends: Floats, test: SwapTest, means: Floats, largest: Floats) -> Floats:
    """The intervals, which hold their mean, and hold 0 exactly if p is at least ALPHA. Where p is smaller and the
    outer interval holds 0, the end beside it is that of the swaps."""
    low, high = np.minimum(ends[:, 0], means), np.maximum(ends[:, 1], means)
    least = ROUNDING * largest
    finds = test.p < ALPHA
    low = np.where(finds & (means > 0) & (low <= 0), np.minimum(np.maximum(test.low, least), means), low)
    high = np.where(finds & (means < 0) & (high >= 0), np.maximum(np.minimum(test.high, -least), means), high)
    low, high = np.where(finds, low, np.minimum(low, 0.0)), np.where(finds, high, np.maximum(high, 0.0))
    return np.column_stack([low, high])


# --- cases that weigh differently -----------------------------------------------------------------


def _influences(parts: Floats) -> Floats:
    """n times the influence of each case on the difference of the two ratios, float64 [n_cases]; parts float64
    [n_cases, 4]."""
    total = parts.sum(axis=0)
    baseline, candidate = total[0] / total[1], total[2] / total[3]
    after = (parts[:, 2] - candidate * parts[:, 3]) / total[3]
    return np.asarray(len(parts) * (after - (parts[:, 0] - baseline * parts[:, 1]) / total[1]))


def _case_beside(parts: Floats, influences: Floats, ends: tuple[float, float], units: _Units) -> Floats:
    """The bounded interval of a difference of ratios whose values lie within a range, float64 [2]. To first order a
    case moves it by its influence. One more case moves it furthest with the ends of the range and the largest
    weights."""
    total, n, (lowest, highest) = parts.sum(axis=0), len(parts), ends
    baseline, candidate = total[0] / total[1], total[2] / total[3]
    before, after = n * parts[:, 1].max() / total[1], n * parts[:, 3].max() / total[3]
    furthest = np.array(
        [
            after * (lowest - candidate) - before * (highest - baseline),
            after * (highest - candidate) - before * (lowest - baseline),
        ]
    )
    values = influences[:, None]
    shares = None if units.clusters is None else effective_shares(values, units.clusters)
    limits = bounded.bounded_intervals(values, furthest[None], None, shares)
    return np.asarray(candidate - baseline + limits[0])


def _n_moved(parts: Floats, clusters: Clusters | None) -> int:
    """How many cases, or clusters, have another value or weight in the other run."""
    moved = (parts[:, :2] != parts[:, 2:]).any(axis=1)
    return int(moved.sum()) if clusters is None else len(np.unique(clusters.codes[moved]))


def _weighted_p(parts: Floats, observed: float, seed: int) -> float:
    """Swapping the two results of a case swaps value and weight together."""
    both, change = parts[:, :2] + parts[:, 2:], parts[:, 2:] - parts[:, :2]
    total, changed_rows = both.sum(axis=0), change[(change != 0).any(axis=1)]
    if len(changed_rows) > MANY:  # to first order, a swap moves the difference by 2 (v - R w) / W of its case
        steps = 2 * (changed_rows[:, 0] - total[0] / total[1] * changed_rows[:, 1]) / total[1]
        error = math.sqrt(float((steps**2).sum()))
        return math.erfc(abs(observed) / error / math.sqrt(2)) if error > 0 else 1.0
    if not len(changed_rows):
        return 1.0
    at_least = np.zeros(1, dtype=np.int64)
    for signs in _signs(len(changed_rows), SWAPS, seed):
        shift = signs @ changed_rows
        swapped = _ratio_difference(np.hstack([total - shift, total + shift]) / 2)
        at_least += int((~(np.abs(swapped) < almost(abs(observed)))).sum())
    if changed_rows[:, 1].any():  # weights are swapped as well: the statistic is no sum, and no limit of sums holds
        return float((at_least[0] + 1) / (SWAPS + 1))
    return float(p_of_draws(at_least, change[:, :1].sum(axis=0), (change[:, :1] ** 2).sum(axis=0))[0])


def _ratio_difference(sums: Floats) -> Floats:
    """float64 [n, 4] to [n]; NaN where a run has no weight."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[:, 2] / sums[:, 3] - sums[:, 0] / sums[:, 1])


def _signs(n_cases: int, rows: int, seed: int) -> Iterator[Floats]:
    """Random signs in blocks, float64 [block, n_cases] of -1 and 1, `rows` rows in all."""
    random = np.random.default_rng(seed)
    step = max(1, _BLOCK // max(1, n_cases))
    for start in range(0, rows, step):
        shape = (min(step, rows - start), n_cases)
        yield (random.integers(0, 2, shape, dtype=np.int8) * 2 - 1).astype(np.float64)
