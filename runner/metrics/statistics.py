"""Means with intervals, and percentiles.

The interval of a (weighted) mean over cases goes by what is known of its values. Where their range is known, it is
that of runner.metrics.bounded. Elsewhere there is none for equal values, and

- values of which none is below 0 (costs, tokens, times) have long upper tails, of which a sample shows too little: the
  interval is that of the studentised bootstrap (Hall, Theoretical comparison of bootstrap confidence intervals, Annals
  of Statistics 16, 1988), whose upper limit takes the .5 % quantile where 2.5 % would be usual, since a sample that
  misses the tail has too small a spread, too. Below 20 cases there is none
- others have that of BCa (bias-corrected and accelerated; Efron, Better bootstrap confidence intervals, JASA 82, 1987),
  from two cases on

All columns with the same cases share their resamples, and the resamples of n cases depend on the seed and on n alone:
an interval does not change when another metric is added.

Resampled sums are exact: values are rounded to a grid so coarse that float64 holds every partial sum
(2**-52 of n times the largest value, about 2e-11 at 100,000 cases in 0..1) and so fine that it does not
show in an interval. The result is therefore the same to the last bit whatever order a BLAS adds in, with
any number of threads.

Where cases come in clusters, a bounded interval counts each as a part of an independent case
(runner.metrics.clusters), and a bootstrap draws whole clusters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from runner.metrics.bounded import bounded_intervals, fits
from runner.metrics.clusters import Clusters, effective_shares

Floats = NDArray[np.float64]

RESAMPLES = 2000
CONFIDENCE = 0.95
FEWEST_POSITIVE = 20  # cases (or clusters) of values that have a long tail
UPPER_TAIL, LOWER_TAIL = 0.005, 0.025  # of studentised deviations, for the upper and the lower limit
_ENDLESS = 1e9
_NO_SPREAD = 1e-18  # of squared deviations: what rounding leaves of equal values
_BLOCK = 1 << 20  # counts held at once: 8 MB
_NORMAL = NormalDist()


def mean(values: Floats, weights: Floats | None = None) -> float | None:
    """Args:
        values: of any number.
        weights: >= 0, one a value (default: all equal).

    Returns:
        The (weighted) mean, never outside the values, with sums rounded once, so that order changes nothing; None
        without values.
    """
    if len(values) == 0:
        return None
    total = math.fsum(values if weights is None else values * weights)
    found = total / (len(values) if weights is None else math.fsum(weights))
    return min(max(found, float(values.min())), float(values.max()))


def percentiles(values: Sequence[float], ranks: Sequence[float]) -> tuple[float | None, ...]:
    """Percentiles by linear interpolation between the two nearest values, as numpy's default: the p-th of n sorted
    values stands at index p/100 * (n - 1).

    Args:
        values: in any order.
        ranks: 0..100.

    Returns:
        One value a rank; None for each without values.
    """
    if len(values) == 0:
        return tuple(None for _ in ranks)
    return tuple(float(value) for value in np.percentile(np.asarray(values, dtype=np.float64), ranks))


def mean_intervals(
    values: Floats,
    weights: Floats | None = None,
    *,
    ranges: Floats | None = None,
    seed: int,
    resamples: int = RESAMPLES,
    clusters: Clusters | None = None,
) -> Floats:
    """95 % intervals of the means of many columns over the same cases.

    Args:
        values: float64 [n_cases, n_columns], finite, n_cases >= 1.
        weights: float64 [n_cases, n_columns], > 0 (default: all equal).
        ranges: lowest and highest value of a column, float64 [n_columns, 2]; infinite where unknown (default: all are).
            A range counts as unknown where a value lies outside of it.
        seed: of a bootstrap.
        resamples: of a bootstrap.
        clusters: of cases that depend on each other (default: none do).

    Returns:
        (low, high), float64 [n_columns, 2]; NaN where the interval is unknown: of a column without a range, equal
        values and fewer than `FEWEST_POSITIVE` cases of which none is below 0.
    """
    intervals = np.full((values.shape[1], 2), np.nan)
    is_bounded = np.zeros(len(intervals), dtype=bool) if ranges is None else fits(values, ranges)
    if ranges is not None and is_bounded.any():
        inside, mass = values[:, is_bounded], None if weights is None else weights[:, is_bounded]
        counted = None if clusters is None else effective_shares(inside, clusters, mass)
        intervals[is_bounded] = bounded_intervals(inside, ranges[is_bounded], mass, counted)
    if clusters is not None and not is_bounded.all():
        values, weights = _cluster_means(values, weights, clusters)
    is_varied = (values != values[0]).any(axis=0) & ~is_bounded
    is_positive = (values >= 0).all(axis=0)
    if len(values) >= FEWEST_POSITIVE:
        positive = is_varied & is_positive
        intervals[positive] = _studentised_intervals(*_columns(values, weights, positive), seed, resamples)
    others = is_varied & ~is_positive
    intervals[others] = bca_intervals(*_columns(values, weights, others), seed, resamples)
    return intervals


def _columns(values: Floats, weights: Floats | None, chosen: NDArray[np.bool_]) -> tuple[Floats, Floats | None]:
    if chosen.all():
        return values, weights
    return values[:, chosen], None if weights is None else weights[:, chosen]


def bca_intervals(values: Floats, weights: Floats | None = None, seed: int = 0, resamples: int = RESAMPLES) -> Floats:
    """95 % intervals of the means of columns by BCa.

    Args:
        values: float64 [n_cases, n_columns], finite; each column varies.
        weights: float64 [n_cases, n_columns], > 0 (default: all equal).
        seed: of the bootstrap.
        resamples: of the bootstrap.

    Returns:
        (low, high), float64 [n_columns, 2].
    """
    intervals = np.empty((values.shape[1], 2))
    if len(intervals) == 0:
        return intervals
    resampled = _resampled_means(values, weights, seed, resamples)
    for column in range(len(intervals)):
        weight = None if weights is None else weights[:, column]
        value, without = mean(values[:, column], weight), _means_without(values[:, column], weight)
        intervals[column] = bca_interval(resampled[:, column], float(value or 0.0), without)
    return intervals


def _studentised_intervals(values: Floats, weights: Floats | None, seed: int, resamples: int) -> Floats:
    """Intervals of columns that vary and have no value below 0, float64 [n_columns, 2].

    With e = v - mean, a resample has the deviation d = sum(w e) / sum(w) and the error
    sqrt(sum(w^2 (e - d)^2)) / sum(w); where it has no spread, its deviation counts as infinite.
    """
    intervals = np.empty((values.shape[1], 2))
    for column in range(len(intervals)):
        weight = np.ones(len(values)) if weights is None else weights[:, column] / weights[:, column].max()
        middle = float(mean(values[:, column], weight) or 0.0)
        scale = float(np.abs(values[:, column] - middle).max())
        deviations = (values[:, column] - middle) / scale
        parts = _studentising_parts(deviations, weight)
        drawn = _studentised(resampled_sums(parts, seed=seed, resamples=resamples))
        error = scale * math.sqrt(float((weight**2 * deviations**2).sum())) / float(weight.sum())
        ordered = np.sort(drawn)
        low = middle - error * _quantile(ordered, 1 - LOWER_TAIL)
        intervals[column] = max(low, 0.0), middle - error * _quantile(ordered, UPPER_TAIL)
    return intervals


def _studentising_parts(deviations: Floats, weight: Floats) -> Floats:
    """What the deviation of a resample and its error are sums of, float64 [n_cases, 5]."""
    square = weight**2
    return np.column_stack([weight, weight * deviations, square, square * deviations, square * deviations**2])


def _studentised(sums: Floats) -> Floats:
    """Deviations of resamples in their errors, from their sums of `_studentising_parts`."""
    mass, total, squares, cross, spread = sums.T
    deviation = total / mass
    variance = spread - 2 * deviation * cross + deviation**2 * squares
    has_spread = variance > _NO_SPREAD * squares
    error = np.sqrt(np.where(has_spread, variance, 1.0)) / mass
    return np.asarray(np.where(has_spread, deviation / error, np.sign(deviation) * _ENDLESS))


def _cluster_means(values: Floats, weights: Floats | None, clusters: Clusters) -> tuple[Floats, Floats]:
    """The means of clusters with their weights, whose weighted mean is that of the cases."""
    mass = np.ones_like(values) if weights is None else weights
    totals = clusters.totals(mass)
    return clusters.totals(values * mass) / totals, totals


def bca_interval(resampled: Floats, value: float, without: Floats) -> tuple[float, float]:
    """The 95 % interval of a statistic from its values in resamples, in all cases, and without each case in turn."""
    return _bca(np.sort(resampled), value, _acceleration(without))


def resampled_sums(parts: Floats, *, seed: int, resamples: int = RESAMPLES) -> Floats:
    """Sums of every column over samples of the cases with replacement, exact.

    Args:
        parts: float64 [n_cases, n_columns], finite, n_cases >= 1.
        seed: of the samples.
        resamples: their number.

    Returns:
        float64 [resamples, n_columns].
    """
    exact = _on_exact_grid(parts)
    sums = []
    for counts in resampled_counts(len(parts), seed=seed, resamples=resamples):
        sums.append(counts @ exact)
        del counts  # the next ones take its room
    return np.vstack(sums)


def resampled_counts(n_cases: int, *, seed: int, resamples: int = RESAMPLES) -> Iterator[Floats]:
    """How often each case is drawn.

    Args:
        n_cases: >= 1.
        seed: of the samples.
        resamples: their number.

    Yields:
        float64 [rows, n_cases] in blocks of bounded size, `resamples` rows in all.
    """
    random = np.random.default_rng(seed)
    rows = max(1, _BLOCK // n_cases)
    for start in range(0, resamples, rows):
        yield _counts(random, min(rows, resamples - start), n_cases)


def _counts(random: np.random.Generator, rows: int, n_cases: int) -> Floats:
    counts = np.empty((rows, n_cases))
    for row, drawn in zip(counts, random.integers(0, n_cases, counts.shape, dtype=np.uint32), strict=True):
        row[:] = np.bincount(drawn, minlength=n_cases)
    return counts


def _resampled_means(values: Floats, weights: Floats | None, seed: int, resamples: int) -> Floats:
    """Means of `resamples` samples with replacement, float64 [resamples, n_columns]."""
    n_cases, n_columns = values.shape
    parts = values if weights is None else np.hstack([values * weights, weights])
    sums = resampled_sums(parts, seed=seed, resamples=resamples)
    return np.asarray(sums[:, :n_columns] / (n_cases if weights is None else sums[:, n_columns:]))


def _on_exact_grid(values: Floats) -> Floats:
    """Each column rounded to a multiple of a power of two that lets n_cases times its largest value fit 52 bits."""
    largest = np.maximum(values.max(axis=0), -values.min(axis=0))
    _, exponent = np.frexp(largest * len(values))
    step = np.ldexp(1.0, np.maximum(exponent - 52, -1022))
    multiples: Floats = values / step
    np.rint(multiples, out=multiples)
    multiples *= step
    return multiples


def _means_without(values: Floats, weights: Floats | None = None) -> Floats:
    """Leaving case i out of a weighted mean gives (S - w v) / (W - w)."""
    mass: Floats | float = 1.0 if weights is None else weights
    total = len(values) if weights is None else weights.sum()
    weighted = values * mass
    return np.asarray((weighted.sum() - weighted) / (total - mass))


def _acceleration(without: Floats) -> float:
    """The acceleration of BCa from the jackknife: the values without each case."""
    influence = without.mean() - without
    largest = float(np.abs(influence).max())
    if largest == 0.0:
        return 0.0
    influence /= largest  # the ratio below has no unit, but tiny values would vanish when cubed
    squares = influence * influence
    spread = float(squares.sum())
    return float((squares * influence).sum()) / (6 * spread * math.sqrt(spread))


def _bca(resampled: Floats, value: float, acceleration: float) -> tuple[float, float]:
    """Limits from sorted resampled means: the two percentiles, shifted for bias and for skewness.

    Resampled means that equal the mean but for rounding count half as below it, half as above.
    """
    size = len(resampled)
    near = 1e-9 * max(abs(resampled[0]), abs(resampled[-1]))
    below = np.searchsorted(resampled, value - near, "left") + np.searchsorted(resampled, value + near, "right")
    bias = _NORMAL.inv_cdf(min(max(below / (2 * size), 0.5 / size), 1 - 0.5 / size))
    limits = []
    for share in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2):
        shifted = bias + _NORMAL.inv_cdf(share)
        adjusted = _NORMAL.cdf(bias + shifted / max(1 - acceleration * shifted, 1e-9))
        limits.append(_quantile(resampled, adjusted))
    return limits[0], limits[1]


def _quantile(ordered: Floats, share: float) -> float:
    place = share * (len(ordered) - 1)
    lower = int(place)
    upper = min(lower + 1, len(ordered) - 1)
    low, high = float(ordered[lower]), float(ordered[upper])
    return low if low == high else low + (high - low) * (place - lower)
