"""Sessions in a Redis or Valkey: one server or a cluster, with TLS and with a user of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from runner.domains.memory.records import SessionKey
from runner.domains.memory.redis_link import Link
from runner.domains.memory.redis_server import RedisServer
from runner.domains.memory.redis_sessions import RedisSessions
from runner.domains.memory.store_settings import Hours, RedisSettings
from runner.errors import Problem


class RedisStore(RedisSessions):
    """Sessions in a Redis server that runs already."""

    def __init__(self, *, ttl_hours: Hours = 24.0, **server: Unpack[RedisSettings]) -> None:
        """`ttl_hours`: how long a session lives after it was last used."""
        self._server = RedisServer(setting="memory.store", **server)
        super().__init__(self._connect, ttl_hours=ttl_hours)

    async def _connect(self) -> Link:
        """Raises ConfigError for a password or a file that is not there."""
        delete = "python -m runner clean --idle HOURS memory.store.url=URL"
        full = f"raise its maxmemory, with maxmemory-policy noeviction, or delete sessions: {delete}"
        return self._server.link(name="the store", full=full)

    def preflight(self) -> Sequence[Problem]:
        return self._server.problems()

    async def clean(self, key: SessionKey, *, idle_hours: float | None, dry_run: bool) -> str:
        """Delete a session that cannot be continued, or that was idle for so long. Returns why: `incomplete`,
        `endless`, `idle`, or an empty text where it stays."""
        return await self._clean(key, idle_hours, dry_run=dry_run)
