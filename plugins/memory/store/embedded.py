"""Sessions in a Valkey server of this process, which ends with it and keeps nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager

from runner.memory.embedded_server import acquire, release
from runner.memory.protocols import Committed
from runner.memory.records import ChatTurn, Entity, SessionKey, SessionState
from runner.memory.redis_errors import Place
from runner.memory.redis_link import Link, settings_of
from runner.memory.redis_sessions import RedisSessions
from runner.memory.store_settings import Hours

TIMEOUT_S = 30.0
RETRIES = 1


class EmbeddedStore:
    def __init__(self, *, ttl_hours: Hours = 24.0) -> None:
        """`ttl_hours`: how long a session lives after it was last used."""
        self._sessions = RedisSessions(_connected, ttl_hours=ttl_hours)

    def opened(self) -> AbstractAsyncContextManager[None]:
        return self._sessions.opened()

    async def append(self, key: SessionKey, turn: ChatTurn, *, keep: int | None = None) -> int:
        return await self._sessions.append(key, turn, keep=keep)

    async def read(self, key: SessionKey, *, touch: bool = True) -> SessionState:
        return await self._sessions.read(key, touch=touch)

    async def commit(
        self,
        key: SessionKey,
        *,
        version: int,
        generation: str,
        up_to_turn: int,
        memory: str,
        entities: Sequence[Entity],
        keep_turns: bool = False,
    ) -> Committed:
        return await self._sessions.commit(
            key,
            version=version,
            generation=generation,
            up_to_turn=up_to_turn,
            memory=memory,
            entities=entities,
            keep_turns=keep_turns,
        )

    async def delete(self, key: SessionKey) -> None:
        await self._sessions.delete(key)

    def sessions(self) -> AsyncIterator[SessionKey]:
        return self._sessions.sessions()


async def _connected() -> Link:
    from redis.asyncio import Redis

    server = await asyncio.to_thread(acquire)

    def lost() -> str:
        return f"{server.fate()}; it kept nothing, and the same command runs from the start what was interrupted"

    place = Place(
        name="the server of memory/store=embedded",
        full="end what else needs memory, or choose memory/store=redis",
        access="choose memory/store=local",
        lost=lost,
    )
    client = Redis(unix_socket_path=str(server.socket), **settings_of(TIMEOUT_S))
    return Link(client, place, retries=RETRIES, closed=lambda: release(server))
