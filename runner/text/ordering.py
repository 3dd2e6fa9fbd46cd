"""The order of a ranking: score descending, ties by id descending (as bytes)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

STEP = 16


@runtime_checkable
class Ordered(Protocol):
    """Ids with the known place of each in ascending byte order."""

    @property
    def ranks(self) -> NDArray[Any]:
        """The place of each id in that order."""


def byte_ranks(ids: Sequence[str]) -> NDArray[Any]:
    """Place of each id in ascending byte order. UTF-8 sorts as its code points do."""
    if isinstance(ids, Ordered):
        return ids.ranks
    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return ranks


def best(scores: NDArray[np.float64], ranks: NDArray[Any], depth: int, *, above: float = -np.inf) -> NDArray[np.int64]:
    """Positions of the `depth` highest of the scores that are `above`, in ranking order; `ranks` decide
    between equal ones.
    """
    candidates = np.flatnonzero(_may_be_best(scores, depth, above))
    eligible = scores[candidates]
    if 0 < depth < len(eligible):  # among those alone: in a heap of equal scores numpy finds the n-th slowly
        kept = eligible >= np.partition(eligible, len(eligible) - depth)[len(eligible) - depth]
        candidates, eligible = candidates[kept], eligible[kept]
    order = np.lexsort((ranks[candidates], eligible))[::-1]
    return candidates[order[:depth]]


def _may_be_best(scores: NDArray[np.float64], depth: int, above: float) -> NDArray[np.bool_]:
    """Which scores are `above` and not below the `depth`-th of every STEP-th one, which is at most the `depth`-th of
    all."""
    sample = scores[::STEP]
    if 0 < depth < len(sample):
        sample = sample[sample > above]
    is_cut = 0 < depth < len(sample)
    may_be: NDArray[np.bool_] = (
        scores >= np.partition(sample, len(sample) - depth)[len(sample) - depth] if is_cut else scores > above
    )
    return may_be
