"""Sessions in a Redis or Valkey: one server or a cluster, with TLS and with a user of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import Field

from runner.errors import ConfigError, Problem
from runner.memory.records import SessionKey
from runner.memory.redis_errors import Place
from runner.memory.redis_link import Link, settings_of
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
        """`url`: redis://, rediss:// (TLS) or unix://, without a password; `password_env`: the name of the
        environment variable that holds it. `ca_file`: certificates to trust for TLS, instead of those of the system.
        `timeout_ms`: one attempt of a request; `retries`: further attempts where the server did not answer."""
        parts = urlsplit(url)
        if cluster and (parts.scheme == "unix" or parts.path.strip("/0")):
            message = "expected the address of a node and database 0, as memory.store.cluster=true"
            raise ConfigError([Problem("memory.store.url", message)])
        self._url = url
        self._is_cluster = cluster
        self._username = username
        self._password_env = password_env
        self._ca_file = ca_file
        self._timeout_s = timeout_ms / 1000
        self._retries = retries
        super().__init__(self._connected, ttl_hours=ttl_hours)

    async def _connected(self) -> Link:
        """Raises ConfigError for a password or a file that is not there."""
        if problems := self.preflight():
            raise ConfigError(problems)
        place = Place(
            name=f"the store {self._url}",
            full="raise its maxmemory, with maxmemory-policy noeviction, or delete sessions: python -m runner clean",
            access="memory.store.username and memory.store.password_env (the NAME of a variable) say who asks",
            lost=lambda: "is it up, and memory.store.url right? The same command goes on from what is done",
        )
        return Link(self._client(), place, retries=self._retries)

    def _client(self) -> Any:
        parts = urlsplit(self._url)
        password = None if self._password_env is None else os.environ[self._password_env]
        settings = {**settings_of(self._timeout_s), "username": self._username, "password": password}
        if parts.scheme == "unix":
            from redis.asyncio import Redis

            return Redis(unix_socket_path=unquote(parts.path), **settings)
        settings |= {"host": parts.hostname, "port": parts.port or 6379}
        if parts.scheme == "rediss":
            settings |= {"ssl": True, "ssl_ca_certs": self._ca_file}
        if self._is_cluster:
            from redis.asyncio.cluster import RedisCluster

            return RedisCluster(**settings)
        from redis.asyncio import Redis

        return Redis(db=int(parts.path.strip("/") or 0), **settings)

    def preflight(self) -> Sequence[Problem]:
        problems = []
        if self._password_env is not None and not os.environ.get(self._password_env):
            message = f"the environment variable {self._password_env} is not set; it holds the password for {self._url}"
            problems.append(Problem("memory.store.password_env", message))
        if self._ca_file is not None and not Path(self._ca_file).is_file():
            problems.append(Problem("memory.store.ca_file", f"no such file: {self._ca_file}"))
        return problems

    async def clean(self, key: SessionKey, *, idle_hours: float | None, dry_run: bool) -> str:
        """Deletes a session that no one can go on with, or that was not used for so long. Returns why: `incomplete`,
        `endless`, `idle`, or nothing where it stays."""
        return await self._cleaned(key, idle_hours, dry_run=dry_run)
