"""Traces that stay in their files."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence

from runner.data.fields import Fields
from runner.data.files import open_file
from runner.data.jsonl import parsed_line
from runner.data.problems import ProblemLog
from runner.domains.traces.reading import placed_traces, read_trace
from runner.domains.traces.records import Trace
from runner.errors import DataError
from runner.system.spool import Lazy


class StoredTraces(Lazy[Trace]):
    """All usable traces of some files, in file order. What is held of a trace is where it stands (12 bytes); it is read
    when it is looked at, and DataError is raised where nothing that can be used stands there any more."""

    def __init__(
        self, paths: Sequence[str], key: str, log: ProblemLog, look: Callable[[Trace], None] = lambda _: None
    ) -> None:
        """Reads and checks everything once, and lets `look` see it. Raises DataError as `placed_traces` does."""
        self._paths, self._key = list(paths), key
        self._files, self._offsets = array("I"), array("Q")
        for file, offset, trace in placed_traces(self._paths, key, log):
            self._files.append(file)
            self._offsets.append(offset)
            look(trace)

    def __len__(self) -> int:
        return len(self._files)

    def record(self, place: int) -> Trace:
        path = self._paths[self._files[place]]
        with open_file(path, self._key, DataError) as file:
            file.seek(self._offsets[place])
            return self._read(file.readline(), path)

    def __iter__(self) -> Iterator[Trace]:
        """Without opening a file for every trace."""
        place = 0
        for number, path in enumerate(self._paths):
            with open_file(path, self._key, DataError) as file:
                while place < len(self) and self._files[place] == number:
                    file.seek(self._offsets[place])
                    yield self._read(file.readline(), path)
                    place += 1

    def _read(self, line: bytes, path: str) -> Trace:
        log = ProblemLog()
        data = parsed_line(line, path, 0, log)
        trace = None if data is None else read_trace(Fields(data, path, None, log))
        if trace is None:
            raise DataError(f"{self._key}: {path} has changed while it was in use; the same command starts over")
        return trace
