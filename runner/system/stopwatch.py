"""Measures the time of a stage: time in queues, and results from a cache, are no latency, and time in queues does not
count against the limit of a case."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType

from runner.records import Timing


class Watch:
    """`live` until something under it came from a cache or needed a second attempt."""

    __slots__ = ("_outer", "_token", "live", "repeated_s", "started", "waited_s")

    def __enter__(self) -> Watch:
        self.waited_s, self.repeated_s, self.live = 0.0, 0.0, True
        self._outer = _running.get()
        self._token: Token[Watch | None] = _running.set(self)
        self.started = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        _running.reset(self._token)
        if self._outer is not None:
            self._outer.waited_s += self.waited_s
            self._outer.repeated_s += self.repeated_s
            self._outer.live = self._outer.live and self.live

    @property
    def ms(self) -> float:
        """Milliseconds so far, without waiting; 0 where things waited side by side for longer."""
        return max(0.0, time.perf_counter() - self.started - self.waited_s) * 1000

    @property
    def timing(self) -> Timing:
        """The measured time."""
        ms = self.ms
        return Timing(ms, self.live, ms + self.repeated_s * 1000 if self.repeated_s else None)


_running: ContextVar[Watch | None] = ContextVar("watch", default=None)


def stopwatch() -> Watch:
    """A watch for one `with`. Notes of a stage within another one count for both."""
    return Watch()


def note(*, waited_s: float = 0.0, live: bool = True, repeated_s: float = 0.0) -> None:
    """Report work to the stopwatch of the caller, if any. `repeated_s`: the part of the wait from the first attempt to
    the last."""
    watch = _running.get()
    if watch is not None:
        watch.waited_s += waited_s
        watch.repeated_s += repeated_s
        watch.live = watch.live and live


@contextmanager
def in_line() -> Iterator[None]:
    """Marks time in a queue on behalf of a case, in any task that the case began."""
    clock = _deadline.get()
    if clock is None:
        yield
        return
    clock.stop()
    try:
        yield
    finally:
        clock.go_on()


class Alarm:
    """The time limits of all cases of a run, on one timer, which is set for the earliest of them, and when it rings for
    the earliest that is left: nearly all cases end long before their limit, and set none."""

    __slots__ = ("_ends", "_timer")

    def __init__(self) -> None:
        self._ends: dict[Deadline, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, deadline: Deadline, ends: float) -> None:
        """`ends`: by the clock of the loop."""
        self._ends[deadline] = ends
        if self._timer is None or ends < self._timer.when():
            self._set(ends)

    def remove(self, deadline: Deadline) -> None:
        """Remove a wait, also one that has ended."""
        self._ends.pop(deadline, None)

    def _set(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._ring)

    def _ring(self) -> None:
        self._timer, now = None, asyncio.get_running_loop().time()
        for deadline in [deadline for deadline, ends in self._ends.items() if ends <= now]:
            self.remove(deadline)
            deadline.expire()
        if self._ends:
            self._set(min(self._ends.values()))


class Deadline:
    """Stands still while something is in line. Cancels its task as `asyncio.timeout` does."""

    __slots__ = ("_alarm", "_cancelling", "_ends", "_has_expired", "_in_line", "_is_over", "_left_s", "_task", "_token")

    def __init__(self, seconds: float, alarm: Alarm) -> None:
        self._alarm, self._left_s = alarm, seconds
        self._in_line, self._is_over, self._has_expired = 0, False, False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline is that of a task")
        self._task, self._cancelling = task, task.cancelling()
        self._token: Token[Deadline | None] = _deadline.set(self)
        self._run()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._alarm.remove(self)
        self._is_over = True
        _deadline.reset(self._token)
        if self._has_expired:
            is_alone = self._task.uncancel() <= self._cancelling  # nobody else cancelled the task
            if is_alone and isinstance(error, asyncio.CancelledError):
                raise TimeoutError from error

    def expire(self) -> None:
        """Raise TimeoutError in the body."""
        self._is_over = self._has_expired = True
        self._task.cancel()

    def stop(self) -> None:
        """The time stands still until `go_on`, once for each call."""
        self._in_line += 1
        if self._in_line == 1 and not self._is_over:
            self._alarm.remove(self)
            self._left_s = self._ends - asyncio.get_running_loop().time()

    def go_on(self) -> None:
        """Continue the stopwatch, after the last of the calls of `stop`."""
        self._in_line -= 1
        if self._in_line == 0 and not self._is_over:  # a request may outlive the case that began it
            self._run()

    def _run(self) -> None:
        self._ends = asyncio.get_running_loop().time() + self._left_s
        self._alarm.add(self, self._ends)


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def deadline(seconds: float, alarm: Alarm | None = None) -> Deadline:
    """TimeoutError in the body after so many seconds, not counting those spent `in_line`. `alarm`: that of the other
    cases of the run."""
    return Deadline(seconds, alarm or Alarm())
