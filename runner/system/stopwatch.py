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

    __slots__ = ("_outer", "_token", "live", "started", "waited_s")

    def __enter__(self) -> Watch:
        self.waited_s, self.live = 0.0, True
        self._outer = _running.get()
        self._token: Token[Watch | None] = _running.set(self)
        self.started = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        _running.reset(self._token)
        if self._outer is not None:
            self._outer.waited_s += self.waited_s
            self._outer.live = self._outer.live and self.live

    @property
    def ms(self) -> float:
        """Until now, without the waiting."""
        return (time.perf_counter() - self.started - self.waited_s) * 1000

    @property
    def timing(self) -> Timing:
        """What it measured."""
        return Timing(self.ms, self.live)


_running: ContextVar[Watch | None] = ContextVar("watch", default=None)


def stopwatch() -> Watch:
    """A watch for one `with`. Notes of a stage within another one count for both."""
    return Watch()


def note(*, waited_s: float = 0.0, live: bool = True) -> None:
    """Report work to the stopwatch of the caller, if any."""
    watch = _running.get()
    if watch is not None:
        watch.waited_s += waited_s
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


class Deadline:
    """Stands still while something is in line."""

    __slots__ = ("_in_line", "_is_over", "_left_s", "_timeout", "_token")

    def __init__(self, seconds: float) -> None:
        self._timeout = asyncio.timeout(seconds)
        self._in_line, self._left_s = 0, 0.0
        self._is_over = False

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()
        self._token: Token[Deadline | None] = _deadline.set(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _deadline.reset(self._token)
        self._is_over = True
        await self._timeout.__aexit__(kind, error, trace)

    def stop(self) -> None:
        """The time stands still until `go_on`, once for each call."""
        self._in_line += 1
        when = self._timeout.when()
        if self._in_line == 1 and when is not None and not self._has_ended:
            self._left_s = when - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def go_on(self) -> None:
        """Continue the stopwatch, after the last of the calls of `stop`."""
        self._in_line -= 1
        if self._in_line == 0 and not self._has_ended:
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left_s)

    @property
    def _has_ended(self) -> bool:
        """A request may outlive the case that began it."""
        return self._is_over or self._timeout.expired()


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def deadline(seconds: float) -> Deadline:
    """TimeoutError in the body after so many seconds, not counting those spent `in_line`."""
    return Deadline(seconds)
