"""Which traces come before which, and the vectors that they are compared by."""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from runner.domains.traces.records import Trace
from runner.errors import DataError, Problem
from runner.protocols import Embedder, Workspace, offered
from runner.system.spool import Lazy
from runner.system.threads import in_thread

Order = Literal["file", "time"]
BATCH = 64  # texts embedded at a time
START = datetime(1970, 1, 1, tzinfo=UTC)
Vector = NDArray[np.float32]


def moment_ms(trace: Trace) -> float:
    return (trace.created_at or START).timestamp() * 1000


@dataclass(frozen=True, slots=True)
class Past:
    """`order`: that of the file, or of `metadata.created_at` (those of one moment in the order of the file). The
    `max_elements` traces before a trace are what it is held against; `dimensions` of a vector, at most."""

    embedder: Embedder
    order: Order
    max_elements: int
    dimensions: int

    def problems(self, ttl_ms: int | None) -> list[Problem]:
        if ttl_ms is None or self.order == "time":
            return []
        return [Problem("novelty.ttl_ms", "counts the time between traces: it needs novelty.order=time")]

    @property
    def has_vectors(self) -> bool:
        return bool(offered(self.embedder, "has_vectors"))

    async def vectors(
        self, traces: Sequence[Trace], wanted: Collection[str], workspace: Workspace
    ) -> AsyncIterator[tuple[Trace, Vector]]:
        """In order, the wanted traces and those that one of them is held against; what is not is not embedded. An
        embedder is fitted on all traces, so that which are wanted changes nothing. Raises DataError for traces
        without a time that need one."""
        ordered = self.ordered(traces)
        await in_thread(self.embedder.prepare, _Texts(traces, ordered), workspace)
        is_rehearsed = offered(self.embedder, "is_rehearsed")
        places = iter(self._needed(traces, ordered, wanted))
        while batch := [traces[place] for place in islice(places, BATCH)]:
            rows = await in_thread(self.embedder.embed, [trace.text for trace in batch], "passage")
            for trace, row in zip(batch, rows[:, : self.dimensions] if is_rehearsed else rows, strict=True):
                yield trace, row

    def ordered(self, traces: Sequence[Trace]) -> Sequence[int]:
        """Places in `traces`. Raises DataError for traces without a time that need one."""
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

    def _needed(self, traces: Sequence[Trace], ordered: Sequence[int], wanted: Collection[str]) -> Sequence[int]:
        """The wanted traces and those that a cache holds when their turn comes, in order."""
        if len(wanted) == len(traces):
            return ordered
        is_wanted = bytearray(trace.id in wanted for trace in traces)
        kept, ahead = array("L"), 0
        for place in reversed(ordered):
            ahead = self.max_elements + 1 if is_wanted[place] else ahead
            if ahead > 0:
                kept.append(place)
            ahead -= 1
        return kept[::-1]


class _Texts(Lazy[str]):
    """Of traces, in an order; none is held."""

    def __init__(self, traces: Sequence[Trace], ordered: Sequence[int]) -> None:
        self._traces, self._ordered = traces, ordered

    def __len__(self) -> int:
        return len(self._ordered)

    def record(self, place: int) -> str:
        return self._traces[self._ordered[place]].text
