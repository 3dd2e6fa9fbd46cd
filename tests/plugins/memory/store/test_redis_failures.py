"""A Redis that is full, restarted, slow or gone."""

import asyncio
import signal
import time
from contextlib import suppress

import pytest

from plugins.memory.store.redis import RedisStore
from runner.domains.memory.records import ChatTurn, SessionKey, SessionState
from runner.domains.memory.stored import keys_of
from runner.errors import StopRunError
from tests.plugins.memory.store.far_store import KEY, committed, opened, stopped, store_of
from tests.services.redis_proxies import losing_answers
from tests.services.redis_server import RedisServer, serving_redis


async def test_a_full_server_takes_nothing_and_says_so(program: str) -> None:
    with serving_redis("--maxmemory", "6mb", "--maxmemory-policy", "noeviction", program=program) as server:
        store = store_of(server)
        async with store.open():
            kept = 0
            with pytest.raises(StopRunError) as caught:
                while True:
                    assert await store.append(KEY, ChatTurn("x" * 100_000)) == kept + 1
                    kept += 1
            state = await store.read(KEY)
            assert [turn.number for turn in state.turns] == list(range(1, kept + 1))
            server.asked("CONFIG", "SET", "maxmemory", "1mb")
            told = await stopped(store.commit(
                KEY, version=0, generation=state.generation, up_to_turn=kept, memory="m", entities=()
            ))  # fmt: skip
            assert await store.read(KEY) == state
            await store.delete(KEY)
            server.asked("CONFIG", "SET", "maxmemory", 0)
            assert await store.append(KEY, ChatTurn("again")) == 1
    for message in (str(caught.value), told):
        assert message.startswith(f"the store {server.url} is full, and did not take what it was given: ")
        assert message.endswith(
            "; raise its maxmemory, with maxmemory-policy noeviction, or delete sessions: "
            "python -m runner clean --idle HOURS memory.store.url=URL"
        )


async def test_a_server_that_makes_room_is_found_out(program: str) -> None:
    with serving_redis("--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru", program=program) as server:
        store = store_of(server)
        async with store.open():
            with pytest.raises(StopRunError) as caught:
                for number in range(1, 500):
                    for session in range(20):
                        key = SessionKey("acme", str(session))
                        assert await store.append(key, ChatTurn("x" * 10_000)) == number
    assert "to make room" in str(caught.value) or "does not have all of a session any more" in str(caught.value)
    assert "maxmemory-policy noeviction" in str(caught.value)


async def test_a_session_that_was_torn_apart(server: RedisServer) -> None:
    store = store_of(server)
    for part in keys_of(KEY):
        async with store.open():
            await store.append(KEY, ChatTurn("u1"))
            state = await store.read(KEY)
            assert await committed(store, state) == "ok"
            server.asked("DEL", part)
            for request in (store.append(KEY, ChatTurn("u2")), store.read(KEY), committed(store, state)):
                assert (await stopped(request)).startswith(
                    f"the store {server.url} does not have all of a session any more; "
                )
            await store.delete(KEY)
            assert await store.read(KEY) == SessionState()


@pytest.mark.parametrize("use", ["append", "read", "commit"])
async def test_a_server_that_comes_back_empty(server: RedisServer, use: str) -> None:
    store = store_of(server)
    async with store.open():
        await store.append(KEY, ChatTurn("u1"))
        state = await store.read(KEY)
        server.kill()
        server.start()
        request = {
            "append": store.append(KEY, ChatTurn("u2")),
            "read": store.read(KEY),
            "commit": committed(store, state),
        }
        told = await stopped(request.pop(use))
        for other in request.values():
            other.close()
        await store.delete(KEY)
    assert told.startswith(f"the store {server.url} was started again and does not have what it was given; ")


async def test_somebody_else_deletes(server: RedisServer) -> None:
    store, other = store_of(server), store_of(server)
    async with store.open(), other.open():
        state = SessionState()
        for _ in range(2):
            await store.append(KEY, ChatTurn("u1"))
            state = await store.read(KEY)
            await other.delete(KEY)
            assert await committed(store, state) == "gone"
        await store.append(KEY, ChatTurn("u1"))
        await other.delete(KEY)
        assert await store.append(KEY, ChatTurn("u1")) == 1
        await other.delete(KEY)
        assert await store.read(KEY) == SessionState()


async def test_a_server_that_is_killed_in_the_middle(server: RedisServer) -> None:
    store = store_of(server, retries=1)
    acknowledged: list[int] = []

    async def speak() -> None:
        while True:
            acknowledged.append(await store.append(KEY, ChatTurn("u")))

    try:
        async with store.open():
            speaking = asyncio.create_task(speak())
            while len(acknowledged) < 50:
                await asyncio.sleep(0.001)
            server.kill()
            told = await stopped(speaking)
    finally:
        with suppress(ProcessLookupError):
            server.start()
    assert acknowledged == list(range(1, len(acknowledged) + 1))
    assert told.startswith(f"the store {server.url} cannot be reached: ")
    assert told.endswith("; is it up, and memory.store.url right? Run the same command again to resume")


async def test_nobody_is_there(closed_port: int) -> None:
    store = RedisStore(url=f"redis://127.0.0.1:{closed_port}/0", retries=0)
    assert (await stopped(opened(store))).startswith(f"the store redis://127.0.0.1:{closed_port}/0 cannot be reached: ")


async def test_a_server_that_does_not_answer(server: RedisServer) -> None:
    store = store_of(server, timeout_ms=200, retries=1)
    async with store.open():
        await store.append(KEY, ChatTurn("u"))
        server.signal(signal.SIGSTOP)
        try:
            told = await stopped(store.append(KEY, ChatTurn("u")))
        finally:
            server.signal(signal.SIGCONT)
        assert told.startswith(f"the store {server.url} does not answer in time: ")
        assert await store.append(KEY, ChatTurn("u")) >= 2


async def test_a_pause_is_waited_out_and_nothing_is_kept_twice(server: RedisServer) -> None:
    store = store_of(server, timeout_ms=200, retries=10)
    async with store.open():
        await store.append(KEY, ChatTurn("u1"))
        server.signal(signal.SIGSTOP)
        turn = asyncio.create_task(store.append(KEY, ChatTurn("u2")))
        await asyncio.sleep(0.5)
        server.signal(signal.SIGCONT)
        assert await turn == 2
        assert [turn.user for turn in (await store.read(KEY)).turns] == ["u1", "u2"]


async def test_a_script_of_somebody_else_that_takes_long(server: RedisServer) -> None:
    server.asked("CONFIG", "SET", "busy-reply-threshold", 50)
    store = store_of(server, retries=0)
    patient = store_of(server, retries=10)
    async with store.open(), patient.open():
        busy = asyncio.create_task(asyncio.to_thread(_endless, server))
        told = ""
        while "BUSY" not in told:
            with suppress(StopRunError):
                await asyncio.sleep(0.01)
                await store.append(KEY, ChatTurn("u"))
                continue
            told = await stopped(store.append(KEY, ChatTurn("u")))
        turn = asyncio.create_task(patient.append(KEY, ChatTurn("last")))
        await asyncio.sleep(0.1)
        server.asked("SCRIPT", "KILL")
        number = await turn
        await busy
        assert [turn.number for turn in (await store.read(KEY)).turns] == list(range(1, number + 1))
    assert told.startswith(f"the store {server.url} does not do what it is asked: BUSY")


def _endless(server: RedisServer) -> None:
    with server.client() as client, suppress(Exception):
        client.eval("while true do end", 0)


@pytest.mark.parametrize("times", [1, 3])
async def test_an_answer_that_is_lost_is_asked_for_again(server: RedisServer, times: int) -> None:
    for command, use in ((b"EVALSHA", "append"), (b"EVALSHA", "commit"), (b"EVALSHA", "read"), (b"DEL", "delete")):
        direct = store_of(server)
        async with direct.open(), losing_answers(server.port, command, times) as port:
            await direct.append(KEY, ChatTurn("u1"))
            state = await direct.read(KEY)
            store = store_of(server, url=f"redis://127.0.0.1:{port}/0", retries=3)
            async with store.open():
                if use == "append":
                    assert await store.append(KEY, ChatTurn("u2")) == 2
                elif use == "commit":
                    assert await committed(store, state) == "ok"
                    assert await committed(store, state) == "conflict"
                elif use == "read":
                    assert await store.read(KEY) == state
                else:
                    await store.delete(KEY)
            after = await direct.read(KEY)
            assert (len(after.turns), after.version) == {
                "append": (2, 0), "commit": (1, 1), "read": (1, 0), "delete": (0, 0)
            }[use]  # fmt: skip
            await direct.delete(KEY)


async def test_an_answer_that_stays_lost_ends_the_run(server: RedisServer) -> None:
    async with losing_answers(server.port, b"EVALSHA", 9) as port:
        store = store_of(server, url=f"redis://127.0.0.1:{port}/0", retries=2)
        async with store.open():
            assert "cannot be reached" in await stopped(store.append(KEY, ChatTurn("u")))


async def test_many_at_once_share_few_connections(server: RedisServer) -> None:
    store = store_of(server)
    async with store.open():
        numbers = await asyncio.gather(*(store.append(KEY, ChatTurn("u")) for _ in range(500)))
        assert sorted(numbers) == list(range(1, 501))
        assert len(server.asked("CLIENT", "LIST").splitlines()) <= 40
        await store.delete(KEY)


async def test_the_oldest_repeats_are_forgotten_not_mistaken(server: RedisServer) -> None:
    store = store_of(server)
    async with store.open():
        started = time.monotonic()
        for number in range(1, 121):
            assert await store.append(KEY, ChatTurn("u")) == number
        appended = server.asked("HGET", keys_of(KEY)[1], "appended")
        assert len(appended) <= 512, time.monotonic() - started
