"""Decides whether one run is faster than another one that ran at another time.

The runs of a sweep run one after the other on a machine with other load, which changes over minutes. Latencies of
neighbouring cases are therefore correlated, and one run may fall into a busier minute than another. This has two
consequences:

- The interval of p95 comes from blocks: the latencies of a run in the order of time are cut into a tenth each, and
  blocks of that length, from any place of the circle that its cases form, are drawn with replacement (circular block
  bootstrap; Politis and Romano, A circular block-resampling procedure for stationary data, 1992).
- Resamples of one run do not contain the load during another. A run counts as faster only where the whole 99 %
  interval of the ratio of the two p95 lies beyond `MUCH`, a factor that other work on a machine with several cores
  hardly reaches.
"""

from __future__ import annotations

import math

import numpy as np

from runner.metrics.statistics import Floats

BLOCKS = 10
FEWEST = 20  # least cases of a run, for blocks of at least two
MUCH = 10.0  # times
RESAMPLES = 1000
ENOUGH = 0.005  # the share of resamples on either side of a 99 % interval
DRAWN = 4_000_000  # most latencies that are drawn


def is_faster(first: Floats, second: Floats, *, seed: int) -> bool:
    """Whether p95 of the first run is significantly lower, and by more than the effect of load.

    Args:
        first: ms of the live cases of a run in the order of time, float64 [n].
        second: those of the other run.
        seed: of the resamples.

    Returns:
        True where it is lower by more than `MUCH` times in the whole 99 % interval.
    """
    return chance_not_slower(first, second, 95, seed=seed) < ENOUGH


def chance_not_slower(first: Floats, second: Floats, rank: float, *, seed: int) -> float:
    """p of the hypothesis that the percentile of the second run is at most `MUCH` times that of the first.

    Args:
        first: ms of the live cases of a run in the order of time, float64 [n].
        second: those of the other run.
        rank: of the percentile, 0..100.
        seed: of the resamples.

    Returns:
        p, in (0, 1]; 1 for few cases, and where the measured values agree with the hypothesis.
    """
    if min(len(first), len(second)) < FEWEST or np.percentile(second, rank) <= MUCH * np.percentile(first, rank):
        return 1.0
    random = np.random.default_rng(seed)
    slow, fast = (np.maximum(of_blocks(times, rank, random), 1e-9) for times in (second, first))
    n = min(len(slow), len(fast))
    ratios = np.log(slow[:n]) - np.log(fast[:n])
    return float((1 + (ratios <= math.log(MUCH)).sum()) / (1 + n))


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
