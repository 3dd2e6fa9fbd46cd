"""Fuses several rankings into one, by scores or by ranks.

Convex combination of normalised scores: Bruch et al. 2023, "An analysis of fusion functions for hybrid retrieval".
Reciprocal ranks: Cormack et al. 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Normalization = Literal["zscore", "minmax"]
Values = tuple[float, NDArray[np.float64]]  # value of an item that a ranking lacks, and values of the others

BALANCED = 0.5  # default weight of the keyword leg
NORMALISED = 100  # best items of a ranking over which its scores are normalised
POOL = 300  # items taken from each ranking


def fuse(
    places: Sequence[NDArray[np.int64]], values: Sequence[Values], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The union of the places, ascending, and their sums of weight x value. `weights`: [n_rankings, 1]."""
    union = np.unique(np.concatenate(places))
    rows = [over(union, own, *told) for own, told in zip(places, values, strict=True)]
    return union, (weights * np.stack(rows)).sum(axis=0)


def over(
    union: NDArray[np.int64], places: NDArray[np.int64], missing: float, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The values in the order of `union`, `missing` for places that `places` lacks."""
    row = np.full(len(union), missing)
    row[np.searchsorted(union, places)] = values
    return row


def convex_values(scores: NDArray[np.float64], *, pool: int, total: int, normalization: Normalization) -> Values:
    """The best `pool` of `total` items by `scores` (best first), normalised over the best NORMALISED ones. A missing
    item counts as the lowest score, or as 0 where the ranking is exhausted."""
    head = np.zeros(min(NORMALISED, pool, total))
    head[: len(scores)] = scores[: len(head)]
    if normalization == "zscore":
        center, scale = float(head.mean()), float(head.std()) or 1.0
    else:
        center, scale = float(head.min()), float(np.ptp(head)) or 1.0
    lowest = 0.0 if len(scores) < min(pool, total) else scores[-1]
    return float((lowest - center) / scale), (scores - center) / scale


def reciprocal_ranks(count: int, rrf_k: int) -> Values:
    """1 / (rrf_k + rank); 0 for a missing item."""
    return 0.0, 1 / (rrf_k + np.arange(1, count + 1))
