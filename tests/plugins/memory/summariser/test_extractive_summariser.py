"""The baseline as a component, over conversations made from a seed, and over a real store."""

import asyncio
from dataclasses import replace

import pytest

from plugins.memory.combined import CombinedMemory
from plugins.memory.recursive_summary import RecursiveSummaryMemory
from plugins.memory.store.embedded import EmbeddedStore
from plugins.memory.store.local import LocalStore
from plugins.memory.summariser.extractive import ExtractiveSummariser
from plugins.scenario.synthetic import SyntheticScenarios
from runner.domains.memory.protocols import MemoryStore
from runner.domains.memory.records import Bounds, ChatTurn, Conversation, Entity, Fact, SessionKey, SessionState
from runner.text.matching import shows
from runner.text.sentences import split_sentences

KEY = SessionKey("acme", "s1")


async def test_what_it_makes_of_a_batch() -> None:
    turns = [ChatTurn("예산은 1억이에요.", number=1), ChatTurn("예산이 1.5억으로 늘었어요.", number=2)]
    summary = await ExtractiveSummariser().summarise("담당자는 김서연이에요.", (), turns, "ko", Bounds())
    assert summary.memory == "예산이 1.5억으로 늘었어요.\n담당자는 김서연이에요."
    assert summary.entities == (("예산", "1.5억"),)
    assert await ExtractiveSummariser().shorten("A. B.", Bounds(1), "en") == "A. B."


def changes(conversation: Conversation) -> list[list[Fact]]:
    """The facts of each key that changes, oldest first."""
    facts = sorted(conversation.facts.values(), key=lambda fact: fact.turn)
    keys = {fact.key for fact in facts if fact.key}
    return [same for key in sorted(keys) if len(same := [fact for fact in facts if fact.key == key]) > 1]


def hidden(conversation: Conversation, fact: Fact) -> bool:
    """Whether the value is one of another key, too: then its showing tells nothing."""
    others = [other for other in conversation.facts.values() if other.key != fact.key]
    return any(shows(other.value, fact.forms) or shows(fact.value, other.forms) for other in others)


async def test_of_every_fact_that_changes_only_the_newest_value_is_left() -> None:
    conversations, _ = SyntheticScenarios(conversations=12, turns_max=60, updates=0.8).load()
    memory = RecursiveSummaryMemory(store=LocalStore(), summariser=ExtractiveSummariser())
    n_checked = 0
    async with memory.open():
        for conversation in conversations:
            key = replace(KEY, session=conversation.id)
            for turn in conversation.turns:
                await memory.append(key, turn, conversation.language)
                await memory.update(key)
                n_checked += check(conversation, await memory.inspect(key))
            assert (memory.upkeep(key).failures, memory.upkeep(key).violations) == (0, 0)
    assert n_checked > 80


def check(conversation: Conversation, state: SessionState) -> int:
    """How many changes the summary has just taken in."""
    entities = "\n".join(f"{entity.key}: {entity.value}" for entity in state.entities)
    n_checked = 0
    for facts in changes(conversation):
        known = [fact for fact in facts if fact.turn <= state.last_turn]
        if len(known) < 2 or known[-1].turn <= state.last_turn - 5:
            continue
        n_checked += 1
        assert shows(state.memory, known[-1].forms), known[-1]
        assert shows(entities, known[-1].forms), known[-1]
        for old in known[:-1]:
            if not hidden(conversation, old) and not shows(known[-1].value, old.forms):
                assert not shows(f"{state.memory}\n{entities}", old.forms, besides=known[-1].forms), (old, known[-1])
    assert len(split_sentences(state.memory)) <= 20
    return n_checked


WRITERS = 10


@pytest.mark.parametrize("store", [LocalStore(), EmbeddedStore()], ids=["local", "embedded"])
async def test_writers_at_once_lose_nothing(store: MemoryStore) -> None:
    memory = CombinedMemory(store=store, summariser=ExtractiveSummariser(), n=1000, tokens="word")

    async def write(writer: int) -> None:
        for number in range(10):
            await memory.append(KEY, ChatTurn(f"tea: the count of writer {writer} is {number}."), "en")

    async with memory.open():
        await asyncio.gather(*map(write, range(WRITERS)))
        await memory.update(KEY)
        shown = await memory.read(KEY, "tea")
        state = await memory.inspect(KEY)
    assert [turn.number for turn in state.turns] == list(range(1, 10 * WRITERS + 1))
    assert [turn.number for turn in shown.recent] == list(range(state.last_turn + 1, 10 * WRITERS + 1))
    assert 5 <= len(shown.recent) < 10
    latest = {f"tea: the count of writer {writer}": "" for writer in range(WRITERS)}
    for turn in state.turns[: state.last_turn]:
        latest[turn.user.rpartition(" is ")[0]] = turn.user.rpartition(" is ")[2].rstrip(".")
    assert {entity.value for entity in state.entities} == set(latest.values())
    assert len(state.entities) == WRITERS


async def test_what_was_said_is_still_there_when_a_session_is_read_again() -> None:
    store = EmbeddedStore()
    async with store.open():
        memory = RecursiveSummaryMemory(store=store, summariser=ExtractiveSummariser())
        async with memory.open():
            for text in (
                "이름은 \u200b'라온'이에요.",
                "예산은 1.2억이에요.",
                "주소는 https://a.kr/b?c=1 이에요.",
                "고마워요.",
            ):
                await memory.append(KEY, ChatTurn(text), "ko")
            for number in range(6):
                await memory.append(KEY, ChatTurn(f"이야기 {number}"), "ko")
        again = RecursiveSummaryMemory(store=store, summariser=ExtractiveSummariser())
        async with again.open():
            shown = await again.read(KEY, "?")
    assert shown.entities == (
        Entity("이름", "라온", 1),
        Entity("예산", "1.2억", 2),
        Entity("주소", "https://a.kr/b?c=1", 3),
    )
    assert [turn.number for turn in shown.recent] == [6, 7, 8, 9, 10]
