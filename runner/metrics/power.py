"""The smallest difference that a swap test finds: in four of five tries, at this number of cases.

It is the inverse power of the test that decides (runner.metrics.paired). Where cases are right or wrong, or fewer than
60 and less than half of them differ, the test is McNemar's in effect: of n cases M differ (binomially distributed), K
of these for the worse, and

    power = sum over M of P(M) P(2 P(Bin(M, 1/2) <= min(K, M - K)) < alpha)

A difference of the size u a case is u times that of yes and no. Else power is that of a t test. For whole clusters all
of this is counted in clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from runner.metrics.clusters import t_quantile
from runner.metrics.swaps import ALPHA

Floats = NDArray[np.float64]

TARGET = 0.8  # share of tries in which a detectable difference is found
FEW = 60  # that differ, below which their number matters and not only their spread
EXACT = 120  # that differ, above which the power of McNemar's test is that of a normal distribution
NEAR = 1e-3  # of a detectable difference, within which it is found


@dataclass(frozen=True, slots=True)
class Power:
    """What the power of a test depends on: `units` (cases, or clusters of them), of which `differing` differ, each by
    `size` of the whole mean times `units` on average; `error`: the standard error of the mean difference; `most`: the
    largest difference that there can be; `is_yes_no`: whether all that differ do so by the same."""

    units: int
    differing: int
    size: float
    error: float
    most: float
    is_yes_no: bool

    def detectable(self, tests: int = 1) -> float | None:
        """Args:
            tests: among which p is adjusted.

        Returns:
            The smallest detectable difference; None where none is.
        """
        alpha = ALPHA / max(1, tests)
        if self.units < 2 or self.size <= 0:
            return None
        if self._counts:
            share = detectable_share(self.differing, self.units, alpha)
            return None if share is None or share * self.size > self.most else share * self.size
        found = self.error * (t_quantile(1 - alpha / 2, self.units - 1) + t_quantile(TARGET, self.units - 1))
        return found if found <= self.most else None

    def finds(self, difference: float, tests: int = 1) -> float:
        """Args:
            difference: above 0.
            tests: among which p is adjusted.

        Returns:
            The share of tries in which the test finds a difference, in 0..1.
        """
        alpha = ALPHA / max(1, tests)
        if self.units < 2 or self.size <= 0 or difference > self.most:
            return 0.0
        if self._counts:
            share = min(1.0, difference / self.size)
            return power_of_shares(share, self.differing / self.units, self.units, alpha)
        limit = t_quantile(1 - alpha / 2, self.units - 1)
        return NormalDist().cdf(difference / self.error - limit) if self.error > 0 else 1.0

    @property
    def _counts(self) -> bool:
        """Whether the number of those that differ matters, and not only their spread."""
        return self.is_yes_no or (self.differing < FEW and 2 * self.differing < self.units)


@lru_cache(maxsize=8192)
def detectable_share(differing: int, n: int, alpha: float = ALPHA) -> float | None:
    """Args:
        differing: cases that changed from right to wrong or back.
        n: all cases.
        alpha: level of the test.

    Returns:
        The smallest difference of the shares right that McNemar's test finds; None where it finds not even 1.
    """
    if power_of_shares(1.0, differing / n, n, alpha) < TARGET:
        return None
    low, high = 0.0, 1.0
    guess = min(0.5, 2.9 * math.sqrt(max(differing, 8)) / n)  # 2.9 standard errors
    while high - low > NEAR * high:
        low, high = (guess, high) if power_of_shares(guess, differing / n, n, alpha) < TARGET else (low, guess)
        guess = (low + high) / 2 if high < 1.0 else min((low + high) / 2, 1.5 * low)
    return high


def power_of_shares(difference: float, share: float, n: int, alpha: float = ALPHA) -> float:
    """Args:
        difference: of the shares right.
        share: of the cases that change; at least `difference` do.
        n: all cases.
        alpha: level of the test.

    Returns:
        How often McNemar's exact test finds the difference, in 0..1.
    """
    share = max(share, difference)
    if share * n > EXACT:
        return _normal_power(difference, share, n, alpha)
    spread = 5 * math.sqrt(share * n * (1 - share)) + 3
    differing = np.arange(max(0, math.floor(share * n - spread)), min(n, math.ceil(share * n + spread)) + 1)
    most = _most_fewer(alpha)[differing]
    up = (1 + difference / share) / 2
    found = _below(differing, most, 1 - up) + _below(differing, most, up)
    return float(_binomial(n, differing, share) @ found)


def _normal_power(difference: float, share: float, n: int, alpha: float) -> float:
    """Of so many cases that differ; a difference of one case less, as the exact test takes steps."""
    normal = NormalDist()
    error = math.sqrt(max(share - difference**2, 1e-12) / n)
    limit = normal.inv_cdf(1 - alpha / 2) * math.sqrt(share / n) + 1 / n
    return normal.cdf((difference - limit) / error)


@lru_cache(maxsize=64)
def _most_fewer(alpha: float) -> NDArray[np.intp]:
    """For M cases that differ, M = 0, 1, ...: the largest number of those that go the rarer way at which McNemar's test
    is significant; -1 where none is."""
    most = []
    for n in range(4 * EXACT):
        shares = np.cumsum(_binomial(n, np.arange(n // 2 + 1), 0.5))
        most.append(int(np.searchsorted(2 * shares, alpha * (1 - 1e-12))) - 1)
    return np.array(most, dtype=np.intp)


def _below(n: NDArray[np.intp], most: NDArray[np.intp], share: float) -> Floats:
    """P(Bin(n, share) <= most), float64 [n_values]; 0 where `most` is -1."""
    counts = np.arange(int(most.max(initial=-1)) + 1)
    if not len(counts):
        return np.zeros(len(n))
    chances = _binomial(n[:, None], counts[None, :], share)
    return np.asarray(np.where(counts[None, :] <= most[:, None], chances, 0.0).sum(axis=1))


def _binomial(n: NDArray[np.intp] | int, count: NDArray[np.intp], share: float) -> Floats:
    """P(Bin(n, share) = count); 0 where count is above n."""
    factorials = _log_factorials(int(np.max(n)))
    rest = np.maximum(np.asarray(n) - count, 0)
    logs = factorials[n] - factorials[np.minimum(count, n)] - factorials[rest]
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(count > 0, count * np.log(share), 0.0)
        down = np.where(rest > 0, rest * np.log1p(-share), 0.0)
    return np.asarray(np.where(count <= n, np.exp(logs + up + down), 0.0))


@lru_cache(maxsize=8)
def _log_factorials(n: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, max(n, 4 * EXACT) + 1)))])
