"""Novelty of reasoning traces, by the vectors of those before, held in a Redis or Valkey."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, Unpack

from pydantic import Field

from runner.domains.memory.redis_server import RedisServer
from runner.domains.memory.store_settings import Hours, RedisSettings
from runner.domains.traces.novelty import VectorCache
from runner.domains.traces.past import Order, Past, moment_ms
from runner.domains.traces.records import Trace
from runner.domains.traces.shared_cache import MARK, SharedPlace, SharedVectorCache
from runner.errors import Problem
from runner.metrics.trace import UNKNOWN_NOVELTY
from runner.protocols import CachedEmbedder, Embedder, Workspace, attribute_of
from runner.records import Timing
from runner.system.store import fingerprint

FULL = "raise its maxmemory, with maxmemory-policy noeviction"


class RedisNovelty:
    """As LocalNovelty. A cache without a `name` is that of one run and ends with it. One with a name lasts: traces are
    held against all that were added to it before, by other runs and programs, and are added. A run that is
    resumed, repeated or swept leaves its own traces out of what was before."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        max_elements: Annotated[int, Field(ge=1)] = 1000,
        dimensions: Annotated[int, Field(ge=1)] = 384,
        ttl_ms: Annotated[int, Field(ge=1)] | None = None,
        order: Order = "file",
        name: Annotated[str, Field(min_length=1)] | None = None,
        idle_hours: Hours = 24.0,
        **server: Unpack[RedisSettings],
    ) -> None:
        self.embedder, self.ttl_ms, self.order, self.name = embedder, ttl_ms, order, name
        self._idle_ms = max(1, round(idle_hours * 3_600_000))
        self._past = Past(embedder, order, max_elements, dimensions)
        self._server = RedisServer(setting="novelty", **server)

    def preflight(self) -> Sequence[Problem]:
        fitted = self.name is not None and self._past.has_vectors and not isinstance(self.embedder, CachedEmbedder)
        message = "this embedder is fitted on the traces of a run; a cache that lasts needs embedder=e5 or openai"
        return [
            *self._past.problems(self.ttl_ms),
            *([Problem("novelty.name", message)] if fitted else []),
            *(self._server.problems() if self._past.has_vectors else []),
        ]

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {"embedder": attribute_of(self.embedder, "provenance")}

    @property
    def shares(self) -> Mapping[str, Timing]:
        return self._past.shares

    async def of(self, traces: Sequence[Trace], wanted: Collection[str], workspace: Workspace) -> Mapping[str, float]:
        """Raises StopRunError where the server cannot be used, and InputError for vectors that do not fit."""
        if not self._past.has_vectors:
            self._past.trace_order(traces)
            return dict.fromkeys(wanted, UNKNOWN_NOVELTY)
        link = self._server.link(name="the store", full=FULL)
        time_ms = 0.0
        local = VectorCache(
            max_elements=self._past.max_elements,
            dimensions=self._past.dimensions,
            ttl_ms=self.ttl_ms,
            clock=lambda: time_ms,
        )
        apart = set() if self.name is None else set(_marks(traces))
        cache = SharedVectorCache(link, self._place(workspace), local, apart)
        scores = {}
        try:
            await link.vitals()
            async for trace, vector in self._past.vectors(traces, wanted, workspace):
                time_ms = moment_ms(trace)
                value = await cache.novelty(vector, _mark(trace))
                if trace.id in wanted:
                    scores[trace.id] = value
            if self.name is None:
                await cache.clear()
        finally:
            await link.close()
        return scores

    def _place(self, workspace: Workspace) -> SharedPlace:
        form = {
            "embedder": fingerprint([workspace.identity(self.embedder), self.provenance])[:12],
            "dimensions": self._past.dimensions,
            "max_elements": self._past.max_elements,
        }
        name = f"run {secrets.token_hex(16)}" if self.name is None else self.name
        return SharedPlace(name, json.dumps(form), self._idle_ms)


def _marks(traces: Sequence[Trace]) -> Iterator[bytes]:
    return (_mark(trace) for trace in traces)


def _mark(trace: Trace) -> bytes:
    """The same for a trace that says the same under the same id."""
    return sha256(f"{trace.id}\n{trace.text}".encode("utf-8", "surrogatepass")).digest()[:MARK]
