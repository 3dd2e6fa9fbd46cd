"""A server of each program that speaks Redis, emptied before each test."""

from collections.abc import Iterator

import pytest

from tests.services.redis_server import RedisServer, debian_redis, serving_redis, valkey

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
