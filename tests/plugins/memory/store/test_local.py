from plugins.memory.store.local import LocalStore
from runner.domains.memory.records import ChatTurn, SessionKey

KEY, OTHER = SessionKey("acme", "1"), SessionKey("acme", "2")
HOUR = 3600.0


async def test_it_lives_its_hours_after_it_was_last_used() -> None:
    store = LocalStore(ttl_hours=24.0)
    now = 0.0
    store.clock = lambda: now
    async with store.open():
        await store.append(KEY, ChatTurn("u1"))
        now = 23 * HOUR
        assert len((await store.read(KEY)).turns) == 1
        now = 46 * HOUR
        state = await store.read(KEY, touch=False)
        assert len(state.turns) == 1
        now = 47 * HOUR
        assert (await store.read(KEY)).generation == ""


async def test_a_commit_and_a_turn_are_uses() -> None:
    store = LocalStore(ttl_hours=1.0)
    now = 0.0
    store.clock = lambda: now
    async with store.open():
        await store.append(KEY, ChatTurn("u1"))
        state = await store.read(KEY)
        for step, use in enumerate(("commit", "append"), start=1):
            now = step * 0.9 * HOUR
            if use == "append":
                assert await store.append(KEY, ChatTurn("u2")) == 2
            else:
                settings = {"memory": "m", "entities": (), "up_to_turn": 0}
                assert await store.commit(KEY, version=0, generation=state.generation, **settings) == "ok"
        now = 2.0 * HOUR
        await store.append(OTHER, ChatTurn("u1"))
        now = 2.85 * HOUR
        assert [key async for key in store.sessions()] == [OTHER]


async def test_nothing_outlives_the_store() -> None:
    store = LocalStore()
    async with store.open():
        async with store.open():
            await store.append(KEY, ChatTurn("u1"))
        assert [key async for key in store.sessions()] == [KEY]
    async with store.open():
        assert [key async for key in store.sessions()] == []
