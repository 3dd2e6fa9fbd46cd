"""The memory of another system, asked over a real connection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from plugins.memory.http import HttpMemory
from plugins.memory.store.local import LocalStore
from runner.domains.memory.records import ChatTurn, Entity, MemoryContent, SessionKey
from runner.errors import EvaluationError, InputError, StopRunError
from runner.system.redaction import redact
from tests.plugins.memory.summarisers import ListingSummariser
from tests.plugins.system.asking import door
from tests.services.memory_server import MemoryServer, serving_memories

KEY, OTHER = SessionKey("acme", "conv/1"), SessionKey("globex", "conv/1")
CONF = yaml.safe_load(Path("conf/memory/http.yaml").read_text("utf-8"))
NOT_WRITTEN = Path("cache")  # nothing of a memory is stored
SECRET = "k3y-0f-th3-t3sts-4711"


@pytest.fixture(scope="module")
def started() -> Iterator[MemoryServer]:
    with serving_memories() as server:
        yield server


@pytest.fixture
def server(started: MemoryServer) -> MemoryServer:
    url = started.url
    started.__init__()  # type: ignore[misc]
    started.url = url
    return started


def memory(server: MemoryServer | str, **settings: Any) -> HttpMemory:
    given = {name: value for name, value in CONF.items() if name not in ("defaults", "_target_", "models")}
    url = server if isinstance(server, str) else server.url
    parts = {"store": LocalStore(), "summariser": ListingSummariser()}
    return HttpMemory(**{**given, "models": door(NOT_WRITTEN), **parts, "url": url, "retries": 1, **settings})


async def test_turns_are_told_asked_for_and_forgotten(server: MemoryServer) -> None:
    asked = memory(server)
    async with asked.open():
        await asked.append(KEY, ChatTurn("My budget is $5.", "Noted.", id="D1:1"), "en")
        await asked.append(KEY, ChatTurn("I had soup.", speaker="Ann", said_at="2023-05-08"))
        await asked.append(OTHER, ChatTurn("My budget is $9."))
        found = await asked.read(KEY, "What is my budget?")
        assert found == MemoryContent(retrieved=(ChatTurn("My budget is $5.\nNoted.", id="D1:1", number=1),))
        assert len(asked.upkeep(KEY).appends_ms) == 2
        await asked.delete(KEY)
        assert (await asked.read(KEY, "What is my budget?")).retrieved == ()
        await asked.delete(KEY)  # 404: it is gone already
    assert [method for method, _, _ in server.requests] == ["POST"] * 4 + ["DELETE", "POST", "DELETE"]
    assert server.requests[0][2] == {
        "session": "acme/conv/1",
        "messages": [{"role": "user", "content": "My budget is $5."}, {"role": "assistant", "content": "Noted."}],
        "metadata": {"turn": "D1:1"},
    }
    assert server.requests[1][2] == {  # without the reply that there was not
        "session": "acme/conv/1",
        "messages": [{"role": "user", "content": "I had soup."}],
        "metadata": {"turn": "turn-2", "said_at": "2023-05-08", "speaker": "Ann"},
    }
    assert server.requests[3][2] == {"session": "acme/conv/1", "query": "What is my budget?", "limit": 10}
    assert server.requests[4][1] == "/memories?session=acme%2Fconv%2F1"
    assert list(server.sessions) == ["globex/conv/1"]


async def test_what_is_said_is_no_template(server: MemoryServer) -> None:
    asked = memory(server)
    async with asked.open():
        await asked.append(KEY, ChatTurn("{session} is {question}"))
    assert server.requests[0][2]["messages"] == [{"role": "user", "content": "{session} is {question}"}]


async def test_what_a_reply_holds_is_found_by_jmespath(server: MemoryServer) -> None:
    read = {
        "path": "/search",
        "body": {"session": "{session}", "query": "{question}"},
        "memory": "context.facts[].fact",
        "entities": "context.nodes[].{key: name, value: summary}",
        "turns": "sort_by(messages, &age)[].content",
    }
    server.reply = {
        "context": {
            "facts": [{"fact": "Ann moved."}, {"fact": "Ann sold her car."}],
            "nodes": [{"name": "Ann", "summary": "a user"}],
        },
        "messages": [{"content": "old", "age": 9}, {"content": "new", "age": 1}],
    }
    asked = memory(server, read=read)
    async with asked.open():
        found = await asked.read(KEY, "?")
        assert (found.memory, found.entities) == ("Ann moved.\nAnn sold her car.", (Entity("Ann", "a user", 0),))
        assert [(turn.user, turn.id) for turn in found.retrieved] == [("new", "memory-1"), ("old", "memory-2")]
        server.reply = {"context": None, "messages": []}
        assert await asked.read(KEY, "?") == MemoryContent()
        server.reply = {"context": {"nodes": "none"}, "messages": []}
        assert (await asked.read(KEY, "?")).entities == ()
        server.reply = {"messages": [{"content": 7, "age": 1}]}
        with pytest.raises(
            EvaluationError, match=r"memory.read.turns: expected texts, or \{text, id, said_at, speaker\}"
        ):
            await asked.read(KEY, "?")
        server.reply = {"messages": "none"}
        with pytest.raises(EvaluationError, match="sort_by"):
            await asked.read(KEY, "?")


async def test_a_service_that_cannot_forget(server: MemoryServer) -> None:
    asked = memory(server, delete=None)
    async with asked.open():
        await asked.delete(KEY)
    assert server.requests == []


# --- secrets --------------------------------------------------------------------------------------


async def test_headers_are_named_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = [{"name": "Authorization", "value_env": "MEM_KEY_OF_TESTS", "prefix": "Token "}]
    with serving_memories(token=f"Token {SECRET}") as server:
        asked = memory(server, headers=headers)
        monkeypatch.delenv("MEM_KEY_OF_TESTS", raising=False)
        (problem,) = asked.preflight()
        assert str(problem).startswith(
            "memory.headers[0].value_env: the environment variable MEM_KEY_OF_TESTS is not set; it holds the header "
        )
        with pytest.raises(InputError, match="MEM_KEY_OF_TESTS is not set"):
            async with asked.open():
                pass
        monkeypatch.setenv("MEM_KEY_OF_TESTS", SECRET)
        assert asked.preflight() == []
        async with asked.open():
            await asked.append(KEY, ChatTurn("Hi."))
        assert SECRET not in redact(f"a log with {SECRET}")
        server.token = "Token another"
        wrong = memory(server, headers=headers)
        async with wrong.open():
            with pytest.raises(StopRunError) as error:
                await wrong.append(KEY, ChatTurn("Hi."))
    assert SECRET not in str(error.value)
    assert "memory.append: POST http://127.0.0.1:" in str(error.value)
    assert str(error.value).endswith("its headers come from MEM_KEY_OF_TESTS")


# --- faults ---------------------------------------------------------------------------------------


async def test_what_passes_is_asked_again_with_the_same_key(server: MemoryServer) -> None:
    server.faults.extend([(503, {}), (429, {"Retry-After": "0"}), (429, {"Retry-After": "0"})])
    asked = memory(server)
    async with asked.open():
        await asked.append(KEY, ChatTurn("Hi."))
        await asked.append(KEY, ChatTurn("Bye."))
    assert len(server.requests) == 5 and len(server.sessions["acme/conv/1"]) == 2
    assert len(set(server.keys[:4])) == 1 and server.keys[4] not in server.keys[:4]


async def test_what_stays_is_told(server: MemoryServer) -> None:
    asked = memory(server, timeout_ms=200)
    async with asked.open():
        for faults, kind, message in (
            ([(500, {})] * 2, EvaluationError, 'answers 500: {"detail": "not now"} (asked 2 times)'),
            ([1.0] * 2, EvaluationError, "no answer within memory.timeout_ms (200 ms) (asked 2 times)"),
            ([(422, {})], EvaluationError, 'answers 422: {"detail": "not now"}'),
            (
                [(302, {"Location": "http://x/"})],
                StopRunError,
                "redirects are not followed, so put that address into memory.url",
            ),
            ([(404, {})], StopRunError, "is memory.read.path right?"),
            ([(429, {"Retry-After": "9000"})], StopRunError, "(it asks to wait for 9,000 s)"),
        ):
            server.faults.clear()
            server.faults.extend(faults)
            with pytest.raises(kind) as error:
                await asked.read(KEY, "?")
            assert type(error.value) is kind and message in str(error.value)
        server.faults.clear()
        server.reply = {"results": "text"}
        assert (await asked.read(KEY, "?")).retrieved == ()


async def test_nobody_listens() -> None:
    asked = memory("http://127.0.0.1:9", retries=0)
    async with asked.open():
        with pytest.raises(StopRunError) as error:
            await asked.append(KEY, ChatTurn("Hi."))
    assert str(error.value) == (
        "memory.append: POST http://127.0.0.1:9/memories: no connection (connection refused); is it up, and memory.url "
        "right? Run the same command again to resume"
    )


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"append": {"path": "/m", "body": "{usr}"}}, "memory.append: unknown placeholder {usr}; did you mean 'user'?"),
        ({"append": {"path": "m"}}, "memory.append.path: expected a path such as /memories, found 'm'"),
        ({"read": {"path": "/s", "turns": "a[?"}}, "memory.read.turns: expected a JMESPath expression such as "),
        ({"read": {"path": "/s"}}, "memory.read: expected one of memory, entities, turns: what the reply holds"),
        ({"delete": {"path": "/{question}"}}, "memory.delete: unknown placeholder {question}"),
    ],
)
def test_what_is_wrong_in_conf(settings: dict[str, Any], message: str) -> None:
    (problem, *_) = memory("http://127.0.0.1:9", **settings).preflight()
    assert str(problem).startswith(message)
