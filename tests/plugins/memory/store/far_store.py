"""A store on a server of a test, and what a test does with it."""

from typing import Any

import pytest

from plugins.memory.store.redis import RedisStore
from runner.domains.memory.records import Entity, SessionKey, SessionState
from runner.errors import StopRunError
from tests.services.redis_server import PASSWORD, VARIABLE, RedisServer

KEY = SessionKey("acme", "1")


def store_of(server: RedisServer, **settings: Any) -> RedisStore:
    return RedisStore(**{"url": server.url, "password_env": VARIABLE, **settings})


async def committed(store: RedisStore, state: SessionState, key: SessionKey = KEY) -> str:
    entities = (Entity("budget", "1.2억", 1),)
    condition = {"version": state.version, "generation": state.generation, "up_to_turn": 0}
    return await store.commit(key, **condition, memory="m", entities=entities)


async def stopped(request: Any) -> str:
    """What the error says that ends the run."""
    with pytest.raises(StopRunError) as caught:
        await request
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


async def opened(store: RedisStore) -> None:
    async with store.open():
        pass
