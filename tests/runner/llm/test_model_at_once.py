"""Identical requests at once, and requests that are interrupted while they are under way."""

import asyncio
from pathlib import Path

import pytest

from runner.errors import EvaluationError
from runner.system.stopwatch import deadline
from tests.services.doors import PRICED, models, question
from tests.services.models_replies import error
from tests.services.models_server import ModelsServer


@pytest.mark.parametrize(("mode", "sent"), [("use", 1), ("refresh", 1), ("read", 5), ("none", 5)])
async def test_identical_requests_at_once(mode: str, sent: int, server: ModelsServer, tmp_path: Path) -> None:
    """Asked once where the answer is kept; as `plan` counts them."""
    server.latency_s = 0.1
    door = models(server.url, tmp_path, cache=mode)
    model = door.model("test:m", "judge")
    async with door.open("0"):
        replies = await asyncio.gather(*(model.chat(question("1")) for _ in range(5)))
    assert server.count == sent
    assert len({reply.text for reply in replies}) == 1
    told = door.usage("0")["usage_total"]
    assert (told["live"]["requests"], told["cached"]["requests"]) == (sent, 5 - sent)


async def test_all_who_wait_for_one_request_get_its_error(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: error(400, "no", kind="x")
    door = models(server.url, tmp_path)
    model = door.model("test:m", "judge")
    async with door.open():
        found = await asyncio.gather(*(model.chat(question("1")) for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in found] == [EvaluationError] * 3
    assert server.count == 1


async def test_the_answer_to_a_case_that_ran_out_of_time_is_stored(server: ModelsServer, tmp_path: Path) -> None:
    server.latency_s = 0.3
    door = models(server.url, tmp_path)
    model = door.model("test:m", "judge")
    async with door.open():
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
        async with door.open("0"):
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
        async with door.open("0"):
            await asyncio.gather(*(model.chat(question(str(n))) for n in range(3)))

    task = asyncio.create_task(run())
    while not server.counts.in_flight:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert door.usage("0")["usage_total"]["unanswered"]["requests"] == 1
