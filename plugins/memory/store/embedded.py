"""Sessions in a Valkey server of this process, which ends with it and keeps nothing."""

from __future__ import annotations

import asyncio

from runner.domains.memory.embedded_server import acquire, release
from runner.domains.memory.redis_errors import Place
from runner.domains.memory.redis_link import Link, settings_of
from runner.domains.memory.redis_sessions import RedisSessions
from runner.domains.memory.store_settings import Hours

TIMEOUT_S = 30.0
RETRIES = 1


class EmbeddedStore(RedisSessions):
    """Sessions in a Redis-compatible server that the program starts by itself and stops at its end."""

    def __init__(self, *, ttl_hours: Hours = 24.0) -> None:
        """`ttl_hours`: how long a session lives after it was last used."""
        super().__init__(_connect, ttl_hours=ttl_hours)


async def _connect() -> Link:
    from redis.asyncio import Redis

    server = await asyncio.to_thread(acquire)

    def describe_loss() -> str:
        return f"{server.fate()}; it kept nothing, and the same command runs from the start what was interrupted"

    place = Place(
        name="the server of memory/store=embedded",
        full="end what else needs memory, or choose memory/store=redis",
        access="choose memory/store=local",
        lost=describe_loss,
    )
    # Of a timeout redis-py makes a task and two timers for each request, Link one timer.
    settings = settings_of(TIMEOUT_S) | {"socket_timeout": None}
    client = Redis(unix_socket_path=str(server.socket), **settings)
    return Link(client, place, retries=RETRIES, timeout_s=TIMEOUT_S, closed=lambda: release(server))
