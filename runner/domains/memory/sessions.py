"""Sessions of a store as one process works on them: what they cost, and the work on them in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from runner.domains.memory.protocols import MemoryStore
from runner.domains.memory.records import ChatTurn, SessionKey, SessionState, Upkeep


@dataclass(slots=True)
class Session:
    """`language`: the last known one. `summarised`: the last turn known to be in the summary. `failed`: consecutive
    failed updates. `is_due`: the background work must look at the session (again). `error`: the one that ended it."""

    upkeep: Upkeep = field(default_factory=Upkeep)
    language: str | None = None
    summarised: int = 0
    failed: int = 0
    is_due: bool = False
    task: asyncio.Task[None] | None = None
    error: Exception | None = None


class Sessions:
    """`work` on one session runs as one task at a time, as long as the session `is_due`; `work` resets that. What it
    raises ends the task, and is raised again by the next `check`, once; until then no work is done."""

    def __init__(
        self, store: MemoryStore, work: Callable[[SessionKey, Session], Awaitable[None]] | None = None
    ) -> None:
        self.store = store
        self._work = work
        self._sessions: dict[SessionKey, Session] = {}
        self._users = 0

    def of(self, key: SessionKey) -> Session:
        return self._sessions.setdefault(key, Session())

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """The outermost waits for the work under way when it ends well, else cancels it: the turns are kept."""
        async with self.store.open():
            self._users += 1
            try:
                yield
                while self._users == 1 and (tasks := self._tasks()):
                    await asyncio.wait(tasks)
            finally:
                self._users -= 1
                if not self._users:
                    await _cancel(self._tasks())

    async def append(self, key: SessionKey, turn: ChatTurn, keep: int | None = None) -> int:
        """The number that the turn got."""
        started = time.perf_counter()
        number = await self.store.append(key, turn, keep=keep)
        self.of(key).upkeep.appends_ms.append((time.perf_counter() - started) * 1000)
        return number

    async def inspect(self, key: SessionKey) -> SessionState:
        return await self.store.read(key, touch=False)

    async def delete(self, key: SessionKey) -> None:
        session = self._sessions.pop(key, None)
        if session is not None and session.task is not None:
            await _cancel({session.task})
        await self.store.delete(key)

    def upkeep(self, key: SessionKey) -> Upkeep:
        session = self._sessions.get(key)
        return Upkeep() if session is None else session.upkeep

    # --- in the background ----------------------------------------------------------------------------

    def check(self, session: Session) -> None:
        """Raises what ended the work on this session."""
        error, session.error = session.error, None
        if error is not None:
            raise error

    def start(self, key: SessionKey, session: Session) -> None:
        """Have the session updated in the background, unless that has begun or has failed."""
        session.is_due = True
        if session.error is None and (session.task is None or session.task.done()):
            session.task = asyncio.create_task(self._run_work(key, session))

    async def wait_until_idle(self, session: Session) -> None:
        """Wait until no work is in progress or due. Raises what `check` raises."""
        while session.task is not None and not session.task.done():
            await asyncio.wait({session.task})
        self.check(session)

    async def _run_work(self, key: SessionKey, session: Session) -> None:
        try:
            while session.is_due and self._work is not None:
                await self._work(key, session)
        except Exception as error:
            session.error = error

    def _tasks(self) -> set[asyncio.Task[None]]:
        tasks = (session.task for session in self._sessions.values())
        return {task for task in tasks if task is not None and not task.done()}


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
