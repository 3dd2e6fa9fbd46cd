"""The contract of a store in a few lines, with a switch for every answer that a strategy must be ready for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count

from runner.domains.memory.protocols import Committed
from runner.domains.memory.records import ChatTurn, Entity, SessionKey, SessionState


class SmallStore:
    """`before_commit` is called, with the key, by every commit before it looks at the session."""

    def __init__(self) -> None:
        self.states: dict[SessionKey, SessionState] = {}
        self.numbers: dict[SessionKey, int] = {}
        self.touched: list[SessionKey] = []
        self.before_commit = lambda key: None
        self.holders: dict[SessionKey, str] = {}
        self.errors: list[Exception] = []  # raised by the next reads
        self.n_opened = 0
        self._generations = count(1)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        self.n_opened += 1
        try:
            yield
        finally:
            self.n_opened -= 1

    async def append(self, key: SessionKey, turn: ChatTurn, *, keep: int | None = None) -> int:
        assert self.n_opened
        await asyncio.sleep(0)
        state = self.states.get(key) or SessionState(generation=f"g{next(self._generations)}")
        number = self.numbers[key] = self.numbers.get(key, 0) + 1 if key in self.states else 1
        turns = (*state.turns, replace(turn, number=number))
        self.states[key] = replace(state, turns=turns[-keep:] if keep else turns)
        return number

    async def read(self, key: SessionKey, *, touch: bool = True) -> SessionState:
        assert self.n_opened
        if touch:
            self.touched.append(key)
        await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop(0)
        return self.states.get(key, SessionState())

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
        await asyncio.sleep(0)
        self.before_commit(key)
        state = self.states.get(key)
        if state is None or state.generation != generation:
            return "gone"
        if state.version != version:
            return "conflict"
        turns = tuple(turn for turn in state.turns if keep_turns or turn.number > up_to_turn)
        self.states[key] = SessionState(turns, memory, tuple(entities), version + 1, generation, up_to_turn)
        return "ok"

    async def lease(self, key: SessionKey, holder: str, for_s: float) -> bool:
        """Over only when it is given back."""
        await asyncio.sleep(0)
        if self.holders.setdefault(key, holder) != holder:
            return False
        if not for_s:
            del self.holders[key]
        return True

    async def delete(self, key: SessionKey) -> None:
        await asyncio.sleep(0)
        self.states.pop(key, None)

    async def sessions(self) -> AsyncIterator[SessionKey]:
        for key in list(self.states):
            yield key
