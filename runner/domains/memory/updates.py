"""Recursive summarisation: M_i = S(M_(i-1), turns), for the turns that have left the window."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from runner.domains.memory.bounds import bound_memory
from runner.domains.memory.entities import with_changes
from runner.domains.memory.protocols import MemoryStore, Summariser
from runner.domains.memory.records import Bounds, ChatTurn, SessionKey, SessionState
from runner.domains.memory.sessions import Session, Sessions
from runner.errors import EvaluationError, StopRunError
from runner.system.stopwatch import stopwatch

LEASE_S = 30.0  # how long a worker that was killed keeps the others from summarising its session, at most
LOOK_S = 0.02  # before another look whether a session is free; twice as long before each further one, up to LONGEST_S
LONGEST_S = 0.25

Count = Annotated[int, Field(ge=1)]


class UpdateSettings(TypedDict, total=False):
    """Settings of a memory that is summarised: meaning and default of each are documented at Updates."""

    window: Annotated[int, Field(ge=0)]
    update_every: Count
    max_sentences: Count
    max_tokens: Count
    max_entities: Annotated[int, Field(ge=0)]


class Updates:
    """The last `window` turns are not summarised. When `update_every` others wait, the oldest `update_every` of them
    are, so that a memory does not depend on how fast turns came. After n failures in a row (n + 1) times as many are
    taken, once there are so many. `max_sentences` and `max_tokens` are the bounds of a summary, `max_entities` those
    beside it. With `keep_turns` the store keeps what was summarised. Of several workers on one session one summarises,
    under a lease that it renews; the others wait for it, and take what it made.
    """

    def __init__(
        self,
        store: MemoryStore,
        summariser: Summariser,
        *,
        window: int = 5,
        update_every: int = 5,
        max_sentences: int = 20,
        max_tokens: int = 500,
        max_entities: int = 25,
        keep_turns: bool = False,
    ) -> None:
        self.sessions = Sessions(store, self._step)
        self.store, self.summariser = store, summariser
        self.window, self.update_every = window, update_every
        self.bounds = Bounds(max_sentences, max_tokens)
        self.max_entities, self.keep_turns = max_entities, keep_turns
        self.lease_s = LEASE_S

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None) -> None:
        """Raises what ended an update of this session, before the turn is kept."""
        session = self.sessions.of(key)
        self.sessions.check(session)
        number = await self.sessions.append(key, turn)
        session.language = language or session.language
        if number <= session.summarised:  # the session has ended, and begun again
            session.summarised = session.failed = 0
        if number - session.summarised >= self.window + self._n_due(session):
            self.sessions.start(key, session)

    async def update(self, key: SessionKey) -> None:
        session = self.sessions.of(key)
        self.sessions.check(session)
        if self._batch(await self.sessions.inspect(key), session):
            self.sessions.start(key, session)
        await self.sessions.wait_until_idle(session)

    def _n_due(self, session: Session) -> int:
        return self.update_every * (session.failed + 1)

    def _batch(self, state: SessionState, session: Session) -> Sequence[ChatTurn]:
        """The turns to summarise next; none as long as they are too few."""
        waiting = unsummarised_turns(state)
        size = self._n_due(session)
        return waiting[:size] if len(waiting) >= size + self.window else ()

    async def _step(self, key: SessionKey, session: Session) -> None:
        """One update, if one is due."""
        session.is_due = False
        try:
            if not self._batch(await self._inspect(key, session), session):
                return
            async with self._lease(key):
                state = await self._inspect(key, session)  # another may have summarised it meanwhile
                if batch := self._batch(state, session):
                    await self._try(key, session, state, batch)
        except EvaluationError as error:
            _count_failure(session, error)

    async def _inspect(self, key: SessionKey, session: Session) -> SessionState:
        state = await self.sessions.inspect(key)
        session.summarised = state.last_turn
        return state

    @asynccontextmanager
    async def _lease(self, key: SessionKey) -> AsyncIterator[None]:
        """No other process summarises the session inside. A process whose lease expired while it was suspended cannot
        commit over the summary of another."""
        holder, pause_s = secrets.token_hex(16), LOOK_S
        while not await self.store.lease(key, holder, self.lease_s):
            await asyncio.sleep(pause_s)
            pause_s = min(LONGEST_S, 2 * pause_s)
        ended = asyncio.Event()
        renewing = asyncio.create_task(self._renew(key, holder, ended))
        try:
            yield
        finally:
            ended.set()
            await renewing  # a pending request could arrive after the one that gives the lease back
            with suppress(EvaluationError):  # it ends by itself
                await self.store.lease(key, holder, 0)

    async def _renew(self, key: SessionKey, holder: str, ended: asyncio.Event) -> None:
        while not ended.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), self.lease_s / 3)
                return
            with suppress(EvaluationError):
                await self.store.lease(key, holder, self.lease_s)

    async def _try(self, key: SessionKey, session: Session, state: SessionState, batch: Sequence[ChatTurn]) -> None:
        try:
            with stopwatch() as watch:
                await self._update(key, session, state, batch)
            if watch.live:
                session.upkeep.updates_ms.append(watch.ms)
        except StopRunError:
            raise
        except (EvaluationError, TimeoutError) as error:
            _count_failure(session, error)
            session.failed += 1
        session.is_due = True

    async def _update(self, key: SessionKey, session: Session, state: SessionState, batch: Sequence[ChatTurn]) -> None:
        """A summary that comes too late is dropped: another has taken its place, or the session is gone."""
        summary = await self.summariser.summarise(state.memory, state.entities, batch, session.language, self.bounds)
        memory, was_cut = await bound_memory(summary.memory.strip(), self.bounds, self.summariser, session.language)
        committed = await self.store.commit(
            key,
            version=state.version,
            generation=state.generation,
            up_to_turn=batch[-1].number,
            memory=memory,
            entities=with_changes(state.entities, summary.entities, batch, self.max_entities),
            keep_turns=self.keep_turns,
        )
        if committed == "ok":
            session.failed, session.summarised = 0, batch[-1].number
            session.upkeep.updates += 1
            session.upkeep.violations += was_cut


def _count_failure(session: Session, error: Exception) -> None:
    """Raises what is wrong for every session."""
    session.upkeep.failures += 1
    if isinstance(error, StopRunError):
        raise error


def unsummarised_turns(state: SessionState) -> tuple[ChatTurn, ...]:
    """Oldest first."""
    return tuple(turn for turn in state.turns if turn.number > state.last_turn)
