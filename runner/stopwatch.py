"""How long a stage took by itself: what stood in line, or came from a cache, is no latency, and standing in line
takes nothing of the time that a case has."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar, Token

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
        return Timing(self.ms, self.live)


_running: ContextVar[Watch | None] = ContextVar("watch", default=None)


def stopwatch() -> Watch:
    """For one `with`. What a stage inside of this one notes counts for both."""
    return Watch()


def note(*, waited_s: float = 0.0, live: bool = True) -> None:
    """Called where work is done, for whoever holds a stopwatch."""
    watch = _running.get()
    if watch is not None:
        watch.waited_s += waited_s
        watch.live = watch.live and live


@asynccontextmanager
async def deadline(seconds: float) -> AsyncIterator[None]:
    """TimeoutError in the body after so many seconds, not counting those spent `in_line`."""
    async with asyncio.timeout(seconds) as timeout:
        clock = _Clock(timeout)
        token = _deadline.set(clock)
        try:
            yield
        finally:
            _deadline.reset(token)
            clock.is_over = True


@contextmanager
def in_line() -> Iterator[None]:
    """For what waits for its turn on behalf of a case, in whatever task that the case began."""
    clock = _deadline.get()
    if clock is None:
        yield
        return
    clock.stop()
    try:
        yield
    finally:
        clock.go_on()


class _Clock:
    """Stands still while something is in line."""

    __slots__ = ("_in_line", "_left_s", "_timeout", "is_over")

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout, self._in_line, self._left_s = timeout, 0, 0.0
        self.is_over = False

    def stop(self) -> None:
        self._in_line += 1
        when = self._timeout.when()
        if self._in_line == 1 and when is not None and not self._has_ended:
            self._left_s = when - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def go_on(self) -> None:
        self._in_line -= 1
        if self._in_line == 0 and not self._has_ended:
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left_s)

    @property
    def _has_ended(self) -> bool:
        """A request may outlive the case that began it."""
        return self.is_over or self._timeout.expired()


_deadline: ContextVar[_Clock | None] = ContextVar("deadline", default=None)
