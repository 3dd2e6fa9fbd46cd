"""A case costs what its own requests come to, once: an interruption and a cache change nothing."""

import json
import signal
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.command_line.result_files import read, rows
from tests.command_line.started import begun
from tests.services.models_replies import Reply, chat, embeddings, wants_json
from tests.services.models_server import ModelsServer
from tests.small_data import small_data

SLOWER_S = 0.6  # what an answer from more chunks takes longer: more than a busy machine adds, so the front is no chance
THIRD = 'name="contexts" number="3"'


class Doomed:
    """A server that kills the process of a run at some of the requests of its first cell, and never answers them."""

    def __init__(self, server: ModelsServer) -> None:
        self.process: BaseProcess | None = None
        self.seen = 0
        self.kills: list[int] = []
        server.respond = self.respond

    def respond(self, body: Mapping[str, Any]) -> Reply | None:
        if "input" in body:
            return embeddings(body)
        shows_three = any(THIRD in str(message["content"]) for message in body["messages"])
        if not shows_three:
            self.seen += 1
            if self.seen in self.kills and self.process is not None:
                self.process.kill()
        good = chat(body)
        return replace(good, delay_s=SLOWER_S) if shows_three and not wants_json(body) else good

    def kill(self, words: list[str]) -> None:
        self.process = begun(*words)
        self.process.join(240)
        assert self.process.exitcode == -signal.SIGKILL


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path) -> list[str]:
    asked = ["generator=openai", "generator.model=local:small", "judge=openai", "judge.model=local:small"]
    embedded = ["retriever=semantic", "embedder=openai", "embedder.model=local:small", "judge.health=false"]
    prices = "provider.local.prices.usd_per_million={small:{input:1,output:10}}"
    local = [f"provider.local.base_url={server.url}", prices, "budget.requests=1000", "max_concurrency=2"]
    return [
        "+experiment=full_rag",
        *small_data(tmp_path),
        *asked,
        *embedded,
        *local,
        "k=1,3",
        "sample=2",
        "format=json",
        "tracking=none",
        "evaluation.rubrics=[faithfulness,answer_relevancy]",
    ]


def costs(folder: str) -> list[Any]:
    return [read(f"{folder}/{cell}/summary.json")["cost"] for cell in "01"]


def pareto(folder: str) -> list[tuple[float, list[str]]]:
    found = read(f"{folder}/summary.json")["comparison"]["timing"]["pareto"]
    assert found["cost"] == "usd"
    return [(cell["cost"], cell["dominated_by"]) for cell in found["cells"]]


@pytest.mark.parametrize("kills", [[5], pytest.param([3, 7], marks=pytest.mark.slow)], ids=["once", "twice"])
def test_an_interrupted_sweep_and_a_replayed_one_cost_what_the_whole_one_did(
    kills: list[int], words: list[str], server: ModelsServer
) -> None:
    doomed = Doomed(server)
    assert main([*words, "out=whole", "cache_dir=stored"]) == 0
    asked = list(server.requests)
    doomed.seen, doomed.kills = 0, kills
    for _ in kills:
        doomed.kill([*words, "out=torn", "cache_dir=other"])
    assert main([*words, "out=torn", "cache_dir=other"]) == 0
    assert doomed.seen > max(kills)
    n_asked = server.count
    assert main([*words, "out=replayed", "cache_dir=stored", "cache=replay"]) == 0
    assert server.count == n_asked
    assert [any("unanswered" in use for use in _uses(folder)) for folder in ("whole", "torn")] == [False, True]
    assert pareto("whole") == pareto("torn") == pareto("replayed")
    assert [dominated for _, dominated in pareto("whole")] == [[], ["0"]]
    assert costs("whole") == costs("torn") == costs("replayed")
    assert [row["cost"] for row in rows("whole/0").values()] == [row["cost"] for row in rows("replayed/0").values()]
    _is_own_requests(costs("whole"), [body for body in asked if "messages" in body])


def _is_own_requests(found: list[Any], asked: list[Any]) -> None:
    """An answer, two judgements and the question embedded, at $1 and $10 a million tokens. Where runs and cases share
    a request, each bears it."""
    for cost in found:
        assert cost["cases"] == 2
        assert {role: spent["requests"] for role, spent in cost["roles"].items()} == {
            "embedder": 2, "generator": 2, "judge": 4,
        }  # fmt: skip
        for role in cost["roles"].values():
            assert role["usd"] == pytest.approx((role["input_tokens"] + 10 * role["output_tokens"]) / 1e6)
    usages = [json.loads(chat(body).body)["usage"] for body in asked]
    answered = [usage for body, usage in zip(asked, usages, strict=True) if "response_format" not in body]
    assert len(answered) == 4
    for name, counted in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
        assert sum(cost["roles"]["generator"][name] for cost in found) == sum(usage[counted] for usage in answered)


def _uses(folder: str) -> list[Mapping[str, Any]]:
    found = [read(f"{folder}/{cell}/summary.json")["timing"]["usage"] for cell in "01"]
    return [use for roles in found for models in roles.values() for use in models.values()]
