"""The swap test of paired differences, and the interval that inverts it.

If the change made no difference, the two results of each case could be swapped, which turns the sign of its difference
(Fisher's randomisation test). Where cases come in clusters, whole clusters are swapped.

p, two-sided
- all swaps are tried for up to 12 cases that differ
- if all that differ do so by the same amount (right or wrong, for example), p is that of the binomial distribution
  (McNemar, 1947)
- otherwise p = (b + 1) / (R + 1) over R random swaps, b of which give a difference at least as large (Phipson and
  Smyth, 2010). If none does, 2 exp(-S^2 / 2 sum d^2), for the sum S of the differences d, is an upper limit of p over
  all swaps (Hoeffding, 1963), and the smaller of the two is taken, so that p stays useful after an adjustment for many
  comparisons
- if more than 1,000 cases differ, p is that of the normal distribution with the exact variance of the swapped sums.
  This distribution is symmetric, so the error is of order 1/n, or 1/sqrt(n) if differences have few sizes

The interval holds the shifts c that the same swaps do not reject at .05. A swap of the cases s gives a sum of d - c as
large as the observed one exactly where the mean of d over s is at most c, so that its ends are order statistics of the
means of the swapped cases, and of those that stay (Hartigan, Using subsample values as typical values, JASA 64, 1969).
By construction it excludes 0 where p is below .05.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SWAPS = 9_999
ALL_SWAPS = 12  # cases that differ, up to which all ways of swapping are tried
MANY = 1_000  # cases that differ, above which the normal distribution is close enough
ALPHA = 0.05
ROUNDING = 1e-9  # of what a number is made of, below which it is 0
_Z = 1.959963984540054  # 97.5 % of a normal distribution lie below
_BLOCK = 1 << 22  # signs held at once


@dataclass(frozen=True, eq=False)
class SwapTest:
    """`p` in (0, 1], `low` and `high`: of the mean difference of a case, each float64 [n_columns]; infinite where no
    shift is rejected, or none was tried."""

    p: Floats
    low: Floats
    high: Floats


def swap_test(
    totals: Floats, sizes: Floats | None = None, *, seed: int, without_interval: NDArray[np.bool_] | None = None
) -> SwapTest:
    """Test every column.

    Args:
        totals: differences of cases, or their sums over clusters, float64 [n_units, n_columns].
        sizes: cases of each cluster, float64 [n_units] (default: 1).
        seed: of swaps that are drawn.
        without_interval: bool [n_columns], columns whose interval nobody needs (default: none).

    Returns:
        p and the ends of the interval of each column.
    """
    n_units, n_columns = totals.shape
    size_of = np.ones(n_units) if sizes is None else sizes
    differing = (totals != 0).sum(axis=0)
    test = SwapTest(_p_without_draws(totals, differing), np.full(n_columns, -np.inf), np.full(n_columns, np.inf))
    has_interval = np.ones(n_columns, dtype=bool) if without_interval is None else ~without_interval
    has_interval &= differing > 0
    if n_units <= ALL_SWAPS:
        _invert_all(totals, size_of, has_interval, test)
        return test
    many = np.flatnonzero(differing > MANY)
    _invert_normal(totals, size_of, many, test)
    needs_p = np.isnan(test.p)
    drawn = np.flatnonzero((needs_p | has_interval) & (differing > 0) & (differing <= MANY))
    if len(drawn):
        _draw(totals[:, drawn], sizes, drawn, needs_p, seed, test)
    return test


def swap_p(differences: Floats, *, seed: int) -> Floats:
    """Two-sided p of a swap test of every column.

    Args:
        differences: float64 [n_cases, n_metrics].
        seed: of swaps that are drawn.

    Returns:
        float64 [n_metrics], in (0, 1].
    """
    return swap_test(differences, seed=seed, without_interval=np.ones(differences.shape[1], dtype=bool)).p


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


def differ_alike(totals: Floats) -> NDArray[np.bool_]:
    """Whether the cases of each column, bool [n_columns], differ, and all by the same, up or down."""
    amounts = np.abs(totals)
    largest = amounts.max(axis=0, initial=0.0)
    return np.asarray((largest > 0) & ((amounts == 0) | (amounts >= (1 - ROUNDING) * largest)).all(axis=0))


def almost(observed: Floats | float) -> Floats | float:
    """Sums of the same numbers in another order differ in their last bits."""
    return observed - ROUNDING * np.abs(observed)


def p_of_draws(at_least: NDArray[np.int64], observed: Floats, squares: Floats) -> Floats:
    """p from the number of drawn sums at least as far from 0 as the observed one, and from the squares of the swapped
    values."""
    drawn = (at_least + 1) / (SWAPS + 1)
    limit = 2 * np.exp(-(observed**2) / (2 * squares))
    return np.where(at_least == 0, np.minimum(drawn, limit), drawn)


# --- p without draws ------------------------------------------------------------------------------


def _p_without_draws(totals: Floats, differing: NDArray[np.intp]) -> Floats:
    """p of the columns that need no draws; NaN for the others."""
    observed = np.abs(totals.sum(axis=0))
    p_values = np.where(differing > 0, np.nan, 1.0)
    alike = differ_alike(totals)
    large = np.flatnonzero(~alike & (differing > MANY))
    squares = np.sqrt((totals[:, large] ** 2).sum(axis=0))
    p_values[large] = [math.erfc(z / math.sqrt(2)) for z in observed[large] / squares]
    for column in np.flatnonzero(alike):
        p_values[column] = mcnemar_p(int((totals[:, column] < 0).sum()), int((totals[:, column] > 0).sum()))
    for column in np.flatnonzero(~alike & (differing > 0) & (differing <= ALL_SWAPS)):
        swapped = _all_signs(int(differing[column])) @ totals[totals[:, column] != 0, column]
        p_values[column] = np.mean(np.abs(swapped) >= almost(observed[column]))
    return p_values


def _all_signs(n_units: int) -> Floats:
    bits = (np.arange(2**n_units)[:, None] >> np.arange(n_units)) & 1
    return np.asarray(bits * 2.0 - 1)


# --- intervals ------------------------------------------------------------------------------------


def _invert_all(totals: Floats, sizes: Floats, has_interval: NDArray[np.bool_], test: SwapTest) -> None:
    """Of so few cases or clusters that all swaps can be tried."""
    columns = np.flatnonzero(has_interval)
    is_swapped = (1 - _all_signs(len(totals))) / 2
    n_cases = is_swapped @ sizes
    rank = math.ceil(ALPHA / 2 * len(is_swapped) - ROUNDING)
    for column in columns:
        test.low[column], test.high[column] = _ends(is_swapped @ totals[:, column], n_cases, rank)


def _invert_normal(totals: Floats, sizes: Floats, columns: NDArray[np.intp], test: SwapTest) -> None:
    """The roots c of (sum (D - c n))^2 = z^2 sum (D - c n)^2."""
    here = totals[:, columns]
    total, n_cases, z2 = here.sum(axis=0), sizes.sum(), _Z**2
    square = n_cases**2 - z2 * (sizes**2).sum()
    half = total * n_cases - z2 * (here * sizes[:, None]).sum(axis=0)
    rest = total**2 - z2 * (here**2).sum(axis=0)
    root = np.sqrt(np.maximum(half**2 - square * rest, 0.0))
    test.low[columns], test.high[columns] = (half - root) / square, (half + root) / square


def _draw(
    totals: Floats,
    sizes: Floats | None,
    columns: NDArray[np.intp],
    needs_p: NDArray[np.bool_],
    seed: int,
    test: SwapTest,
) -> None:
    """p and intervals from random swaps. All columns share them: the n-th case of a column that differs is swapped as
    the n-th one of any other, so that the result of a metric does not depend on which metrics are compared with it."""
    differing = (totals != 0).sum(axis=0)
    moved, moved_sizes = np.zeros((2, int(differing.max()), len(columns)))
    for place, values in enumerate(totals.T):
        moved[: differing[place], place] = values[values != 0]
        moved_sizes[: differing[place], place] = 1.0 if sizes is None else sizes[values != 0]
    sums, swapped_cases = _signed_sums(moved, moved_sizes, seed)
    observed, squares = moved.sum(axis=0), (moved**2).sum(axis=0)
    at_least = (np.abs(sums) >= almost(np.abs(observed))).sum(axis=0)
    chances = p_of_draws(at_least, np.abs(observed), squares)
    still_sizes = _Still(sizes, len(totals), seed)
    rank = math.ceil(ALPHA * (SWAPS + 1) - ROUNDING) - 1
    for place, column in enumerate(columns):
        if needs_p[column]:
            test.p[column] = chances[place]
        still, n_still = still_sizes.swapped(totals[:, place])
        n_swapped = swapped_cases[:, place] + still
        swapped = (observed[place] - sums[:, place]) / 2
        both = np.concatenate([swapped, observed[place] - swapped])
        n_cases = np.concatenate([n_swapped, moved_sizes[:, place].sum() + n_still - n_swapped])
        test.low[column], test.high[column] = _ends(both, n_cases, rank)


def _signed_sums(moved: Floats, sizes: Floats, seed: int) -> tuple[Floats, Floats]:
    """Sums of the values with random signs, and the number of cases with a negative sign, float64 [SWAPS, n_columns]
    each."""
    parts = np.hstack([moved, sizes])
    sums, random = np.zeros((SWAPS, parts.shape[1])), np.random.default_rng(seed)
    step = max(1, _BLOCK // SWAPS)
    for start in range(0, len(parts), step):
        block = parts[start : start + step]
        signs = random.integers(0, 2, (len(block), SWAPS), dtype=np.int8) * 2 - 1
        sums += signs.astype(np.float64).T @ block
    values, signed_sizes = np.hsplit(sums, 2)
    return values, (sizes.sum(axis=0) - signed_sizes) / 2


class _Still:
    """How many of the cases that do not differ a swap holds: they change no sum, but count in the mean of what is
    swapped. Of clusters of different sizes, by the normal distribution of their number."""

    def __init__(self, sizes: Floats | None, n_units: int, seed: int) -> None:
        self._sizes, self._n_units, self._seed = sizes, n_units, seed
        self._known: dict[int, Floats] = {}

    def swapped(self, totals: Floats) -> tuple[Floats | float, float]:
        """(float64 [SWAPS], all cases that do not differ)."""
        is_still = totals == 0
        n_units = int(is_still.sum())
        if not n_units:
            return 0.0, 0.0
        if n_units not in self._known:
            random = np.random.default_rng((self._seed, n_units))
            self._known[n_units] = random.binomial(n_units, 0.5, SWAPS).astype(np.float64)
        share = self._known[n_units] / n_units
        if self._sizes is None:
            return self._known[n_units], float(n_units)
        sizes = self._sizes[is_still]
        spread = math.sqrt(float((sizes**2).sum()) * n_units) / float(sizes.sum())
        swapped = float(sizes.sum()) * (0.5 + np.clip(spread * (share - 0.5), -0.5, 0.5))
        return swapped, float(sizes.sum())


def _ends(sums: Floats, n_cases: Floats, rank: int) -> tuple[float, float]:
    """The `rank`-th smallest and largest mean; swapping nothing gives the observed sum whatever the shift is."""
    is_empty = n_cases <= 0
    means = sums / np.where(is_empty, 1.0, n_cases)
    if is_empty.any():
        low, high = np.where(is_empty, -np.inf, means), np.where(is_empty, np.inf, means)
    else:
        low = high = means
    last = len(means) - rank
    return float(np.partition(low, rank - 1)[rank - 1]), float(np.partition(high, last)[last])
