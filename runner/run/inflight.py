"""What is being worked on, for a person who waits."""

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
    """What one worker is at; `case` is None when it is at nothing."""

    case: str | None = None
    stage: str = "run"
    since: float = 0.0


@dataclass(slots=True)
class Flight:
    """The places of all workers, and when a case last ended (on the clock of time.perf_counter)."""

    places: list[Place] = field(default_factory=list)
    ended: float = field(default_factory=time.perf_counter)

    def place(self) -> Place:
        """A place for one more worker."""
        self.places.append(Place())
        return self.places[-1]

    def slowest(self) -> str:
        """`q-17 (judge, 31 s), q-3 (run, 30 s)`: the cases that have been in flight for longest."""
        now = time.perf_counter()
        busy = sorted((place for place in self.places if place.case is not None), key=lambda place: place.since)
        return ", ".join(f"{place.case} ({place.stage}, {now - place.since:.0f} s)" for place in busy[:NAMED])


@asynccontextmanager
async def patient(last: Callable[[], float], tell: Callable[[float], None], patience_s: float) -> AsyncIterator[None]:
    """While the body runs, `tell` how many seconds have passed since `last` (on the clock of time.perf_counter),
    whenever it is `patience_s` or more since that and since it was told."""

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
