"""What reads traces, and what tells how new they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from runner.domains.traces.records import Trace
from runner.protocols import Workspace
from runner.records import DataProblem, Timing


@runtime_checkable
class Traces(Protocol):
    def read(self, look: Callable[[Trace], None]) -> tuple[Sequence[Trace], tuple[DataProblem, ...]]:
        """In file order; `look` is shown each of them once, in this order. Raises DataError for files that cannot be
        used."""


@runtime_checkable
class Shared(Protocol):
    """A novelty that embeds many traces at once, and tells how long each took of that: an equal share of its batch.

    class ServerNovelty:
        async def of(self, traces, wanted, workspace):
            with stopwatch() as watch:
                vectors = self.embedder.embed([trace.text for trace in traces], "passage")
            self.shares = {trace.id: Timing(watch.ms / len(traces)) for trace in traces}
    """

    @property
    def shares(self) -> Mapping[str, Timing]:
        """By id of a trace, once `of` has returned; empty where nothing was embedded."""


class Novelty(Protocol):
    """Its `provenance` (runner.protocols) is what vectors hang on."""

    order: str

    async def of(self, traces: Sequence[Trace], wanted: Collection[str], workspace: Workspace) -> Mapping[str, float]:
        """By id, for the `wanted` ids among all traces; which are wanted changes nothing."""
