"""The protocols of a conversational memory: evaluation and chat call a Memory, which calls a Store and a Summariser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, runtime_checkable

from runner.domains.memory.records import (
    Bounds,
    ChatTurn,
    Conversation,
    Entity,
    MemoryContent,
    SessionKey,
    SessionState,
    Summary,
    Upkeep,
)
from runner.protocols import Workspace
from runner.records import DataProblem

Committed = Literal["ok", "conflict", "gone"]


class MemoryStore(Protocol):
    """Keeps sessions, each for `ttl_hours` after it was last written to, or read with `touch`. Every method is
    atomic against all others, of other processes too. Raises StopRunError where the store itself cannot be used
    (gone, full, refuses the password), EvaluationError where it did not take one thing; what returned is kept.

    One that keeps nothing but the latest turns, in this process:

    class Latest:
        def open(self) -> AbstractAsyncContextManager[None]:
            return nullcontext()

        async def append(self, key: SessionKey, turn: ChatTurn, *, keep: int | None = None) -> int:
            turns = self.turns.setdefault(key, [])
            turns.append(turn)
            del turns[: -(keep or len(turns))]
            return turn.number

        async def read(self, key: SessionKey, *, touch: bool = True) -> SessionState:
            return SessionState(tuple(self.turns.get(key, ())), generation="1" if key in self.turns else "")

        async def commit(self, key: SessionKey, **summary: Any) -> Committed:
            return "gone"

        async def lease(self, key: SessionKey, holder: str, for_s: float) -> bool:
            return True

        async def delete(self, key: SessionKey) -> None:
            self.turns.pop(key, None)

        async def sessions(self) -> AsyncIterator[SessionKey]:
            for key in list(self.turns):
                yield key
    """

    def open(self) -> AbstractAsyncContextManager[None]:
        """The store may be used inside; opening what is open already is fine (it closes with the outermost)."""

    async def append(self, key: SessionKey, turn: ChatTurn, *, keep: int | None = None) -> int:
        """The number that the turn got. `keep`: only so many turns stay, the newest."""

    async def read(self, key: SessionKey, *, touch: bool = True) -> SessionState:
        """A session as it is now; empty where it does not exist. `touch` restarts its time to live."""

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
        """Takes the place of memory and entities, and removes turns up to `up_to_turn` (with `keep_turns` none), if
        the session still is of this version (else `conflict`) and generation (else `gone`; a late summary revives
        nothing). The session's `last_turn` is `up_to_turn` then."""

    async def lease(self, key: SessionKey, holder: str, for_s: float) -> bool:
        """Whether `holder` (a unique name) may summarise the session for so many seconds: no other holder may until the
        lease is given back (`for_s` 0), has expired, or the session is deleted. The current holder may renew it."""

    async def delete(self, key: SessionKey) -> None:
        """Remove a session; no error where it does not exist."""

    def sessions(self) -> AsyncIterator[SessionKey]:
        """All that the store holds."""


class Summariser(Protocol):
    """Makes a memory of turns.

    class LastWords:
        async def summarise(
            self,
            memory: str,
            entities: Sequence[Entity],
            turns: Sequence[ChatTurn],
            language: str | None,
            bounds: Bounds,
        ) -> Summary:
            return Summary(f"{memory} {turns[-1].text}".strip())

        async def shorten(self, memory: str, bounds: Bounds, language: str | None) -> str:
            return " ".join(memory.split()[-bounds.max_tokens :])
    """

    async def summarise(
        self,
        memory: str,
        entities: Sequence[Entity],
        turns: Sequence[ChatTurn],
        language: str | None,
        bounds: Bounds,
    ) -> Summary:
        """M_i from M_(i-1) and the turns since, what is newest first. Raises EvaluationError where it cannot."""

    async def shorten(self, memory: str, bounds: Bounds, language: str | None) -> str:
        """The same within bounds. Asked once, where a summary is too long; may return it as it is."""


class Memory(Protocol):
    """A strategy. Updates run in the background, after `append` has returned.

    class NoMemory:
        def open(self) -> AbstractAsyncContextManager[None]:
            return nullcontext()

        async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None: ...

        async def read(self, key: SessionKey, question: str) -> Remembered:
            return Remembered()

        async def update(self, key: SessionKey) -> None: ...

        async def delete(self, key: SessionKey) -> None: ...

        async def inspect(self, key: SessionKey) -> SessionState:
            return SessionState()

        def upkeep(self, key: SessionKey) -> Upkeep:
            return Upkeep()
    """

    def open(self) -> AbstractAsyncContextManager[None]:
        """The memory may be used inside."""

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        """The turn is kept when this returns."""

    async def read(self, key: SessionKey, question: str) -> MemoryContent:
        """The memory of a session that a generator gets to answer `question`."""

    async def update(self, key: SessionKey) -> None:
        """Returns when no update of this session is under way or due."""

    async def delete(self, key: SessionKey) -> None:
        """Remove a session from the store, and what is known of it here."""

    async def inspect(self, key: SessionKey) -> SessionState:
        """The content of the store, without extending the life of the session."""

    def upkeep(self, key: SessionKey) -> Upkeep:
        """Since this object was made, or the session deleted through it."""


@runtime_checkable
class Preparing(Protocol):
    """A memory that keeps something expensive where all runs find it, such as vectors.

    class VectorMemory:
        async def prepare(self, workspace: Workspace) -> None:
            self.embedder.prepare((), workspace)
    """

    async def prepare(self, workspace: Workspace) -> None:
        """Called once, before the first turn."""


async def prepare(memory: Memory, workspace: Workspace) -> None:
    """Where the memory asks for it."""
    if isinstance(memory, Preparing):
        await memory.prepare(workspace)


class Scenarios(Protocol):
    """A source of conversations.

    class Given:
        def load(self) -> tuple[Sequence[Conversation], Sequence[DataProblem]]:
            return [Conversation("1", turns=self.turns, probes=self.probes)], []
    """

    def load(self) -> tuple[Sequence[Conversation], Sequence[DataProblem]]:
        """Raises InputError where nothing can be read."""


OPTIONAL: Mapping[type, tuple[type, ...]] = {Memory: (Preparing,)}  # as in runner.protocols
