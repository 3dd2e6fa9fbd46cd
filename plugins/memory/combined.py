"""A recursive summary, and beside it the turns that share most with the question."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Annotated

from pydantic import Field

from runner.memory.protocols import MemoryStore, Summariser
from runner.memory.records import Bounds, ChatTurn, Remembered, SessionKey, SessionState, Upkeep
from runner.memory.turn_index import Tokens, TurnSearch
from runner.memory.updates import Updates, unsummarised


class CombinedMemory:
    """Settings mean what they mean for `recursive_summary` and `retrieved_turns`. The store keeps all turns; those
    retrieved are no recent ones."""

    def __init__(
        self,
        *,
        store: MemoryStore,
        summariser: Summariser,
        window: Annotated[int, Field(ge=0)] = 5,
        update_every: Annotated[int, Field(ge=1)] = 5,
        max_sentences: Annotated[int, Field(ge=1)] = 20,
        max_tokens: Annotated[int, Field(ge=1)] = 500,
        max_entities: Annotated[int, Field(ge=0)] = 25,
        n: Annotated[int, Field(ge=1)] = 10,
        tokens: Tokens = "auto",
        k1: Annotated[float, Field(ge=0)] = 1.5,
        b: Annotated[float, Field(ge=0, le=1)] = 0.75,
    ) -> None:
        self.store = store
        self.updates = Updates(
            store,
            summariser,
            window=window,
            update_every=update_every,
            bounds=Bounds(max_sentences, max_tokens),
            max_entities=max_entities,
            keep_turns=True,
        )
        self.search = TurnSearch(tokens=tokens, k1=k1, b=b)
        self.n = n

    def opened(self) -> AbstractAsyncContextManager[None]:
        return self.updates.sessions.opened()

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        await self.updates.append(key, turn, language)

    async def read(self, key: SessionKey, question: str) -> Remembered:
        state = await self.store.read(key)
        recent = unsummarised(state)
        retrieved = self.search.best(key, state, question, self.n, {turn.number for turn in recent})
        return Remembered(state.memory, state.entities, recent, retrieved)

    async def update(self, key: SessionKey) -> None:
        await self.updates.update(key)

    async def delete(self, key: SessionKey) -> None:
        self.search.forget(key)
        await self.updates.sessions.delete(key)

    async def inspect(self, key: SessionKey) -> SessionState:
        return await self.updates.sessions.inspect(key)

    def upkeep(self, key: SessionKey) -> Upkeep:
        return self.updates.sessions.upkeep(key)
