"""Decides whether one run is slower than another one that ran at another time.

Runs go one after the other on a machine whose load changes over minutes. Latencies of neighbouring cases are therefore
correlated, and one run may fall into a busier minute than another. This has three consequences:

- The interval of a percentile comes from blocks: the latencies of a run in the order of time are cut into a tenth each,
  and blocks of that length, from any place of the circle that its cases form, are drawn with replacement (circular
  block bootstrap; Politis and Romano, A circular block-resampling procedure for stationary data, 1992).
- Resamples of one run do not contain the load during another. What a change of load does is seen within the runs: the
  mean logarithms of `STRETCHES` consecutive parts of a run differ by more than its cases explain (the component of
  variance between the parts). A rule of a gate takes a run for slower only where the whole interval of the ratio is
  beyond `DRIFT` standard deviations of such a change in both runs. A load that began between the runs and lasted
  throughout the second one cannot be told from a slower system; the margin of the rule is what protects from it.
- A sweep has no margin for latency: there a run counts as faster only where the whole 99 % interval of the ratio of the
  two p95 lies beyond `MUCH`, a factor that other work on a machine with several cores hardly reaches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from runner.metrics.statistics import Floats
from runner.metrics.swaps import ALPHA

BLOCKS = 10
FEWEST = 20  # least cases of a run, for blocks of at least two
MUCH = 10.0  # times
STRETCHES = 5  # parts of a run whose speeds are compared
DRIFT = 3.0  # standard deviations
RESAMPLES = 1000
LEAST_MS = 1e-9  # what a latency of 0 counts as in a ratio
ENOUGH = 0.005  # the share of resamples on either side of a 99 % interval
DRAWN = 4_000_000  # most latencies that are drawn


Doubt = Literal["few", "chance", "unsteady"]


@dataclass(frozen=True, slots=True)
class SlowdownTest:
    """`p` of the hypothesis that a run is not slower, two-sided, in (0, 1]. `doubt`: why it is not below .05: too few
    cases, a difference that may be chance, or one that is no larger than changes of speed within the runs."""

    p: float
    doubt: Doubt | None = None


def slowdown(first: Floats, second: Floats, rank: float, *, seed: int) -> SlowdownTest:
    """Tests whether a percentile of the second run is higher by more than chance and the drift of both runs.

    Args:
        first: ms of the live cases of a run in the order of time, float64 [n].
        second: those of the other run.
        rank: of the percentile, 0..100.
        seed: of the resamples.

    Returns:
        The test; p is 1 below `FEWEST` cases.
    """
    if min(len(first), len(second)) < FEWEST:
        return SlowdownTest(1.0, "few")
    ratios = _log_ratios(first, second, rank, seed)
    p = _two_sided(ratios, DRIFT * math.hypot(drift(first), drift(second)))
    if p < ALPHA:
        return SlowdownTest(p)
    return SlowdownTest(p, "unsteady" if _two_sided(ratios, 0.0) < ALPHA else "chance")


def drift(times: Floats) -> float:
    """By how much the speed of a run changes from one part of it to the next.

    Args:
        times: ms of the cases in the order of time, float64 [n], n >= 2 * STRETCHES.

    Returns:
        Standard deviation of the logarithm, >= 0: the component of variance between parts of a one-way layout.
    """
    parts = np.array_split(np.log(np.maximum(times, LEAST_MS)), STRETCHES)
    between = float(np.var([part.mean() for part in parts], ddof=1))
    within = float(np.mean([part.var(ddof=1) / len(part) for part in parts]))
    return math.sqrt(max(0.0, between - within))


def is_faster(first: Floats, second: Floats, *, seed: int) -> bool:
    """Whether p95 of the first run is significantly lower, and by more than the effect of load.

    Args:
        first: ms of the live cases of a run in the order of time, float64 [n].
        second: those of the other run.
        seed: of the resamples.

    Returns:
        True where it is lower by more than `MUCH` times in the whole 99 % interval.
    """
    if min(len(first), len(second)) < FEWEST or np.percentile(second, 95) <= MUCH * np.percentile(first, 95):
        return False
    return _share_up_to(_log_ratios(first, second, 95, seed), math.log(MUCH)) < ENOUGH


def _log_ratios(first: Floats, second: Floats, rank: float, seed: int) -> Floats:
    """The logarithm of the ratio of the percentiles, second to first, in each resample."""
    random = np.random.default_rng(seed)
    slow, fast = (np.maximum(of_blocks(times, rank, random), LEAST_MS) for times in (second, first))
    n = min(len(slow), len(fast))
    return np.log(slow[:n]) - np.log(fast[:n])


def _two_sided(ratios: Floats, bound: float) -> float:
    return min(1.0, 2 * _share_up_to(ratios, bound))


def _share_up_to(ratios: Floats, bound: float) -> float:
    return float((1 + (ratios <= bound).sum()) / (1 + len(ratios)))


def interval(first: Floats, second: Floats, rank: float, *, seed: int) -> tuple[float, float]:
    """The interval of the difference by which the percentile of the second run is higher. It does not include the load
    of the machine during the runs.

    Args:
        first: ms of the live cases of a run in the order of time, float64 [n], n >= 1.
        second: those of the other run.
        rank: of the percentile, 0..100.
        seed: of the resamples.

    Returns:
        (low, high) of the middle 95 % of the resamples, in ms.
    """
    random = np.random.default_rng(seed)
    slow, fast = of_blocks(second, rank, random), of_blocks(first, rank, random)
    n = min(len(slow), len(fast))
    low, high = np.percentile(slow[:n] - fast[:n], (2.5, 97.5))
    return float(low), float(high)


def of_blocks(times: Floats, rank: float, random: np.random.Generator) -> Floats:
    """The percentile in each resample, float64 [n_resamples].

    What is drawn are not the times but their numbers in ascending order, which are small integers: numpy finds the
    n-th of these many times faster.
    """
    n = len(times)
    length, n_resamples = -(-n // BLOCKS), max(100, min(RESAMPLES, DRAWN // n))
    order = np.argsort(times)
    numbers = np.empty(n, dtype=np.min_scalar_type(n))
    numbers[order] = np.arange(n)
    blocks = np.lib.stride_tricks.sliding_window_view(np.concatenate([numbers, numbers[: length - 1]]), length)
    drawn = blocks[random.integers(0, n, (n_resamples, BLOCKS))].reshape(n_resamples, -1)
    place = rank / 100 * (drawn.shape[1] - 1)
    below, above = math.floor(place), math.ceil(place)
    drawn.partition(below, axis=1)
    ordered = times[order]
    return _between(ordered[drawn[:, below]], ordered[drawn[:, above:].min(axis=1)], place - below)


def _between(left: Floats, right: Floats, share: float) -> Floats:
    """The value at a share of the way, rounded as numpy.percentile rounds it."""
    way = right - left
    return right - way * (1 - share) if share >= 0.5 else left + way * share
