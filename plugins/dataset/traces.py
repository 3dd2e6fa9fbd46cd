"""Reasoning traces of agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from runner.data.files import missing_files
from runner.data.problems import ProblemLog
from runner.domains.traces.reading import StoredTraces
from runner.domains.traces.records import Trace
from runner.errors import DataError, InputError, Problem
from runner.records import DataProblem, DataSet

FOLDER = Path(__file__).parent / "traces_data"


class TracesDataset:
    """JSON Lines, as runner.domains.traces.reading says; `traces`: one file, several, or null for those that come with
    the program."""

    def __init__(self, *, traces: str | list[str] | None = None, strict: bool = False) -> None:
        self.traces = [traces] if isinstance(traces, str) else traces
        self.strict = strict

    @property
    def paths(self) -> list[str]:
        """The files; without a setting, those that come with the program."""
        return self.traces if self.traces is not None else sorted(str(path) for path in FOLDER.glob("*.jsonl"))

    def preflight(self) -> list[Problem]:
        return missing_files(self.paths, "dataset.traces", DataError)

    def read(self, look: Callable[[Trace], None] = lambda _: None) -> tuple[Sequence[Trace], tuple[DataProblem, ...]]:
        """The traces are read again on each look, and none stays in memory."""
        log = ProblemLog(strict=self.strict)
        traces = StoredTraces(self.paths, "dataset.traces", log, look)
        return traces, log.problems

    def load(self) -> DataSet:
        """Raises InputError: traces are no corpus."""
        raise InputError("dataset=traces has no corpus and no questions; +experiment=trace_quality scores traces")
