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
from runner.errors import EvaluationError, InputError, StopRunError, UncertainWriteError
from runner.system.redaction import redact
from tests.plugins.memory.summarisers import ListingSummariser
from tests.plugins.system.asking import door
from tests.services.memory_server import AfterDoing, MemoryServer, serving_memories

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


KEYED = {"idempotency_header": "Idempotency-Key"}
UNCERTAIN: list[Any] = [(503, {}), (500, {}), (524, {}), 1.0, AfterDoing(503), AfterDoing()]


async def test_a_turn_is_sent_again_with_the_same_key_where_the_service_knows_keys(server: MemoryServer) -> None:
    asked = memory(server, timeout_ms=200, **KEYED)
    async with asked.open():
        for fault in (*UNCERTAIN[:2], *UNCERTAIN[3:], (429, {"Retry-After": "0"})):
            server.requests.clear()
            server.keys.clear()
            server.faults.append(fault)
            await asked.append(KEY, ChatTurn(f"{fault}"))
            assert len(server.requests) == 2 and len(set(server.keys)) == 1 and server.keys[0]
    said = [told["messages"][0]["content"] for told in server.sessions["acme/conv/1"]]
    assert said == list(dict.fromkeys(said)) and len(said) == 6


async def test_a_turn_that_may_be_stored_is_not_sent_again(server: MemoryServer) -> None:
    """Without a key. What was certainly not stored is sent again, and what was refused says so."""
    asked = memory(server, timeout_ms=200)
    async with asked.open():
        for fault in UNCERTAIN:
            server.requests.clear()
            server.faults.append(fault)
            with pytest.raises(UncertainWriteError, match="whether it was stored is unknown") as error:
                await asked.append(KEY, ChatTurn("Hi."))
            assert error.value.can_begin_anew and len(server.requests) == 1 and server.keys[-1] == ""
        server.faults.append((429, {"Retry-After": "0"}))
        await asked.append(KEY, ChatTurn("Hi."))
        server.faults.append((422, {}))
        with pytest.raises(EvaluationError, match="answers 422") as refused:
            await asked.append(KEY, ChatTurn("Hi."))
        assert not isinstance(refused.value, UncertainWriteError)


NO_SESSION = {"path": "/memories", "body": {"session": "{tenant}", "messages": ["{user}"]}}


@pytest.mark.parametrize(
    ("settings", "can_begin_anew"),
    [
        ({}, True),
        ({"delete": None}, True),
        ({"append": NO_SESSION}, True),
        ({"append": NO_SESSION, "delete": None}, False),
    ],
)
async def test_a_session_is_written_anew_where_nothing_of_it_stays_in_the_way(
    server: MemoryServer, settings: dict[str, Any], can_begin_anew: bool
) -> None:
    asked = memory(server, **settings)
    async with asked.open():
        server.faults.append((503, {}))
        with pytest.raises(UncertainWriteError) as error:
            await asked.append(KEY, ChatTurn("Hi."))
    assert error.value.can_begin_anew is can_begin_anew


async def test_what_a_service_says_of_a_stored_turn_is_not_read(server: MemoryServer) -> None:
    server.faults.append(AfterDoing(201))  # an empty answer
    asked = memory(server)
    async with asked.open():
        await asked.append(KEY, ChatTurn("Hi."))
    assert len(server.sessions["acme/conv/1"]) == 1


@pytest.mark.parametrize(
    ("paths", "reply", "message"),
    [
        ({}, {}, "memory.read.turns: {turns} matches nothing: the reply is empty"),
        ({}, {"data": [1], "count": 1}, "memory.read.turns: {turns} matches nothing: no key results, only data, count"),
        ({"turns": "results[].memory"}, {"results": [{"text": "Hi.", "id": 1}]}, "no key memory, only text, id"),
        ({"turns": "results[].memory"}, {"results": "busy"}, "the reply holds something else there"),
        ({"turns": "results[].memory"}, ["busy"], "the reply holds something else there"),
        ({"turns": None, "memory": "context.text"}, {"context": {"facts": []}}, "no key text, only facts"),
        ({"turns": "a || b"}, {"c": []}, "no key a, only c"),
        ({"memory": "summary"}, {"error": "not now"}, "the reply is an error: not now"),
    ],
)
async def test_a_reply_in_which_no_path_exists_is_an_error(
    server: MemoryServer, paths: dict[str, Any], reply: Any, message: str
) -> None:
    server.reply = reply
    read = {**CONF["read"], **paths}
    asked = memory(server, read=read)
    async with asked.open():
        with pytest.raises(EvaluationError) as error:
            await asked.read(KEY, "?")
    assert message.replace("{turns}", str(read["turns"])) in str(error.value)


@pytest.mark.parametrize(
    ("turns", "reply"),
    [
        ("results[].memory", {"results": []}),
        ("results[].memory", {"results": None}),
        ("context.facts[].fact", {"context": None}),
        ("results[?score > `1`].memory", {"results": [{"score": 0, "memory": "x"}]}),
        ("results[0].items", {"results": []}),
        ("sort_by(results, &age)[].memory", {"results": []}),
        ("a || b", {"b": []}),
    ],
)
async def test_a_path_that_exists_and_is_empty_is_nothing_remembered(
    server: MemoryServer, turns: str, reply: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no reply had anything, a note says so."""
    server.reply = reply
    asked = memory(server, read={"path": "/search", "turns": turns})
    async with asked.open():
        assert await asked.read(KEY, "?") == MemoryContent()
        assert await asked.read(KEY, "?") == MemoryContent()
    said = " ".join(capsys.readouterr().err.split())
    assert f"returned nothing in all 2 replies (memory.read.turns={turns})" in said


async def test_one_path_of_several_is_enough(server: MemoryServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.reply = {"results": [{"memory": "Tom is a cat."}]}
    asked = memory(server, read={**CONF["read"], "memory": "summary"})
    async with asked.open():
        assert [turn.user for turn in (await asked.read(KEY, "?")).retrieved] == ["Tom is a cat."]
    assert "memory.read.memory=summary" in " ".join(capsys.readouterr().err.split())


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
