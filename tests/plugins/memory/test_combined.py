import asyncio

from plugins.memory.combined import CombinedMemory
from plugins.memory.store.local import LocalStore
from plugins.memory.summariser.extractive import ExtractiveSummariser
from runner.domains.memory.records import ChatTurn, SessionKey
from tests.plugins.memory.summarisers import ListingSummariser

KEY = SessionKey("acme", "s1")


async def test_a_summary_recent_turns_and_older_ones_found_for_the_question() -> None:
    memory = CombinedMemory(store=LocalStore(), summariser=ExtractiveSummariser(), n=3)
    async with memory.open():
        for text in (
            "예산은 1억이에요.",
            "점심은 국수였어요.",
            "예산이 1.5억으로 늘었어요.",
            "날씨가 좋네요.",
            "네, 좋아요.",
        ):
            await memory.append(KEY, ChatTurn(text), "ko")
        for number in range(7):
            await memory.append(KEY, ChatTurn(f"예산 이야기 {number}"), "ko")
        await memory.update(KEY)
        shown = await memory.read(KEY, "예산이 얼마로 늘었죠?")
        await memory.inspect(KEY)
    assert [turn.number for turn in shown.recent] == list(range(6, 13))
    assert [turn.number for turn in shown.retrieved] == [3]  # not the first one: the budget has grown
    assert shown.memory.splitlines()[0] == "예산이 1.5억으로 늘었어요."
    assert "1억이" not in shown.memory
    assert [(entity.key, entity.value) for entity in shown.entities if entity.key == "예산"] == [("예산", "1.5억")]


async def test_turns_stay_searchable_when_they_have_been_summarised() -> None:
    memory = CombinedMemory(
        store=LocalStore(), summariser=ListingSummariser(), window=2, update_every=2, n=100, tokens="word"
    )
    async with memory.open():
        for number in range(1, 12):
            await memory.append(KEY, ChatTurn(f"tea {number}"))
            await memory.update(KEY)
        state = await memory.inspect(KEY)
        shown = await memory.read(KEY, "tea")
        assert [turn.number for turn in state.turns] == list(range(1, 12))
        assert (state.last_turn, memory.upkeep(KEY).updates) == (8, 4)
        assert [turn.number for turn in shown.recent] == [9, 10, 11]
        assert sorted(turn.number for turn in shown.retrieved) == list(range(1, 9))
        await memory.delete(KEY)
        assert (await memory.read(KEY, "tea")).retrieved == ()
        assert memory.upkeep(KEY).updates == 0


async def test_twenty_writers() -> None:
    memory = CombinedMemory(
        store=LocalStore(),
        summariser=ListingSummariser(),
        max_sentences=1000,
        max_tokens=100_000,
        n=1000,
        tokens="word",
    )

    async def write(writer: int) -> None:
        for number in range(10):
            await memory.append(KEY, ChatTurn(f"tea {writer} {number}"))
            await asyncio.sleep(0)

    async with memory.open():
        await asyncio.gather(*map(write, range(20)))
        await memory.update(KEY)
        shown = await memory.read(KEY, "tea")
    found = sorted(turn.number for turn in (*shown.recent, *shown.retrieved))
    assert found == list(range(1, 201))
    assert len(shown.memory.splitlines()) == 200 - len(shown.recent)


async def test_a_turn_that_was_said_otherwise_later_does_not_come_back() -> None:
    """The budget of turn 1 was changed in turn 3, which the summary holds; the city was not."""
    memory = CombinedMemory(store=LocalStore(), summariser=ExtractiveSummariser(), window=1, update_every=1)
    said = (
        "The budget of the Atlas project is $10,000.",
        "The Atlas project is led from Busan by Priya Raman.",
        "The budget of the Atlas project is $15,000 now.",
        "What is the budget of the Atlas project?",
        "I had soup.",
    )
    async with memory.open():
        for text in said:
            await memory.append(KEY, ChatTurn(text))
            await memory.update(KEY)
        found = (await memory.read(KEY, "What is the budget of the Atlas project, and who leads it?")).retrieved
    assert sorted(turn.number for turn in found) == [2, 3, 4]
