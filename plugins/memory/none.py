"""No memory: what a system does that sees the question alone."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import ClassVar

from runner.domains.memory.protocols import MemoryStore, Summariser
from runner.domains.memory.records import ChatTurn, MemoryContent, SessionKey, SessionState, Upkeep


class NoMemory:
    """Keeps nothing. It takes a store and a summariser, like every strategy, and uses neither."""

    idle: ClassVar[tuple[str, ...]] = ("store", "summariser")  # parts that it takes and does not use

    def __init__(self, *, store: MemoryStore, summariser: Summariser) -> None:
        pass

    def open(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        pass

    async def read(self, key: SessionKey, question: str) -> MemoryContent:
        return MemoryContent()

    async def update(self, key: SessionKey) -> None:
        pass

    async def delete(self, key: SessionKey) -> None:
        pass

    async def inspect(self, key: SessionKey) -> SessionState:
        return SessionState()

    def upkeep(self, key: SessionKey) -> Upkeep:
        return Upkeep()
