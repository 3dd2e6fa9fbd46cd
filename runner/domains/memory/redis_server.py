"""Where a Redis is and who asks it, as conf tells, and the way there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from runner.domains.memory.redis_errors import Place
from runner.domains.memory.redis_link import Link, settings_of
from runner.errors import ConfigError, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisServer:
    """`url`: redis://, rediss:// (TLS) or unix://, without a password; `password_env`: the name of the environment
    variable that holds it. `ca_file`: certificates to trust for TLS, instead of those of the system. `timeout_ms`:
    one attempt of a request; `retries`: further attempts where the server did not answer. `setting`: the key of the
    component in conf that asks."""

    setting: str
    url: str = "redis://127.0.0.1:6379/0"
    cluster: bool = False
    username: str | None = None
    password_env: str | None = None
    ca_file: str | None = None
    timeout_ms: int = 5000
    retries: int = 3

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if self.cluster and (parts.scheme == "unix" or parts.path.strip("/0")):
            message = f"expected the address of a node and database 0, as {self.setting}.cluster=true"
            raise ConfigError([Problem(f"{self.setting}.url", message)])

    def problems(self) -> list[Problem]:
        """A password or a file that is not there."""
        problems = []
        if self.password_env is not None and not os.environ.get(self.password_env):
            message = f"the environment variable {self.password_env} is not set; it holds the password for {self.url}"
            problems.append(Problem(f"{self.setting}.password_env", message))
        if self.ca_file is not None and not Path(self.ca_file).is_file():
            problems.append(Problem(f"{self.setting}.ca_file", f"no such file: {self.ca_file}"))
        return problems

    def link(self, *, name: str, full: str) -> Link:
        """`name`: what it is called in messages; `full`: what to do where it has no room. Asks nothing yet; raises
        ConfigError for a password or a file that is not there."""
        if problems := self.problems():
            raise ConfigError(problems)
        setting = self.setting
        place = Place(
            name=f"{name} {self.url}",
            full=full,
            access=f"{setting}.username and {setting}.password_env (the NAME of a variable) say who asks",
            lost=lambda: f"is it up, and {setting}.url right? Run the same command again to resume",
            cluster=f"{setting}.cluster=true",
        )
        return Link(self._client(), place, retries=self.retries)

    def _client(self) -> Any:
        parts = urlsplit(self.url)
        password = None if self.password_env is None else os.environ[self.password_env]
        settings = {**settings_of(self.timeout_ms / 1000), "username": self.username, "password": password}
        if parts.scheme == "unix":
            from redis.asyncio import Redis

            return Redis(unix_socket_path=unquote(parts.path), **settings)
        settings |= {"host": parts.hostname, "port": parts.port or 6379}
        if parts.scheme == "rediss":
            settings |= {"ssl": True, "ssl_ca_certs": self.ca_file}
        if self.cluster:
            from redis.asyncio.cluster import RedisCluster

            return RedisCluster(**settings)
        from redis.asyncio import Redis

        return Redis(db=int(parts.path.strip("/") or 0), **settings)
