"""Progress of a run on stderr: a bar with ETA, failures and cost in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from runner.system import terminal
from runner.words.wording import Wording

PLAIN_SECONDS = 30.0

Spent = Callable[[], str]  # tokens and cost so far in words, empty where there are none


class Progress(Protocol):
    """Shows how many cases are done. Every case counts once, also a failed one."""

    def expect(self, total: int) -> None:
        """Change the number of cases."""

    def advance(self, *, failed: bool, unscored: bool = False) -> None:
        """Count a case. `unscored`: it did not fail, but a judge gave no score."""

    def note(self, text: str) -> None:
        """Write a line above the bar."""


class Plain:
    """Progress as lines: at most one every thirty seconds, and one at the end."""

    def __init__(self, total: int, label: str, cost_text: Spent, say: Wording) -> None:
        self.total, self.label, self.cost_text, self.say = total, label, cost_text, say
        self.done = self.failed = self.unscored = 0
        self.started = self.shown_at = time.monotonic()

    def expect(self, total: int) -> None:
        self.total = total
        if not self.done:
            self.shown_at = time.monotonic()

    def advance(self, *, failed: bool, unscored: bool = False) -> None:
        self.done += 1
        self.failed += failed
        self.unscored += unscored
        now = time.monotonic()
        if self.done == self.total or now - self.shown_at >= PLAIN_SECONDS:
            self.shown_at = now
            terminal.note(self._line(now))

    def note(self, text: str) -> None:
        terminal.note(f"{self.label}: {text}")

    def _line(self, now: float) -> str:
        say, passed = self.say, now - self.started
        left = passed / self.done * (self.total - self.done)
        eta = say("progress.left", seconds=left) if self.done < self.total else say("progress.took", seconds=passed)
        cases = say("progress.cases", done=self.done, total=self.total)
        bad = [say("progress.failed", failed=self.failed), _unscored_note(self.unscored, say)]
        parts = [cases, *bad, self.cost_text(), eta]
        return f"{self.label}: {', '.join(part for part in parts if part)}"


def _unscored_note(count: int, say: Wording) -> str:
    return say("progress.unscored", unscored=count) if count else ""


class Bar:
    """Progress as one line of the terminal that is redrawn."""

    def __init__(self, bar: Any, task: Any, cost_text: Spent, say: Wording) -> None:
        self.bar, self.task, self.cost_text, self.say = bar, task, cost_text, say
        self.failed = self.unscored = 0

    def expect(self, total: int) -> None:
        self.bar.update(self.task, total=total)

    def advance(self, *, failed: bool, unscored: bool = False) -> None:
        self.failed += failed
        self.unscored += unscored
        lacking = _unscored_note(self.unscored, self.say)
        self.bar.update(self.task, advance=1, failed=self.failed, unscored=lacking, spent=self.cost_text())

    def note(self, text: str) -> None:
        self.bar.console.print(terminal.sanitise(text))


class Silent:
    """Progress that another process shows; notes are still written."""

    def __init__(self, label: str) -> None:
        self.label = label

    def expect(self, total: int) -> None:
        pass

    def advance(self, *, failed: bool, unscored: bool = False) -> None:
        pass

    def note(self, text: str) -> None:
        terminal.note(f"{self.label}: {text}")


_SHOWN_ELSEWHERE: ContextVar[bool] = ContextVar("shown_elsewhere", default=False)


@contextmanager
def shown_elsewhere() -> Iterator[None]:
    """While another process shows the progress of this one."""
    token = _SHOWN_ELSEWHERE.set(True)
    try:
        yield
    finally:
        _SHOWN_ELSEWHERE.reset(token)


@contextmanager
def show_waiting(label: str, say: Wording) -> Iterator[Callable[[str], None]]:
    """Progress of work without a count: a spinner in a terminal, elsewhere a line after a while. Yields a function that
    writes a line above it."""
    started = time.monotonic()
    if sys.stderr.isatty() and not _SHOWN_ELSEWHERE.get():
        from rich.text import Text

        console = terminal.console(stderr=True)
        with console.status(Text(terminal.sanitise(label))):
            yield lambda text: console.print(terminal.sanitise(text))
    else:
        yield terminal.note
    seconds = time.monotonic() - started
    if seconds >= PLAIN_SECONDS and not _SHOWN_ELSEWHERE.get():
        terminal.note(say("progress.took_long", label=label, seconds=seconds))


@contextmanager
def progress(total: int, label: str, cost_text: Spent, say: Wording) -> Iterator[Progress]:
    """A bar in a terminal, plain lines elsewhere; `total` is the number of pending cases."""
    if _SHOWN_ELSEWHERE.get():
        yield Silent(label)
        return
    if total == 0 or not sys.stderr.isatty():
        yield Plain(total, label, cost_text, say)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(say("progress.failed", failed="{task.fields[failed]}"), style="red", markup=False),
        TextColumn("{task.fields[unscored]}", style="red", markup=False),
        TextColumn("{task.fields[spent]}", markup=False),
        TimeElapsedColumn(),
        TextColumn(say("progress.eta")),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=terminal.console(stderr=True), refresh_per_second=8) as bar:
        yield Bar(
            bar, bar.add_task(terminal.sanitise(label), total=total, failed=0, unscored="", spent=""), cost_text, say
        )
