"""How far a run is: a bar with ETA and error count on a terminal, plain lines elsewhere. On stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

PLAIN_SECONDS = 10.0


class Progress(Protocol):
    def advance(self, *, failed: bool) -> None: ...


class Plain:
    """A line at most every ten seconds, and one at the end."""

    def __init__(self, total: int, label: str) -> None:
        self.total, self.label = total, label
        self.done = self.failed = 0
        self.started = self.shown = time.monotonic()

    def advance(self, *, failed: bool) -> None:
        self.done += 1
        self.failed += failed
        now = time.monotonic()
        if self.done == self.total or now - self.shown >= PLAIN_SECONDS:
            self.shown = now
            print(self._line(now), file=sys.stderr, flush=True)  # noqa: T201

    def _line(self, now: float) -> str:
        left = (now - self.started) / self.done * (self.total - self.done)
        eta = f", {left:.0f} s left" if self.done < self.total else f", {now - self.started:.1f} s"
        return f"{self.label}: {self.done}/{self.total} cases, {self.failed} failed{eta}"


class Bar:
    def __init__(self, bar: Any, task: Any) -> None:
        self.bar, self.task, self.failed = bar, task, 0

    def advance(self, *, failed: bool) -> None:
        self.failed += failed
        self.bar.update(self.task, advance=1, failed=self.failed)


@contextmanager
def waiting(label: str) -> Iterator[None]:
    """For work that has no count: a spinner on a terminal; elsewhere a line once it took long."""
    started = time.monotonic()
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(label):
            yield
    else:
        yield
    seconds = time.monotonic() - started
    if seconds >= PLAIN_SECONDS:
        print(f"{label}: {seconds:.0f} s", file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def progress(total: int, label: str) -> Iterator[Progress]:
    if total == 0 or not sys.stderr.isatty():
        yield Plain(total, label)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("[red]{task.fields[failed]} failed"),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=Console(stderr=True), refresh_per_second=8) as bar:
        yield Bar(bar, bar.add_task(label, total=total, failed=0))
