"""A primary that dies while turns are added: a replica takes over, and no turn is lost or kept twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from plugins.memory.store.redis import RedisStore
from runner.domains.memory.records import ChatTurn, SessionKey
from runner.domains.memory.redis_errors import is_passing
from runner.domains.memory.redis_server import RedisServer as Settings
from runner.domains.memory.stored import keys_of
from runner.errors import ConfigError
from tests.plugins.memory.store.far_store import KEY, committed, opened, stopped, store_of
from tests.services.ports import free_port
from tests.services.redis_server import (
    MASTER,
    VARIABLE,
    RedisServer,
    Watched,
    serving_cluster,
    serving_sentinels,
)

FAILOVER_S = Settings(setting="memory.store").failover_s
SESSIONS = 12  # in a cluster, some on each node


def behind(watched: Watched, **settings: Any) -> RedisStore:
    return RedisStore(
        **{"url": f"redis://{MASTER}/0", "sentinels": watched.sentinels, "password_env": VARIABLE, **settings}
    )


async def taken_over(store: RedisStore, kill: Callable[[], None], wait: Callable[[], None]) -> float:
    """The longest time that a turn took, of sessions that are spoken in before, during and after it."""
    is_over, longest_s = False, 0.0
    numbers: dict[SessionKey, list[int]] = {SessionKey("acme", str(number)): [] for number in range(SESSIONS)}

    async def speak(key: SessionKey) -> None:
        nonlocal longest_s
        while not is_over:
            started = time.monotonic()
            numbers[key].append(await store.append(key, ChatTurn(f"{len(numbers[key]) + 1}")))
            longest_s = max(longest_s, time.monotonic() - started)
            await asyncio.sleep(0.01)

    async with store.open(), asyncio.TaskGroup() as speaking:
        for key in numbers:
            speaking.create_task(speak(key))
        while sum(map(len, numbers.values())) < 10 * SESSIONS:
            await asyncio.sleep(0.01)
        kill()
        await asyncio.to_thread(wait)
        before = {key: len(told) for key, told in numbers.items()}
        while any(len(told) < before[key] + 5 for key, told in numbers.items()):
            await asyncio.sleep(0.01)
        is_over = True
    async with store.open():
        for key, told in numbers.items():
            state = await store.read(key)
            assert told == [turn.number for turn in state.turns] == list(range(1, len(told) + 1))
            assert [turn.user for turn in state.turns] == [str(number) for number in told]
            assert await committed(store, state, key) == "ok"
    return longest_s


def promoted(replica: RedisServer) -> None:
    while replica.replication()["role"] != "master":
        time.sleep(0.02)


async def test_a_sentinel_names_another_primary() -> None:
    with serving_sentinels(n_sentinels=1, down_after_ms=300) as watched:
        sentinels = [f"127.0.0.1:{free_port()}", *watched.sentinels]  # the first one is not there
        await taken_over(behind(watched, sentinels=sentinels), watched.primary.kill, watched.wait_for_promotion)


@pytest.mark.slow
async def test_one_of_three_sentinels_dies_with_the_primary(program: str) -> None:
    with serving_sentinels(program) as watched:

        def kill() -> None:
            watched.kill_sentinel()
            watched.primary.kill()

        await taken_over(behind(watched), kill, watched.wait_for_promotion)


async def test_a_node_of_a_cluster_dies() -> None:
    with serving_cluster(3, replicas=True, node_timeout_ms=500) as nodes:
        others = [f"127.0.0.1:{node.port}" for node in nodes[1:]]
        store = store_of(nodes[0], cluster=True, nodes=others)
        await taken_over(store, nodes[0].kill, lambda: promoted(nodes[3]))
        told = await stopped(opened(store_of(nodes[0], cluster=True, retries=0)))
    assert told.startswith(f"the store {nodes[0].url} cannot be reached: Redis Cluster cannot be connected")


@pytest.mark.slow
async def test_a_cluster_that_takes_ten_seconds(program: str) -> None:
    with serving_cluster(3, program, replicas=True, node_timeout_ms=9_000) as nodes:
        store = store_of(nodes[0], cluster=True)
        longest_s = await taken_over(store, nodes[1].kill, lambda: promoted(nodes[4]))
    assert longest_s > 9


async def test_how_long_a_failover_is_waited_for() -> None:
    with serving_cluster(2) as nodes:  # without replicas
        store = store_of(nodes[0], cluster=True, retries=1, failover_s=1.5)
        async with store.open():
            nodes[1].kill()
            started, told = time.monotonic(), ""
            for number in range(20):  # some on each node
                try:
                    await store.append(SessionKey("acme", str(number)), ChatTurn("u"))
                except Exception as error:
                    told = str(error)
                    break
    assert told.startswith(f"the store {nodes[0].url} cannot be reached: ")
    assert time.monotonic() - started > 1.5


async def test_a_replica_that_did_not_have_the_last_turns(server: RedisServer) -> None:
    """As a server shows itself that took over too early: the session of before, without what came last."""
    store, names = store_of(server), keys_of(KEY)
    async with store.open():
        await store.append(KEY, ChatTurn("u1"))
        before = [server.asked("DUMP", name) for name in names[:2]]

        def lose() -> None:
            server.asked("DEL", *names)
            for name, value in zip(names, before, strict=False):
                server.asked("RESTORE", name, 0, value)

        await store.append(KEY, ChatTurn("u2"))
        await store.append(KEY, ChatTurn("u3"))
        lose()
        for request in (store.read(KEY), store.append(KEY, ChatTurn("u4"))):
            told = await stopped(request)
            assert told == (
                f"the store {server.url} has lost what it had confirmed: a replica that did not have it yet took over. "
                "Run the same command again to resume"
            )
        await store.delete(KEY)
        await store.append(KEY, ChatTurn("u1"))
        before = [server.asked("DUMP", name) for name in names[:2]]
        assert await committed(store, await store.read(KEY)) == "ok"
        lose()
        assert "has lost what it had confirmed" in await stopped(store.read(KEY))


# --- sentinels that do not help -----------------------------------------------------------------------


async def test_sentinels_of_a_password_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTINEL_SECRET", "Watch-Tower-7")
    monkeypatch.setenv("WRONG_SECRET", "Wrong-Tower-7")
    with serving_sentinels(n_sentinels=1, password="Watch-Tower-7") as watched:
        place = f"the store redis://{MASTER}/0 (sentinels {watched.sentinels[0]})"
        access = "memory.store.sentinel_password_env=NAME names the variable that holds their password"
        async with behind(watched, sentinel_password_env="SENTINEL_SECRET").open():
            pass
        for variable in (None, "WRONG_SECRET"):
            told = await stopped(opened(behind(watched, sentinel_password_env=variable, retries=0)))
            assert told == f"{place}: a sentinel refuses access; {access}"
        told = await stopped(opened(behind(watched, sentinel_password_env="SENTINEL_SECRET", url="redis://other")))
        assert told.startswith(
            f"the store redis://other (sentinels {watched.sentinels[0]}) cannot be reached: no sentinel"
        )
        told = await stopped(opened(behind(watched, sentinel_password_env="SENTINEL_SECRET", password_env=None)))
        assert told.startswith(f"{place} refuses access: ")


async def test_no_sentinel_is_there() -> None:
    started = time.monotonic()
    store = RedisStore(url="redis://main", sentinels=[f"127.0.0.1:{free_port()}"])
    told = await stopped(opened(store))
    assert told.endswith(
        "cannot be reached: no sentinel names a primary that is up; is it up, and memory.store.url and "
        "memory.store.sentinels right? Run the same command again to resume"
    )
    assert time.monotonic() - started < FAILOVER_S  # a store that was never there is not waited for


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"cluster": True, "sentinels": ["h:1"]},
            "memory.store.sentinels: expected none beside memory.store.cluster=true, which has its own",
        ),
        (
            {"sentinels": ["h:1"]},
            "memory.store.url: expected redis://NAME/0 or rediss://NAME/0, the name by which sentinels know the "
            "primary and no port, as memory.store.sentinels say where it is",
        ),
        ({"nodes": ["h:1"]}, "memory.store.nodes: expected memory.store.cluster=true beside them"),
        (
            {"url": "rediss://h", "key_file": "k.pem"},
            "memory.store.key_file: expected the certificate of this key, too, as memory.store.cert_file",
        ),
        (
            {"cert_file": "c.pem"},
            "memory.store.cert_file: expected an address that begins with rediss:// beside a certificate",
        ),
    ],
)
def test_settings_that_contradict_each_other(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RedisStore(**settings)
    assert list(map(str, caught.value.problems)) == [told]


def test_a_connection_that_redis_py_closed_while_it_was_in_use() -> None:
    told = {}
    for name in ("redis.asyncio.connection", "plugins.memory"):
        with pytest.raises(AttributeError) as caught:
            exec("None.writelines([])", {"__name__": name})
        told[name] = is_passing(caught.value)
    assert told == {"redis.asyncio.connection": True, "plugins.memory": False}
