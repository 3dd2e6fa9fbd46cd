"""The turns that share most with the question, found among all turns by BM25, by vectors, or by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Annotated

from pydantic import Field

from runner.domains.memory.protocols import MemoryStore, Summariser
from runner.domains.memory.records import ChatTurn, MemoryContent, SessionKey, SessionState, Upkeep
from runner.domains.memory.sessions import Sessions
from runner.domains.memory.turn_index import Ranked, Recency, Tokens, TurnSearch, Unit
from runner.errors import Problem
from runner.protocols import Embedder, Workspace


class RetrievedTurnsMemory:
    """Keeps all turns, and returns at most `n` for a question, best first, of equals the newer first: by `ranking`
    those that share a term with it (bm25), those with the nearest vectors (dense), or both (hybrid, with `weight` for
    bm25; null: that of the embedder). `tokens`: auto, as `tokenizer=auto` does (letter pairs for Hangul), or word (runs
    of letters and digits, lower-cased). `unit=session`: the turns of the `n` best sessions
    (runner.domains.memory.records defines a session). `recency`, 0..1: how much newer turns gain, by half as much every
    `half_life` turns (or sessions, where these are the unit). Turns are embedded when a question is asked, all new ones
    at once; time and cost are those of that reading. Takes a summariser, like every strategy, and does not use it."""

    def __init__(
        self,
        *,
        store: MemoryStore,
        summariser: Summariser,
        n: Annotated[int, Field(ge=1)] = 10,
        tokens: Tokens = "auto",
        k1: Annotated[float, Field(ge=0)] = 1.5,
        b: Annotated[float, Field(ge=0, le=1)] = 0.75,
        unit: Unit = "turn",
        recency: Annotated[float, Field(ge=0, le=1)] = 0.0,
        half_life: Annotated[float, Field(gt=0)] = 50.0,
        ranking: Ranked = "bm25",
        weight: Annotated[float, Field(ge=0, le=1)] | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.sessions = Sessions(store)
        self.search = TurnSearch(
            tokens=tokens,
            k1=k1,
            b=b,
            unit=unit,
            recency=Recency(recency, half_life) if recency else None,
            ranking=ranking,
            embedder=embedder,
            weight=weight,
        )
        self.n, self.ranking = n, ranking

    @property
    def idle(self) -> Sequence[str]:
        """Parts that it takes and does not use."""
        return ("summariser", "embedder") if self.ranking == "bm25" else ("summariser",)

    @property
    def provenance(self) -> Mapping[str, object]:
        return self.search.provenance

    def preflight(self) -> list[Problem]:
        return list(self.search.problems())

    async def prepare(self, workspace: Workspace) -> None:
        await self.search.prepare(workspace)

    def open(self) -> AbstractAsyncContextManager[None]:
        return self.sessions.open()

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        await self.sessions.append(key, turn)

    async def read(self, key: SessionKey, question: str) -> MemoryContent:
        state = await self.sessions.store.read(key)
        return MemoryContent(retrieved=await self.search.best(key, state, question, self.n))

    async def update(self, key: SessionKey) -> None:
        pass

    async def delete(self, key: SessionKey) -> None:
        self.search.forget(key)
        await self.sessions.delete(key)

    async def inspect(self, key: SessionKey) -> SessionState:
        return await self.sessions.inspect(key)

    def upkeep(self, key: SessionKey) -> Upkeep:
        return self.sessions.upkeep(key)
