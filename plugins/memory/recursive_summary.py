"""A summary that is written anew every few turns, the entities beside it, and the last turns word for word."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Annotated

from pydantic import Field

from runner.memory.protocols import MemoryStore, Summariser
from runner.memory.records import Bounds, ChatTurn, Remembered, SessionKey, SessionState, Upkeep
from runner.memory.updates import Updates, unsummarised


class RecursiveSummaryMemory:
    """M_i = S(M_(i-1), turns) (Wang et al. 2023, "Recursively Summarizing Enables Long-Term Dialogue Memory in Large
    Language Models"), with entities. Turns that have left the window of the last `window` and are in no summary yet
    are given word for word."""

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
    ) -> None:
        self.store = store
        self.updates = Updates(
            store,
            summariser,
            window=window,
            update_every=update_every,
            bounds=Bounds(max_sentences, max_tokens),
            max_entities=max_entities,
        )

    def opened(self) -> AbstractAsyncContextManager[None]:
        return self.updates.sessions.opened()

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        await self.updates.append(key, turn, language)

    async def read(self, key: SessionKey, question: str) -> Remembered:
        state = await self.store.read(key)
        return Remembered(state.memory, state.entities, unsummarised(state))

    async def update(self, key: SessionKey) -> None:
        await self.updates.update(key)

    async def delete(self, key: SessionKey) -> None:
        await self.updates.sessions.delete(key)

    async def inspect(self, key: SessionKey) -> SessionState:
        return await self.updates.sessions.inspect(key)

    def upkeep(self, key: SessionKey) -> Upkeep:
        return self.updates.sessions.upkeep(key)
