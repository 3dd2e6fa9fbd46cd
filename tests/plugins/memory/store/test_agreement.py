"""Whatever is asked, the store in this process and the one on a server answer alike."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plugins.memory.store.embedded import EmbeddedStore
from plugins.memory.store.local import LocalStore
from runner.domains.memory.embedded_server import acquire, release
from runner.domains.memory.protocols import MemoryStore
from runner.domains.memory.records import ChatTurn, Entity, SessionKey, SessionState

KEYS = st.sampled_from([SessionKey("a", "b:c"), SessionKey("a:b", "c")])
APPEND = st.tuples(st.just("append"), KEYS, st.none() | st.integers(0, 3))
COMMIT = st.tuples(
    st.just("commit"), KEYS, st.integers(-1, 1), st.integers(0, 1), st.integers(0, 4), st.booleans(), st.integers(0, 2)
)
OTHERS = st.tuples(st.sampled_from(["delete", "read", "glance"]), KEYS)
REQUESTS = st.lists(APPEND | COMMIT | OTHERS, max_size=30)


@pytest.fixture(scope="module", autouse=True)
def one_server() -> Iterator[None]:
    server = acquire()
    yield
    release(server)


async def answers(store: MemoryStore, requests: list[tuple[Any, ...]]) -> list[Any]:
    """What each request returned, and what the sessions are afterwards; generations by the order of their coming."""
    seen: list[str] = [""]
    told: list[Any] = []

    async def state(key: SessionKey, *, touch: bool) -> SessionState:
        found = await store.read(key, touch=touch)
        if found.generation not in seen:
            seen.append(found.generation)
        return replace(found, generation=str(seen.index(found.generation)))

    async with store.open():
        for name, key, *rest in requests:
            if name == "append":
                told.append(await store.append(key, ChatTurn(f"u{len(told)}"), keep=rest[0]))
            elif name == "delete":
                told.append(await store.delete(key))
            elif name == "commit":
                told.append(await commit(store, key, len(told), *rest))
            told.append(await state(key, touch=name == "read"))
        told.append(sorted([key async for key in store.sessions()], key=repr))
        for key in [key async for key in store.sessions()]:
            await store.delete(key)
    return told


async def commit(
    store: MemoryStore, key: SessionKey, n: int, off: int, older: int, behind: int, keep_turns: bool, n_entities: int
) -> str:
    """On top of what is there, or of a version or a generation beside it."""
    state = await store.read(key, touch=False)
    last = max([state.last_turn, *(turn.number for turn in state.turns)])
    return await store.commit(
        key,
        version=state.version + off,
        generation="0" * 32 if older else state.generation,
        up_to_turn=max(0, last - behind),
        memory=f"m{n}",
        entities=[Entity(str(i), "값", n) for i in range(n_entities)],
        keep_turns=keep_turns,
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(REQUESTS)
def test_both_answer_alike(requests: list[tuple[Any, ...]]) -> None:
    assert asyncio.run(answers(EmbeddedStore(), requests)) == asyncio.run(answers(LocalStore(), requests))
