"""Runs in which models search: an agent that calls tools and a reranker, with fallbacks, plans, budgets and caches."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.services.models_replies import Reply, completion
from tests.services.models_server import ModelsServer
from tests.small_data import QUERIES, small_data

WORDS = ("Moon", "red planet", "minutes", "달은", "붉은", "태양의")


def searching(body: dict[str, Any]) -> Reply:
    """Five searches at once, and again while tools are offered; nothing is ever enough. What is asked of space is
    nearly there, the rest is not."""
    asked = body["messages"][1]["content"].partition('name="question">\n')[2].partition("\n")[0]
    if "tools" in body:
        if "search_all" not in [tool["function"]["name"] for tool in body["tools"]]:
            return completion(body, None, calls=[("finish", '{"sufficient": false, "confidence": 0.5}')])
        queries = [asked, *(f"{asked} {number}" for number in range(4))]
        return completion(
            body, None, calls=[("search_all", json.dumps({"query": query}, ensure_ascii=False)) for query in queries]
        )
    told = {"ranked_indices": [1], "is_sufficient": False, "missing": ["more"], "next_action": None}
    confidence = 0.7 if any(word in asked for word in WORDS) else 0.2
    return completion(body, json.dumps({**told, "refined_query": None, "confidence": confidence}))


def finishing(body: dict[str, Any]) -> Reply:
    """No search at all."""
    if "tools" in body:
        return completion(body, None, calls=[("finish", '{"sufficient": true, "confidence": 0.9}')])
    return searching(body)


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path) -> list[str]:
    server.respond = searching
    chosen = ["retriever=agentic", "agent=pydantic_ai", "reranker=openai"]
    local = ["agent.model=local:a", "reranker.model=local:r", f"provider.local.base_url={server.url}"]
    return ["+experiment=full_rag", *small_data(tmp_path), *chosen, *local, "tracking=none", "embedder.dim=4"]


def read(folder: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    rows = [json.loads(line) for line in Path(folder, "per_item.jsonl").read_text(encoding="utf-8").splitlines()]
    summary = json.loads(Path(folder, "summary.json").read_text(encoding="utf-8"))
    return summary, {row["id"]: row["output"] for row in rows}


def test_three_calls_for_each_question_and_an_answer(words: list[str], server: ModelsServer) -> None:
    assert main([*words, "out=o"]) == 0
    summary, outputs = read("o")
    n = len(QUERIES)
    assert all(len(output["trajectory"]["calls"]) == 3 for output in outputs.values())
    assert {id: output["trajectory"]["fallback"] for id, output in outputs.items()} == {
        "q1": "best_effort",
        "q2": "best_effort",
        "q3": "best_effort",
        "q4": "not_found",
        "질5": "best_effort",
        "질6": "best_effort",
        "질7": "best_effort",
        "질8": "not_found",
    }
    assert outputs["질8"]["answer"].startswith("관련 문서를 찾지 못했습니다.")
    assert outputs["q4"]["answer"].startswith("No related documents were found.")
    assert outputs["q1"]["answer"] and not outputs["q1"]["declined"]
    assert outputs["q1"]["trajectory"]["facts"] == {"requests": 2, "calls_refused": 2}
    agent = summary["agent"]
    assert (agent["n"], agent["calls"], agent["tools"]) == (n, {"3": n}, {"search_all": 3 * n})
    assert agent["fallbacks"]["not_found"] == {"n": 2, "answerable": 0, "unanswerable": 2}
    assert summary["metrics"]["tool_calls"]["value"] == 3.0
    assert summary["metrics"]["sufficiency_recall"]["value"] == 0.0
    assert summary["metrics"]["unanswerable_f1"]["value"] == 1.0
    assert summary["counts"]["fallback"] == {"best_effort": 6, "not_found": 2}
    usage = summary["timing"]["usage"]
    assert usage["agent"]["local:a"]["live"]["requests"] == 2 * n
    assert (
        usage["reranker"]["local:r"]["live"]["requests"] + usage["reranker"]["local:r"]["cached"]["requests"] == 3 * n
    )
    tokens = sum(step["n"] * (step["input_tokens"] + step["output_tokens"]) for step in agent["steps"])
    spent = [part for source in ("live", "cached") for part in [summary["timing"]["usage_total"][source]]]
    assert tokens == pytest.approx(sum(part["input_tokens"] + part["output_tokens"] for part in spent))
    told = Path("o/summary.md").read_text(encoding="utf-8")
    assert "## What the agent did" in told and "| the best answer from the results so far | 6 | 75.0% | 6 | 0 |" in told
    assert "- **What the agent did**:\n  - 1\\. search_all(query=“" in told
    assert "\n  - 2\\. search_all(query=“" in told
    assert "Gain of each call" in Path("o/report.html").read_text(encoding="utf-8")


def test_a_plan_leaves_nothing_for_the_run_to_believe(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    words += ["sample=2", "format=json"]
    assert main(["plan", *words]) == 0
    assert server.count == 0
    told = capsys.readouterr().out
    assert "agent" in told and "reranker" in told
    assert main([*words, "out=o"]) == 0
    assert server.count > 0
    assert all(len(output["trajectory"]["calls"]) == 3 for output in read("o")[1].values())


def test_the_cache_answers_a_second_run(words: list[str], server: ModelsServer) -> None:
    words += ["sample=2", "format=json"]
    assert main([*words, "out=o"]) == 0
    asked = server.count
    assert main([*words, "out=p", "cold_start=true", "cache=replay"]) == 0
    assert server.count == asked
    (first, outputs), (second, again) = read("o"), read("p")
    assert again == outputs
    assert second["agent"] == first["agent"]


def test_refresh_asks_agents_anew_once_in_a_sweep(words: list[str], server: ModelsServer) -> None:
    """What is stored then takes the place of what was stored before."""
    words += ["sample=2", "format=json"]
    assert main([*words, "out=o"]) == 0
    asked = server.count
    assert main([*words, "out=p"]) == 0
    assert server.count == asked
    assert main([*words, "out=q", "cache=refresh"]) == 0
    assert server.count == 2 * asked
    assert main([*words, "out=q", "cache=refresh"]) == 0  # the same run, gone on with
    assert server.count == 2 * asked
    server.respond = finishing
    assert main([*words, "out=r", "cache=refresh"]) == 0
    anew = server.count
    assert main([*words, "out=s"]) == 0
    assert server.count == anew
    (old, _), (first, _), (second, latest), (third, again) = (read(folder) for folder in "oqrs")
    assert first["agent"]["calls"] == old["agent"]["calls"]
    assert second["agent"]["calls"] != old["agent"]["calls"]
    assert (third["agent"], again) == (second["agent"], latest)
    assert (second["timing"]["rankings_reused"], third["timing"]["rankings_reused"]) == (False, True)


def test_a_plan_of_a_refresh_counts_the_requests_of_agents(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    words += ["sample=2", "format=json"]
    assert main(["plan", *words]) == 0
    first = capsys.readouterr().out
    assert main([*words, "out=o"]) == 0
    capsys.readouterr()
    assert main(["plan", *words, "cache=refresh"]) == 0
    again = capsys.readouterr().out
    assert [line for line in again.splitlines() if "local:" in line] == [
        line for line in first.splitlines() if "local:" in line
    ]


def test_a_budget_ends_the_run_with_one_line(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "out=o", "budget.requests=5"]) == 3
    assert server.count == 5
    assert "budget.requests=5 is spent" in capsys.readouterr().err
