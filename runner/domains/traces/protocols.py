"""What reads traces, and what tells how new they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from runner.domains.traces.records import Trace
from runner.protocols import Workspace
from runner.records import DataProblem


@runtime_checkable
class Traces(Protocol):
    def read(self, look: Callable[[Trace], None]) -> tuple[Sequence[Trace], tuple[DataProblem, ...]]:
        """In file order; `look` is shown each of them once, in this order. Raises DataError for files that cannot be
        used."""


class Novelty(Protocol):
    """Its `provenance` (runner.protocols) is what vectors hang on."""

    order: str

    async def of(self, traces: Sequence[Trace], wanted: Collection[str], workspace: Workspace) -> Mapping[str, float]:
        """By id, for the `wanted` ids among all traces; which are wanted changes nothing."""
