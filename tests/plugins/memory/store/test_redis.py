"""A Redis that is far away, full, guarded, restarted, slow or gone."""

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from plugins.memory.store.redis import RedisStore
from runner.errors import ConfigError, StopRunError
from runner.memory.records import ChatTurn, Entity, SessionKey, SessionState
from runner.memory.stored import keys_of
from tests.services.redis_proxies import losing_answers, serving_tls, write_certificate
from tests.services.redis_server import (
    PASSWORD,
    VARIABLE,
    RedisServer,
    debian_redis,
    serving_cluster,
    serving_redis,
    valkey,
)

KEY = SessionKey("acme", "1")
PROGRAMS = [pytest.param(valkey, id="valkey"), pytest.param(debian_redis, id="debian")]


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> str:
    found: str | None = request.param()
    if found is None:
        pytest.skip("no redis-server is installed: apt install redis-server")
    return found


@pytest.fixture(scope="module")
def shared(program: str) -> Iterator[RedisServer]:
    with serving_redis(program=program) as server:
        yield server


@pytest.fixture
def server(shared: RedisServer) -> RedisServer:
    shared.asked("FLUSHALL")
    return shared


def store_of(server: RedisServer, **settings: Any) -> RedisStore:
    return RedisStore(**{"url": server.url, "password_env": VARIABLE, **settings})


async def committed(store: RedisStore, state: SessionState, key: SessionKey = KEY) -> str:
    entities = (Entity("budget", "1.2억", 1),)
    condition = {"version": state.version, "generation": state.generation, "up_to_turn": 0}
    return await store.commit(key, **condition, memory="m", entities=entities)


async def stopped(request: Any) -> str:
    """What the error says that ends the run."""
    with pytest.raises(StopRunError) as caught:
        await request
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


async def opened(store: RedisStore) -> None:
    async with store.opened():
        pass


# --- keys and their time to live ------------------------------------------------------------------------


async def test_the_keys_are_those_of_the_format(server: RedisServer) -> None:
    store = store_of(server)
    async with store.opened():
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

    async with store.opened():
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
    async with store.opened():
        await store.append(KEY, ChatTurn("u"))
        assert [key async for key in store.sessions()] == [KEY]
        await store.delete(KEY)
    assert len(server.asked("KEYS", "*")) == len(foreign) + 1


async def test_a_server_that_forgets_scripts_is_told_them_again(server: RedisServer) -> None:
    store = store_of(server)
    async with store.opened():
        for number in range(1, 4):
            server.asked("SCRIPT", "FLUSH")
            assert await store.append(KEY, ChatTurn("u")) == number


# --- who may ask, and how -------------------------------------------------------------------------------


async def test_a_wrong_password(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    access = "memory.store.username and memory.store.password_env (the NAME of a variable) say who asks"
    told = await stopped(opened(store_of(server, password_env=None)))
    assert told.startswith(f"the store {server.url} refuses access: ")
    assert told.endswith(f"; {access}")
    monkeypatch.setenv("ANOTHER", "tr0ub4dor")
    told = await stopped(opened(store_of(server, password_env="ANOTHER")))
    assert told.startswith(f"the store {server.url} refuses access: ")
    assert "tr0ub4dor" not in told


async def test_what_is_missing_is_told_before_the_server_is_asked(server: RedisServer) -> None:
    store = store_of(server, password_env="NOT_SET", ca_file="nowhere.pem")
    problems = [
        "memory.store.password_env: the environment variable NOT_SET is not set; "
        f"it holds the password for {server.url}",
        "memory.store.ca_file: no such file: nowhere.pem",
    ]
    assert list(map(str, store.preflight())) == problems
    with pytest.raises(ConfigError) as caught:
        await opened(store)
    assert list(map(str, caught.value.problems)) == problems
    assert store_of(server).preflight() == []


async def test_a_user_of_its_own(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may not ask for INFO can do without."""
    server.asked("ACL", "SETUSER", "chatty", "on", ">pw", "~chat:*", "+@read", "+@write", "+@scripting", "+ping")
    monkeypatch.setenv("CHATTY", "pw")
    store = store_of(server, username="chatty", password_env="CHATTY")
    async with store.opened():
        assert await store.append(KEY, ChatTurn("u")) == 1
        await store.delete(KEY)
        assert await store.append(KEY, ChatTurn("u")) == 1
        server.asked("ACL", "SETUSER", "chatty", "-@write")
        told = await stopped(store.append(KEY, ChatTurn("u")))
    assert told.startswith(f"the store {server.url} refuses access: ")


async def test_tls(server: RedisServer, tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path)
    async with serving_tls(server.port, certificate, key) as port:
        url = f"rediss://127.0.0.1:{port}"
        store = store_of(server, url=url, ca_file=str(certificate))
        async with store.opened():
            assert await store.append(KEY, ChatTurn("u")) == 1
        told = await stopped(opened(store_of(server, url=url, retries=0)))
        assert told.startswith(f"the store {url} cannot be reached: ")
        assert "certificate verify failed" in told


async def test_a_unix_socket(program: str, tmp_path: Path) -> None:
    path = tmp_path / "소켓 1"
    with serving_redis("--unixsocket", str(path), program=program) as server:
        store = store_of(server, url=f"unix://{path.parent}/%EC%86%8C%EC%BC%93%201")
        async with store.opened():
            assert await store.append(KEY, ChatTurn("u")) == 1


async def test_a_database(server: RedisServer) -> None:
    store = store_of(server, url=server.url.replace("/0", "/3"))
    async with store.opened():
        await store.append(KEY, ChatTurn("u"))
    assert server.asked("DBSIZE") == 0


async def test_a_cluster_that_is_not_called_one(program: str) -> None:
    with serving_cluster(2, program) as nodes:
        url = nodes[0].url
        told = {await _outcome(store_of(nodes[0], retries=0), SessionKey("acme", str(number))) for number in range(20)}
        assert told == {"1", f"the store {url} is one node of a cluster: set memory.store.cluster=true"}
        store = store_of(nodes[1], cluster=True, retries=0)
        async with store.opened():
            assert 0 < len([key async for key in store.sessions()]) < 20
            nodes[0].kill()
            outcome, number = "", 0
            while not outcome.startswith(f"the store {nodes[1].url} "):
                outcome, number = await _outcome(store, SessionKey("acme", str(number))), number + 1


async def _outcome(store: RedisStore, key: SessionKey) -> str:
    try:
        return str(await _append(store, key))
    except StopRunError as error:
        return str(error)


async def _append(store: RedisStore, key: SessionKey = KEY) -> int:
    async with store.opened():
        return await store.append(key, ChatTurn("u"))


@pytest.mark.parametrize("url", ["unix:///tmp/s", "redis://127.0.0.1:7000/2"])
def test_a_cluster_has_no_socket_and_one_database(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RedisStore(url=url, cluster=True)
    (problem,) = caught.value.problems
    assert str(problem) == (
        "memory.store.url: expected the address of a node and database 0, as memory.store.cluster=true"
    )


# --- what goes wrong ------------------------------------------------------------------------------------


async def test_a_full_server_takes_nothing_and_says_so(program: str) -> None:
    with serving_redis("--maxmemory", "6mb", "--maxmemory-policy", "noeviction", program=program) as server:
        store = store_of(server)
        async with store.opened():
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
            "; raise its maxmemory, with maxmemory-policy noeviction, or delete sessions: python -m runner clean"
        )


async def test_a_server_that_makes_room_is_found_out(program: str) -> None:
    with serving_redis("--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru", program=program) as server:
        store = store_of(server)
        async with store.opened():
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
        async with store.opened():
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
    async with store.opened():
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
    async with store.opened(), other.opened():
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
        async with store.opened():
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
    assert told.endswith("; is it up, and memory.store.url right? The same command goes on from what is done")


async def test_nobody_is_there(closed_port: int) -> None:
    store = RedisStore(url=f"redis://127.0.0.1:{closed_port}/0", retries=0)
    assert (await stopped(opened(store))).startswith(f"the store redis://127.0.0.1:{closed_port}/0 cannot be reached: ")


async def test_a_server_that_does_not_answer(server: RedisServer) -> None:
    store = store_of(server, timeout_ms=200, retries=1)
    async with store.opened():
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
    async with store.opened():
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
    async with store.opened(), patient.opened():
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
        async with direct.opened(), losing_answers(server.port, command, times) as port:
            await direct.append(KEY, ChatTurn("u1"))
            state = await direct.read(KEY)
            store = store_of(server, url=f"redis://127.0.0.1:{port}/0", retries=3)
            async with store.opened():
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
        async with store.opened():
            assert "cannot be reached" in await stopped(store.append(KEY, ChatTurn("u")))


async def test_many_at_once_share_few_connections(server: RedisServer) -> None:
    store = store_of(server)
    async with store.opened():
        numbers = await asyncio.gather(*(store.append(KEY, ChatTurn("u")) for _ in range(500)))
        assert sorted(numbers) == list(range(1, 501))
        assert len(server.asked("CLIENT", "LIST").splitlines()) <= 40
        await store.delete(KEY)


async def test_the_oldest_repeats_are_forgotten_not_mistaken(server: RedisServer) -> None:
    store = store_of(server)
    async with store.opened():
        started = time.monotonic()
        for number in range(1, 121):
            assert await store.append(KEY, ChatTurn("u")) == number
        appended = server.asked("HGET", keys_of(KEY)[1], "appended")
        assert len(appended) <= 512, time.monotonic() - started
