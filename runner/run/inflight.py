"""The cases in flight, for a person who waits."""

from __future__ import annotations

import asyncio
import time
from array import array
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from runner.system.stopwatch import Alarm

PATIENCE_S = 30.0
NAMED = 3
LAG_PERIOD_S = 0.2  # between looks at the event loop


@dataclass(slots=True)
class Place:
    """The work of one worker; `case` is None while it is idle."""

    case: str | None = None
    stage: str = "run"
    since: float = 0.0
    alarm: Alarm = field(default_factory=Alarm)


@dataclass(slots=True)
class Flight:
    """The places of all workers, and the time when a case last ended (time.perf_counter)."""

    places: list[Place] = field(default_factory=list)
    ended: float = field(default_factory=time.perf_counter)
    alarm: Alarm = field(default_factory=Alarm)

    def place(self) -> Place:
        """Add the place of a worker."""
        self.places.append(Place(alarm=self.alarm))
        return self.places[-1]

    def slowest(self) -> str:
        """`q-17 (judge, 31 s), q-3 (run, 30 s)`: the oldest cases in flight."""
        now = time.perf_counter()
        busy = sorted((place for place in self.places if place.case is not None), key=lambda place: place.since)
        return ", ".join(f"{place.case} ({place.stage}, {now - place.since:.0f} s)" for place in busy[:NAMED])


@dataclass(slots=True)
class LoopLag:
    """By how much the event loop wakes its tasks too late: a reply that has arrived waits as long for its task.
    `seconds`: one entry for each look."""

    seconds: array[float] = field(default_factory=lambda: array("d"))

    @property
    def mean_ms(self) -> float | None:
        """The mean over time, in which long delays count for as long as they last; None where it was not measured."""
        if not self.seconds:
            return None
        lasting = sum(late + LAG_PERIOD_S for late in self.seconds)
        return sum(late * (late + LAG_PERIOD_S) for late in self.seconds) / lasting * 1000

    @asynccontextmanager
    async def measure(self) -> AsyncIterator[None]:
        """Measure while the body runs."""
        watcher = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watcher.cancel()

    async def _watch(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(LAG_PERIOD_S)
            self.seconds.append(max(0.0, time.perf_counter() - began - LAG_PERIOD_S))


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
