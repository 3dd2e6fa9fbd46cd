"""Every store, as the same tests run over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from plugins.memory.store.embedded import EmbeddedStore
from plugins.memory.store.local import LocalStore
from plugins.memory.store.redis import RedisStore
from runner.domains.memory.embedded_server import acquire, release
from runner.domains.memory.protocols import MemoryStore
from tests.services.redis_server import VARIABLE, debian_redis, serving_cluster, serving_redis

KINDS = ("local", "embedded", "redis", "cluster", "debian")


@dataclass(frozen=True)
class Kind:
    """`make(ttl_hours)`: a new store object; those that `shares` see the sessions of each other."""

    name: str
    make: Callable[[float], MemoryStore]
    shares: bool = True


@contextmanager
def running(name: str) -> Iterator[Kind]:
    if name == "local":
        yield Kind(name, lambda ttl_hours: LocalStore(ttl_hours=ttl_hours), shares=False)
    elif name == "embedded":
        server = acquire()  # one for all tests
        try:
            yield Kind(name, lambda ttl_hours: EmbeddedStore(ttl_hours=ttl_hours))
        finally:
            release(server)
    elif name == "cluster":
        with serving_cluster(2) as nodes:
            settings = {"url": nodes[0].url, "password_env": VARIABLE, "cluster": True}
            yield Kind(name, lambda ttl_hours: RedisStore(**settings, ttl_hours=ttl_hours))
    else:
        program = debian_redis() if name == "debian" else None
        if name == "debian" and program is None:
            pytest.skip("no redis-server is installed: apt install redis-server")
        with serving_redis(program=program) as redis:
            settings = {"url": redis.url, "password_env": VARIABLE}
            yield Kind(name, lambda ttl_hours: RedisStore(**settings, ttl_hours=ttl_hours))
