"""Every turn verbatim, whatever the budget: the ceiling that other strategies are compared with."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import ClassVar

from runner.domains.memory.protocols import MemoryStore, Summariser
from runner.domains.memory.records import ChatTurn, MemoryContent, SessionKey, SessionState, Upkeep
from runner.domains.memory.sessions import Sessions


class FullHistoryMemory:
    """Takes a summariser, like every strategy, and does not use it."""

    idle: ClassVar[tuple[str, ...]] = ("summariser",)  # parts that it takes and does not use

    def __init__(self, *, store: MemoryStore, summariser: Summariser) -> None:
        self.sessions = Sessions(store)

    def open(self) -> AbstractAsyncContextManager[None]:
        return self.sessions.open()

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        await self.sessions.append(key, turn)

    async def read(self, key: SessionKey, question: str) -> MemoryContent:
        state = await self.sessions.store.read(key)
        return MemoryContent(recent=state.turns, is_budgeted=False)

    async def update(self, key: SessionKey) -> None:
        pass

    async def delete(self, key: SessionKey) -> None:
        await self.sessions.delete(key)

    async def inspect(self, key: SessionKey) -> SessionState:
        return await self.sessions.inspect(key)

    def upkeep(self, key: SessionKey) -> Upkeep:
        return self.sessions.upkeep(key)
