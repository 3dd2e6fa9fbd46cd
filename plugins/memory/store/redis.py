"""Sessions in a Redis or Valkey: one server or a cluster, with TLS and with a user of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from runner.errors import Problem
from runner.memory.records import SessionKey
from runner.memory.redis_link import Link
from runner.memory.redis_server import RedisServer
from runner.memory.redis_sessions import RedisSessions
from runner.memory.store_settings import Hours, Url, Variable


class RedisStore(RedisSessions):
    def __init__(
        self,
        *,
        url: Url = "redis://127.0.0.1:6379/0",
        cluster: bool = False,
        username: str | None = None,
        password_env: Variable | None = None,
        ca_file: str | None = None,
        ttl_hours: Hours = 24.0,
        timeout_ms: Annotated[int, Field(ge=1)] = 5000,
        retries: Annotated[int, Field(ge=0, le=10)] = 3,
    ) -> None:
        """`ttl_hours`: how long a session lives after it was last used; the others as in RedisServer."""
        self._server = RedisServer(
            setting="memory.store",
            url=url,
            cluster=cluster,
            username=username,
            password_env=password_env,
            ca_file=ca_file,
            timeout_ms=timeout_ms,
            retries=retries,
        )
        super().__init__(self._connected, ttl_hours=ttl_hours)

    async def _connected(self) -> Link:
        """Raises ConfigError for a password or a file that is not there."""
        full = "raise its maxmemory, with maxmemory-policy noeviction, or delete sessions: python -m runner clean"
        return self._server.link(name="the store", full=full)

    def preflight(self) -> Sequence[Problem]:
        return self._server.problems()

    async def clean(self, key: SessionKey, *, idle_hours: float | None, dry_run: bool) -> str:
        """Deletes a session that no one can go on with, or that was not used for so long. Returns why: `incomplete`,
        `endless`, `idle`, or nothing where it stays."""
        return await self._cleaned(key, idle_hours, dry_run=dry_run)
