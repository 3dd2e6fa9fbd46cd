"""Whether one run is faster than another that ran at another time.

The runs of a sweep go one after the other on a machine that does other things as well. Its load changes over minutes,
so that the latencies of neighbouring cases are alike, and those of one run may all come from a busier minute than those
of another. Two things follow:

- The interval of p95 comes from blocks: the latencies of a run in the order of time are cut into a tenth each, and
  blocks of that length, from any place of the circle that its cases form, are drawn with replacement (circular block
  bootstrap; Politis and Romano, A circular block-resampling procedure for stationary data, 1992).
- No resample of one run knows how busy the machine was during another. A run counts as faster only where the whole
  99 % interval of the ratio of the two p95 lies beyond `MUCH`, which is more than other work on a machine makes of
  one that has some cores to share.
"""

from __future__ import annotations

import math

import numpy as np

from runner.metrics.statistics import Floats

BLOCKS = 10
FEWEST = 20  # cases of a run: blocks of at least two
MUCH = 10.0  # times
RESAMPLES = 1000
DRAWN = 4_000_000  # latencies that are drawn at most


def is_faster(one: Floats, other: Floats, *, seed: int) -> bool:
    """Whether p95 of the first run is less beyond chance and beyond what a busier machine does.

    one, other   ms of the live cases of a run in the order of time, float64 [n]
    """
    if min(len(one), len(other)) < FEWEST or np.percentile(other, 95) <= MUCH * np.percentile(one, 95):
        return False
    random = np.random.default_rng(seed)
    ratios = np.log(np.maximum(p95_of_blocks(other, random), 1e-9)) - np.log(
        np.maximum(p95_of_blocks(one, random), 1e-9)
    )
    return bool(np.percentile(ratios, 0.5) > math.log(MUCH))


def p95_of_blocks(times: Floats, random: np.random.Generator) -> Floats:
    """Of resamples, float64 [n_resamples]."""
    n = len(times)
    length, n_resamples = -(-n // BLOCKS), max(100, min(RESAMPLES, DRAWN // n))
    starts = random.integers(0, n, (n_resamples, BLOCKS))
    places = (starts[:, :, None] + np.arange(length)) % n
    return np.asarray(np.percentile(times[places.reshape(n_resamples, -1)], 95, axis=1))
