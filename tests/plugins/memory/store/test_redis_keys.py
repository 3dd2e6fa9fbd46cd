"""The keys of a session in Redis, and the time that they are given."""

from runner.domains.memory.records import ChatTurn, SessionKey, SessionState
from runner.domains.memory.stored import keys_of
from tests.plugins.memory.store.far_store import KEY, committed, store_of
from tests.services.redis_server import RedisServer


async def test_the_keys_are_those_of_the_format(server: RedisServer) -> None:
    store = store_of(server)
    async with store.open():
        await store.append(SessionKey("한", "a:b*{\n"), ChatTurn("u"))
        await committed(store, await store.read(SessionKey("한", "a:b*{\n")), SessionKey("한", "a:b*{\n"))
    assert sorted(server.asked("KEYS", "*")) == [
        b"chat:{%ED%95%9C:a%3Ab%2A%7B%0A}:" + part for part in (b"entities", b"memory", b"short")
    ]
    assert server.asked("LRANGE", "chat:{%ED%95%9C:a%3Ab%2A%7B%0A}:short", 0, -1) == [
        b'{"number":1,"user":"u","assistant":"","speaker":"","said_at":"","id":""}'
    ]
    assert server.asked("GET", "chat:{%ED%95%9C:a%3Ab%2A%7B%0A}:entities") == (
        '[{"key":"budget","value":"1.2억","turn":1}]'.encode()
    )


async def test_every_use_gives_all_three_keys_their_time_again(server: RedisServer) -> None:
    store = store_of(server, ttl_hours=2.0)
    full, short = 7_200_000, 5_000

    def expire() -> None:
        for name in keys_of(KEY):
            server.asked("PEXPIRE", name, short)

    def left() -> list[int]:
        return [server.asked("PTTL", name) for name in keys_of(KEY)]

    async with store.open():
        await store.append(KEY, ChatTurn("u1"))
        assert await committed(store, await store.read(KEY)) == "ok"
        for use in ("append", "commit", "read"):
            expire()
            before = await store.read(KEY, touch=False)
            assert all(0 < time_left <= short for time_left in left())
            if use == "append":
                await store.append(KEY, ChatTurn("u2"))
            elif use == "commit":
                assert await committed(store, before) == "ok"
            else:
                await store.read(KEY)
            assert all(full - 60_000 < time_left <= full for time_left in left())
        expire()
        state = await store.read(KEY, touch=False)
        assert await committed(store, SessionState(version=9, generation=state.generation)) == "conflict"
        assert await committed(store, SessionState()) == "gone"
        assert all(0 < time_left <= short for time_left in left())


async def test_keys_of_others_are_left_alone(server: RedisServer) -> None:
    foreign = [
        "chat:acme:1:short",
        "chat:{acme}:1:short",
        "chat:{acme:1}:log",
        "chat:{a:b:c}:short",
        "chat:{%zz:1}:short",
    ]
    for name in (*foreign, "chat:{acme%2d:1}:short"):  # a percent-encoding that we would not write
        server.asked("SET", name, "theirs")
    store = store_of(server)
    async with store.open():
        await store.append(KEY, ChatTurn("u"))
        assert [key async for key in store.sessions()] == [KEY]
        await store.delete(KEY)
    assert len(server.asked("KEYS", "*")) == len(foreign) + 1


async def test_a_server_that_forgets_scripts_is_told_them_again(server: RedisServer) -> None:
    store = store_of(server)
    async with store.open():
        for number in range(1, 4):
            server.asked("SCRIPT", "FLUSH")
            assert await store.append(KEY, ChatTurn("u")) == number
