"""Intervals of means of values whose range is known.

A sample says nothing of what it did not draw: twenty answers that are all right leave room for a rate of .86. So each
limit counts one case more than there are, and that case has the worst value of the range: the lower limit is the 2.5 %
quantile of sum(e w v) / sum(e w) over the n cases and one at the lowest value, with independent exponential e; the
upper limit is its mirror image (Gaffke, Three test statistics for a nonparametric one-sided hypothesis on the mean of a
nonnegative variable, Math. Methods of Statistics 14, 2005; Learned-Miller and Thomas, arXiv:1905.06208). The case
beside weighs as much as the heaviest.

- Of proportions it is the interval of Clopper and Pearson (Biometrika 26, 1934), which covers at least 95 % whatever
  the proportion and n. Wilson's is narrower, and covers 90 % of the time at n = 10 and a proportion of .99
- Of paired differences of values that are 0 or 1 it leaves out 0 exactly where McNemar's exact test has p < .05
- With many cases it is that of the bootstrap
- It has a width whatever the values are, for one case too

Nothing is drawn. Where a column has one value beside the end of the range, the quantile is one of a beta distribution;
otherwise it comes from the saddlepoint approximation of a sum of exponential variables (Barndorff-Nielsen's r*;
Biometrika 73, 1986), which is within .004 of the range for two or three cases and closer for more. Where a few cases
have most of the weight it is less close.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TAIL = 0.025
_Z = 1.959963984540054  # of TAIL
_DUST = 1e-9  # of a range, by which rounding may carry a value over its end
_DIGITS = 12  # of a range: what is behind them depends on the processor
_ROUNDS = 80
_NEAR = 1e-10  # of _Z
_NEAR_MEAN = 1e-14
_BLOCK = 1 << 18  # numbers held at once


def fits(values: Floats, ranges: Floats) -> NDArray[np.bool_]:
    """Args:
        values: float64 [n_cases, n_columns], n_cases >= 1.
        ranges: lowest and highest value, float64 [n_columns, 2]; infinite where unknown.

    Returns:
        Whether the range of a column is known and its values lie within, bool [n_columns].
    """
    low, high = ranges.T
    known = np.isfinite(low) & np.isfinite(high)
    dust = _DUST * np.where(known, high - low, 0.0)
    return np.asarray(known & (values.min(axis=0) >= low - dust) & (values.max(axis=0) <= high + dust))


def bounded_intervals(
    values: Floats, ranges: Floats, weights: Floats | None = None, shares_of_case: Floats | None = None
) -> Floats:
    """95 % intervals of the (weighted) means of columns that fit their ranges.

    Args:
        values: float64 [n_cases, n_columns], n_cases >= 1.
        ranges: lowest and highest value, float64 [n_columns, 2], finite.
        weights: float64 [n_cases, n_columns], > 0.
        shares_of_case: how much of an independent case each case of a column counts for, float64 [n_columns] in (0, 1]
            (runner.metrics.clusters; default: 1).

    Returns:
        (low, high), float64 [n_columns, 2].
    """
    intervals = np.empty((values.shape[1], 2))
    step = max(1, _BLOCK // len(values))
    for start in range(0, len(intervals), step):
        part = slice(start, start + step)
        low, span = ranges[part, 0], ranges[part, 1] - ranges[part, 0]
        shares = np.clip((values[:, part] - low) / span, 0.0, 1.0).T
        mass = None if weights is None else weights[:, part].T
        counted = np.ones(len(shares)) if shares_of_case is None else shares_of_case[part]
        intervals[part, 0] = low + span * _lower_limits(shares, mass, counted)
        intervals[part, 1] = low + span * (1.0 - _lower_limits(1.0 - shares, mass, counted))
    return intervals


def _lower_limits(shares: Floats, weights: Floats | None, counted: Floats) -> Floats:
    """The lower limits of values in 0..1, float64 [n_columns, n_cases]; each case of a column counts `counted` times,
    the one beside once."""
    limits = np.zeros(len(shares))
    alike: dict[int, list[tuple[int, Floats, Floats]]] = defaultdict(list)
    for column, row in enumerate(shares):
        if row.max() < 0.5 * 10**-_DIGITS:  # so is the limit, which is rounded to 0; squares of less may vanish
            continue
        if weights is not None and (weights[column] != weights[column, 0]).any():
            limits[column] = _weighted_limit(row, weights[column], counted[column])
            continue
        distinct, counts = np.unique(row, return_counts=True)
        if distinct[0] == 0.0:
            distinct, counts = distinct[1:], counts[1:]
        if len(distinct) == 1:
            ones, others = counts[0] * counted[column], (len(row) - counts[0]) * counted[column]
            limits[column] = distinct[0] * _beta_quantile(float(ones), float(others) + 1.0)
        elif len(distinct):
            size = max(8, 1 << (len(distinct) - 1).bit_length())
            alike[size].append((column, distinct, counts * counted[column]))
    for size, members in alike.items():
        columns = [column for column, *_ in members]
        limits[columns] = _plain_limits(members, size, shares.shape[1] * counted[columns] + 1)
    return np.asarray(np.round(limits, _DIGITS))


@lru_cache(maxsize=8192)  # columns and slices of a run, and the runs of a sweep, often ask the same
def _beta_quantile(a: float, b: float) -> float:
    """The TAIL quantile of a beta distribution, which scipy.special takes a quarter of a second to be imported for. By
    Newton's method between two bounds."""
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    low, high, x = 0.0, 1.0, a / (a + b)
    for _ in range(_ROUNDS):
        density = math.exp(scale + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x))
        share = _beta_share(a, b, x, density)
        low, high = (x, high) if share < TAIL else (low, x)
        step = (share - TAIL) / density if density else math.inf
        nearer = x - step if low < x - step < high else (low + high) / 2
        if abs(nearer - x) <= 1e-16 + 4e-16 * x:
            return nearer
        x = nearer
    return x


def _beta_share(a: float, b: float, x: float, density: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (DLMF 8.17.22, evaluated as Lentz
    does); `density`: of the beta distribution at x."""
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta_share(b, a, 1.0 - x, density)
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 100_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / (1.0 + term * d)
            c = 1.0 + term / c
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return density * x * (1.0 - x) * fraction / a


def _plain_limits(members: list[tuple[int, Floats, Floats]], size: int, n_cases: Floats) -> Floats:
    """The limits of columns with about as many distinct values above 0. Values without weight change nothing, so that
    the sums of a column are the same to the last bit beside any others."""
    values, counts = np.zeros((2, len(members), size))
    for place, (_, distinct, count) in enumerate(members):
        values[place, : len(distinct)], counts[place, : len(distinct)] = distinct, count
    at_zero = np.maximum(n_cases - counts.sum(axis=1), 1.0)  # cases with the value 0, which the case beside has
    mean = (counts * values).sum(axis=1) / n_cases
    spread = np.sqrt((counts * (values - mean[:, None]) ** 2).sum(axis=1) + at_zero * mean**2)

    def root(tilt: Floats, rows: NDArray[np.intp]) -> Floats:
        slope = 1.0 + tilt[:, None] * values[rows]
        scale = ((counts[rows] / slope).sum(axis=1) + at_zero[rows]) / n_cases[rows]
        ratio = scale[:, None] * slope
        likelihood = 2 * ((counts[rows] * np.log(ratio)).sum(axis=1) + at_zero[rows] * np.log(scale))
        square = (counts[rows] * (1 / ratio - 1) ** 2).sum(axis=1) + at_zero[rows] * (1 / scale - 1) ** 2
        return _r_star(likelihood, square)

    tilt = _solve(root, _Z / spread)
    scale = ((counts / (1.0 + tilt[:, None] * values)).sum(axis=1) + at_zero) / n_cases
    return np.asarray((1 / scale - 1) / tilt)


def _weighted_limit(shares: Floats, weights: Floats, counted: float) -> float:
    """The limit of one column whose cases weigh differently, float64 [n_cases] each; not all shares are 0."""
    values, mass = np.append(shares, 0.0), np.append(weights, weights.max()) / weights.max()
    counts = np.append(np.full(len(shares), counted), 1.0)
    mean = float((counts * mass * values).sum() / (counts * mass).sum())
    spread = float(np.sqrt((counts * mass**2 * (values - mean) ** 2).sum()))
    limit = mean

    def root(tilt: Floats, _: NDArray[np.intp]) -> Floats:
        nonlocal limit
        limit = _tilted_mean(float(tilt[0]), values, mass, counts, limit)
        ratio = 1.0 + tilt[0] * mass * (values - limit)
        likelihood = 2 * (counts * np.log(ratio)).sum(keepdims=True)
        return _r_star(likelihood, (counts * (1 / ratio - 1) ** 2).sum(keepdims=True))

    tilt = _solve(root, np.array([_Z / spread]))
    return _tilted_mean(float(tilt[0]), values, mass, counts, limit)


def _tilted_mean(tilt: float, values: Floats, mass: Floats, counts: Floats, guess: float) -> float:
    """The t with sum(c w (v - t) / (1 + tilt w (v - t))) = 0, by Newton's steps within the values that t can have. At
    that t the terms c / (1 + tilt w (v - t)) add up to sum(c), so none of these denominators is below c / sum(c)."""
    least = counts / counts.sum()
    low, high = 0.0, float(min(values.max(), (values + (1 - least) / (tilt * mass)).min()))
    mean = min(max(guess, low), high)
    for _ in range(_ROUNDS):
        ratio = 1.0 + tilt * mass * (values - mean)
        pull = float((counts * mass * (values - mean) / ratio).sum())
        low, high = (mean, high) if pull > 0 else (low, mean)
        step = pull / float((counts * mass / ratio**2).sum())
        if abs(step) < _NEAR_MEAN:
            break
        mean = mean + step if low < mean + step < high else (low + high) / 2
    return mean


def _r_star(likelihood: Floats, square: Floats) -> Floats:
    """The normal deviate of a saddlepoint approximation."""
    root = np.sqrt(np.maximum(likelihood, 1e-12))
    return np.asarray(root + np.log(np.sqrt(square) / root) / root)


def _solve(root: Callable[[Floats, NDArray[np.intp]], Floats], start: Floats) -> Floats:
    """The tilts at which a growing function of each has the value _Z, float64 [n_columns]. It is close to proportional
    for small tilts and flat for large ones: secants of the logarithms, halving where they leave the bracket."""
    at = np.log(start)
    low, high = at - 3.0, at + 60.0
    before, value_before = np.full((2, len(at)), np.nan)
    rows = np.arange(len(at))
    for _ in range(_ROUNDS):
        value = root(np.exp(at[rows]), rows)
        open_ = np.abs(value - _Z) > _NEAR
        rows, value = rows[open_], value[open_]
        if len(rows) == 0:
            break
        point = at[rows]
        below = value < _Z
        low[rows], high[rows] = np.where(below, point, low[rows]), np.where(below, high[rows], point)
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = (np.log(value) - np.log(value_before[rows])) / (point - before[rows])
            step = point + np.log(_Z / value) / np.where(np.isnan(slope), 1.0, slope)
        inside = (step > low[rows]) & (step < high[rows])
        before[rows], value_before[rows] = point, value
        at[rows] = np.where(inside, step, np.minimum((low[rows] + high[rows]) / 2, point + 4.0))
    return np.exp(at)
