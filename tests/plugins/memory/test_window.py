import pytest

from plugins.memory.store.local import LocalStore
from plugins.memory.window import WindowMemory
from runner.domains.memory.records import ChatTurn, SessionKey
from tests.plugins.memory.summarisers import ListingSummariser

KEY = SessionKey("acme", "s1")


@pytest.mark.parametrize(("window", "shown"), [(5, [6, 7, 8, 9, 10]), (1, [10]), (20, list(range(1, 11)))])
async def test_the_last_turns_and_no_others(window: int, shown: list[int]) -> None:
    summariser = ListingSummariser()
    memory = WindowMemory(store=LocalStore(), summariser=summariser, window=window)
    async with memory.open():
        for number in range(1, 11):
            await memory.append(KEY, ChatTurn(f"t{number}"))
        await memory.update(KEY)
        remembered = await memory.read(KEY, "t1?")
        assert [turn.number for turn in remembered.recent] == shown
        assert remembered.is_budgeted
        assert (remembered.memory, remembered.entities, remembered.retrieved) == ("", (), ())
        assert (await memory.inspect(KEY)).turns == remembered.recent  # the store keeps no more
        assert len(memory.upkeep(KEY).appends_ms) == 10
        await memory.delete(KEY)
        assert (await memory.read(KEY, "?")).recent == ()
    assert summariser.batches == []


async def test_five_turns_unless_told_otherwise() -> None:
    memory = WindowMemory(store=LocalStore(), summariser=ListingSummariser())
    async with memory.open():
        for number in range(9):
            await memory.append(KEY, ChatTurn(str(number)))
        assert len((await memory.read(KEY, "?")).recent) == 5
