"""The address and access of a Redis, as configured, and the connection to it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from runner.domains.memory.redis_errors import Place
from runner.domains.memory.redis_link import Link, settings_of
from runner.errors import ConfigError, Problem

CERTIFICATES = ("ca_file", "cert_file", "key_file")


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisServer:
    """`url`: redis://, rediss:// (TLS) or unix://, without a password; `password_env`: the name of the environment
    variable that holds it. `nodes`: HOST:PORT of further nodes of a `cluster`, for a start while that of the `url` is
    down. `sentinels`: HOST:PORT of each, which are asked where the primary is that the `url` names in place of a host
    (`redis://mymaster/0`). `ca_file`: certificates to trust for TLS, instead of those of the system;
    `cert_file` and `key_file`: by which the server knows this client (the key may be in the first). `timeout_ms`:
    one attempt of a request; `retries`: further attempts where the server did not answer; `failover_s`: with a cluster
    or sentinels, how long there are further ones. `setting`: the key of the component in conf that asks."""

    setting: str
    url: str = "redis://127.0.0.1:6379/0"
    cluster: bool = False
    nodes: Sequence[str] = ()
    sentinels: Sequence[str] = ()
    username: str | None = None
    password_env: str | None = None
    sentinel_password_env: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    timeout_ms: int = 5000
    retries: int = 3
    failover_s: float = 30.0

    def __post_init__(self) -> None:
        if problems := list(self._contradictions()):
            raise ConfigError(problems)

    def _contradictions(self) -> Iterator[Problem]:
        parts, setting = urlsplit(self.url), self.setting
        if self.cluster and self.sentinels:
            yield Problem(f"{setting}.sentinels", f"expected none beside {setting}.cluster=true, which has its own")
        elif self.cluster and (parts.scheme == "unix" or parts.path.strip("/0")):
            yield Problem(f"{setting}.url", f"expected the address of a node and database 0, as {setting}.cluster=true")
        elif self.sentinels and (parts.scheme == "unix" or parts.port is not None):
            message = (
                "expected redis://NAME/0 or rediss://NAME/0, the name by which sentinels know the primary and no port, "
                f"as {setting}.sentinels say where it is"
            )
            yield Problem(f"{setting}.url", message)
        if self.nodes and not self.cluster:
            yield Problem(f"{setting}.nodes", f"expected {setting}.cluster=true beside them")
        if self.key_file is not None and self.cert_file is None:
            yield Problem(f"{setting}.key_file", f"expected the certificate of this key, too, as {setting}.cert_file")
        if self.cert_file is not None and parts.scheme != "rediss":
            yield Problem(f"{setting}.cert_file", "expected an address that begins with rediss:// beside a certificate")

    def problems(self) -> list[Problem]:
        """Problems of a missing password or file."""
        return [*self._secrets(), *self._certificates()]

    def _secrets(self) -> Iterator[Problem]:
        asked = {"password_env": self.url, "sentinel_password_env": "the sentinels"}
        for name, place in asked.items():
            variable = getattr(self, name)
            if variable is not None and not os.environ.get(variable):
                message = f"the environment variable {variable} is not set; it holds the password for {place}"
                yield Problem(f"{self.setting}.{name}", message)

    def _certificates(self) -> Iterator[Problem]:
        files = {name: getattr(self, name) for name in CERTIFICATES if getattr(self, name) is not None}
        missing = [name for name, path in files.items() if not Path(path).is_file()]
        yield from (Problem(f"{self.setting}.{name}", f"no such file: {files[name]}") for name in missing)
        if self.cert_file is None or missing:
            return
        try:  # OpenSSL would ask for a passphrase at the terminal
            ssl.create_default_context().load_cert_chain(self.cert_file, self.key_file, password=lambda: b"")
        except OSError as error:
            words = f"not a certificate and its key in PEM, without a passphrase ({error})"
            yield Problem(f"{self.setting}.cert_file", f"{self.cert_file}: {words}")

    def link(self, *, name: str, full: str) -> Link:
        """`name`: of the store, in messages; `full`: what to do where it has no room. Sends nothing yet; raises
        ConfigError for a missing password or file."""
        if problems := self.problems():
            raise ConfigError(problems)
        setting = self.setting
        where = f"{setting}.url and {setting}.sentinels" if self.sentinels else f"{setting}.url"
        if self.url.startswith("rediss"):  # a server that knows no client may only hang up
            where += f" (and {setting}.cert_file, where it asks for certificates)"
        place = Place(
            name=f"{name} {self.url}" + (f" (sentinels {', '.join(self.sentinels)})" if self.sentinels else ""),
            full=full,
            access=f"{setting}.username and {setting}.password_env (the NAME of a variable) say who asks",
            lost=lambda: f"is it up, and {where} right? Run the same command again to resume",
            cluster=f"{setting}.cluster=true",
            certificate=f"{setting}.cert_file and {setting}.key_file say which one it gets",
            sentinel_access=f"{setting}.sentinel_password_env=NAME names the variable that holds their password",
        )
        waits = self.cluster or self.sentinels
        return Link(self._client(), place, retries=self.retries, failover_s=self.failover_s if waits else 0.0)

    def _client(self) -> Any:
        from redis.asyncio import Redis

        parts = urlsplit(self.url)
        database = 0 if parts.scheme == "unix" else int(parts.path.strip("/") or 0)
        settings = {**self._connection_settings(), "username": self.username, "password": _secret(self.password_env)}
        if parts.scheme == "unix":
            return Redis(unix_socket_path=unquote(parts.path), **settings)
        if self.sentinels:
            from redis.asyncio.sentinel import Sentinel

            asking = {**self._connection_settings(), "password": _secret(self.sentinel_password_env)}
            nodes: Any = [_node(node) for node in self.sentinels]
            sentinels = Sentinel(nodes, sentinel_kwargs=asking, **settings)  # type: ignore[no-untyped-call]
            return sentinels.master_for(parts.netloc, db=database)
        address: dict[str, Any] = {"host": parts.hostname, "port": parts.port or 6379}
        if self.cluster:
            from redis.asyncio.cluster import ClusterNode, RedisCluster

            others = [ClusterNode(*_node(node)) for node in self.nodes]
            return RedisCluster(startup_nodes=others or None, **address, **settings)
        return Redis(**address, db=database, **settings)

    def _connection_settings(self) -> Mapping[str, Any]:
        """Settings of every connection, to the server and to sentinels."""
        settings = settings_of(self.timeout_ms / 1000)
        if urlsplit(self.url).scheme != "rediss":
            return settings
        own = {"ssl_certfile": self.cert_file, "ssl_keyfile": self.key_file or self.cert_file}
        return {**settings, "ssl": True, "ssl_ca_certs": self.ca_file, **own}


def _node(address: str) -> tuple[str, int]:
    parts = urlsplit(f"//{address}")
    return str(parts.hostname), int(parts.port or 0)


def _secret(variable: str | None) -> str | None:
    return None if variable is None else os.environ[variable]
