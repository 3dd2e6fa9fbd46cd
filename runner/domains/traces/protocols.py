"""Protocols of data sets of traces, and of novelty measures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from runner.domains.traces.records import Trace
from runner.protocols import Workspace
from runner.records import DataProblem, Timing


@runtime_checkable
class Traces(Protocol):
    """A data set of reasoning traces.

    class Stored:
        def read(self, look: Callable[[Trace], None]) -> tuple[Sequence[Trace], tuple[DataProblem, ...]]:
            traces = [trace_of(record) for record in self.records]
            for trace in traces:
                look(trace)
            return traces, ()
    """

    def read(self, look: Callable[[Trace], None]) -> tuple[Sequence[Trace], tuple[DataProblem, ...]]:
        """Read the traces in file order.

        Args:
            look: called with each trace as it is read.

        Returns:
            The traces, and problems of the files.

        Raises:
            DataError: a file cannot be used.
        """


@runtime_checkable
class Shared(Protocol):
    """A novelty that embeds traces in batches, and reports the time of each trace: an equal share of its batch.

    class ServerNovelty:
        async def of(self, traces, wanted, workspace):
            with stopwatch() as watch:
                vectors = self.embedder.embed([trace.text for trace in traces], "passage")
            self.shares = {trace.id: Timing(watch.ms / len(traces)) for trace in traces}
    """

    @property
    def shares(self) -> Mapping[str, Timing]:
        """The times by trace id, after `of` has returned; empty where nothing was embedded."""


class Novelty(Protocol):
    """Measures how new each trace is compared with the traces before it. `order`: how traces are ordered; `provenance`
    (runner.protocols): what else the vectors depend on.

    class Unknown:
        order = "file"

        async def of(
            self, traces: Sequence[Trace], wanted: Collection[str], workspace: Workspace
        ) -> Mapping[str, float]:
            return dict.fromkeys(wanted, 0.5)
    """

    order: str

    async def of(self, traces: Sequence[Trace], wanted: Collection[str], workspace: Workspace) -> Mapping[str, float]:
        """Args:
            traces: all traces of the data set, in file order.
            wanted: ids of the traces to score. The values do not depend on this choice.

        Returns:
            Novelty by id, one for each wanted trace: 1 - cosine to the nearest trace before, 0 to 2.
        """
