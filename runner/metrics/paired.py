"""Two runs over the same cases: is the difference of a metric more than chance?

A metric has a value v and a weight w (mostly 1) for each case and run. Its mean is sum(w v) / sum(w), and the
difference is the mean of the candidate minus that of the baseline.

- interval: if the range of the values is known, that of runner.metrics.bounded, over the differences of cases, or over
  their influences on a difference of two ratios if cases weigh differently in the two runs. Otherwise a BCa bootstrap
  that draws cases with both of their values (runner.metrics.statistics). For 5,000 cases or more of which more than
  1,000 differ, the quantiles of the bootstrap are computed from its variance and skewness (Cornish and Fisher, 1937;
  DiCiccio and Efron, 1992), which is closer to them than 2,000 resamples are
- p: if the change made no difference, the two results of each case could be swapped (Fisher's randomisation test,
  two-sided). All swaps are tried for up to 12 cases that differ. If all of these differ by the same amount (right or
  wrong, for example), p is that of the binomial distribution (McNemar, 1947). Otherwise, and whenever cases weigh
  differently, p = (b + 1) / (n + 1) over n random swaps, b of which give a difference at least as large (Phipson and
  Smyth, 2010). If none does, 2 exp(-S^2 / 2 sum d^2), for the sum S of the differences d, is an upper limit of p over
  all swaps (Hoeffding, 1963), and the smaller of the two is taken, so that p stays useful after an adjustment for many
  comparisons. If more than 1,000 cases differ, p is that of the normal distribution with the exact variance of the
  swapped sums. This distribution is symmetric, so the error is of order 1/n, or 1/sqrt(n) if differences have few sizes
- effect size: the mean over the standard deviation of the differences of cases (Cohen's d_z)
- detectable: the difference that a test at .05 would find with a power of 80 % (2.80 standard errors)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from runner.metrics import bounded, statistics
from runner.metrics.statistics import Floats

FEWEST = 10  # pairs that can tell something
SWAPS = 9_999
ALL_SWAPS = 12  # cases that differ, up to which all ways of swapping are tried
MANY = 1_000  # cases that differ, above which the normal distribution is close enough
LARGE = 5_000  # cases from which on nothing is resampled where that can be told without
ROUNDING = 1e-9  # of what a number is made of, below which it is 0
_BLOCK = 1 << 22  # signs held at once
_NORMAL = NormalDist()
POWER = _NORMAL.inv_cdf(0.975) + _NORMAL.inv_cdf(0.8)


@dataclass(frozen=True, slots=True)
class PairedResult:
    """One metric over `n` cases that both runs scored. `low` and `high` are None where the interval is unknown:
    differences that are all equal, of a metric whose range is unknown. `effect_size` and `detectable` are None where
    they are undefined: for one case, or where all differences are equal. Where cases weigh differently, there is no
    `effect_size`."""

    n: int
    baseline: float
    candidate: float
    difference: float
    low: float | None
    high: float | None
    p: float
    effect_size: float | None
    detectable: float | None

    @property
    def differs(self) -> bool:
        """Whether any case differs."""
        return self.difference != 0 or self.detectable is not None

    @property
    def leaves_out_zero(self) -> bool:
        """Whether the interval excludes 0. True also for an unknown interval."""
        return self.low is None or self.high is None or not self.low <= 0 <= self.high

    def is_within(self, margin: float) -> bool:
        """Whether the interval lies within the margin around 0."""
        return self.low is not None and self.high is not None and -margin <= self.low and self.high <= margin


def compare_means(
    baseline: Floats, candidate: Floats, *, seed: int, ranges: Floats | None = None
) -> list[PairedResult]:
    """Compare many metrics over the same cases.

    Args:
        baseline: float64 [n_cases, n_metrics], finite, n_cases >= 1.
        candidate: the same for the other run.
        seed: of tests that draw.
        ranges: lowest and highest value of a metric, float64 [n_metrics, 2]; infinite where unknown (default: all are).

    Returns:
        One result a metric, in order.
    """
    differences = candidate - baseline
    intervals = difference_intervals(differences, seed=seed, ranges=_of_differences(baseline, candidate, ranges))
    chances = swap_p(differences, seed=seed)
    return [
        _summarise(
            baseline[:, column], candidate[:, column], differences[:, column], intervals[column], chances[column]
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
    total = parts.sum(axis=0)
    difference = _ratio_difference(total[None])[0]
    low, high, error = _weighted_interval(parts, float(difference), seed)
    sides = [value[has_weight][weight > 0] for value, weight in zip((baseline, candidate), weights, strict=True)]
    if bounded.fits(np.concatenate(sides)[:, None], np.array([ends]))[0]:
        low, high = _bounded_ratios(parts, float(difference), *ends)
    return PairedResult(
        n=int(has_weight.sum()),
        baseline=float(total[0] / total[1]),
        candidate=float(total[2] / total[3]),
        difference=float(difference),
        low=None if math.isnan(low) else low,
        high=None if math.isnan(high) else high,
        p=_weighted_p(parts, float(difference), seed),
        effect_size=None,
        detectable=POWER * error if error > ROUNDING * abs(difference) else None,
    )


def difference_intervals(differences: Floats, *, seed: int, ranges: Floats | None = None) -> Floats:
    """95 % intervals of the mean difference of every column.

    Args:
        differences: float64 [n_cases, n_metrics].
        seed: of a bootstrap.
        ranges: of the differences, float64 [n_metrics, 2]; infinite where unknown (default: all are).

    Returns:
        (low, high), float64 [n_metrics, 2]; NaN where the interval is unknown.
    """
    if len(differences) < LARGE:
        return statistics.mean_intervals(differences, ranges=ranges, seed=seed)
    fits = np.zeros(differences.shape[1], dtype=bool) if ranges is None else bounded.fits(differences, ranges)
    intervals = np.empty((len(fits), 2))
    if ranges is not None and fits.any():
        intervals[fits] = bounded.bounded_intervals(differences[:, fits], ranges[fits])
    for column in np.flatnonzero(~fits):
        intervals[column] = _large_interval(differences[:, column], seed)
    return intervals


def _of_differences(baseline: Floats, candidate: Floats, ranges: Floats | None) -> Floats | None:
    """Intervals of the differences of values that lie within their ranges."""
    if ranges is None:
        return None
    fits = bounded.fits(baseline, ranges) & bounded.fits(candidate, ranges)
    span = np.where(fits, ranges[:, 1] - ranges[:, 0], np.inf)
    return np.column_stack([-span, span])


def swap_p(differences: Floats, *, seed: int) -> Floats:
    """Two-sided p of a sign-flip test of every column.

    Args:
        differences: float64 [n_cases, n_metrics].
        seed: of flips that are drawn.

    Returns:
        float64 [n_metrics], in (0, 1].
    """
    observed = np.abs(differences.sum(axis=0))
    differing = (differences != 0).sum(axis=0)
    p_values = np.ones(differences.shape[1])
    alike = _differ_alike(differences)
    large = np.flatnonzero(~alike & (differing > MANY))
    squares = np.sqrt((differences[:, large] ** 2).sum(axis=0))
    p_values[large] = [math.erfc(z / math.sqrt(2)) for z in observed[large] / squares]
    for column in np.flatnonzero(alike):
        p_values[column] = mcnemar_p(int((differences[:, column] < 0).sum()), int((differences[:, column] > 0).sum()))
    for column in np.flatnonzero(~alike & (differing > 0) & (differing <= ALL_SWAPS)):
        swapped = _all_signs(int(differing[column])) @ differences[differences[:, column] != 0, column]
        p_values[column] = np.mean(np.abs(swapped) >= _almost(observed[column]))
    drawn = np.flatnonzero(~alike & (differing > ALL_SWAPS) & (differing <= MANY))
    if len(drawn):
        p_values[drawn] = _drawn_p(differences[:, drawn], observed[drawn], seed)
    return p_values


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


def mcnemar_p(lost: int, won: int) -> float:
    """Exact two-sided p that a case which changed is as likely to have changed for the worse as for the better
    (McNemar, 1947; binomial form).

    Args:
        lost: cases that became wrong.
        won: cases that became right.

    Returns:
        p, in (0, 1].
    """
    fewer, n = min(lost, won), lost + won
    if n > MANY:
        from scipy.special import bdtr

        return min(1.0, 2 * float(bdtr(fewer, n, 0.5)))
    ways = sum(
        accumulate(range(fewer), lambda ways, k: ways * (n - k) // (k + 1), initial=1)
    )  # of choosing 0 to `fewer`
    return min(1.0, 2 * ways / (1 << n))


def _summarise(baseline: Floats, candidate: Floats, differences: Floats, interval: Floats, p: float) -> PairedResult:
    n = len(differences)
    spread = float(differences.std(ddof=1)) if n > 1 else 0.0
    spread = spread if spread > ROUNDING * float(np.abs(differences).max()) else 0.0
    difference = statistics.mean(differences) or 0.0
    return PairedResult(
        n=n,
        baseline=statistics.mean(baseline) or 0.0,
        candidate=statistics.mean(candidate) or 0.0,
        difference=difference,
        low=None if math.isnan(interval[0]) else min(float(interval[0]), difference),
        high=None if math.isnan(interval[1]) else max(float(interval[1]), difference),
        p=float(p),
        effect_size=difference / spread if spread > 0 else None,
        detectable=POWER * spread / math.sqrt(n) if spread > 0 else None,
    )


def _large_interval(differences: Floats, seed: int) -> tuple[float, float]:
    """The interval of one metric over many cases, most of which may be equal in both runs."""
    if (differences == differences[0]).all():
        return math.nan, math.nan
    nonzero = differences[differences != 0]
    n, mean = len(differences), float(differences.mean())
    if len(nonzero) > MANY:
        return _skewed_interval(mean, (differences - mean) / n)
    counts = np.random.default_rng(seed).binomial(n, len(nonzero) / n, statistics.RESAMPLES)  # how often any is drawn
    random = np.random.default_rng(seed + 1)
    resampled = np.array([random.choice(nonzero, count).sum() for count in counts]) / n if len(nonzero) else np.zeros(1)
    return statistics.bca_interval(resampled, mean, (differences.sum() - differences) / (n - 1))


def _skewed_interval(value: float, influence: Floats) -> tuple[float, float]:
    """BCa limits of a statistic that is close to a sum of the influences of the cases, float64 [n_cases]."""
    squares = float((influence**2).sum())
    if squares == 0:
        return math.nan, math.nan
    error, acceleration = math.sqrt(squares), float((influence**3).sum()) / (6 * squares**1.5)
    limits = []
    for share in (0.025, 0.975):
        shifted = acceleration + _NORMAL.inv_cdf(share)  # the bias of a mean is its acceleration
        place = acceleration + shifted / (1 - acceleration * shifted)
        limits.append(value + error * (place + acceleration * (place**2 - 1)))
    return limits[0], limits[1]


def _weighted_interval(parts: Floats, difference: float, seed: int) -> tuple[float, float, float]:
    """(low, high, standard error) of a difference of ratios; parts float64 [n_cases, 4]."""
    total = parts.sum(axis=0)
    if len(parts) >= LARGE and _n_moved(parts) > MANY:
        baseline, candidate = total[0] / total[1], total[2] / total[3]
        after = (parts[:, 2] - candidate * parts[:, 3]) / total[3]
        influence = after - (parts[:, 0] - baseline * parts[:, 1]) / total[1]
        return *_skewed_interval(difference, influence), math.sqrt(float((influence**2).sum()))
    resampled = _ratio_difference(statistics.resampled_sums(parts, seed=seed))
    without = _ratio_difference(total - parts)
    resampled, without = resampled[np.isfinite(resampled)], without[np.isfinite(without)]
    error = float(resampled.std()) if len(resampled) else 0.0
    if not len(without) or error <= ROUNDING * abs(difference):
        return math.nan, math.nan, error
    low, high = statistics.bca_interval(resampled, difference, without)
    return float(low), float(high), error


def _bounded_ratios(parts: Floats, difference: float, lowest: float, highest: float) -> tuple[float, float]:
    """The interval of a difference of ratios whose values lie within a range; parts float64 [n_cases, 4]. To first
    order a case moves it by its influence. One more case moves it furthest with the ends of the range and the largest
    weights."""
    total, n = parts.sum(axis=0), len(parts)
    baseline, candidate = total[0] / total[1], total[2] / total[3]
    before, after = n * parts[:, 1].max() / total[1], n * parts[:, 3].max() / total[3]
    influence = n * (
        (parts[:, 2] - candidate * parts[:, 3]) / total[3] - (parts[:, 0] - baseline * parts[:, 1]) / total[1]
    )
    ends = np.array(
        [
            after * (lowest - candidate) - before * (highest - baseline),
            after * (highest - candidate) - before * (lowest - baseline),
        ]
    )
    span = highest - lowest
    low, high = difference + bounded.bounded_intervals(influence[:, None], ends[None])[0]
    return max(min(float(low), difference), -span), min(max(float(high), difference), span)


def _n_moved(parts: Floats) -> int:
    return int((parts[:, :2] != parts[:, 2:]).any(axis=1).sum())


def _differ_alike(differences: Floats) -> NDArray[np.bool_]:
    """Whether the cases of each column, bool [n_metrics], differ, and all by the same, up or down."""
    sizes = np.abs(differences)
    largest = sizes.max(axis=0, initial=0.0)
    return np.asarray((largest > 0) & ((sizes == 0) | (sizes >= (1 - ROUNDING) * largest)).all(axis=0))


def _drawn_p(differences: Floats, observed: Floats, seed: int) -> Floats:
    """p from random swaps. All columns share them: the n-th case of a column that differs is swapped as the n-th one of
    any other, so that p of a metric does not depend on which metrics are compared with it."""
    moved = np.zeros((int((differences != 0).sum(axis=0).max()), differences.shape[1]))
    for column, values in enumerate(differences.T):
        moved[: np.count_nonzero(values), column] = values[values != 0]
    sums = np.zeros((SWAPS, len(observed)))
    step = max(1, _BLOCK // SWAPS)
    random = np.random.default_rng(seed)
    for start in range(0, len(moved), step):
        block = moved[start : start + step]
        signs = random.integers(0, 2, (len(block), SWAPS), dtype=np.int8) * 2 - 1
        sums += signs.astype(np.float64).T @ block
    at_least = (np.abs(sums) >= _almost(observed)).sum(axis=0)
    return _p_of(at_least, observed, (differences**2).sum(axis=0))


def _p_of(at_least: NDArray[np.int64], observed: Floats, squares: Floats) -> Floats:
    """p from the number of drawn sums at least as far from 0 as the observed one, and from the squares of the swapped
    values."""
    drawn = (at_least + 1) / (SWAPS + 1)
    limit = 2 * np.exp(-(observed**2) / (2 * squares))
    return np.where(at_least == 0, np.minimum(drawn, limit), drawn)


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
        at_least += int((~(np.abs(swapped) < _almost(abs(observed)))).sum())
    if changed_rows[:, 1].any():  # weights are swapped as well: the statistic is no sum, and no limit of sums holds
        return float((at_least[0] + 1) / (SWAPS + 1))
    return float(_p_of(at_least, change[:, :1].sum(axis=0), (change[:, :1] ** 2).sum(axis=0))[0])


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


def _all_signs(n_cases: int) -> NDArray[np.float64]:
    bits = (np.arange(2**n_cases)[:, None] >> np.arange(n_cases)) & 1
    return np.asarray(bits * 2.0 - 1)


def _almost(observed: Floats | float) -> Floats | float:
    """Sums of the same numbers in another order differ in their last bits."""
    return observed - ROUNDING * np.abs(observed)
