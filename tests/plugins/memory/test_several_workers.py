"""Several processes that talk in one session: each update is one call of the summariser."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from plugins.memory.recursive_summary import RecursiveSummaryMemory
from plugins.memory.store.embedded import EmbeddedStore
from plugins.memory.store.local import LocalStore
from plugins.memory.store.redis import RedisStore
from runner.domains.memory.protocols import MemoryStore
from runner.domains.memory.records import Bounds, ChatTurn, Entity, SessionKey, SessionState, Summary
from tests.plugins.memory.summarisers import ListingSummariser
from tests.services.redis_server import VARIABLE, RedisServer, serving_redis

KEY = SessionKey("acme", "s1")
LEASE_S = 2.0
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with serving_redis() as server:
        yield server


class SlowSummariser(ListingSummariser):
    """A line in a file for each call."""

    def __init__(self, calls: Path, seconds: float) -> None:
        super().__init__()
        self.calls, self.seconds = calls, seconds

    async def summarise(
        self, memory: str, entities: Sequence[Entity], turns: Sequence[ChatTurn], language: str | None, bounds: Bounds
    ) -> Summary:
        with self.calls.open("a") as file:
            file.write(f"{turns[0].number}-{turns[-1].number} by {os.getpid()}\n")
        await asyncio.sleep(self.seconds)
        return await super().summarise(memory, entities, turns, language, bounds)


def memory_of(store: MemoryStore, calls: Path, seconds: float) -> RecursiveSummaryMemory:
    memory = RecursiveSummaryMemory(store=store, summariser=SlowSummariser(calls, seconds))
    memory.updates.lease_s = LEASE_S
    return memory


async def say(memory: RecursiveSummaryMemory, worker: int, n_turns: int) -> None:
    async with memory.open():
        for number in range(n_turns):
            await memory.append(KEY, ChatTurn(f"turn {number} of worker {worker}"))
        await memory.update(KEY)


def work(url: str, calls: Path, worker: int, n_turns: int, seconds: float) -> None:
    asyncio.run(say(memory_of(RedisStore(url=url, password_env=VARIABLE), calls, seconds), worker, n_turns))


async def state_of(store: MemoryStore) -> SessionState:
    async with store.open():
        return await store.read(KEY)


def test_processes_on_one_session_call_the_summariser_once_an_update(server: RedisServer, tmp_path: Path) -> None:
    server.asked("FLUSHALL")
    calls = tmp_path / "calls"
    workers = [SPAWN.Process(target=work, args=(server.url, calls, worker, 10, 0.2)) for worker in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    state = asyncio.run(state_of(RedisStore(url=server.url, password_env=VARIABLE)))
    made = [line.split()[0] for line in calls.read_text().splitlines()]
    assert made == ["1-5", "6-10", "11-15", "16-20", "21-25", "26-30", "31-35"]
    assert (state.version, state.last_turn, len(state.turns)) == (7, 35, 5)
    assert server.asked("KEYS", "*:lease") == []


def test_a_worker_that_is_killed_blocks_the_others_no_longer_than_its_lease(
    server: RedisServer, tmp_path: Path
) -> None:
    server.asked("FLUSHALL")
    calls = tmp_path / "calls"
    killed = SPAWN.Process(target=work, args=(server.url, calls, 0, 10, 600.0))
    killed.start()
    while not calls.exists() or not calls.read_text().endswith("\n"):
        time.sleep(0.01)
    time.sleep(1.2 * LEASE_S)
    assert server.asked("KEYS", "*:lease")  # renewed as long as it lives
    killed.kill()
    killed.join()
    started = time.monotonic()
    work(server.url, calls, 1, 1, 0.0)
    assert time.monotonic() - started < LEASE_S + 2.0
    assert [line.split()[0] for line in calls.read_text().splitlines()] == ["1-5", "1-5"]
    assert asyncio.run(state_of(RedisStore(url=server.url, password_env=VARIABLE))).version == 1


@pytest.mark.parametrize("make", [LocalStore, EmbeddedStore], ids=["local", "embedded"])
async def test_memories_of_one_process_share_the_work_too(make: Callable[[], MemoryStore], tmp_path: Path) -> None:
    store, calls = make(), tmp_path / "calls"
    memories = [memory_of(store, calls, 0.05) for _ in range(4)]
    async with store.open():
        await asyncio.gather(*(say(memory, worker, 10) for worker, memory in enumerate(memories)))
        state = await store.read(KEY)
    assert len(calls.read_text().splitlines()) == state.version == 7
    assert sum(memory.upkeep(KEY).updates for memory in memories) == 7
    assert sum(memory.upkeep(KEY).failures for memory in memories) == 0
