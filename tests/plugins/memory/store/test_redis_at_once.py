"""Requests at once: no slower each than one after another."""

from __future__ import annotations

import asyncio
import time
from statistics import median

from runner.domains.memory.records import ChatTurn, SessionKey
from tests.plugins.memory.store.far_store import store_of
from tests.services.redis_server import RedisServer

TIMES = 10


async def test_twenty_turns_at_once_take_no_longer_each_than_one_after_another(server: RedisServer) -> None:
    at_once, in_turn = [], []
    store = store_of(server)
    async with store.open():
        await asyncio.gather(*(store.append(SessionKey("a", str(n)), ChatTurn("t")) for n in range(20)))
        for _ in range(TIMES):
            started = time.perf_counter()
            await asyncio.gather(*(store.append(SessionKey("a", str(n)), ChatTurn("t")) for n in range(20)))
            between = time.perf_counter()
            for n in range(20):
                await store.append(SessionKey("a", str(n)), ChatTurn("t"))
            at_once.append(between - started)
            in_turn.append(time.perf_counter() - between)
        connections = int(server.client().info("clients")["connected_clients"])
    assert median(at_once) < 2 * median(in_turn)
    assert connections <= 8 + 2  # few: each costs more to open than a request
