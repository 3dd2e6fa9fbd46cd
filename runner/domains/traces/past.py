"""The order of traces, and the vectors with which they are compared.

Texts are embedded in batches of BATCH, in which a text takes a third of the time of a single one (benchmarks/trace.py
--e5). The time of a trace is not measured alone: it is an equal share of the time of its batch.
"""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from runner.domains.traces.records import Trace
from runner.errors import DataError, Problem
from runner.protocols import CachedEmbedder, Embedder, Workspace, attribute_of
from runner.records import Timing
from runner.system.spool import Lazy
from runner.system.stopwatch import stopwatch
from runner.system.threads import in_thread

Order = Literal["file", "time"]
BATCH = 64  # texts embedded at a time
STORED = Timing(None, live=False)
START = datetime(1970, 1, 1, tzinfo=UTC)
Vector = NDArray[np.float32]


def moment_ms(trace: Trace) -> float:
    """The time of a trace in milliseconds since 1970; START for one without a date."""
    return (trace.created_at or START).timestamp() * 1000


@dataclass(frozen=True, slots=True)
class Past:
    """`order`: of the file, or of `metadata.created_at` (ties in the order of the file). A trace is compared with the
    `max_elements` traces before it; `dimensions`: most dimensions of a vector. `shares`: id of a wanted trace ->
    embedding time of its batch divided by the number of texts embedded in it; not live for a stored vector."""

    embedder: Embedder
    order: Order
    max_elements: int
    dimensions: int
    shares: dict[str, Timing] = field(default_factory=dict, compare=False)

    def problems(self, ttl_ms: int | None) -> list[Problem]:
        """The problem of setting a time to live for traces without an order by time."""
        if ttl_ms is None or self.order == "time":
            return []
        return [Problem("novelty.ttl_ms", "counts the time between traces: it needs novelty.order=time")]

    @property
    def has_vectors(self) -> bool:
        return bool(attribute_of(self.embedder, "has_vectors"))

    async def vectors(
        self, traces: Sequence[Trace], wanted_ids: Collection[str], workspace: Workspace
    ) -> AsyncIterator[tuple[Trace, Vector]]:
        """Yield the wanted traces and those that they are compared with, in order; other traces are not embedded. An
        embedder is fitted on all traces, so that its vectors do not depend on the wanted ones. Raises DataError for
        traces without a required time."""
        ordered = self.trace_order(traces)
        await in_thread(self.embedder.prepare, _Texts(traces, ordered), workspace)
        is_rehearsed = attribute_of(self.embedder, "is_rehearsed")
        is_loaded = False
        places = iter(self._needed_places(traces, ordered, wanted_ids))
        while batch := [traces[place] for place in islice(places, BATCH)]:
            is_stored = await in_thread(self._which_stored, batch)
            if not is_loaded and not all(is_stored):  # loading once is not part of the time of a batch
                is_loaded = True
                await in_thread(self._load)
            rows = await in_thread(self._embed, batch, is_stored, wanted_ids)
            for trace, row in zip(batch, rows[:, : self.dimensions] if is_rehearsed else rows, strict=True):
                yield trace, row

    def _which_stored(self, batch: Sequence[Trace]) -> Sequence[bool]:
        """Which vectors of a batch are stored."""
        if isinstance(self.embedder, CachedEmbedder):
            return self.embedder.is_cached([trace.text for trace in batch], "passage")
        return [False] * len(batch)

    def _load(self) -> None:
        if isinstance(self.embedder, CachedEmbedder):
            self.embedder.warm_up()

    def _embed(
        self, batch: Sequence[Trace], is_stored_of_each: Sequence[bool], wanted_ids: Collection[str]
    ) -> NDArray[np.float32]:
        """float32 [n_traces, dim]. Notes the embedding time of the wanted traces."""
        texts = [trace.text for trace in batch]
        n_computed = len({text for text, is_stored in zip(texts, is_stored_of_each, strict=True) if not is_stored})
        with stopwatch() as watch:
            rows = self.embedder.embed(texts, "passage")
        share = Timing(watch.ms / n_computed, watch.live) if n_computed else STORED
        for trace, is_stored in zip(batch, is_stored_of_each, strict=True):
            if trace.id in wanted_ids:
                self.shares[trace.id] = STORED if is_stored else share
        return rows

    def trace_order(self, traces: Sequence[Trace]) -> Sequence[int]:
        """The order of traces, as places in `traces`. Raises DataError for traces without a required time."""
        if self.order == "file":
            return range(len(traces))
        without: list[str] = []
        times = array("d")
        for trace in traces:
            times.append(moment_ms(trace))
            without += [trace.id] if trace.created_at is None else []
        if without:
            shown = ", ".join(without[:5]) + (" …" if len(without) > 5 else "")
            raise DataError(f"novelty.order=time: {len(without)} traces have no metadata.created_at: {shown}")
        return array("L", np.argsort(np.array(times), kind="stable").tolist())

    def _needed_places(
        self, traces: Sequence[Trace], ordered: Sequence[int], wanted_ids: Collection[str]
    ) -> Sequence[int]:
        """The wanted traces and those that the cache holds at their turn, in order."""
        if len(wanted_ids) == len(traces):
            return ordered
        is_wanted = bytearray(trace.id in wanted_ids for trace in traces)
        places, ahead = array("L"), 0
        for place in reversed(ordered):
            ahead = self.max_elements + 1 if is_wanted[place] else ahead
            if ahead > 0:
                places.append(place)
            ahead -= 1
        return places[::-1]


class _Texts(Lazy[str]):
    """The texts of traces, in a given order; none is kept in memory."""

    def __init__(self, traces: Sequence[Trace], ordered: Sequence[int]) -> None:
        self._traces, self._ordered = traces, ordered

    def __len__(self) -> int:
        return len(self._ordered)

    def record(self, place: int) -> str:
        return self._traces[self._ordered[place]].text
