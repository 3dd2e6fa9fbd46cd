"""What holds for every store. A conversation that was acknowledged is there, once, for its tenant only."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain
from typing import Any

import pytest

from runner.domains.memory.protocols import MemoryStore
from runner.domains.memory.records import ChatTurn, Entity, SessionKey, SessionState
from runner.errors import EvaluationError
from tests.plugins.memory.store.stores import KINDS, Kind, running

KEY = SessionKey("acme", "s-1")
NONE = SessionState()
HOSTILE = [
    SessionKey(tenant, session)
    for tenant, session in (
        ("a", "b:c"), ("a:b", "c"), ("a", "b"), ("a}", "{b"), ("a*", "b?"), ("acme", "1"), ("acmecorp", "1"),
        ("한국 회사", "세션 1"), ("a\nb", "c\r\n"), ("%61", "b"), ("a%3Ab", "c"), ("\uac00", "x"),
        ("\u1100\u1161", "x"), (" ", "\0"), ("short", "memory"), ("\ud800", "\udfff"), ("a/../b", "[x]\\"),
        ("chat:{a", "b}"),
    )
]  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[Kind]:
    with running(request.param) as kind:
        yield kind


@asynccontextmanager
async def emptied(store: MemoryStore) -> AsyncIterator[MemoryStore]:
    async with store.open():
        yield store
        for key in [key async for key in store.sessions()]:
            await store.delete(key)


@pytest.fixture
async def store(kind: Kind) -> AsyncIterator[MemoryStore]:
    async with emptied(kind.make(24.0)) as store:
        yield store


async def commit(store: MemoryStore, state: SessionState, key: SessionKey = KEY, **changes: Any) -> str:
    """On top of what was read."""
    condition = {"version": state.version, "generation": state.generation}
    return await store.commit(key, **{**condition, "up_to_turn": 0, "memory": "m", "entities": (), **changes})


async def texts(store: MemoryStore, key: SessionKey = KEY) -> list[str]:
    return [turn.user for turn in (await store.read(key)).turns]


async def filled(store: MemoryStore, n_turns: int, key: SessionKey = KEY) -> SessionState:
    for number in range(1, n_turns + 1):
        assert await store.append(key, ChatTurn(f"u{number}")) == number
    return await store.read(key)


async def test_turns_come_back_as_they_were_said_with_their_numbers(store: MemoryStore) -> None:
    turn = ChatTurn("예산은?", "1.2억입니다.", speaker="김", said_at="2024-01-02T03:04:05+09:00", id="D1:3", number=99)
    assert await store.append(KEY, turn) == 1
    assert await store.append(KEY, ChatTurn("and now?")) == 2
    state = await store.read(KEY)
    assert state.turns == (
        ChatTurn("예산은?", "1.2억입니다.", "김", "2024-01-02T03:04:05+09:00", "D1:3", 1),
        ChatTurn("and now?", number=2),
    )
    assert (state.memory, state.entities, state.version, state.last_turn) == ("", (), 0, 0)
    assert state.generation


async def test_nobody_has_spoken(store: MemoryStore) -> None:
    assert await store.read(KEY) == NONE
    assert await commit(store, NONE) == "gone"
    await store.delete(KEY)
    assert [key async for key in store.sessions()] == []


async def test_only_the_newest_are_kept(store: MemoryStore) -> None:
    for number in range(1, 8):
        assert await store.append(KEY, ChatTurn(f"u{number}"), keep=3) == number
    assert await texts(store) == ["u5", "u6", "u7"]
    assert await store.append(KEY, ChatTurn("u8")) == 8
    assert await texts(store) == ["u5", "u6", "u7", "u8"]
    assert await store.append(KEY, ChatTurn("u9"), keep=0) == 9
    assert await texts(store) == []
    assert await store.append(KEY, ChatTurn("u10"), keep=2) == 10
    assert await texts(store) == ["u10"]


async def test_a_commit_takes_the_place_of_turns(store: MemoryStore) -> None:
    state = await filled(store, 7)
    entities = (Entity("예산", "1.2억", 3), Entity("provider", "aws", 5))
    assert await commit(store, state, up_to_turn=5, memory="요약 1", entities=entities) == "ok"
    after = await store.read(KEY)
    assert [turn.number for turn in after.turns] == [6, 7]
    assert (after.memory, after.entities, after.version, after.last_turn) == ("요약 1", entities, 1, 5)
    assert after.generation == state.generation
    assert await store.append(KEY, ChatTurn("u8")) == 8
    assert await commit(store, after, up_to_turn=7, memory="요약 2") == "ok"
    last = await store.read(KEY)
    assert [turn.user for turn in last.turns] == ["u8"]
    assert (last.memory, last.entities, last.version, last.last_turn) == ("요약 2", (), 2, 7)


async def test_a_commit_may_leave_nothing_or_everything(store: MemoryStore) -> None:
    state = await filled(store, 3)
    assert await commit(store, state, up_to_turn=2, keep_turns=True) == "ok"
    after = await store.read(KEY)
    assert ([turn.number for turn in after.turns], after.last_turn) == ([1, 2, 3], 2)
    assert await commit(store, after, up_to_turn=3) == "ok"
    assert await texts(store) == []
    assert [key async for key in store.sessions()] == [KEY]
    assert await store.append(KEY, ChatTurn("u4")) == 4
    assert await texts(store) == ["u4"]


async def test_a_commit_after_turns_were_dropped(store: MemoryStore) -> None:
    await filled(store, 6)
    await store.append(KEY, ChatTurn("u7"), keep=3)
    assert await commit(store, await store.read(KEY), up_to_turn=2) == "ok"
    assert await texts(store) == ["u5", "u6", "u7"]
    assert await commit(store, await store.read(KEY), up_to_turn=6) == "ok"
    assert await texts(store) == ["u7"]


async def test_twenty_writers_lose_nothing(store: MemoryStore) -> None:
    async def writer(name: int) -> list[int]:
        return [await store.append(KEY, ChatTurn(f"{name}/{turn}")) for turn in range(10)]

    numbers = await asyncio.gather(*map(writer, range(20)))
    assert sorted(chain(*numbers)) == list(range(1, 201))
    assert all(own == sorted(own) for own in numbers)
    turns = (await store.read(KEY)).turns
    assert [turn.number for turn in turns] == list(range(1, 201))
    said = {turn.number: turn.user for turn in turns}
    assert all(said[n] == f"{name}/{i}" for name, own in enumerate(numbers) for i, n in enumerate(own))


async def test_one_of_many_commits_wins(store: MemoryStore) -> None:
    for version in range(3):
        await store.append(KEY, ChatTurn("u"))
        state = await store.read(KEY)
        assert state.version == version
        results = await asyncio.gather(*(commit(store, state, memory=f"by {i}") for i in range(20)))
        assert sorted(results) == ["conflict"] * 19 + ["ok"]
        assert (await store.read(KEY)).memory == f"by {results.index('ok')}"


async def test_appending_during_an_update_is_no_conflict(store: MemoryStore) -> None:
    state = await filled(store, 5)
    await store.append(KEY, ChatTurn("u6"))
    assert await commit(store, state, up_to_turn=5) == "ok"
    assert await texts(store) == ["u6"]


async def test_a_late_commit_revives_nothing(store: MemoryStore) -> None:
    state = await filled(store, 2)
    await store.delete(KEY)
    assert await commit(store, state) == "gone"
    assert await store.read(KEY) == NONE
    assert [key async for key in store.sessions()] == []
    again = await filled(store, 1)
    assert again.generation != state.generation
    assert await commit(store, state) == "gone"
    assert (await store.read(KEY)).memory == ""


async def test_deleting_during_commits(store: MemoryStore) -> None:
    for _ in range(20):
        state = await filled(store, 1)
        results = await asyncio.gather(commit(store, state), store.delete(KEY), commit(store, state, memory="other"))
        assert {results[0], results[2]} <= {"ok", "gone", "conflict"}
        assert [results[0], results[2]].count("ok") <= 1
        assert await store.read(KEY) == NONE


async def test_names_never_meet(store: MemoryStore) -> None:
    for number, key in enumerate(HOSTILE):
        assert await store.append(key, ChatTurn(f"secret {number}")) == 1
    for number, key in enumerate(HOSTILE):
        state = await store.read(key)
        assert [turn.user for turn in state.turns] == [f"secret {number}"]
        assert await commit(store, state, key, up_to_turn=1, memory=f"memory {number}") == "ok"
    found = [key async for key in store.sessions()]
    assert sorted(found, key=repr) == sorted(HOSTILE, key=repr)
    await store.delete(HOSTILE[0])
    assert [(await store.read(key)).memory for key in HOSTILE] == ["", *(f"memory {n}" for n in range(1, len(HOSTILE)))]


@pytest.mark.parametrize("key", [SessionKey("", "s"), SessionKey("t", "")])
async def test_a_name_is_needed(store: MemoryStore, key: SessionKey) -> None:
    message = f"a session has a tenant and a name, got {key.tenant!r} and {key.session!r}"
    for request in (store.append(key, ChatTurn("u")), store.read(key), store.delete(key), commit(store, NONE, key)):
        with pytest.raises(EvaluationError) as caught:
            await request
        assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    [
        "가" * 34_000, "x" * 100_000, "\u200b\u200d\ufeff\u2060", "\u202e\u202bשלום مرحبا\u202c", "a\0b\r\n\u2028",
        "👩\u200d👩\u200d👧 e\u0301", "\ud83d and \udc00", '"}],\\n{"number": 7', "${x} %s {0} :short", "", "-1", "1e9",
    ],
    ids=range(12),
)  # fmt: skip
async def test_text_comes_back_letter_for_letter(store: MemoryStore, text: str) -> None:
    turn = ChatTurn(text, text, text, text, text)
    await store.append(KEY, turn)
    entity = Entity(text, text, 1)
    assert await commit(store, await store.read(KEY), memory=text, entities=(entity,)) == "ok"
    state = await store.read(KEY)
    assert state.turns == (ChatTurn(text, text, text, text, text, 1),)
    assert (state.memory, state.entities) == (text, (entity,))


async def test_a_session_ends_when_it_was_not_used_for_its_time(kind: Kind) -> None:
    async with emptied(kind.make(0.6 / 3600)) as store:
        state = await filled(store, 2)
        while (await store.read(KEY, touch=False)).generation:
            await asyncio.sleep(0.02)
        assert [key async for key in store.sessions()] == []
        assert await commit(store, state) == "gone"
        assert await store.append(KEY, ChatTurn("anew")) == 1
        assert (await store.read(KEY)).generation != state.generation
        assert await commit(store, state) == "gone"


async def test_opening_what_is_open(kind: Kind) -> None:
    store = kind.make(24.0)
    async with AsyncExitStack() as stack:
        await asyncio.gather(*(stack.enter_async_context(store.open()) for _ in range(5)))
        async with store.open():
            await filled(store, 1)
        assert await texts(store) == ["u1"]
        await store.delete(KEY)


async def test_a_request_that_is_broken_off_leaves_the_others_alone(store: MemoryStore) -> None:
    async def impatient(n: int) -> None:
        async with asyncio.timeout(0.0005 * (n % 5)):
            await store.append(KEY, ChatTurn(f"u{n}"))

    await asyncio.gather(*map(impatient, range(100)), return_exceptions=True)
    number = await store.append(KEY, ChatTurn("last"))
    turns = (await store.read(KEY)).turns
    assert [turn.number for turn in turns] == list(range(1, number + 1))
    assert turns[-1].user == "last"
    assert len({turn.user for turn in turns}) == number


async def test_other_processes_see_the_same(kind: Kind, store: MemoryStore) -> None:
    if not kind.shares:
        pytest.skip("one process, one store")
    other = kind.make(24.0)
    async with other.open():
        state = await filled(store, 2)
        assert await other.read(KEY) == state
        assert await other.append(KEY, ChatTurn("u3")) == 3
        assert await commit(other, state, up_to_turn=2) == "ok"
        assert await commit(store, state) == "conflict"
        await other.delete(KEY)
        assert await store.read(KEY) == NONE
        assert await store.append(KEY, ChatTurn("anew")) == 1


def test_from_one_event_loop_to_the_next(kind: Kind) -> None:
    store = kind.make(24.0)

    async def use() -> None:
        async with store.open():
            await asyncio.gather(*(store.append(KEY, ChatTurn("u")) for _ in range(50)))
            await store.delete(KEY)

    asyncio.run(use())
    asyncio.run(use())


async def test_a_session_is_leased_to_one_at_a_time(store: MemoryStore) -> None:
    assert await store.lease(KEY, "a", 60)
    assert not await store.lease(KEY, "b", 60)
    assert await store.lease(KEY, "a", 60)  # renewed
    assert await store.lease(SessionKey("acme", "s-2"), "b", 60)
    assert not await store.lease(KEY, "b", 0)
    assert not await store.lease(KEY, "b", 60)  # who does not hold it gives nothing back
    assert await store.lease(KEY, "a", 0)
    assert await store.lease(KEY, "b", 0.05)
    await asyncio.sleep(0.1)
    assert await store.lease(KEY, "a", 60)
    await store.delete(KEY)
    assert await store.lease(KEY, "c", 60)
    assert [key async for key in store.sessions()] == []  # a lease makes no session
    await store.delete(KEY)
    await store.delete(SessionKey("acme", "s-2"))
