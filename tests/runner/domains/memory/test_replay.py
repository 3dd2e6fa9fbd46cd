import asyncio
from typing import Any

import pytest

from plugins.memory.recursive_summary import RecursiveSummaryMemory
from plugins.memory.store.local import LocalStore
from plugins.memory.summariser.extractive import ExtractiveSummariser
from plugins.memory.window import WindowMemory
from runner.domains.memory.records import ChatTurn, MemoryContent, Probe, SessionKey
from runner.domains.memory.replay import BEGINNINGS, Replay
from runner.errors import EvaluationError, StopRunError, UncertainWriteError
from runner.llm.ledger import Cost
from runner.llm.messages import Usage
from runner.llm.metering import metering, note
from runner.records import RoleCost
from tests.runner.domains.memory.talks import talk


class Logged(WindowMemory):
    """Notes what is said to it and when a session is deleted."""

    def __init__(self, window: int = 100) -> None:
        super().__init__(store=LocalStore(), summariser=ExtractiveSummariser(), window=window)
        self.said: list[str] = []
        self.keys: list[SessionKey] = []

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        self.said.append(turn.user)
        if key not in self.keys:
            self.keys.append(key)
        await super().append(key, turn, language)

    async def sessions_kept(self) -> int:
        return len([key async for key in self.sessions.store.sessions()])


def shown(moment: Any) -> list[str]:
    return [turn.user for turn in moment.remembered.recent]


def asked(*turns: int) -> list[Probe]:
    return [Probe(f"p{number}", "?", turn) for number, turn in enumerate(turns)]


LETTERS = talk(*"abcdefgh")


async def test_a_probe_sees_what_was_said_until_then_and_no_turn_is_said_twice() -> None:
    memory = Logged()
    probes = asked(3, 5)
    replay = Replay(memory, LETTERS, probes)
    async with memory.open():
        first, second = [await replay.at(probe) for probe in probes]
        assert (shown(first), shown(second)) == (list("abc"), list("abcde"))
        assert [turn.user for turn in second.turns] == list("abcde")
        assert memory.said == list("abcde")
        assert (len(first.since.appends_ms), len(second.since.appends_ms)) == (3, 2)


class Paid(Logged):
    """A memory that asks a model at every turn and for every question."""

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        note("summariser", turn.user.encode(), Cost(Usage(10, 1), 1000))
        await super().append(key, turn, language)

    async def read(self, key: SessionKey, question: str) -> MemoryContent:
        note("embedder", question.encode(), Cost(Usage(3), 5))
        return await super().read(key, question)


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1,)])
async def test_a_probe_costs_its_own_turns_whichever_comes_first(order: tuple[int, ...]) -> None:
    """A resumed run asks for the later probes alone, and one conversation may be gone through twice."""
    memory, probes = Paid(), asked(3, 5)
    replay = Replay(memory, LETTERS, probes)
    async with memory.open():
        with metering() as around:
            costs = {number: (await replay.at(probes[number])).cost for number in order}
    embedded = {"embedder": RoleCost(1, 3, 0, 5e-9)}
    expected = [embedded | {"summariser": RoleCost(n, 10 * n, n, n * 1e-6)} for n in (3, 2)]
    assert costs == {number: expected[number] for number in order}
    assert around.by_role == {}


async def test_an_earlier_moment_begins_anew_in_another_session() -> None:
    memory = Logged()
    early, late, last = asked(2, 4, 6)
    replay = Replay(memory, LETTERS, [early, late, last])
    async with memory.open():
        await replay.at(late)
        moment = await replay.at(early)
        assert shown(moment) == list("ab")
        assert memory.said == list("abcdab")
        assert len(set(memory.keys)) == 2
        assert {key.tenant for key in memory.keys} == {"default"}
        assert await memory.sessions_kept() == 1


async def test_probes_that_come_together_are_served_in_their_order() -> None:
    memory = Logged()
    probes = asked(*range(1, 9))
    replay = Replay(memory, LETTERS, probes)
    async with memory.open():
        moments = await asyncio.gather(*(replay.at(probe) for probe in probes))
    assert [len(moment.turns) for moment in moments] == list(range(1, 9))
    assert memory.said == list("abcdefgh")


async def test_the_session_is_deleted_after_the_last_probe_or_when_it_is_given_up() -> None:
    memory = Logged()
    first, second, third = asked(1, 1, 2)
    replay, other = Replay(memory, LETTERS, [first, second]), Replay(memory, LETTERS, [first, second, third])
    async with memory.open():
        await replay.at(first)
        await other.at(first)
        assert await memory.sessions_kept() == 2
        await replay.at(second)
        assert await memory.sessions_kept() == 1
        await other.forget()
        await other.forget()
        assert await memory.sessions_kept() == 0


async def test_updates_are_told_by_the_turn_after_which_they_were_made() -> None:
    """With a window of 2 and updates of 2 turns, summaries are written after turns 4, 6 and 8."""
    memory = RecursiveSummaryMemory(store=LocalStore(), summariser=ExtractiveSummariser(), window=2, update_every=2)
    probes = asked(5, 8)
    replay = Replay(memory, LETTERS, probes)
    async with memory.open():
        early, late = [await replay.at(probe) for probe in probes]
    assert list(late.updates) == [0, 0, 0, 0, 1, 1, 2, 2, 3]
    assert [late.updates_since(turn) for turn in (1, 4, 5, 8)] == [3, 2, 2, 0]
    assert early.updates_since(1) == 1
    assert (early.since.updates, late.since.updates) == (1, 2)
    assert (early.taken_in, late.taken_in) == (2, 6)
    assert late.since.failures == 0


async def test_what_probes_are_told_of_the_upkeep_does_not_depend_on_who_was_asked_before() -> None:
    """Of three probes, two after the same turn, each is asked of a memory of its own."""
    probes = asked(5, 5, 8)
    told = []
    for probe in probes:
        memory = RecursiveSummaryMemory(store=LocalStore(), summariser=ExtractiveSummariser(), window=2, update_every=2)
        replay = Replay(memory, LETTERS, probes)
        async with memory.open():
            told.append((await replay.at(probe)).since)
            await replay.forget()
    assert [(len(since.appends_ms), since.updates) for since in told] == [(5, 1), (0, 0), (3, 2)]


@pytest.mark.parametrize("after", [3, 4])
async def test_a_session_that_ends_in_the_middle_ends_the_run(after: int) -> None:
    """Its time is over after turn 3, when nothing or another turn is said."""
    memory = Logged()
    now = 0.0
    memory.sessions.store.clock = lambda: now  # type: ignore[attr-defined]
    first, second = asked(3, after)
    replay = Replay(memory, LETTERS, [first, second])
    async with memory.open():
        await replay.at(first)
        now = 25 * 3600.0
        with pytest.raises(StopRunError, match=rf"^the store dropped conversation talk before its turn {after} "):
            await replay.at(second)


async def test_what_is_wrong_with_a_memory_is_raised_for_the_probe() -> None:
    class Broken(Logged):
        async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
            raise ValueError("no room")

    memory = Broken()
    async with memory.open():
        with pytest.raises(ValueError, match="no room"):
            await Replay(memory, LETTERS, asked(1)).at(*asked(1))


class Losing(Logged):
    """Says of the turns at `places` (counted over all sessions) that they may be stored; every second one is."""

    def __init__(self, *places: int, can_begin_anew: bool = True, error: type[BaseException] | None = None) -> None:
        super().__init__()
        self.places, self.can_begin_anew, self.error = places, can_begin_anew, error

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        place = len(self.said)
        if place in self.places and place % 2:
            self.said.append(turn.user)
            self.keys.append(key)
        else:
            await super().append(key, turn, language)
        if place in self.places:
            error = UncertainWriteError("lost")
            error.can_begin_anew = self.can_begin_anew
            raise self.error() if self.error else error


@pytest.mark.parametrize("place", [2, 3])
async def test_a_conversation_whose_turn_may_be_stored_starts_over(place: int) -> None:
    memory, probes = Losing(place), asked(3, 5)
    replay = Replay(memory, LETTERS, probes)
    async with memory.open():
        moments = [await replay.at(probe) for probe in probes]
        assert [shown(moment) for moment in moments] == [list("abc"), list("abcde")]
        assert len(set(memory.keys)) == 2 and await memory.sessions_kept() == 0


async def test_a_turn_that_was_cut_short_is_not_said_again_in_its_session() -> None:
    memory, probes = Losing(2, error=asyncio.CancelledError), asked(3, 3)
    replay = Replay(memory, LETTERS, probes)
    async with memory.open():
        with pytest.raises(asyncio.CancelledError):
            await replay.at(probes[0])
        assert shown(await replay.at(probes[1])) == list("abc")


async def test_a_turn_that_was_refused_leaves_the_session_as_it_was() -> None:
    memory, probes = Losing(3, error=EvaluationError), asked(3, 5)
    replay = Replay(memory, LETTERS, probes)
    async with memory.open():
        await replay.at(probes[0])
        with pytest.raises(EvaluationError):
            await replay.at(probes[1])
        assert shown(await replay.at(probes[1])) == list("abcde") and len(set(memory.keys)) == 1


@pytest.mark.parametrize(("can_begin_anew", "n_sessions"), [(True, BEGINNINGS), (False, 1)])
async def test_probes_of_a_conversation_that_cannot_be_written_fail(can_begin_anew: bool, n_sessions: int) -> None:
    """Not asked of a memory that may hold a turn twice."""
    memory, probes = Losing(*range(100), can_begin_anew=can_begin_anew), asked(1, 1)
    replay = Replay(memory, LETTERS, probes)
    async with memory.open():
        for probe in probes:
            with pytest.raises(UncertainWriteError, match="lost"):
                await replay.at(probe)
        assert len(set(memory.keys)) == n_sessions
