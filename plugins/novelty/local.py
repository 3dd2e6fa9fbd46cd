"""How new each trace of a data set is: its distance to the nearest of the traces before it.

The order of evaluation is part of the result: a trace is held against those before it, never against later ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.errors import DataError, Problem
from runner.metrics.trace import novelty
from runner.protocols import Embedder, Workspace
from runner.trace.novelty import VectorCache
from runner.trace.records import Trace

BATCH = 64  # texts embedded at a time
START = datetime(1970, 1, 1, tzinfo=UTC)
Vector = NDArray[np.float32]


class LocalNovelty:
    """In the order of the file or of `metadata.created_at`, which is also the clock of
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
        return [Problem("novelty.ttl_ms", "counts the time between traces: it needs novelty.order=time")]

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {"embedder": getattr(self.embedder, "provenance", {})}

    def ordered(self, traces: Sequence[Trace]) -> list[Trace]:
        """Those of one moment in the order of the file. Raises DataError for traces without a time that need one."""
        if self.order == "file":
            return list(traces)
        without = [trace.id for trace in traces if trace.created_at is None]
        if without:
            shown = ", ".join(without[:5]) + (" …" if len(without) > 5 else "")
            raise DataError(f"novelty.order=time: {len(without)} traces have no metadata.created_at: {shown}")
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
