"""One model through all layers, against a real server."""

import asyncio
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.errors import BudgetSpentError, EvaluationError, ReplyError, StopRunError
from runner.llm.messages import ChatRequest, Message
from runner.llm.rehearsal import Rehearsal, example_of
from runner.stopwatch import deadline, stopwatch
from tests.services.doors import models, question, score
from tests.services.models_replies import Reply, completion, error
from tests.services.models_server import ModelsServer

PRICED = {"provider_prices": {"usd_per_million": {"*": {"input": 1.0, "output": 10.0}}}}


# --- the cache --------------------------------------------------------------------------------------


async def test_an_answer_is_paid_for_once(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path)
    model = door.model("test:m", "judge")
    async with door.opened("0"):
        with stopwatch() as first_watch:
            first = await model.chat(question("1"))
        with stopwatch() as second_watch:
            second = await model.chat(question("1"))
    assert server.count == 1
    assert (first.cached, second.cached) == (False, True)
    assert second == replace(first, attempts=0, waited_s=0.0)
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
    async with door.opened():
        for request in [question("1"), *changed(question("1"))]:
            await door.model("test:m", "judge").chat(request)
        await door.model("test:other", "judge").chat(question("1"))
    assert server.count == 12
    for settings in ({"provider_base_url": f"{server.url}/"}, {"provider_add": {"*": {"top_k": 1}}}):
        changed_door = models(server.url, tmp_path, **settings)
        async with changed_door.opened():
            await changed_door.model("test:m", "judge").chat(question("1"))
    assert server.count == 13  # a slash at the end makes no other address


async def test_the_role_and_the_cell_do_not(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path)
    async with door.opened("0"):
        await door.model("test:m", "judge").chat(question("1"))
    async with door.opened("1"):
        await door.model("test:m", "generator").chat(question("1"))
    assert server.count == 1


async def test_replay_asks_nothing(server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    door = models(server.url, tmp_path)
    async with door.opened():
        await door.model("test:m", "judge").chat(question("1"))
    replay = models(server.url, tmp_path, cache="replay", provider_api_key_env="TEST_KEY")
    model = replay.model("test:m", "judge")
    async with replay.opened():
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
        async with door.opened():
            for _ in range(2):
                await door.model("test:m", "judge").chat(question("1"))
        assert server.count == expected
    door = models(server.url, tmp_path, cache="refresh")
    async with door.opened():
        await door.model("test:m", "judge").chat(question("1"))
    assert server.count == 3


async def test_without_a_cache_every_request_is_sent(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path / "cache", cache="none")
    async with door.opened():
        await asyncio.gather(*(door.model("test:m", "judge").chat(question("1")) for _ in range(5)))
    assert server.count == 5
    assert not (tmp_path / "cache").exists()


# --- at once ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "sent"), [("use", 1), ("refresh", 1), ("read", 5), ("none", 5)])
async def test_identical_requests_at_once(mode: str, sent: int, server: ModelsServer, tmp_path: Path) -> None:
    """Asked once where the answer is kept; as `plan` counts them."""
    server.latency_s = 0.1
    door = models(server.url, tmp_path, cache=mode)
    model = door.model("test:m", "judge")
    async with door.opened("0"):
        replies = await asyncio.gather(*(model.chat(question("1")) for _ in range(5)))
    assert server.count == sent
    assert len({reply.text for reply in replies}) == 1
    told = door.usage("0")["usage_total"]
    assert (told["live"]["requests"], told["cached"]["requests"]) == (sent, 5 - sent)


async def test_all_who_wait_for_one_request_get_its_error(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: error(400, "no", kind="x")
    door = models(server.url, tmp_path)
    model = door.model("test:m", "judge")
    async with door.opened():
        found = await asyncio.gather(*(model.chat(question("1")) for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in found] == [EvaluationError] * 3
    assert server.count == 1


async def test_the_answer_to_a_case_that_ran_out_of_time_is_stored(server: ModelsServer, tmp_path: Path) -> None:
    server.latency_s = 0.3
    door = models(server.url, tmp_path)
    model = door.model("test:m", "judge")
    async with door.opened():
        with pytest.raises(TimeoutError):
            async with deadline(0.1):
                await model.chat(question("1"))
        assert door.slowest() == ["judge test:m, 0 s"]
        reply = await model.chat(question("1"))  # joins the request under way
        assert reply.text
        assert door.slowest() == []
        assert (await model.chat(question("1"))).cached
    assert server.count == 1


async def test_ctrl_c_ends_what_is_under_way_and_counts_it_as_spent(server: ModelsServer, tmp_path: Path) -> None:
    server.latency_s = 30.0
    door = models(server.url, tmp_path, budget={"requests": 100}, **PRICED)
    model = door.model("test:m", "judge")

    async def run() -> None:
        async with door.opened("0"):
            await asyncio.gather(*(model.chat(question(str(n))) for n in range(3)))

    task = asyncio.create_task(run())
    while server.counts.in_flight < 3:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    told = door.usage("0")["usage_total"]
    assert told["live"]["requests"] == 0
    assert told["unanswered"]["requests"] == 3
    assert told["unanswered"]["usd"] > 0
    assert door.slowest() == []


async def test_a_request_that_never_left_costs_nothing(server: ModelsServer, tmp_path: Path) -> None:
    server.latency_s = 30.0
    door = models(server.url, tmp_path, budget={"requests": 100}, max_concurrency=1)
    model = door.model("test:m", "judge")

    async def run() -> None:
        async with door.opened("0"):
            await asyncio.gather(*(model.chat(question(str(n))) for n in range(3)))

    task = asyncio.create_task(run())
    while not server.counts.in_flight:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert door.usage("0")["usage_total"]["unanswered"]["requests"] == 1


# --- the budget -------------------------------------------------------------------------------------


async def test_a_spent_budget(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, budget={"requests": 3})
    model = door.model("test:m", "judge")
    async with door.opened():
        found = await asyncio.gather(*(model.chat(question(str(n))) for n in range(5)), return_exceptions=True)
        assert await model.chat(question("0"))  # what is stored costs nothing
    assert [type(each) for each in found].count(BudgetSpentError) == 2
    assert server.count == 3


async def test_every_attempt_takes_its_place_in_the_budget(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: error(500, "Oops", kind="x")
    door = models(server.url, tmp_path, budget={"requests": 4})
    async with door.opened():
        with pytest.raises(BudgetSpentError, match=r"^budget\.requests=4 is spent \(4 used\)$"):
            await door.model("test:m", "judge").chat(question("1"))
    assert server.count == 4


async def test_an_attempt_that_may_be_billed_is_counted_at_its_most(server: ModelsServer, tmp_path: Path) -> None:
    left = [Reply(cut="headers"), error(500, "Oops", kind="x"), error(429, "Slow", kind="x")]
    server.respond = lambda body: left.pop(0) if left else None
    door = models(server.url, tmp_path, budget={"usd": 1.0}, **PRICED)
    async with door.opened("0"):
        reply = await door.model("test:m", "judge").chat(question("1"))
    told = door.usage("0")["usage_total"]
    assert told["live"]["retries"] == 3
    assert told["live"]["usd"] == pytest.approx((reply.usage.input_tokens + 10 * reply.usage.output_tokens) / 1e6)
    assert told["unanswered"]["requests"] == 3
    assert told["unanswered"]["output_tokens"] == 50
    assert reply.usage.input_tokens < told["unanswered"]["input_tokens"] < 1000


async def test_usd_needs_a_price(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, budget={"usd": 1.0})
    async with door.opened():
        with pytest.raises(StopRunError) as failed:
            await door.model("test:m", "judge").chat(question("1"))
    assert str(failed.value) == (
        f"budget.usd is set and the price of test:m at {server.url} is unknown; tell it in provider.test.prices "
        "(usd_per_million, base_url), or limit budget.tokens"
    )
    assert server.count == 0


async def test_an_unknown_price_is_unknown(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path)
    async with door.opened("0"):
        await door.model("test:m", "judge").chat(question("1"))
    assert door.usage("0")["usage_total"]["live"]["usd"] is None
    assert "$" not in door.spent()
    assert door.spent().endswith(" tokens")


async def test_a_budget_needs_to_know_how_long_an_answer_may_be(server: ModelsServer, tmp_path: Path) -> None:
    leave_out = {"*": ["max_tokens", "max_completion_tokens"]}
    door = models(server.url, tmp_path, budget={"tokens": 10_000}, provider_leave_out=leave_out)
    async with door.opened():
        with pytest.raises(StopRunError, match=r"^a budget cannot hold for test:m: provider\.test\.leave_out takes"):
            await door.model("test:m", "judge").chat(question("1"))


async def test_tokens_that_the_server_does_not_count_are_estimated(server: ModelsServer, tmp_path: Path) -> None:
    def uncounted(body: dict[str, Any]) -> Reply:
        answer = completion(body, "one two three")
        return replace(answer, body=json.dumps({**json.loads(answer.body), "usage": None}).encode())

    server.respond = uncounted
    door = models(server.url, tmp_path)
    async with door.opened():
        reply = await door.model("test:m", "judge").chat(question("1"))
    assert reply.usage.output_tokens == 3
    assert 20 < reply.usage.input_tokens < 40


async def test_what_was_paid_for_and_cannot_be_stored_ends_the_run_and_is_counted(
    server: ModelsServer, tmp_path: Path
) -> None:
    def respond(body: dict[str, Any]) -> None:
        with sqlite3.connect(tmp_path / "models.sqlite") as database:  # somebody wants nothing written
            database.execute("CREATE TRIGGER no BEFORE INSERT ON reply BEGIN SELECT RAISE(ABORT, 'not here'); END")
        database.close()

    server.respond = respond
    door = models(server.url, tmp_path, budget={"requests": 5})
    async with door.opened("0"):
        with pytest.raises(StopRunError, match=r"models\.sqlite: not here"):
            await door.model("test:m", "judge").chat(question("1"))
        assert door.usage("0")["usage_total"]["live"]["requests"] == 1


# --- structured -------------------------------------------------------------------------------------


async def test_every_attempt_is_stored_so_that_a_second_run_repeats_none(server: ModelsServer, tmp_path: Path) -> None:
    left = ["no JSON", '{"score": NaN}', '{"score": "high"}']
    server.respond = lambda body: completion(body, left.pop(0)) if left else None
    found = []
    for mode in ("use", "replay"):
        door = models(server.url, tmp_path, cache=mode)
        async with door.opened("0"):
            found.append(await door.model("test:m", "judge").structured(question("1"), score))
        assert server.count == 4
    assert found[0] == found[1]
    assert server.requests[0] == server.requests[1] == server.requests[2]
    assert [message["role"] for message in server.requests[3]["messages"]] == ["system", "user", "assistant", "user"]


async def test_a_reply_that_is_never_usable_fails_its_case_alone(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: completion(body, "I would rather not say.")
    door = models(server.url, tmp_path)
    async with door.opened():
        with pytest.raises(ReplyError, match=r"^no usable answer in 4 replies: "):
            await door.model("test:m", "judge").structured(question("1"), score)
    assert server.count == 4


# --- embeddings -------------------------------------------------------------------------------------


async def test_embeddings(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, **PRICED)
    model = door.model("test:e", "embedder")
    async with door.opened("0"):
        with stopwatch() as watch:
            vectors = await model.embed(["가을 산", "autumn\ud800", "가을 산"], dimensions=8)
    assert vectors.shape == (3, 8)
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors[0], vectors[2])
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
    async with door.opened():
        vectors = await door.model("test:e", "embedder").embed(["달"], dimensions=8)
    assert len(vectors) == 1
    assert list(server.requests) == [{"model": "e", "input": ["달"], "truncate": "END"}]


async def test_embeddings_take_part_in_budget_and_retries(server: ModelsServer, tmp_path: Path) -> None:
    left = [error(500, "Oops", kind="x"), Reply(body=b'{"data": []}')]
    server.respond = lambda body: left.pop(0) if left else None
    door = models(server.url, tmp_path, budget={"requests": 3})
    model = door.model("test:e", "embedder")
    async with door.opened():
        assert len(await model.embed(["a"])) == 1
        with pytest.raises(BudgetSpentError):
            await model.embed(["b"])
    assert server.count == 3


# --- a rehearsal ------------------------------------------------------------------------------------


async def test_a_rehearsal_counts_what_a_run_then_asks(server: ModelsServer, tmp_path: Path) -> None:
    requests = [question("1"), question("2"), question("2"), question("3", schema=None)]
    before = models(server.url, tmp_path)
    async with before.opened():
        await before.model("test:m", "judge").chat(question("1"))
    door, rehearsal = models(server.url, tmp_path, **PRICED), Rehearsal()
    model = door.model("test:m", "judge")
    with door.rehearsing(rehearsal, "0"):
        async with door.opened():
            assert model.is_rehearsed
            for request in requests:
                assert (await model.chat(request)).text
    assert server.count == 1
    ((account, expected),) = rehearsal.expected.items()
    assert (account.cell, account.role, account.model) == ("0", "judge", "test:m")
    assert (expected.live, expected.stored, expected.shared) == (2, 1, 1)
    assert expected.output_tokens == 2 * 50
    assert expected.nano_usd == 1000 * (expected.input_tokens + 10 * expected.output_tokens)
    async with door.opened("0"):
        for request in requests:
            await model.chat(request)
    assert server.count == 1 + expected.live
    cached = door.usage("0")["usage_total"]["cached"]
    assert cached["requests"] == expected.stored + expected.shared


async def test_a_made_up_reply_has_the_form_asked_for_and_is_not_asked_for_again(tmp_path: Path) -> None:
    door, rehearsal = models("http://127.0.0.1:9/v1", tmp_path), Rehearsal()
    model = door.model("test:m", "judge")
    with door.rehearsing(rehearsal, "0"):
        async with door.opened():
            found, other = [await model.structured(question(text), dict) for text in "13"]
            with pytest.raises(ReplyError, match=r"^a rehearsal has no replies$"):
                await model.structured(question("2"), refuse)
    assert found["score"] == 0
    assert found["reasoning"].count("word") == 42
    assert found != other  # what follows from them must not be taken for the same
    (expected,) = rehearsal.expected.values()
    assert expected.live == 3


def refuse(reply: Mapping[str, Any]) -> None:
    raise ValueError("not that")


def test_what_is_made_up_has_the_form_of_its_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "level": {"type": "integer", "minimum": 1},
            "found": {"type": "array", "items": {"type": "string"}},
            "sure": {"type": "boolean"},
            "text": {"type": ["string", "null"]},
            "none": {"type": "null"},
        },
    }
    expected = {"kind": "a", "level": 1, "found": [], "sure": False, "text": "word", "none": None}
    assert example_of(schema, "word") == expected
