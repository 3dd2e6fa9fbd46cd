"""How long a stage took by itself: what stood in line, or came from a cache, is no latency."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from runner.records import Timing


@dataclass(slots=True)
class Watch:
    """`live` until something under it came from a cache or needed a second attempt."""

    started: float = field(default_factory=time.perf_counter)
    waited_s: float = 0.0
    live: bool = True

    @property
    def timing(self) -> Timing:
        """Until now, without the waiting."""
        return Timing((time.perf_counter() - self.started - self.waited_s) * 1000, self.live)


_running: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def stopwatch() -> Iterator[Watch]:
    """What a stage inside of this one notes counts for both."""
    outer, watch = _running.get(), Watch()
    token = _running.set(watch)
    try:
        yield watch
    finally:
        _running.reset(token)
        if outer is not None:
            outer.waited_s += watch.waited_s
            outer.live = outer.live and watch.live


def note(*, waited_s: float = 0.0, live: bool = True) -> None:
    """Called where work is done, for whoever holds a stopwatch."""
    watch = _running.get()
    if watch is not None:
        watch.waited_s += waited_s
        watch.live = watch.live and live
