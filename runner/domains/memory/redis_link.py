"""A connected Redis: scripts that are retried until they are answered, and facts about the server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from itertools import count
from pathlib import Path
from typing import Any, Literal

from runner.domains.memory.redis_errors import Place, is_closed_meanwhile, is_passing, stop_error
from runner.domains.memory.stored import PATTERN

Script = Literal["append", "commit", "read", "clean", "novelty", "lease"]
ALONE: tuple[Script, ...] = ("novelty", "lease")  # scripts that do not look at the three keys of a session
LUA = Path(__file__).resolve().parent / "lua"
CONNECTIONS = 8  # more of them cost more to open than they save on a network of up to a millisecond
PAUSE_S = 0.05  # before the first repeat; twice as long before each further one, up to a second
KEYS_A_SCAN = 1000


@cache
def source(script: Script) -> tuple[str, str]:
    """The text of a script, and the name under which a server that has seen it knows it."""
    parts = (script,) if script in ALONE else ("session", script)
    text = "".join((LUA / f"{name}.lua").read_text(encoding="utf-8") for name in parts)
    return text, sha1(text.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Vitals:
    """`processes` that serve the nodes, by id; `evicted`: how many keys all of them have evicted. Empty and 0 where the
    server does not report them."""

    processes: frozenset[str]
    evicted: int


class Link:
    """`client` is a redis.asyncio client without retries of its own: requests that may have been carried out already
    are repeated in a way that the server recognises."""

    def __init__(
        self,
        client: Any,
        place: Place,
        *,
        retries: int,
        failover_s: float = 0.0,
        timeout_s: float | None = None,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        """`failover_s`: how long a request is sent again, beyond `retries`, while another node takes over.
        `timeout_s`: for one attempt, where the client itself would wait for ever. `closed` is called, in a thread, when
        the connections are closed."""
        self.place = place
        self._on_close = closed
        self._client = client
        self._retries = retries
        self._failover_s = failover_s
        self._timeout_s = timeout_s
        self._slots = asyncio.Semaphore(CONNECTIONS)

    async def run(self, script: Script, keys: Sequence[str], *args: Any, repeat: Sequence[Any] = ()) -> Any:
        """`repeat`: further arguments of the first try; the last of them is 1 in all others. Raises StopRunError."""
        text, name = source(script)

        async def once(attempt: int) -> Any:
            from redis.exceptions import NoScriptError

            again = [*repeat[:-1], 1] if repeat and attempt else repeat
            arguments = [len(keys), *keys, *args, *again]
            try:
                return await self._client.execute_command("EVALSHA", name, *arguments)
            except NoScriptError:
                return await self._client.execute_command("EVAL", text, *arguments)

        return await self._keep_trying(once)

    async def delete(self, keys: Sequence[str]) -> None:
        await self._keep_trying(lambda _: self._client.execute_command("DEL", *keys))

    async def names(self) -> AsyncIterator[bytes]:
        """All keys that look like ours, some of them twice."""
        scan = self._client.scan_iter(match=PATTERN, count=KEYS_A_SCAN)
        while True:
            try:
                async with self._slots:
                    name = await anext(scan)
            except StopAsyncIteration:
                return
            except Exception as error:
                raise self._explain(error) from None
            yield name

    async def vitals(self, *, waits: bool = False) -> Vitals:
        """Facts about the server; also checks whether it can be used at all. `waits` for a failover: the absence of a
        store that was never reached is reported at once."""
        from redis.exceptions import NoPermissionError

        async def once(_: int) -> list[dict[str, Any]]:
            try:
                return [await self._info("server"), await self._info("stats")]
            except NoPermissionError:
                await self._client.ping()
                return []

        sections = await self._keep_trying(once, waits=waits)
        nodes = [dict(node) for info in sections for node in _by_node(info)]
        return Vitals(
            frozenset(str(node["run_id"]) for node in nodes if "run_id" in node),
            sum(int(node.get("evicted_keys", 0)) for node in nodes),
        )

    async def _info(self, section: str) -> dict[str, Any]:
        nodes = {"target_nodes": "primaries"} if hasattr(self._client, "get_primaries") else {}
        info: dict[str, Any] = await self._client.execute_command("INFO", section, **nodes)
        return info

    async def close(self) -> None:
        """Close all connections, and then what they led to."""
        try:
            await self._client.aclose()
            if nodes := getattr(self._client, "nodes_manager", None):  # a cluster that lost a node closes no other
                await asyncio.gather(nodes.aclose(), nodes.aclose("startup_nodes"))
            if manager := getattr(getattr(self._client, "connection_pool", None), "sentinel_manager", None):
                await asyncio.gather(*(sentinel.aclose() for sentinel in manager.sentinels))
        finally:
            await asyncio.to_thread(self._on_close)

    async def _keep_trying(self, once: Callable[[int], Awaitable[Any]], *, waits: bool = True) -> Any:
        until: float | None = None
        for attempt in count():
            try:
                async with self._slots, asyncio.timeout(self._timeout_s):
                    return await once(attempt)
            except Exception as error:
                until = until or time.monotonic() + (self._failover_s if waits else 0.0)
                is_over = attempt >= self._retries and time.monotonic() >= until
                if is_over or not is_passing(error):
                    raise self._explain(error) from None
            await asyncio.sleep(min(1.0, PAUSE_S * 2 ** min(attempt, 10)))
        raise AssertionError("no end")

    def _explain(self, error: Exception) -> Exception:
        """The error in words where it is the server's; a mistake of this program is returned unchanged."""
        from redis.exceptions import DataError, RedisClusterException, RedisError

        if is_closed_meanwhile(error):
            error = ConnectionError("connection closed")
        is_theirs = isinstance(error, RedisError | RedisClusterException | OSError) and not isinstance(error, DataError)
        return stop_error(error, self.place) if is_theirs else error


def settings_of(timeout_s: float) -> dict[str, Any]:
    """Settings of every client: no retries but ours, and the protocol that all servers speak."""
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    return {
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "max_connections": 2 * CONNECTIONS,
    }


def _by_node(info: dict[str, Any]) -> list[dict[str, Any]]:
    """One dictionary a node, from one node or from a cluster."""
    nodes = list(info.values())
    return nodes if nodes and all(isinstance(node, dict) for node in nodes) else [info]
