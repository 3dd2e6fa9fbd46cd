"""One model through all layers, against a real server: its cache, its structured replies and its embeddings."""

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runner.errors import BudgetSpentError, ReplyError, StopRunError
from runner.llm.messages import ChatRequest, Message
from runner.system.stopwatch import stopwatch
from tests.services.doors import PRICED, models, question, score
from tests.services.models_replies import Reply, completion, error
from tests.services.models_server import ModelsServer

# --- the cache ------------------------------------------------------------------------------------


async def test_an_answer_is_paid_for_once(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path)
    model = door.model("test:m", "judge")
    async with door.open("0"):
        with stopwatch() as first_watch:
            first = await model.chat(question("1"))
        with stopwatch() as second_watch:
            second = await model.chat(question("1"))
    assert server.count == 1
    assert (first.cached, second.cached) == (False, True)
    assert second == replace(first, attempts=0, waited_s=0.0, took_s=0.0)
    assert (first_watch.live, second_watch.live) == (True, False)
    told = door.usage("0")["usage"]["judge"]["test:m"]
    assert told["live"]["requests"] == told["cached"]["requests"] == 1
    assert told["live"]["input_tokens"] == told["cached"]["input_tokens"] == first.usage.input_tokens > 0


def changed(request: ChatRequest) -> list[ChatRequest]:
    """Each differs in one thing."""
    return [
        replace(request, messages=(*request.messages[:1], Message("user", "2"))),
        replace(request, messages=(*request.messages[:1], Message("assistant", "1"))),
        replace(request, max_tokens=51),
        replace(request, temperature=0.5),
        replace(request, temperature=None),
        replace(request, seed=1),
        replace(request, schema=None),
        replace(request, schema={"type": "object"}),
        replace(request, repeat=1),
        replace(request, attempt=1),
    ]


async def test_whatever_a_reply_depends_on_makes_another_request(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path)
    async with door.open():
        for request in [question("1"), *changed(question("1"))]:
            await door.model("test:m", "judge").chat(request)
        await door.model("test:other", "judge").chat(question("1"))
    assert server.count == 12
    for settings in ({"provider_base_url": f"{server.url}/"}, {"provider_add": {"*": {"top_k": 1}}}):
        changed_door = models(server.url, tmp_path, **settings)
        async with changed_door.open():
            await changed_door.model("test:m", "judge").chat(question("1"))
    assert server.count == 13  # a slash at the end makes no other address
    elsewhere = models(server.url.replace("127.0.0.1", "localhost"), tmp_path)
    async with elsewhere.open():
        await elsewhere.model("test:m", "judge").chat(question("1"))
    assert server.count == 14  # the model of another server, though it has the same name
    twin = models(server.url, tmp_path, name="twin")
    async with twin.open():
        await twin.model("twin:m", "judge").chat(question("1"))
    assert server.count == 15  # another provider, which may have another key


async def test_the_role_and_the_cell_do_not(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path)
    async with door.open("0"):
        await door.model("test:m", "judge").chat(question("1"))
    async with door.open("1"):
        await door.model("test:m", "generator").chat(question("1"))
    assert server.count == 1


async def test_replay_asks_nothing(server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    door = models(server.url, tmp_path)
    async with door.open():
        await door.model("test:m", "judge").chat(question("1"))
    replay = models(server.url, tmp_path, cache="replay", provider_api_key_env="TEST_KEY")
    model = replay.model("test:m", "judge")
    async with replay.open():
        await model.chat(question("1"))
        with pytest.raises(StopRunError, match=r"^cache=replay: no stored reply of test:m to a request of the judge$"):
            await model.chat(question("2"))
        with pytest.raises(StopRunError, match=r"^cache=replay: "):
            await model.embed(["a"])
    assert server.count == 1


async def test_refresh_asks_once_anew(server: ModelsServer, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for mode, expected in [("use", 1), ("refresh", 2), ("refresh", 2), ("use", 2)]:
        door = models(
            server.url, tmp_path, cache=mode, out=str(tmp_path / "out")
        )  # the second refresh is a resumed run
        async with door.open():
            for _ in range(2):
                await door.model("test:m", "judge").chat(question("1"))
        assert server.count == expected
    door = models(server.url, tmp_path, cache="refresh")
    async with door.open():
        await door.model("test:m", "judge").chat(question("1"))
    assert server.count == 3


async def test_without_a_cache_every_request_is_sent(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path / "cache", cache="none")
    async with door.open():
        await asyncio.gather(*(door.model("test:m", "judge").chat(question("1")) for _ in range(5)))
    assert server.count == 5
    assert not (tmp_path / "cache").exists()


# --- structured -----------------------------------------------------------------------------------


async def test_every_attempt_is_stored_so_that_a_second_run_repeats_none(server: ModelsServer, tmp_path: Path) -> None:
    left = ["no JSON", '{"score": NaN}', '{"score": "high"}']
    server.respond = lambda body: completion(body, left.pop(0)) if left else None
    found = []
    for mode in ("use", "replay"):
        door = models(server.url, tmp_path, cache=mode)
        async with door.open("0"):
            found.append(await door.model("test:m", "judge").ask_for_json(question("1"), score))
        assert server.count == 4
    assert found[0] == found[1]
    assert server.requests[0] == server.requests[1] == server.requests[2]
    assert [message["role"] for message in server.requests[3]["messages"]] == ["system", "user", "assistant", "user"]


async def test_a_reply_that_is_never_usable_fails_its_case_alone(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: completion(body, "I would rather not say.")
    door = models(server.url, tmp_path)
    async with door.open():
        with pytest.raises(ReplyError, match=r"^no usable answer in 4 replies: "):
            await door.model("test:m", "judge").ask_for_json(question("1"), score)
    assert server.count == 4


# --- embeddings -----------------------------------------------------------------------------------


async def test_embeddings(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, **PRICED)
    model = door.model("test:e", "embedder")
    async with door.open("0"):
        with stopwatch() as watch:
            vectors = await model.embed(["가을 산", "autumn\ud800", "가을 산"], dimensions=8)
    assert [row.shape for row in vectors.rows] == [(8,)] * 3
    assert vectors.sent_by == "e"
    np.testing.assert_array_equal(vectors.rows[0], vectors.rows[2])
    assert watch.live
    (body,) = server.requests
    assert body == {
        "model": "e",
        "input": ["가을 산", "autumn?", "가을 산"],
        "encoding_format": "float",
        "dimensions": 8,
    }
    live = door.usage("0")["usage"]["embedder"]["test:e"]["live"]
    assert (live["requests"], live["output_tokens"]) == (1, 0)
    assert live["usd"] == pytest.approx(live["input_tokens"] / 1e6)


async def test_conf_leaves_parameters_out_of_requests_for_vectors_and_adds_others(
    server: ModelsServer, tmp_path: Path
) -> None:
    changes = {"leave_out": {"e": ["encoding_format", "dimensions"]}, "add": {"*": {"truncate": "END"}}}
    door = models(server.url, tmp_path, **{f"provider_{name}": value for name, value in changes.items()})
    async with door.open():
        vectors = await door.model("test:e", "embedder").embed(["달"], dimensions=8)
    assert len(vectors.rows) == 1
    assert list(server.requests) == [{"model": "e", "input": ["달"], "truncate": "END"}]


async def test_embeddings_take_part_in_budget_and_retries(server: ModelsServer, tmp_path: Path) -> None:
    left = [error(500, "Oops", kind="x"), Reply(body=b'{"data": []}')]
    server.respond = lambda body: left.pop(0) if left else None
    door = models(server.url, tmp_path, budget={"requests": 3})
    model = door.model("test:e", "embedder")
    async with door.open():
        assert len((await model.embed(["a"])).rows) == 1
        with pytest.raises(BudgetSpentError):
            await model.embed(["b"])
    assert server.count == 3
