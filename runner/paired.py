"""Two runs over the same cases: is the difference of a metric more than chance?

A metric has a value v and a weight w (mostly 1) for each case and run; its mean is sum(w v) / sum(w), and
the difference is that of the candidate minus that of the baseline.

- interval: BCa over cases that are drawn together with both of their values (runner.statistics)
- p: if the change made no difference, each case could as well have its two results the other way round
  (Fisher's randomisation test, two-sided). All ways of swapping are tried for up to 12 cases that differ.
  For more, p = (b + 1) / (n + 1) over n random ones, b of which give a difference at least as large (Phipson
  and Smyth, 2010); for unweighted metrics with more than 1,000 that differ, it is read off the normal
  distribution with the exact variance of the swapped sums, which is symmetric, so the error is of order 1/n.
- effect size: mean over standard deviation of the differences of cases (Cohen's d_z)
- detectable: the difference that a test at .05 would find with a power of 80 % (2.80 standard errors)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from runner import statistics
from runner.statistics import Floats

SWAPS = 9_999
ALL_SWAPS = 12  # cases that differ, up to which all ways of swapping are tried
MANY = 1_000  # cases that differ, above which the normal distribution is close enough
_BLOCK = 1 << 22  # signs held at once
_WORK = 1 << 27  # signs drawn for a weighted metric at most
_NORMAL = NormalDist()
POWER = _NORMAL.inv_cdf(0.975) + _NORMAL.inv_cdf(0.8)


@dataclass(frozen=True, slots=True)
class Paired:
    """One metric over `n` cases that both runs scored. `effect_size` and `detectable` are None where they cannot
    be told: for one case, or where all differences are equal."""

    n: int
    baseline: float
    candidate: float
    difference: float
    low: float
    high: float
    p: float
    effect_size: float | None
    detectable: float | None


def compare_means(baseline: Floats, candidate: Floats, *, seed: int) -> list[Paired]:
    """Many metrics over the same cases: float64 [n_cases, n_metrics] each, finite, n_cases >= 1."""
    differences = candidate - baseline
    intervals = statistics.mean_intervals(differences, seed=seed)
    chances = swap_p(differences, seed=seed)
    return [
        _paired(baseline[:, column], candidate[:, column], differences[:, column], intervals[column], chances[column])
        for column in range(differences.shape[1])
    ]


def compare_weighted(
    baseline: Floats, candidate: Floats, baseline_weights: Floats, candidate_weights: Floats, *, seed: int
) -> Paired | None:
    """One metric whose cases weigh differently, perhaps in each run: float64 [n_cases] each, weights >= 0.

    A case counts where its weight is above 0 in either run. None when one of the runs has no such case.
    """
    used = (baseline_weights > 0) | (candidate_weights > 0)
    weights = [baseline_weights[used], candidate_weights[used]]
    if any(weight.sum() == 0 for weight in weights):
        return None
    sums = [
        np.column_stack([value[used] * weight, weight])
        for value, weight in zip((baseline, candidate), weights, strict=True)
    ]
    parts = np.hstack(sums)  # [n, 4]: w v and w of the baseline, then of the candidate
    total = parts.sum(axis=0)
    found = _ratio_difference(total[None])[0]
    resampled = _ratio_difference(statistics.resampled_sums(parts, seed=seed))
    without = _ratio_difference(total - parts)
    low, high = statistics.bca_interval(resampled[np.isfinite(resampled)], found, without[np.isfinite(without)])
    error = float(np.nanstd(resampled))
    return Paired(
        n=int(used.sum()),
        baseline=float(total[0] / total[1]),
        candidate=float(total[2] / total[3]),
        difference=float(found),
        low=low,
        high=high,
        p=_weighted_p(parts, float(found), seed),
        effect_size=None,
        detectable=POWER * error if error > 0 else None,
    )


def swap_p(differences: Floats, *, seed: int) -> Floats:
    """Two-sided p of every column, float64 [n_metrics] in (0, 1]; differences float64 [n_cases, n_metrics]."""
    observed = np.abs(differences.sum(axis=0))
    differing = (differences != 0).sum(axis=0)
    found = np.ones(differences.shape[1])
    large = np.flatnonzero(differing > MANY)
    squares = np.sqrt((differences[:, large] ** 2).sum(axis=0))
    found[large] = [math.erfc(z / math.sqrt(2)) for z in observed[large] / squares]
    for column in np.flatnonzero((differing > 0) & (differing <= ALL_SWAPS)):
        swapped = _all_signs(int(differing[column])) @ differences[differences[:, column] != 0, column]
        found[column] = np.mean(np.abs(swapped) >= _almost(observed[column]))
    drawn = np.flatnonzero((differing > ALL_SWAPS) & (differing <= MANY))
    if len(drawn):
        found[drawn] = _drawn_p(differences[:, drawn], observed[drawn], seed)
    return found


def holm(chances: Sequence[float]) -> list[float]:
    """p adjusted for their number (Holm, 1979), in the same order; never below p, at most 1."""
    adjusted = [0.0] * len(chances)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=lambda place: chances[place])):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[place]))
        adjusted[place] = highest
    return adjusted


def mcnemar_p(lost: int, won: int) -> float:
    """Exact two-sided p that a case which changed is as likely to have changed for the worse as for the better
    (McNemar, 1947; binomial form)."""
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(lost, won), lost + won, 0.5))) if lost + won else 1.0


def _paired(baseline: Floats, candidate: Floats, differences: Floats, interval: Floats, p: float) -> Paired:
    n = len(differences)
    spread = float(differences.std(ddof=1)) if n > 1 else 0.0
    difference = statistics.mean(differences) or 0.0
    return Paired(
        n=n,
        baseline=statistics.mean(baseline) or 0.0,
        candidate=statistics.mean(candidate) or 0.0,
        difference=difference,
        low=float(interval[0]),
        high=float(interval[1]),
        p=float(p),
        effect_size=difference / spread if spread > 0 else None,
        detectable=POWER * spread / math.sqrt(n) if spread > 0 else None,
    )


def _drawn_p(differences: Floats, observed: Floats, seed: int) -> Floats:
    """From random swaps, shared by all columns."""
    moved = differences[(differences != 0).any(axis=1)]
    at_least = np.zeros(len(observed), dtype=np.int64)
    for signs in _signs(len(moved), SWAPS, seed):
        at_least += (np.abs(signs @ moved) >= _almost(observed)).sum(axis=0)
    return np.asarray((at_least + 1) / (SWAPS + 1))


def _weighted_p(parts: Floats, observed: float, seed: int) -> float:
    """Swapping the two results of a case swaps value and weight together."""
    both, change = parts[:, :2] + parts[:, 2:], parts[:, 2:] - parts[:, :2]
    total, moved = both.sum(axis=0), change[(change != 0).any(axis=1)]
    swaps = int(min(SWAPS, max(999, _WORK // max(1, len(moved)))))
    at_least = 0
    for signs in _signs(len(moved), swaps, seed):
        shift = signs @ moved
        swapped = _ratio_difference(np.hstack([total - shift, total + shift]) / 2)
        at_least += int((~(np.abs(swapped) < _almost(abs(observed)))).sum())
    return (at_least + 1) / (swaps + 1)


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
        yield random.integers(0, 2, shape, dtype=np.int8).astype(np.float64) * 2 - 1


def _all_signs(n_cases: int) -> NDArray[np.float64]:
    bits = (np.arange(2**n_cases)[:, None] >> np.arange(n_cases)) & 1
    return np.asarray(bits * 2.0 - 1)


def _almost(observed: Floats | float) -> Floats | float:
    """Sums of the same numbers in another order differ in their last bits."""
    return observed - 1e-9 * np.abs(observed)
