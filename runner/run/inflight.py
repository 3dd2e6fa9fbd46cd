"""The cases in flight, for a person who waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

PATIENCE_S = 30.0
NAMED = 3


@dataclass(slots=True)
class Place:
    """The work of one worker; `case` is None while it is idle."""

    case: str | None = None
    stage: str = "run"
    since: float = 0.0


@dataclass(slots=True)
class Flight:
    """The places of all workers, and the time when a case last ended (time.perf_counter)."""

    places: list[Place] = field(default_factory=list)
    ended: float = field(default_factory=time.perf_counter)

    def place(self) -> Place:
        """Add the place of a worker."""
        self.places.append(Place())
        return self.places[-1]

    def slowest(self) -> str:
        """`q-17 (judge, 31 s), q-3 (run, 30 s)`: the oldest cases in flight."""
        now = time.perf_counter()
        busy = sorted((place for place in self.places if place.case is not None), key=lambda place: place.since)
        return ", ".join(f"{place.case} ({place.stage}, {now - place.since:.0f} s)" for place in busy[:NAMED])


@asynccontextmanager
async def tell_when_quiet(
    last: Callable[[], float], tell: Callable[[float], None], patience_s: float
) -> AsyncIterator[None]:
    """While the body runs, call `tell` with the seconds since `last` (time.perf_counter) each time that `patience_s`
    have passed since `last` and since the previous call."""

    async def watch() -> None:
        wait_s = patience_s
        while True:
            await asyncio.sleep(wait_s)
            quiet_s = time.perf_counter() - last()
            wait_s = patience_s - quiet_s
            if wait_s <= 0:
                tell(quiet_s)
                wait_s = patience_s

    watcher = asyncio.create_task(watch())
    try:
        yield
    finally:
        watcher.cancel()
