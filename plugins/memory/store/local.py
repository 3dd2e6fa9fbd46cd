"""Sessions in this process, for platforms without a server. They are gone when the store is closed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from uuid import uuid4

from runner.domains.memory.protocols import Committed
from runner.domains.memory.records import ChatTurn, Entity, SessionKey, SessionState
from runner.domains.memory.store_settings import Hours
from runner.domains.memory.stored import keys_of


@dataclass
class StoredState:
    """`number`: of the last turn; `until`: on the clock of the store."""

    state: SessionState = field(default_factory=lambda: SessionState(generation=uuid4().hex))
    number: int = 0
    until: float = 0.0


class LocalStore:
    """Atomic as long as one event loop uses it: no method waits for anything."""

    def __init__(self, *, ttl_hours: Hours = 24.0) -> None:
        """`ttl_hours`: how long a session lives after it was last used."""
        self._ttl_s = ttl_hours * 3600
        self._states: dict[SessionKey, StoredState] = {}
        self._leases: dict[SessionKey, tuple[str, float]] = {}  # holder, and until when
        self._users = 0
        self.clock: Callable[[], float] = time.monotonic

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._states.clear()
                self._leases.clear()

    async def append(self, key: SessionKey, turn: ChatTurn, *, keep: int | None = None) -> int:
        session = self._find(key) or self._states.setdefault(key, StoredState())
        session.number += 1
        turns = (*session.state.turns, replace(turn, number=session.number))
        if keep is not None:
            turns = turns[max(0, len(turns) - keep) :]
        session.state = replace(session.state, turns=turns)
        self._touch(session)
        return session.number

    async def read(self, key: SessionKey, *, touch: bool = True) -> SessionState:
        stored_state = self._find(key)
        if stored_state is None:
            return SessionState()
        if touch:
            self._touch(stored_state)
        return stored_state.state

    async def commit(
        self,
        key: SessionKey,
        *,
        version: int,
        generation: str,
        up_to_turn: int,
        memory: str,
        entities: Sequence[Entity],
        keep_turns: bool = False,
    ) -> Committed:
        session = self._find(key)
        if session is None or session.state.generation != generation:
            return "gone"
        if session.state.version != version:
            return "conflict"
        turns = tuple(turn for turn in session.state.turns if keep_turns or turn.number > up_to_turn)
        session.state = SessionState(turns, memory, tuple(entities), version + 1, generation, up_to_turn)
        self._touch(session)
        return "ok"

    async def lease(self, key: SessionKey, holder: str, for_s: float) -> bool:
        keys_of(key)
        now = self.clock()
        other, until = self._leases.get(key, (holder, now))
        if other != holder and now < until:
            return False
        self._leases[key] = (holder, now + for_s)
        if for_s <= 0:
            del self._leases[key]
        return True

    async def delete(self, key: SessionKey) -> None:
        keys_of(key)
        self._leases.pop(key, None)
        self._states.pop(key, None)

    async def sessions(self) -> AsyncIterator[SessionKey]:
        for key in list(self._states):
            if self._find(key) is not None:
                yield key

    def _find(self, key: SessionKey) -> StoredState | None:
        keys_of(key)  # the same names as in any store
        stored_state = self._states.get(key)
        if stored_state is not None and self.clock() >= stored_state.until:
            del self._states[key]
            return None
        return stored_state

    def _touch(self, kept: StoredState) -> None:
        kept.until = self.clock() + self._ttl_s
