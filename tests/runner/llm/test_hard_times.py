"""The whole door against a server that misbehaves, processes that are killed, and budgets that several share."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from runner.llm.ledger import Ledger
from tests.runner.llm.asking import ask
from tests.services.models_faults import Faults
from tests.services.models_replies import completion, content_of, digest
from tests.services.models_server import ModelsServer, serving_models

ROOT = Path(__file__).resolve().parents[3]
IN_FLIGHT = 8


def asking(server: ModelsServer, folder: Path, first: int, last: int, **settings: Any) -> subprocess.Popen[str]:
    chosen = json.dumps({"max_concurrency": IN_FLIGHT, "out": str(folder), **settings})
    command = [sys.executable, "-m", "tests.runner.llm.asking", server.url, str(folder), str(first), str(last), chosen]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def server() -> Iterator[ModelsServer]:
    with serving_models() as running:
        yield running


EVERYTHING = Faults(
    seed=7,
    stall_s=20.0,
    **dict.fromkeys(
        [
            *("rate_limit", "rate_limit_date", "rate_limit_ms", "server_error", "unavailable", "request_timeout"),
            *("dropped", "truncated", "not_json", "stalled", "malformed", "wrong_schema", "empty"),
        ],
        0.05,
    ),  # type: ignore[arg-type]
)


@pytest.mark.parametrize("client", [None, pytest.param("openai", marks=pytest.mark.slow)])
async def test_faults_change_no_result(client: str | None, server: ModelsServer, tmp_path: Path) -> None:
    """Two in a row at most, for two requests in three in all."""
    by = {"max_concurrency": 32, "provider_client": client}
    questions = range(80)
    calm = await ask(server.url, tmp_path / "calm", questions, by)
    assert server.count == len(questions)
    server.reset()
    server.faults = EVERYTHING
    rough = await ask(server.url, tmp_path / "rough", questions, {**by, "timeout_ms": 500})
    assert rough == calm
    assert server.counts.faults.keys() == {name for name, share in EVERYTHING.shares().items() if share}
    assert max(server.counts.answers.values()) == 1  # what was answered is not asked again
    assert server.noted().answered == len(questions)


@pytest.mark.parametrize("often", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_however_often_it_is_killed_nothing_that_is_stored_is_asked_again(
    often: int, server: ModelsServer, tmp_path: Path
) -> None:
    server.latency_s = 0.02
    chance, arrived, kills = random.Random(3), 0, 0
    while kills < often:
        process = asking(server, tmp_path, 0, 200)
        until = arrived + chance.randint(1, 45)
        while server.count < until and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills, arrived = kills + 1, server.count
    finish = asking(server, tmp_path, 0, 200)
    scores = json.loads(finish.communicate()[0])
    assert len(scores) == 200
    assert len(server.counts.arrivals) == 200
    assert server.count - 200 <= often * IN_FLIGHT
    assert max(server.counts.arrivals.values()) <= often + 1
    replayed = asking(server, tmp_path, 0, 200, cache="replay")
    assert json.loads(replayed.communicate()[0]) == scores


def test_what_stood_in_line_when_the_process_was_killed_is_not_counted_as_spent(
    server: ModelsServer, tmp_path: Path
) -> None:
    server.latency_s = 30.0
    process = asking(server, tmp_path, 0, 100, provider_requests_per_minute=2, budget={"requests": 50})
    while server.count < 2:
        time.sleep(0.01)
    time.sleep(0.2)  # for those that might come in spite of the limit
    process.kill()
    process.communicate()
    ledger = Ledger(tmp_path, {"requests": 50})
    assert ledger.sweep
    assert ledger.usage(".")["usage_total"]["unanswered"]["requests"] == server.count == 2


def test_processes_that_ask_the_same_at_the_same_time_pay_once(server: ModelsServer, tmp_path: Path) -> None:
    server.latency_s = 0.05
    workers = [asking(server, tmp_path, 0, 100) for _ in range(2)]
    scores = [json.loads(worker.communicate()[0]) for worker in workers]
    assert scores[0] == scores[1]
    assert server.count == 100
    told = Ledger(tmp_path, {}).usage(".")["usage_total"]
    assert (told["live"]["requests"], told["cached"]["requests"]) == (100, 100)


def billed(server: ModelsServer) -> tuple[int, int]:
    """Tokens of prompts and of answers, as the server has counted them."""
    usages = []
    for body in {orjson.dumps(body): body for body in server.requests}.values():
        usage = json.loads(completion(body, content_of(body)).body)["usage"]
        usages += [usage] * server.counts.answers[digest(orjson.dumps(body))]
    assert len(usages) == server.noted().answered
    return sum(usage["prompt_tokens"] for usage in usages), sum(usage["completion_tokens"] for usage in usages)


@pytest.mark.parametrize(("name", "limit"), [("requests", 100), pytest.param("usd", 0.02, marks=pytest.mark.slow)])
def test_processes_that_share_a_budget_do_not_pass_it(
    name: str, limit: float, server: ModelsServer, tmp_path: Path
) -> None:
    server.latency_s = 0.01
    server.faults = Faults(server_error=0.1, rate_limit=0.1)
    prices = {"usd_per_million": {"m": {"input": 1.0, "output": 2.0}}}
    workers = [
        asking(server, tmp_path, 1000 * n, 1000 * n + 300, budget={name: limit}, provider_prices=prices)
        for n in range(2)
    ]
    said = [worker.communicate()[0] for worker in workers]
    assert all(line.startswith(f"stopped: budget.{name}={limit:g} is spent (") for line in said)
    asked, answered = billed(server)
    spent = {"requests": server.count, "usd": (asked + 2 * answered) / 1e6}[name]
    assert 0.9 * limit <= spent <= limit  # what is left would not have been enough for the worst of one more
    live = Ledger(tmp_path, {}).usage(".")["usage_total"]["live"]
    assert (live["input_tokens"], live["output_tokens"]) == (asked, answered)
    assert live["usd"] == pytest.approx((asked + 2 * answered) / 1e6)
