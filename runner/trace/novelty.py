"""How new a trace is: its distance to the nearest of the traces before it, in a cache of vectors.

The order of evaluation is part of the result: a trace is held against those before it, never against later ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.errors import DataError, EvaluationError, Problem
from runner.metrics.trace import novelty
from runner.protocols import Embedder, Workspace
from runner.trace.records import Trace

BATCH = 64  # texts embedded at a time
START = datetime(1970, 1, 1, tzinfo=UTC)
Vector = NDArray[np.float32]


def _now_ms() -> float:
    return time.monotonic() * 1000


class VectorCache:
    """The latest `max_elements` vectors, first in, first out, float32 [max_elements, dimensions], contiguous.

    With `ttl_ms` a vector stays while it was added after `clock()` - ttl_ms. The clock is in ms and never goes back.
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
        self._ttl_ms, self._clock = ttl_ms, clock

    def __len__(self) -> int:
        """How many there are to look at."""
        return int(np.count_nonzero(self._alive()))

    def nearest(self, vector: Vector) -> float | None:
        """The largest cosine to a vector in the cache; None when it is empty. Scans all of them by one product."""
        n = self._n_filled
        if n == 0:
            return None
        cosines = self._rows[:n] @ self._placed(vector)
        if self._ttl_ms is not None:
            cosines = cosines[self._alive()]
        return float(cosines.max()) if len(cosines) else None

    def add(self, vector: Vector) -> None:
        """In the place of the oldest one where the cache is full."""
        place = self._n_added % len(self._rows)
        self._rows[place] = self._placed(vector)
        self._added_ms[place] = self._clock()
        self._n_added += 1

    def novelty(self, vector: Vector) -> float:
        """Of one more vector, which is in the cache from then on."""
        nearest = self.nearest(vector)
        self.add(vector)
        return novelty(nearest)

    @property
    def _n_filled(self) -> int:
        return min(self._n_added, len(self._rows))

    def _alive(self) -> NDArray[np.bool_]:
        if self._ttl_ms is None:
            return np.ones(self._n_filled, dtype=np.bool_)
        return self._added_ms[: self._n_filled] > self._clock() - self._ttl_ms

    def _placed(self, vector: Vector) -> Vector:
        """Of length 1 (or 0), with zeros for the dimensions that it lacks, which changes no cosine."""
        dimensions = self._rows.shape[1]
        if len(vector) > dimensions:
            raise EvaluationError(
                f"evaluation.novelty.dimensions: {dimensions}, but the embedder's vectors have {len(vector)}"
            )
        length = float(np.linalg.norm(vector))
        placed = np.zeros(dimensions, dtype=np.float32)
        placed[: len(vector)] = vector / length if length else vector
        return placed


class Novelty:
    """Of the traces of a data set, in the order of the file or of `metadata.created_at`, which is also the clock of
    `ttl_ms`: what comes out does not depend on when it is computed. 0.5 for all without an embedder."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        max_elements: Annotated[int, Field(ge=1)] = 1000,
        dimensions: Annotated[int, Field(ge=1)] = 384,
        ttl_ms: Annotated[int, Field(ge=1)] | None = None,
        order: Literal["file", "time"] = "file",
    ) -> None:
        self.embedder = embedder
        self.max_elements, self.dimensions, self.ttl_ms = max_elements, dimensions, ttl_ms
        self.order = order

    def preflight(self) -> list[Problem]:
        if self.ttl_ms is None or self.order == "time":
            return []
        return [
            Problem(
                "evaluation.novelty.ttl_ms", "counts the time between traces: it needs evaluation.novelty.order=time"
            )
        ]

    def ordered(self, traces: Sequence[Trace]) -> list[Trace]:
        """Those of one moment in the order of the file. Raises DataError for traces without a time that need one."""
        if self.order == "file":
            return list(traces)
        without = [trace.id for trace in traces if trace.created_at is None]
        if without:
            shown = ", ".join(without[:5]) + (" …" if len(without) > 5 else "")
            raise DataError(
                f"evaluation.novelty.order=time: {len(without)} traces have no metadata.created_at: {shown}"
            )
        return sorted(traces, key=_moment)

    def of(self, traces: Sequence[Trace], wanted: set[str], workspace: Workspace) -> dict[str, float]:
        """By id, for the `wanted` ids. What is not before one of them is not embedded; an embedder is fitted on all
        traces, so that which are wanted changes nothing."""
        ordered = self.ordered(traces)
        self.embedder.prepare([trace.text for trace in ordered], workspace)
        needed = self._needed(ordered, wanted)
        texts = [trace.text for trace in needed]
        time_ms = 0.0
        cache = VectorCache(
            max_elements=self.max_elements, dimensions=self.dimensions, ttl_ms=self.ttl_ms, clock=lambda: time_ms
        )
        found = {}
        for trace, vector in zip(needed, self._vectors(texts), strict=True):
            time_ms = _moment(trace).timestamp() * 1000
            found[trace.id] = cache.novelty(vector) if len(vector) else novelty(None)
        return {id: value for id, value in found.items() if id in wanted}

    def _needed(self, ordered: Sequence[Trace], wanted: set[str]) -> list[Trace]:
        """The wanted traces and those that the cache holds when their turn comes, in order."""
        kept, ahead = [], 0
        for trace in reversed(ordered):
            ahead = self.max_elements + 1 if trace.id in wanted else ahead
            if ahead > 0:
                kept.append(trace)
            ahead -= 1
        return kept[::-1]

    def _vectors(self, texts: Sequence[str]) -> Iterator[Vector]:
        is_rehearsed = getattr(self.embedder, "is_rehearsed", False)
        remaining = iter(texts)
        while batch := list(islice(remaining, BATCH)):
            rows = self.embedder.embed(batch, "passage")
            yield from rows[:, : self.dimensions] if is_rehearsed else rows


def _moment(trace: Trace) -> datetime:
    return trace.created_at or START
