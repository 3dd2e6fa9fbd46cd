"""How long a stage took by itself: what stood in line, or came from a cache, is no latency."""

from __future__ import annotations

import time
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
