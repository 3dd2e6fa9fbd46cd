"""The agent of pydantic-ai against a real server: how many tools run, its verdict, and what it costs."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plugins.agent.pydantic_ai import MORE_REQUESTS, SPENT, PydanticAiAgent
from plugins.reranker.none import NoReranker
from runner.errors import InputError, install_command
from runner.llm.rehearsal import Rehearsal
from runner.records import Query, Trajectory, Turn
from tests.plugins.agent.scripted_models import (
    ENOUGH,
    LACKING,
    QUESTION,
    VERDICT,
    Call,
    Script,
    asked,
    run,
    search,
    toolbox,
)
from tests.services.doors import models
from tests.services.models_server import ModelsServer

# --- at most three calls --------------------------------------------------------------------------


@pytest.mark.parametrize(("a_turn", "requests", "refused"), [(1, 4, 0), (2, 3, 1), (5, 2, 2)])
def test_exactly_three_calls_run_however_many_come_in_a_turn(
    a_turn: int, requests: int, refused: int, server: ModelsServer, tmp_path: Path
) -> None:
    def turn(n: int, offered: Sequence[str]) -> Sequence[Call]:
        if "search_all" not in offered:
            return [VERDICT]
        return [search(f"비용 {n * a_turn + place}") for place in range(a_turn)]

    server.respond = Script(turn)
    found = run(models(server.url, tmp_path), tmp_path)
    assert [call.arguments["query"] for call in found.calls] == ["비용 0", "비용 1", "비용 2"]
    assert all(call.found for call in found.calls)
    assert (found.stopped, found.fallback, found.message) == ("calls_spent", "best_effort", None)
    assert found.confidence == 0.7
    assert found.facts == {"requests": requests, **({"calls_refused": refused} if refused else {})}
    last = asked(server)[-1]
    assert [tool["function"]["name"] for tool in last["tools"]] == ["finish"]  # the tools are hidden
    answers = [message["content"] for message in last["messages"] if message["role"] == "tool"]
    assert answers.count(SPENT["ko"]) == refused


def test_a_model_that_goes_on_asking_is_stopped(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = Script(lambda n, offered: [search(f"비용 {n}")])  # offered or not
    found = run(models(server.url, tmp_path), tmp_path)
    assert len(found.calls) == 3
    assert len(asked(server)) <= 3 + MORE_REQUESTS
    assert (found.stopped, found.fallback) == ("calls_spent", "best_effort")
    assert found.facts["error"]


def test_what_it_is_told_of_a_call(server: ModelsServer, tmp_path: Path) -> None:
    rerank = {**LACKING, "next_action": "search_again", "refined_query": "예약 인스턴스 구매"}
    server.respond = Script(lambda n, offered: [VERDICT] if n else [search("EC2")], rerank)
    run(models(server.url, tmp_path), tmp_path)
    first, second = asked(server)
    assert first["messages"][0]["role"] == "system"
    assert "도구는 모두 합해 3번까지" in first["messages"][0]["content"]
    assert 'name="question">\nEC2 비용 줄이는 방법?' in first["messages"][1]["content"]
    assert [tool["function"]["name"] for tool in first["tools"]] == [
        "search_all",
        "search_by_metadata",
        "get_section",
        "finish",
    ]
    told = second["messages"][-1]["content"]
    for text in (
        'name="results" number="1">\n# (id: faq#0)\nEC2 비용은',
        "sufficient: false\nconfidence: 0.70\nmissing: 절차\nadvice: search_again\nrefined_query: 예약 인스턴스 구매",
        'name="calls_left">\n2',
    ):
        assert text in told


def test_it_stops_when_it_has_enough(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = Script(lambda n, offered: [VERDICT] if n else [search("비용")], dict(ENOUGH))
    found = run(models(server.url, tmp_path), tmp_path)
    assert len(found.calls) == 1
    assert (found.stopped, found.fallback, found.confidence) == ("sufficient", None, 0.9)


def test_other_tools(server: ModelsServer, tmp_path: Path) -> None:
    calls = [
        ("get_section", '{"chunk_id": "guide#1"}'),
        ("search_by_metadata", '{"query": "예약", "has_steps": false}'),
        VERDICT,
    ]
    server.respond = Script(lambda n, offered: [calls[n]])
    found = run(models(server.url, tmp_path), tmp_path)
    assert [call.tool for call in found.calls] == ["get_section", "search_by_metadata"]
    assert found.calls[0].found == ("guide#0", "guide#1", "guide#2")
    assert found.calls[1].arguments == {"query": "예약", "has_steps": False}
    assert found.stopped == "nothing_new"


# --- its own verdict, prompts, what it costs ------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "stopped", "fallback"),
    [
        ('{"sufficient": true, "confidence": 0.8}', "sufficient", None),
        ('{"sufficient": false, "confidence": 0.6, "missing": ["금액"]}', "nothing_new", "best_effort"),
        ('{"sufficient": false, "confidence": 0.1}', "nothing_new", "not_found"),
    ],
)
def test_its_verdict_counts_where_the_reranker_only_orders(
    verdict: str, stopped: str, fallback: str | None, server: ModelsServer, tmp_path: Path
) -> None:
    server.respond = Script(lambda n, offered: [("finish", verdict)] if n else [search("비용")])
    found = run(models(server.url, tmp_path), tmp_path, reranker=NoReranker())
    assert (found.stopped, found.fallback) == (stopped, fallback)
    assert found.confidence == json.loads(verdict)["confidence"]
    assert found.calls[-1].assessment.missing == tuple(json.loads(verdict).get("missing", ()))


def test_a_verdict_that_is_none_is_asked_for_again(server: ModelsServer, tmp_path: Path) -> None:
    turns: list[Sequence[Call]] = [[search("비용")], [("finish", '{"sufficient": true, "confidence": 7}')], [VERDICT]]
    server.respond = Script(lambda n, offered: turns[n])
    assert run(models(server.url, tmp_path), tmp_path, reranker=NoReranker()).confidence == 0.8
    assert "less than or equal to 1" in asked(server)[-1]["messages"][-1]["content"]


def test_an_english_conversation(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = Script(lambda n, offered: "Done." if n else [search("EC2")], dict(ENOUGH))
    question = Query("q", "And in January?", True, {}, history=(Turn("user", "What did EC2 cost in November?"),))
    run(models(server.url, tmp_path), tmp_path, question=question)
    system, user = asked(server)[0]["messages"]
    assert "at most 3 calls in all" in system["content"]
    assert 'name="history" number="1">\nuser: What did EC2 cost in November?' in user["content"]
    assert asked(server)[0]["tools"][0]["function"]["description"].startswith("Searches all documents")


def test_steps_are_charged_with_what_they_cost(server: ModelsServer, tmp_path: Path) -> None:
    prices = {"usd_per_million": {"*": {"input": 1.0, "output": 10.0}}}
    server.respond = Script(lambda n, offered: [search(f"비용 {n}")] if n < 2 else [VERDICT])

    async def both() -> tuple[Trajectory, dict[str, Any]]:
        door = models(server.url, tmp_path, provider_prices=prices)
        async with door.open("0"):
            found = await asyncio.to_thread(run, door, tmp_path)
        return found, dict(door.usage("0"))

    found, usage = asyncio.run(both())
    assert set(usage["usage"]) == {"agent", "reranker"}
    live = usage["usage_total"]["live"]
    assert sum(call.input_tokens for call in found.calls) == live["input_tokens"]
    assert sum(call.output_tokens for call in found.calls) == live["output_tokens"]
    assert sum(call.cost_usd or 0 for call in found.calls) == pytest.approx(live["usd"])
    assert all(call.input_tokens for call in found.calls)


def test_the_same_question_is_answered_from_the_cache(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = Script(lambda n, offered: [search(f"비용 {n}")] if n < 2 else [VERDICT])
    first = run(models(server.url, tmp_path), tmp_path)
    n = server.count
    assert run(models(server.url, tmp_path), tmp_path) == first
    assert server.count == n


def test_a_plan_counts_one_call_and_its_assessment(tmp_path: Path) -> None:
    door, rehearsal = models("http://127.0.0.1:9/v1", tmp_path), Rehearsal()
    with door.rehearsing(rehearsal, "0"):
        found = run(door, tmp_path)
    assert [call.arguments["query"] for call in found.calls] == [QUESTION.text]
    assert {account.role: expected.live for account, expected in rehearsal.expected.items()} == {
        "agent": 2,
        "reranker": 1,
    }


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    agent = PydanticAiAgent(models=models("http://127.0.0.1:9/v1", tmp_path), model="test:a")
    (problem,) = agent.preflight()
    assert "agent=pydantic_ai needs the package pydantic-ai-slim" in problem.message
    assert install_command("agent") in problem.message
    with pytest.raises(InputError, match="needs the package"):
        agent.run(QUESTION, toolbox(tmp_path, NoReranker()))


def test_provenance(tmp_path: Path) -> None:
    door = models("http://127.0.0.1:9/v1", tmp_path)
    told = PydanticAiAgent(models=door, model="test:a").provenance
    assert set(told) == {"model", "url", "prompt", "pydantic_ai"}
    own = tmp_path / "agent.yaml"
    own.write_text("version: 1\nen: Look.\n", encoding="utf-8")
    assert PydanticAiAgent(models=door, model="test:a", prompt=str(own)).provenance["prompt"] != told["prompt"]


def test_an_english_question_about_nothing(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = Script(lambda n, offered: "Nothing." if n else [search("zebra")])
    found = run(models(server.url, tmp_path), tmp_path, question=replace(QUESTION, text="Zebra?", language="en"))
    assert (found.fallback, found.message) == ("not_ready", "Not ready yet.")
