"""Updates in the background: what is summarised when, and that no turn is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from plugins.memory.recursive_summary import RecursiveSummaryMemory
from runner.domains.memory.records import ChatTurn, Entity, SessionKey
from runner.errors import BudgetSpentError, EvaluationError, InputError, StopRunError
from tests.plugins.memory.small_store import SmallStore
from tests.plugins.memory.summarisers import ListingSummariser

KEY = SessionKey("acme", "s1")


@pytest.fixture
async def store() -> AsyncIterator[SmallStore]:
    store = SmallStore()
    async with store.open():
        yield store


def numbers(turns: tuple[ChatTurn, ...]) -> list[int]:
    return [turn.number for turn in turns]


async def say(memory: RecursiveSummaryMemory, first: int, last: int, key: SessionKey = KEY) -> None:
    for number in range(first, last + 1):
        await memory.append(key, ChatTurn(f"t{number}"))


async def test_the_window_and_what_waits_stay_word_for_word(store: SmallStore) -> None:
    summariser = ListingSummariser()
    memory = RecursiveSummaryMemory(store=store, summariser=summariser)
    async with memory.open():
        await say(memory, 1, 9)
        await memory.update(KEY)
        assert summariser.batches == []
        assert numbers((await memory.read(KEY, "?")).recent) == list(range(1, 10))
        await say(memory, 10, 10)
        await memory.update(KEY)
        assert summariser.batches == [["t1", "t2", "t3", "t4", "t5"]]
        await say(memory, 11, 14)
        await memory.update(KEY)
        shown = await memory.read(KEY, "?")
        assert numbers(shown.recent) == list(range(6, 15))
        assert shown.memory.splitlines()[0] == "t5 was said."
        assert shown.entities == (Entity("last", "t5", 5),)
        assert shown.retrieved == ()
        assert shown.is_budgeted
        await say(memory, 15, 15)
        await memory.update(KEY)
    assert summariser.batches[1:] == [["t6", "t7", "t8", "t9", "t10"]]
    assert numbers(store.states[KEY].turns) == [11, 12, 13, 14, 15]
    assert memory.upkeep(KEY).updates == len(memory.upkeep(KEY).updates_ms) == 2
    assert len(memory.upkeep(KEY).appends_ms) == 15


@pytest.mark.parametrize(("window", "every"), [(0, 1), (1, 3), (7, 2)])
async def test_window_and_batch_are_settings(store: SmallStore, window: int, every: int) -> None:
    summariser = ListingSummariser()
    memory = RecursiveSummaryMemory(store=store, summariser=summariser, window=window, update_every=every)
    async with memory.open():
        await say(memory, 1, 20)
        await memory.update(KEY)
    left = 20 - sum(map(len, summariser.batches))
    assert {len(batch) for batch in summariser.batches} == {every}
    assert window <= left < window + every


async def test_batches_do_not_depend_on_how_fast_turns_come(store: SmallStore) -> None:
    slow, fast = ListingSummariser(), ListingSummariser()
    waited = RecursiveSummaryMemory(store=store, summariser=slow)
    hurried = RecursiveSummaryMemory(store=store, summariser=fast)
    other = SessionKey("acme", "s2")
    async with waited.open(), hurried.open():
        for number in range(1, 31):
            await say(waited, number, number)
            await waited.update(KEY)
        fast.gate = asyncio.Event()
        await say(hurried, 1, 30, other)
        fast.gate.set()
        await hurried.update(other)
    assert slow.batches == fast.batches
    assert store.states[KEY].memory == store.states[other].memory


async def test_append_does_not_wait_for_the_update(store: SmallStore) -> None:
    summariser = ListingSummariser()
    summariser.gate = asyncio.Event()
    memory = RecursiveSummaryMemory(store=store, summariser=summariser)
    async with memory.open():
        await say(memory, 1, 12)
        assert numbers((await memory.read(KEY, "?")).recent) == list(range(1, 13))
        summariser.gate.set()
        await memory.update(KEY)
        assert numbers((await memory.read(KEY, "?")).recent) == list(range(6, 13))


async def test_turns_of_a_failed_update_wait_for_the_next_batch(store: SmallStore) -> None:
    summariser = ListingSummariser([EvaluationError("no"), TimeoutError(), None])
    memory = RecursiveSummaryMemory(store=store, summariser=summariser)
    async with memory.open():
        await say(memory, 1, 14)
        await memory.update(KEY)
        assert [len(batch) for batch in summariser.batches] == [5]
        await say(memory, 15, 19)
        await memory.update(KEY)
        assert [len(batch) for batch in summariser.batches] == [5, 10]
        assert numbers((await memory.read(KEY, "?")).recent) == list(range(1, 20))
        await say(memory, 20, 25)
        await memory.update(KEY)
        assert [len(batch) for batch in summariser.batches] == [5, 10, 15, 5]
    assert summariser.batches[2] == [f"t{number}" for number in range(1, 16)]
    assert (memory.upkeep(KEY).failures, memory.upkeep(KEY).updates) == (2, 2)


async def test_a_store_that_cannot_be_read_for_a_moment_delays_the_update(store: SmallStore) -> None:
    summariser = ListingSummariser()
    memory = RecursiveSummaryMemory(store=store, summariser=summariser)
    async with memory.open():
        await say(memory, 1, 9)
        store.errors = [EvaluationError("busy")]
        await say(memory, 10, 10)
        for _ in range(5):
            await asyncio.sleep(0)
        assert (memory.upkeep(KEY).failures, summariser.batches) == (1, [])
        await memory.update(KEY)
    assert [len(batch) for batch in summariser.batches] == [5]


@pytest.mark.parametrize("error", [StopRunError("down"), BudgetSpentError("spent"), InputError("prompt")])
@pytest.mark.parametrize("by", ["append", "update"])
async def test_what_is_wrong_for_every_turn_is_raised_by_the_next_call(
    store: SmallStore, error: Exception, by: str
) -> None:
    memory = RecursiveSummaryMemory(store=store, summariser=ListingSummariser([error]))
    other = SessionKey("acme", "other")
    async with memory.open():
        await say(memory, 1, 10)
        for _ in range(10):
            await asyncio.sleep(0)
        await memory.append(other, ChatTurn("fine"))
        with pytest.raises(type(error), match=str(error)):
            await (memory.append(KEY, ChatTurn("t11")) if by == "append" else memory.update(KEY))
        assert numbers(store.states[KEY].turns) == list(range(1, 11))
        await memory.update(KEY)  # the error is told once; what is due is tried again
    assert numbers(store.states[KEY].turns) == list(range(6, 11))


async def test_an_error_under_way_is_raised_by_the_update_that_waits(store: SmallStore) -> None:
    memory = RecursiveSummaryMemory(store=store, summariser=ListingSummariser([StopRunError("down")]))
    async with memory.open():
        await say(memory, 1, 10)
        with pytest.raises(StopRunError, match="down"):
            await memory.update(KEY)


async def test_a_conflict_reads_again(store: SmallStore) -> None:
    summariser = ListingSummariser()
    mine = RecursiveSummaryMemory(store=store, summariser=summariser)

    def interfere(key: SessionKey) -> None:
        store.before_commit = lambda key: None
        state = store.states[key]
        turns = tuple(turn for turn in state.turns if turn.number > 5)
        store.states[key] = type(state)(turns, "theirs.", (), state.version + 1, state.generation, 5)

    store.before_commit = interfere
    async with mine.open():
        await say(mine, 1, 10)
        await mine.update(KEY)
        assert store.states[KEY].memory == "theirs."
        await say(mine, 11, 15)
        await mine.update(KEY)
    assert summariser.batches == [[f"t{n}" for n in range(1, 6)], [f"t{n}" for n in range(6, 11)]]
    assert store.states[KEY].memory.endswith("theirs.")
    assert mine.upkeep(KEY).updates == 1


async def test_a_late_summary_does_not_bring_back_what_was_deleted_elsewhere(store: SmallStore) -> None:
    summariser = ListingSummariser()
    summariser.gate = asyncio.Event()
    memory = RecursiveSummaryMemory(store=store, summariser=summariser)
    async with memory.open():
        await say(memory, 1, 10)
        for _ in range(5):
            await asyncio.sleep(0)
        await store.delete(KEY)
        await store.append(KEY, ChatTurn("new"))
        summariser.gate.set()
        await memory.update(KEY)
        assert (await memory.inspect(KEY)).memory == ""
        assert [turn.user for turn in store.states[KEY].turns] == ["new"]
        await say(memory, 2, 10)  # numbers have begun again
        await memory.update(KEY)
    assert summariser.batches[1] == ["new", "t2", "t3", "t4", "t5"]


async def test_deleting_ends_the_update_under_way(store: SmallStore) -> None:
    summariser = ListingSummariser()
    summariser.gate = asyncio.Event()
    memory = RecursiveSummaryMemory(store=store, summariser=summariser)
    async with memory.open():
        await say(memory, 1, 10)
        await asyncio.sleep(0)
        await memory.delete(KEY)
        assert KEY not in store.states
        assert memory.upkeep(KEY).appends_ms == []


async def test_leaving_waits_for_updates_and_an_error_cancels_them(store: SmallStore) -> None:
    summariser = ListingSummariser()
    memory = RecursiveSummaryMemory(store=store, summariser=summariser)
    async with memory.open(), memory.open():
        await say(memory, 1, 10)
    assert store.states[KEY].last_turn == 5
    summariser.gate = asyncio.Event()
    with pytest.raises(KeyError):
        async with memory.open():
            await say(memory, 11, 15)
            raise KeyError
    assert store.states[KEY].last_turn == 5
    assert len(asyncio.all_tasks()) == 1


async def test_another_process_goes_on_where_one_has_ended(store: SmallStore) -> None:
    first = RecursiveSummaryMemory(store=store, summariser=ListingSummariser([StopRunError("killed")]))
    with pytest.raises(StopRunError):
        async with first.open():
            await say(first, 1, 12)
            await first.update(KEY)
    second = RecursiveSummaryMemory(store=store, summariser=ListingSummariser())
    async with second.open():
        await second.update(KEY)
        assert numbers((await second.read(KEY, "?")).recent) == list(range(6, 13))


async def test_twenty_writers_lose_nothing(store: SmallStore) -> None:
    summariser = ListingSummariser([EvaluationError("once"), None, None, EvaluationError("twice")])
    memory = RecursiveSummaryMemory(store=store, summariser=summariser, max_sentences=1000, max_tokens=100_000)

    async def write(writer: int) -> None:
        for number in range(25):
            await memory.append(KEY, ChatTurn(f"w{writer}-{number}"))

    async with memory.open():
        await asyncio.gather(*map(write, range(20)))
        await memory.update(KEY)
        shown = await memory.read(KEY, "?")
    summarised = [line.removesuffix(" was said.") for line in shown.memory.splitlines()][::-1]
    said = [*summarised, *(turn.user for turn in shown.recent)]
    assert sorted(said) == sorted(f"w{writer}-{number}" for writer in range(20) for number in range(25))
    assert numbers(shown.recent) == list(range(501 - len(shown.recent), 501))
    for writer in range(20):
        own = [int(name.partition("-")[2]) for name in said if name.startswith(f"w{writer}-")]
        assert own == list(range(25))


async def test_bounds_are_kept_and_violations_counted(store: SmallStore) -> None:
    summariser = ListingSummariser()
    memory = RecursiveSummaryMemory(store=store, summariser=summariser, max_sentences=7)
    async with memory.open():
        await say(memory, 1, 10)
        await memory.update(KEY)
        assert (memory.upkeep(KEY).violations, summariser.n_shortened) == (0, 0)
        await say(memory, 11, 15)
        await memory.update(KEY)
        assert (memory.upkeep(KEY).violations, summariser.n_shortened) == (1, 1)
        summariser.shorter = lambda memory: memory.splitlines()[0]
        await say(memory, 16, 20)
        await memory.update(KEY)
    assert (memory.upkeep(KEY).violations, summariser.n_shortened) == (1, 2)
    assert store.states[KEY].memory == "t15 was said."


async def test_the_language_last_told_reaches_the_summariser(store: SmallStore) -> None:
    summariser = ListingSummariser()
    memory = RecursiveSummaryMemory(store=store, summariser=summariser)
    async with memory.open():
        await memory.append(KEY, ChatTurn("t1"), "ko")
        await say(memory, 2, 10)
        await memory.update(KEY)
    assert summariser.languages == ["ko"]


async def test_only_reading_for_an_answer_keeps_a_session_alive(store: SmallStore) -> None:
    memory = RecursiveSummaryMemory(store=store, summariser=ListingSummariser())
    async with memory.open():
        await say(memory, 1, 10)
        await memory.update(KEY)
        await memory.inspect(KEY)
        assert store.touched == []
        await memory.read(KEY, "?")
    assert store.touched == [KEY]
