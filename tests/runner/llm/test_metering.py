"""What a step came to, whoever asked on its behalf."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import pytest

from runner.llm.ledger import Cost
from runner.llm.messages import Usage
from runner.llm.metering import asking_for, by_role, charge, metering, note, note_texts, pass_on, so_far, sum_costs
from runner.records import RoleCost
from tests.services.doors import PRICED, models, question
from tests.services.models_server import ModelsServer


async def test_a_stored_reply_costs_as_much_as_a_live_one(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, **PRICED)
    model = door.model("test:m", "reranker")
    async with door.open():
        with metering() as live:
            reply = await model.chat(question("1"))
        with metering() as stored:
            await model.chat(question("1"))
    usage = reply.usage
    (spent,) = live.by_role.values()
    assert spent == RoleCost(1, usage.input_tokens, usage.output_tokens, spent.usd)
    assert live.by_role == stored.by_role == {"reranker": spent}
    assert spent.usd == pytest.approx((usage.input_tokens + 10 * usage.output_tokens) / 1e6)


async def test_threads_and_tasks_count_for_whoever_began_them(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path)

    def step(number: int) -> RoleCost:
        with metering() as meter:
            for repeat in range(number):
                door.blocking(door.model("test:m", "reranker").chat(question(f"{number}/{repeat}")))
        return meter.total

    loop = asyncio.get_running_loop()
    async with door.open():
        with ThreadPoolExecutor(3) as pool, metering() as whole:
            steps = [loop.run_in_executor(pool, copy_context().run, step, number) for number in (1, 2, 3)]
            meters = await asyncio.gather(*steps)
    assert [meter.requests for meter in meters] == [1, 2, 3]
    assert whole.total.requests == 6
    assert whole.total.input_tokens == sum(meter.input_tokens for meter in meters) > 0


def test_a_price_that_is_unknown_makes_the_sum_unknown() -> None:
    with metering() as outer:
        note("judge", b"a", Cost(Usage(5, 1), 7_000))
        with metering() as inner:
            note("judge", b"b", Cost(Usage(3, 2), None))
        note("agent", b"c", Cost(Usage(1, 1), 1))
    note("judge", b"d", Cost(Usage(100, 100), 1))  # of nobody
    assert inner.by_role == {"judge": RoleCost(1, 3, 2, None)}
    assert outer.by_role == {"agent": RoleCost(1, 1, 1, 1e-9), "judge": RoleCost(2, 8, 3, None)}


def test_a_request_that_is_made_again_counts_once() -> None:
    with metering() as meter:
        for role, request in (("judge", b"a"), ("judge", b"a"), ("judge", b"b"), ("agent", b"a")):
            note(role, request, Cost(Usage(5, 1), 7_000))
        for texts in (["x", "y"], ["y", "z"]):
            note_texts("embedder", "m", texts, lambda text: Cost(Usage(1), 10))
    assert meter.by_role == {
        "agent": RoleCost(1, 5, 1, 7e-6),
        "embedder": RoleCost(3, 3, 0, 3e-8),
        "judge": RoleCost(2, 10, 2, 1.4e-5),
    }


def test_what_is_metered_alone_is_charged_to_whom_it_belongs() -> None:
    with metering() as outer:
        with metering(alone=True) as alone:
            note("summariser", b"a", Cost(Usage(5, 1), 7_000))
        assert outer.by_role == {}
        charge(alone.by_role)
        charge(alone.by_role)  # another one that came to the same
    assert outer.by_role == sum_costs(alone.by_role, alone.by_role) == {"summariser": RoleCost(2, 10, 2, 1.4e-5)}


def test_what_is_passed_on_counts_once_for_those_around() -> None:
    with metering() as outer, metering() as inner:
        with metering(alone=True) as alone:
            note("judge", b"a", Cost(Usage(5, 1), 2_000_000_000))
            assert so_far() == alone.by_role == {"judge": RoleCost(1, 5, 1, 2.0)}
        assert so_far() == {}
        pass_on(alone)
        pass_on(alone)
        assert so_far() == inner.by_role == outer.by_role == alone.by_role
    assert so_far() == {}


def test_each_of_several_bears_its_own_and_an_even_share_of_the_rest() -> None:
    with metering(owners={"first question": "q1", "second question": "q2"}) as meter:
        with asking_for("q2"):
            note("agent", b"a", Cost(Usage(50, 1), 70))
        note("agent", b"b", Cost(Usage(7, 2), 5))
        note_texts("embedder", "m", ["first question", "second question"], lambda text: Cost(Usage(len(text)), 0))
    each = meter.of_each(["q1", "q2"])
    assert [by_role(entries) for entries in each] == [
        {"agent": RoleCost(1, 4, 1, 3e-9), "embedder": RoleCost(1, 14, 0, 0.0)},
        {"agent": RoleCost(1, 53, 2, 72e-9), "embedder": RoleCost(1, 15, 0, 0.0)},
    ]
    assert sum_costs(*map(by_role, each)) == meter.by_role
