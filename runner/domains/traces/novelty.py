"""A cache of the latest vectors, which computes the distance of a trace to the nearest earlier trace."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from runner.errors import InputError
from runner.metrics.trace import novelty

Vector = NDArray[np.float32]


def _now_ms() -> float:
    return time.monotonic() * 1000


class VectorCache:
    """The latest `max_elements` vectors, first in, first out, float32 [max_elements, dimensions], contiguous.

    With `ttl_ms` a vector is dropped once it is older than that. `clock`: in ms, monotonic.
    """

    def __init__(
        self,
        *,
        max_elements: int = 1000,
        dimensions: int = 384,
        ttl_ms: float | None = None,
        clock: Callable[[], float] = _now_ms,
    ) -> None:
        self._rows: Vector = np.zeros((max_elements, dimensions), dtype=np.float32)
        self._added_ms = np.zeros(max_elements)
        self._n_added = 0
        self._length = 0  # of the vectors, once there is one
        self._ttl_ms, self.now_ms = ttl_ms, clock

    def __len__(self) -> int:
        """The number of vectors that are not expired."""
        return int(np.count_nonzero(self._alive()))

    def nearest(self, vector: Vector) -> float | None:
        """The largest cosine to a vector in the cache, by one matrix product; None for an empty cache."""
        cosines = self._rows[: self._n_filled] @ self.to_row(vector)
        if self._ttl_ms is not None:
            cosines = cosines[self._alive()]
        return float(cosines.max()) if len(cosines) else None

    def add(self, vector: Vector) -> None:
        """Add a vector; a full cache drops its oldest one."""
        self.put(self.to_row(vector), self.now_ms())

    def put(self, placed: Vector, added_ms: float) -> None:
        """Add a vector from `to_row` with its time of addition."""
        place = self._n_added % len(self._rows)
        self._rows[place] = placed
        self._added_ms[place] = added_ms
        self._n_added += 1

    def novelty(self, vector: Vector) -> float:
        """Score a vector, then add it."""
        nearest = self.nearest(vector)
        self.add(vector)
        return novelty(nearest)

    @property
    def max_elements(self) -> int:
        """The capacity; a full cache drops its oldest vector."""
        return len(self._rows)

    @property
    def _n_filled(self) -> int:
        return min(self._n_added, len(self._rows))

    def _alive(self) -> NDArray[np.bool_]:
        if self._ttl_ms is None:
            return np.ones(self._n_filled, dtype=np.bool_)
        return self._added_ms[: self._n_filled] > self.now_ms() - self._ttl_ms

    def to_row(self, vector: Vector) -> Vector:
        """The vector with norm 1 (or 0), padded with zeros to `dimensions`, which does not change cosines. Raises
        InputError for a vector with more dimensions, or with another number of them than the first one, and for one
        that holds NaN or infinity."""
        dimensions = self._rows.shape[1]
        if len(vector) > dimensions:
            raise InputError(f"novelty.dimensions: {dimensions}, but the embedder's vectors have {len(vector)}")
        self._length = self._length or len(vector)
        if len(vector) != self._length:
            raise InputError(f"novelty: the embedder's vectors have {self._length} numbers, and one has {len(vector)}")
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length):
            raise InputError("novelty: the embedder made a vector that holds NaN or infinity")
        placed = np.zeros(dimensions, dtype=np.float32)
        placed[: len(vector)] = vector / length if length else vector
        return placed
