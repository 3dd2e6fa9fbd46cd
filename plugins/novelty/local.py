"""Novelty of reasoning traces, by the vectors of those before, held in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from runner.domains.traces.novelty import VectorCache
from runner.domains.traces.past import Order, Past, moment_ms
from runner.domains.traces.records import Trace
from runner.errors import Problem
from runner.metrics.trace import UNKNOWN_NOVELTY
from runner.protocols import Embedder, Workspace, attribute_of
from runner.records import Timing


class LocalNovelty:
    """Novelty in the order of the file or of `metadata.created_at`, which is also the clock of `ttl_ms`: the values do
    not depend on when they are computed. 0.5 for all without an embedder."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        max_elements: Annotated[int, Field(ge=1)] = 1000,
        dimensions: Annotated[int, Field(ge=1)] = 384,
        ttl_ms: Annotated[int, Field(ge=1)] | None = None,
        order: Order = "file",
    ) -> None:
        self.embedder, self.ttl_ms, self.order = embedder, ttl_ms, order
        self._past = Past(embedder, order, max_elements, dimensions)

    def preflight(self) -> Sequence[Problem]:
        return self._past.problems(self.ttl_ms)

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {"embedder": attribute_of(self.embedder, "provenance")}

    @property
    def shares(self) -> Mapping[str, Timing]:
        return self._past.shares

    async def of(self, traces: Sequence[Trace], wanted: Collection[str], workspace: Workspace) -> Mapping[str, float]:
        if not self._past.has_vectors:
            self._past.trace_order(traces)
            return dict.fromkeys(wanted, UNKNOWN_NOVELTY)
        time_ms = 0.0
        past = self._past
        cache = VectorCache(
            max_elements=past.max_elements, dimensions=past.dimensions, ttl_ms=self.ttl_ms, clock=lambda: time_ms
        )
        scores = {}
        async for trace, vector in past.vectors(traces, wanted, workspace):
            time_ms = moment_ms(trace)
            value = cache.novelty(vector)
            if trace.id in wanted:
                scores[trace.id] = value
        return scores
