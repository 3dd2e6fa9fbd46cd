"""One view of the progress of runs that workers make in other processes, or on other machines: read from the files
that they write."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from runner.run.progress import Progress, progress
from runner.system.metadata import read_json
from runner.words.wording import Wording

LOOK_S = 0.5


@dataclass
class WatchedRows:
    """The rows of one run or shard. `begun`: the file in which a run says how many cases it serves, which counts once
    it is another one than when the watch began. `pending`: that number, None until then."""

    rows: Path
    begun: Path | None = None
    pending: int | None = None
    _before: tuple[int, int] | None = field(init=False)
    _skip: int = 0  # rows of earlier passes
    _read: int = 0  # bytes

    def __post_init__(self) -> None:
        self._before = self._identity()

    def look(self) -> list[bytes]:
        """The rows that came since."""
        if self.pending is None and not self._has_begun():
            return []
        with suppress(FileNotFoundError), self.rows.open("rb") as file:
            file.seek(self._read)
            lines = [line for line in file if line.endswith(b"\n")]
            self._read += sum(map(len, lines))
            skipped = min(self._skip, len(lines))
            self._skip -= skipped
            return lines[skipped:]
        return []

    def _has_begun(self) -> bool:
        if self.begun is None or self._identity() == self._before or (told := read_json(self.begun)) is None:
            return False
        self.pending, self._skip = int(told["pending"]), int(told["done"])
        return True

    def _identity(self) -> tuple[int, int] | None:
        with suppress(OSError):
            if self.begun is not None:
                found = self.begun.stat()
                return found.st_ino, found.st_mtime_ns
        return None


@dataclass
class _View:
    watched: Sequence[WatchedRows]
    bar: Progress
    over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        while not self.over.wait(LOOK_S):
            self.look()
        self.look(is_last=True)

    def look(self, *, is_last: bool = False) -> None:
        new_rows = [line for each in self.watched for line in each.look()]
        pending_counts = [each.pending for each in self.watched if each.pending is not None]
        if pending_counts:  # a run that has not begun is taken to be as large as the largest
            unknown = 0 if is_last else len(self.watched) - len(pending_counts)
            self.bar.expect(sum(pending_counts) + unknown * max(pending_counts))
        for line in new_rows:
            failed = b'"status":"ok"' not in line
            self.bar.advance(failed=failed, unscored=not failed and b'"unscored":[]' not in line)


@contextmanager
def show_progress_of(watched: Sequence[WatchedRows], label: str, say: Wording) -> Iterator[None]:
    """Show the progress of all of them together until the end of the block."""
    if not watched:
        yield
        return
    with progress(1, label, lambda: "", say) as shown:
        view = _View(watched, shown)
        thread = threading.Thread(target=view.watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            view.over.set()
            thread.join()
