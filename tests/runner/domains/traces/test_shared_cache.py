"""Several processes that score traces, one cache."""

import asyncio
import struct

import numpy as np
import pytest
from numpy.typing import NDArray

from runner.domains.memory.redis_server import RedisServer
from runner.domains.traces.novelty import VectorCache
from runner.domains.traces.shared_cache import SharedPlace, SharedVectorCache
from tests.services.redis_proxies import losing_answers
from tests.services.redis_server import VARIABLE
from tests.services.redis_server import RedisServer as Running

Vector = NDArray[np.float32]
PLACE = SharedPlace("team", "{}", 60_000)


@pytest.fixture
def server(redis: Running) -> Running:
    redis.asked("FLUSHALL")
    return redis


class Scorer:
    """One of the processes; its clock is that of all."""

    def __init__(self, url: str, size: int = 3, ttl_ms: float | None = None, retries: int = 0) -> None:
        self.now = 0.0
        settings = {"username": None, "ca_file": None, "cluster": False, "timeout_ms": 5000, "retries": retries}
        self.link = RedisServer(setting="novelty", url=url, password_env=VARIABLE, **settings).link(name="it", full="")  # type: ignore[arg-type]
        held = VectorCache(max_elements=size, dimensions=2, ttl_ms=ttl_ms, clock=lambda: self.now)
        self.cache = SharedVectorCache(self.link, PLACE, held)

    async def __aenter__(self) -> "Scorer":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.link.close()


def vector(*values: float) -> Vector:
    return np.array(values, dtype=np.float32)


EAST, NORTH = vector(1, 0), vector(0, 1)


async def test_what_one_adds_the_other_finds(server: Running) -> None:
    async with Scorer(server.url) as first, Scorer(server.url) as second:
        assert await second.cache.nearest(EAST) is None
        assert await first.cache.novelty(EAST) == 0.5
        assert await second.cache.novelty(vector(3, 4)) == pytest.approx(0.4)
        assert await first.cache.nearest(vector(3, 4)) == pytest.approx(1.0)
        await second.cache.add(NORTH)
        await second.cache.add(NORTH)  # the first is out: three is all that it holds
        for each in (first, second):
            assert await each.cache.nearest(EAST) == pytest.approx(0.6)
            assert await each.cache.size() == 3


async def test_one_that_comes_late_has_the_same_copy(server: Running) -> None:
    async with Scorer(server.url) as first, Scorer(server.url) as idle, Scorer(server.url) as late:
        await idle.cache.add(NORTH)
        for angle in range(10):
            await first.cache.add(vector(np.cos(angle), np.sin(angle)))
        found = [await each.cache.nearest(vector(1, 2)) for each in (first, idle, late)]
        assert found[0] == found[1] == found[2]
        assert await idle.cache.size() == 3


async def test_vectors_are_forgotten_by_the_clock_of_all(server: Running) -> None:
    async with Scorer(server.url, ttl_ms=10) as first, Scorer(server.url, ttl_ms=10) as second:
        await first.cache.add(EAST)
        second.now = 9.0
        assert await second.cache.nearest(EAST) == 1.0
        second.now = 10.0
        assert await second.cache.nearest(EAST) is None


async def test_of_traces_that_are_scored_at_once_one_is_the_first(server: Running) -> None:
    async with Scorer(server.url, size=50) as first, Scorer(server.url, size=50) as second:
        asked = [(first, second)[n % 2].cache.novelty(EAST) for n in range(40)]
        found = sorted(await asyncio.gather(*asked))
        assert found == [0.0] * 39 + [0.5]
        assert await first.cache.size() == await second.cache.size() == 40


async def test_a_vector_whose_answer_was_lost_is_added_once(server: Running) -> None:
    async with Scorer(server.url) as second:
        await second.cache.add(EAST)  # so that the server knows the script
        async with (
            losing_answers(server.port, b"EVALSHA", times=3) as port,
            Scorer(f"redis://127.0.0.1:{port}/0", retries=3) as first,
        ):
            assert await first.cache.novelty(NORTH) == 1.0
            assert await first.cache.novelty(NORTH) == 0.0
            assert await first.cache.size() == await second.cache.size() == 3


async def test_an_entry_is_a_moment_a_mark_and_float32(server: Running) -> None:
    async with Scorer(server.url) as first:
        first.now = 7.5
        await first.cache.add(vector(0, 5), b"0123456789abcdef")
        (entry,) = server.asked("LRANGE", PLACE.keys[1], 0, -1)
        assert entry == struct.pack("<d16s2f", 7.5, b"0123456789abcdef", 0, 1)
        await first.cache.clear()
    assert server.asked("KEYS", "*") == []
