"""What reads traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from runner.records import DataProblem
from runner.trace.records import Trace


@runtime_checkable
class Traces(Protocol):
    def read(self) -> tuple[Sequence[Trace], tuple[DataProblem, ...]]:
        """In file order. Raises DataError for files that cannot be used."""
