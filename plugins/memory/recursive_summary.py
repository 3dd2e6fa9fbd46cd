"""A summary that is rewritten every few turns, the entities beside it, and the last turns word for word."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Unpack

from runner.domains.memory.protocols import MemoryStore, Summariser
from runner.domains.memory.records import ChatTurn, MemoryContent, SessionKey, SessionState, Upkeep
from runner.domains.memory.updates import Updates, UpdateSettings, unsummarised_turns


class RecursiveSummaryMemory:
    """M_i = S(M_(i-1), turns) (Wang et al. 2023, "Recursively Summarizing Enables Long-Term Dialogue Memory in Large
    Language Models"), with entities. Turns that have left the window of the last `window` and are in no summary yet
    are given word for word."""

    def __init__(self, *, store: MemoryStore, summariser: Summariser, **updates: Unpack[UpdateSettings]) -> None:
        self.store = store
        self.updates = Updates(store, summariser, **updates)

    def open(self) -> AbstractAsyncContextManager[None]:
        return self.updates.sessions.open()

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        await self.updates.append(key, turn, language)

    async def read(self, key: SessionKey, question: str) -> MemoryContent:
        state = await self.store.read(key)
        return MemoryContent(state.memory, state.entities, unsummarised_turns(state))

    async def update(self, key: SessionKey) -> None:
        await self.updates.update(key)

    async def delete(self, key: SessionKey) -> None:
        await self.updates.sessions.delete(key)

    async def inspect(self, key: SessionKey) -> SessionState:
        return await self.updates.sessions.inspect(key)

    def upkeep(self, key: SessionKey) -> Upkeep:
        return self.updates.sessions.upkeep(key)
