"""Conversations said to a memory turn by turn, as far as their probes ask, each probe at its moment."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from runner.domains.memory.protocols import Memory
from runner.domains.memory.records import ChatTurn, Conversation, MemoryContent, Probe, SessionKey, Upkeep
from runner.errors import EvaluationError, StopRunError, UncertainWriteError
from runner.llm.metering import metering, sum_costs
from runner.records import RoleCost, Timing
from runner.system.stopwatch import stopwatch

BEGINNINGS = 4  # of one conversation, because of turns of which it is not known whether they are stored


@dataclass(frozen=True, slots=True)
class Moment:
    """What a memory gave for a probe when `turns` had been said. `updates[n]`: how many updates had been made when
    n turns had been said. `taken_in`: the number of the last turn that a summary has taken in, 0 for none. `since` is
    what keeping the memory came to since the turn of the probe before, whether that was asked of the same memory or
    not: what all probes are told is what one going through of the conversation costs. `cost`: by role, of the models
    that were asked since then and to read."""

    remembered: MemoryContent
    turns: Sequence[ChatTurn]
    updates: Sequence[int]
    taken_in: int
    since: UpkeepPart
    read: Timing
    cost: Mapping[str, RoleCost] = field(default_factory=dict)

    def updates_since(self, turn: int) -> int:
        """Made after the turn of this number had been said."""
        return self.updates[-1] - self.updates[turn]


@dataclass(frozen=True, slots=True)
class UpkeepPart:
    """Part of an Upkeep."""

    appends_ms: tuple[float, ...] = ()
    updates_ms: tuple[float, ...] = ()
    updates: int = 0
    violations: int = 0
    failures: int = 0


@dataclass(slots=True)
class _Progress:
    """One going through of a conversation, in a session of its own."""

    key: SessionKey
    generation: str = ""  # of the session in the store, where the memory keeps one
    marks: list[_Mark] = field(default_factory=lambda: [_Mark()])  # after so many turns
    is_torn: bool = False  # whether its last turn may be stored, or not

    @property
    def n_turns(self) -> int:
        return len(self.marks) - 1


@dataclass(frozen=True, slots=True)
class _Mark:
    """How far the Upkeep of a session had come: lengths of its lists, and its counts."""

    appends: int = 0
    timed: int = 0
    updates: int = 0
    violations: int = 0
    failures: int = 0
    cost: Mapping[str, RoleCost] = field(default_factory=dict)  # of the models that the last turn asked

    @classmethod
    def of(cls, upkeep: Upkeep, cost: Mapping[str, RoleCost]) -> _Mark:
        appends, timed = len(upkeep.appends_ms), len(upkeep.updates_ms)
        return cls(appends, timed, upkeep.updates, upkeep.violations, upkeep.failures, cost)


class Replay:
    """One conversation. Probes come in any order; one that asks for an earlier moment than the last starts the
    conversation over, in a new session. After each turn the memory has time for its update: what it remembers does not
    depend on how fast turns follow each other.

    No turn is stored twice: a session of which it is not known whether it holds its last turn once is deleted, and the
    conversation starts over, at most BEGINNINGS times."""

    def __init__(self, memory: Memory, conversation: Conversation, probes: Sequence[Probe]) -> None:
        """`probes`: those that may come. After as many the session is deleted."""
        self._memory, self._conversation, self._n_left = memory, conversation, len(probes)
        ordered = sorted(probes, key=lambda probe: probe.after_turn)
        before = (0, *(probe.after_turn for probe in ordered))
        self._order = [(probe.after_turn, f"{conversation.id}/{probe.id}") for probe in ordered]
        self._before = {probe.id: turn for probe, turn in zip(ordered, before, strict=False)}
        self._turn = asyncio.Lock()
        self._progress: _Progress | None = None
        self._n_uncertain = 0
        self._uncertain: UncertainWriteError | None = None  # why no more probes of this conversation can be asked

    async def at(self, probe: Probe) -> Moment:
        """The moment of a probe. Raises the errors of the memory, and StopRunError where its store has lost the session
        meanwhile."""
        async with self._turn:
            progress = await self._reach_whole(probe.after_turn)
            with stopwatch() as watch, metering(alone=True) as reading:
                remembered = await self._memory.read(progress.key, probe.question)
            taken_in = await self._check(progress)
            turns = self._conversation.turns[: progress.n_turns]
            updates = tuple(mark.updates for mark in progress.marks)
            before = self._before[probe.id]
            cost = reduce(sum_costs, (mark.cost for mark in progress.marks[before + 1 :]), reading.by_role)
            since = self._since(progress, before)
            moment = Moment(remembered, turns, updates, taken_in, since, watch.timing, cost)
            self._n_left -= 1
            if self._n_left == 0:
                await self.forget()
            return moment

    async def forget(self) -> None:
        """Delete the session, and what was kept of it."""
        progress, self._progress = self._progress, None
        if progress is not None:
            await self._memory.delete(progress.key)

    async def _reach_whole(self, turn: int) -> _Progress:
        """A session that holds each turn up to this one once. Raises UncertainWriteError where there is none."""
        while self._uncertain is None:
            try:
                return await self._reach(turn)
            except UncertainWriteError as error:
                self._n_uncertain += 1
                if not error.can_begin_anew or self._n_uncertain >= BEGINNINGS:
                    self._uncertain = error
        raise UncertainWriteError(str(self._uncertain))

    async def _reach(self, turn: int) -> _Progress:
        if self._progress is not None and (self._progress.is_torn or self._progress.n_turns > turn):
            await self.forget()
        if self._progress is None:
            name = f"{self._conversation.id}/{secrets.token_hex(6)}"
            self._progress = _Progress(SessionKey(self._conversation.tenant, name))
        progress = self._progress
        for turn_now in self._conversation.turns[progress.n_turns : turn]:
            owner = next(
                case for after, case in self._order if after > progress.n_turns
            )  # the case that is charged with the turn
            # Whichever case comes first, the turn is no request of its own.
            with metering(alone=True, owner=owner) as meter:
                await self._say(progress, turn_now)
            progress.marks.append(_Mark.of(self._memory.upkeep(progress.key), meter.by_role))
        return progress

    async def _say(self, progress: _Progress, turn: ChatTurn) -> None:
        """Say a turn. A session is not used again where this was cut short, or failed after the turn was stored."""
        progress.is_torn = True
        try:
            await self._memory.append(progress.key, turn, self._conversation.language)
        except EvaluationError as error:
            progress.is_torn = isinstance(error, UncertainWriteError)
            raise
        progress.generation = progress.generation or await self._generation(progress)
        await self._memory.update(progress.key)
        progress.is_torn = False

    async def _generation(self, progress: _Progress) -> str:
        return (await self._memory.inspect(progress.key)).generation

    async def _check(self, progress: _Progress) -> int:
        """The last turn in the summary. Raises StopRunError where the session is not the one of this conversation."""
        state = await self._memory.inspect(progress.key)
        if progress.generation and state.generation != progress.generation:
            raise StopRunError(
                f"the store dropped conversation {self._conversation.id} before its turn {progress.n_turns} was asked "
                "about: memory.store.ttl_hours is over, or somebody deleted the session"
            )
        return state.last_turn

    def _since(self, progress: _Progress, turn: int) -> UpkeepPart:
        upkeep, before, now = self._memory.upkeep(progress.key), progress.marks[turn], progress.marks[-1]
        return UpkeepPart(
            tuple(upkeep.appends_ms[before.appends : now.appends]),
            tuple(upkeep.updates_ms[before.timed : now.timed]),
            now.updates - before.updates,
            now.violations - before.violations,
            now.failures - before.failures,
        )
