from plugins.memory.full_history import FullHistoryMemory
from plugins.memory.store.local import LocalStore
from runner.domains.memory.records import ChatTurn, SessionKey
from tests.plugins.memory.summarisers import ListingSummariser

KEY, OTHER = SessionKey("acme", "s1"), SessionKey("acme", "s2")


async def test_every_turn_in_order_and_no_budget() -> None:
    summariser = ListingSummariser()
    memory = FullHistoryMemory(store=LocalStore(), summariser=summariser)
    async with memory.open():
        for number in range(30):
            await memory.append(KEY, ChatTurn(f"t{number}", "네."))
        await memory.append(OTHER, ChatTurn("other"))
        await memory.update(KEY)
        shown = await memory.read(KEY, "?")
        assert [turn.user for turn in shown.recent] == [f"t{number}" for number in range(30)]
        assert [turn.number for turn in shown.recent] == list(range(1, 31))
        assert not shown.is_budgeted
        assert (shown.memory, shown.entities, shown.retrieved) == ("", (), ())
        assert len(memory.upkeep(KEY).appends_ms) == 30
        assert (await memory.inspect(KEY)).turns == shown.recent
        await memory.delete(KEY)
        assert (await memory.read(KEY, "?")).recent == ()
        assert len((await memory.read(OTHER, "?")).recent) == 1
        assert memory.upkeep(KEY).appends_ms == []
    assert summariser.batches == []
