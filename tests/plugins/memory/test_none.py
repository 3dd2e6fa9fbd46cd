from plugins.memory.none import NoMemory
from runner.domains.memory.records import ChatTurn, MemoryContent, SessionKey, SessionState, Upkeep
from tests.plugins.memory.small_store import SmallStore
from tests.plugins.memory.summarisers import ListingSummariser

KEY = SessionKey("acme", "s1")


async def test_nothing_is_kept_and_the_store_is_not_even_opened() -> None:
    store = SmallStore()
    memory = NoMemory(store=store, summariser=ListingSummariser())
    async with memory.open():
        assert store.n_opened == 0
        await memory.append(KEY, ChatTurn("The budget is $10,000."), "en")
        await memory.update(KEY)
        assert await memory.read(KEY, "What is the budget?") == MemoryContent()
        assert await memory.inspect(KEY) == SessionState()
        assert memory.upkeep(KEY) == Upkeep()
        await memory.delete(KEY)
    assert store.states == {}
