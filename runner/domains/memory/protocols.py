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
        """Add a turn to a session.

        Args:
            key: of the session, which is made where it does not exist.
            turn: what was said.
            keep: only so many turns stay, the newest.

        Returns:
            The number that the turn got, from 1.
        """

    async def read(self, key: SessionKey, *, touch: bool = True) -> SessionState:
        """Read a session.

        Args:
            key: of the session.
            touch: whether its time to live begins again.

        Returns:
            The session as it is now; empty where it does not exist.
        """

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
        """Replace memory and entities, and remove the turns that they cover.

        Args:
            key: of the session.
            version: the session must still be of this version, else `conflict`.
            generation: the session must still be this one, else `gone`: a late summary revives nothing.
            up_to_turn: turns up to this number are removed; it becomes the `last_turn` of the session.
            memory: the new summary.
            entities: the new facts.
            keep_turns: whether no turn is removed.

        Returns:
            `ok`, `conflict` or `gone`.
        """

    async def lease(self, key: SessionKey, holder: str, for_s: float) -> bool:
        """Reserve the right to summarise a session. No other holder gets it until the lease is given back, has expired,
        or the session is deleted. The current holder may renew it.

        Args:
            key: of the session.
            holder: a unique name.
            for_s: seconds; 0 gives the lease back.

        Returns:
            Whether the holder has the lease.
        """

    async def delete(self, key: SessionKey) -> None:
        """Remove a session; no error where it does not exist.

        Args:
            key: of the session.
        """

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
        """Work new turns into a memory.

        Args:
            memory: the summary so far, M_(i-1); may be empty.
            entities: the facts so far.
            turns: those since, oldest first.
            language: of the summary.
            bounds: its longest length.

        Returns:
            The summary M_i, what is newest first, and entities to set.

        Raises:
            EvaluationError: the turns cannot be summarised; they are kept for the next update.
        """

    async def shorten(self, memory: str, bounds: Bounds, language: str | None) -> str:
        """Shorten a summary. Called once, where a summary is too long.

        Args:
            memory: the summary.
            bounds: its longest length.
            language: of the summary.

        Returns:
            The summary within bounds; may be the same, which is then cut by code.
        """


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
        """Store a turn; it is kept when this returns.

        Args:
            key: of the session.
            turn: what was said.
            language: of the conversation.
        """

    async def read(self, key: SessionKey, question: str) -> MemoryContent:
        """Read what a generator gets.

        Args:
            key: of the session.
            question: the question that it will answer.

        Returns:
            The memory of the session.
        """

    async def update(self, key: SessionKey) -> None:
        """Return when no update of the session is running or due.

        Args:
            key: of the session.
        """

    async def delete(self, key: SessionKey) -> None:
        """Remove a session from the store, and what is known of it here.

        Args:
            key: of the session.
        """

    async def inspect(self, key: SessionKey) -> SessionState:
        """Read the store without extending the life of the session.

        Args:
            key: of the session.

        Returns:
            The session as the store has it.
        """

    def upkeep(self, key: SessionKey) -> Upkeep:
        """Args:
            key: of the session.

        Returns:
            What its memory has cost since this object was made, or since the session was deleted through it.
        """


@runtime_checkable
class Preparing(Protocol):
    """A memory that keeps something expensive where all runs find it, such as vectors.

    class VectorMemory:
        async def prepare(self, workspace: Workspace) -> None:
            self.embedder.prepare((), workspace)
    """

    async def prepare(self, workspace: Workspace) -> None:
        """Called once, before the first turn.

        Args:
            workspace: where expensive results are kept.
        """


async def prepare(memory: Memory, workspace: Workspace) -> None:
    """Prepare for the conversations, where the memory has this method."""
    if isinstance(memory, Preparing):
        await memory.prepare(workspace)


class Scenarios(Protocol):
    """A source of conversations.

    class Given:
        def load(self) -> tuple[Sequence[Conversation], Sequence[DataProblem]]:
            return [Conversation("1", turns=self.turns, probes=self.probes)], []
    """

    def load(self) -> tuple[Sequence[Conversation], Sequence[DataProblem]]:
        """Returns:
            Conversations, and problems of the files.

        Raises:
            InputError: nothing can be read.
        """


OPTIONAL: Mapping[type, tuple[type, ...]] = {Memory: (Preparing,)}  # as in runner.protocols
