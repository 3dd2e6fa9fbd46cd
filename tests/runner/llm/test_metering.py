"""What a step came to, whoever asked on its behalf."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import pytest

from runner.llm.ledger import Cost
from runner.llm.messages import Usage
from runner.llm.metering import Meter, metering, note
from tests.services.doors import PRICED, models, question
from tests.services.models_server import ModelsServer


async def test_a_stored_reply_costs_as_much_as_a_live_one(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, **PRICED)
    model = door.model("test:m", "reranker")
    async with door.opened():
        with metering() as live:
            reply = await model.chat(question("1"))
        with metering() as stored:
            await model.chat(question("1"))
    assert live == stored == Meter(1, reply.usage.input_tokens, reply.usage.output_tokens, live.nano_usd)
    assert live.cost_usd == pytest.approx((reply.usage.input_tokens + 10 * reply.usage.output_tokens) / 1e6)


async def test_threads_and_tasks_count_for_whoever_began_them(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path)

    def step(number: int) -> Meter:
        with metering() as meter:
            for repeat in range(number):
                door.blocking(door.model("test:m", "reranker").chat(question(f"{number}/{repeat}")))
        return meter

    loop = asyncio.get_running_loop()
    async with door.opened():
        with ThreadPoolExecutor(3) as pool, metering() as whole:
            steps = [loop.run_in_executor(pool, copy_context().run, step, number) for number in (1, 2, 3)]
            meters = await asyncio.gather(*steps)
    assert [meter.requests for meter in meters] == [1, 2, 3]
    assert whole.requests == 6
    assert whole.input_tokens == sum(meter.input_tokens for meter in meters) > 0


def test_a_price_that_is_unknown_makes_the_sum_unknown() -> None:
    with metering() as outer:
        note(Cost(Usage(5, 1), 7_000))
        with metering() as inner:
            note(Cost(Usage(3, 2), None))
    note(Cost(Usage(100, 100), 1))  # of nobody
    assert (inner.input_tokens, inner.output_tokens, inner.cost_usd) == (3, 2, None)
    assert (outer.input_tokens, outer.output_tokens, outer.cost_usd) == (8, 3, None)
