"""What the requests of a model take out of a budget."""

import asyncio
import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.errors import BudgetSpentError, StopRunError
from tests.services.doors import PRICED, models, question
from tests.services.models_replies import Reply, completion, error
from tests.services.models_server import ModelsServer


async def test_a_spent_budget(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, budget={"requests": 3})
    model = door.model("test:m", "judge")
    async with door.open():
        found = await asyncio.gather(*(model.chat(question(str(n))) for n in range(5)), return_exceptions=True)
        assert await model.chat(question("0"))  # what is stored costs nothing
    assert [type(each) for each in found].count(BudgetSpentError) == 2
    assert server.count == 3


async def test_every_attempt_takes_its_place_in_the_budget(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: error(500, "Oops", kind="x")
    door = models(server.url, tmp_path, budget={"requests": 4})
    async with door.open():
        with pytest.raises(BudgetSpentError, match=r"^budget\.requests=4 is spent \(4 used\)$"):
            await door.model("test:m", "judge").chat(question("1"))
    assert server.count == 4


async def test_an_attempt_that_may_be_billed_is_counted_at_its_most(server: ModelsServer, tmp_path: Path) -> None:
    left = [Reply(cut="headers"), error(500, "Oops", kind="x"), error(429, "Slow", kind="x")]
    server.respond = lambda body: left.pop(0) if left else None
    door = models(server.url, tmp_path, budget={"usd": 1.0}, **PRICED)
    async with door.open("0"):
        reply = await door.model("test:m", "judge").chat(question("1"))
    told = door.usage("0")["usage_total"]
    assert told["live"]["retries"] == 3
    assert told["live"]["usd"] == pytest.approx((reply.usage.input_tokens + 10 * reply.usage.output_tokens) / 1e6)
    assert told["unanswered"]["requests"] == 3
    assert told["unanswered"]["output_tokens"] == 50
    assert reply.usage.input_tokens < told["unanswered"]["input_tokens"] < 1000


async def test_usd_needs_a_price(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, budget={"usd": 1.0})
    async with door.open():
        with pytest.raises(StopRunError) as failed:
            await door.model("test:m", "judge").chat(question("1"))
    assert str(failed.value) == (
        f"budget.usd is set and the price of test:m at {server.url} is unknown; tell it in provider.test.prices "
        "(usd_per_million, base_url), or limit budget.tokens"
    )
    assert server.count == 0


async def test_an_unknown_price_is_unknown(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path)
    async with door.open("0"):
        await door.model("test:m", "judge").chat(question("1"))
    assert door.usage("0")["usage_total"]["live"]["usd"] is None
    assert "$" not in door.describe_spending()
    assert door.describe_spending().endswith(" tokens")


async def test_a_budget_needs_to_know_how_long_an_answer_may_be(server: ModelsServer, tmp_path: Path) -> None:
    leave_out = {"*": ["max_tokens", "max_completion_tokens"]}
    door = models(server.url, tmp_path, budget={"tokens": 10_000}, provider_leave_out=leave_out)
    async with door.open():
        with pytest.raises(StopRunError, match=r"^a budget cannot hold for test:m: provider\.test\.leave_out takes"):
            await door.model("test:m", "judge").chat(question("1"))


async def test_tokens_that_the_server_does_not_count_are_estimated(server: ModelsServer, tmp_path: Path) -> None:
    def uncounted(body: dict[str, Any]) -> Reply:
        answer = completion(body, "one two three")
        return replace(answer, body=json.dumps({**json.loads(answer.body), "usage": None}).encode())

    server.respond = uncounted
    door = models(server.url, tmp_path)
    async with door.open():
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
    async with door.open("0"):
        with pytest.raises(StopRunError, match=r"models\.sqlite: not here"):
            await door.model("test:m", "judge").chat(question("1"))
        assert door.usage("0")["usage_total"]["live"]["requests"] == 1


@pytest.mark.parametrize("at_once", [1, 8])
async def test_tokens_are_reserved_by_what_requests_of_the_role_have_taken(
    server: ModelsServer, tmp_path: Path, at_once: int
) -> None:
    """Not by the most that they might take, which is many times as much; and the limit is never passed."""
    door = models(server.url, tmp_path, budget={"tokens": 8000})
    model, spent = door.model("test:m", "judge"), 0
    async with door.open("0"):
        for start in range(0, 400, at_once):
            asked = [replace(question(f"{n} " + "word " * 150), max_tokens=2000) for n in range(start, start + at_once)]
            replies = await asyncio.gather(*map(model.chat, asked), return_exceptions=True)
            if any(isinstance(each, BudgetSpentError) for each in replies):
                break
        total = door.usage("0")["usage_total"]["live"]
        spent = total["input_tokens"] + total["output_tokens"]
    assert 7000 < spent <= 8000
