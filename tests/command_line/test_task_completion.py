"""Traces judged by a model on loopback: what is asked, planned, kept, and told."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.commands.traces import document
from runner.config.compose import compose_cells
from runner.domains.traces.completion import completion_controls
from runner.llm.rubrics import built_in_rubric
from runner.run.planning import plan_cells
from tests.runner.domains.traces.examples import trace
from tests.services.models_replies import completion
from tests.services.models_server import ModelsServer
from tests.small_data import write_jsonl

CONTROLS = len(completion_controls().items)


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path) -> list[str]:
    traces = [trace(asked, [("thought", "hm", None)], objective=asked) for asked in ("Find it", "찾아 줘")]
    write_jsonl(tmp_path / "traces.jsonl", [document(each) for each in traces])
    model = ["judge=openai", "judge.model=local:small", f"provider.local.base_url={server.url}"]
    where = [f"dataset.traces={tmp_path / 'traces.jsonl'}", "tracking=none", "out=o"]
    return ["+experiment=trace_quality", *where, *model]


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("o", "per_item.jsonl").read_text("utf-8").splitlines()]


def test_what_is_asked_is_what_is_planned_and_a_second_run_asks_nothing(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.respond = lambda body: completion(body, json.dumps({"reasoning": "Half of it.", "score": 0.5}))
    planned = plan_cells(compose_cells(words)[1]).total.live
    assert planned == 2 + CONTROLS
    assert main(words) == 0
    assert server.count == planned
    assert [row["metrics"]["task_completion"] for row in rows()] == [0.5, 0.5]
    systems = {str(request["messages"][0]["content"])[:40] for request in server.requests}
    mode = built_in_rubric("task_completion").modes["score"]
    assert systems == {mode.en[:40], mode.ko[:40]}
    report = Path("o", "summary.md").read_text("utf-8")
    assert "| Task Completion (judged) | **0.5000** |" in report
    assert "- **Judge, Task Completion**: Half of it." in report
    assert main([*words, "out=again"]) == 0
    assert server.count == planned


def test_the_budget_holds(words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "budget.requests=3"]) != 0
    assert server.count <= 3
    assert "budget.requests" in capsys.readouterr().err


def test_the_judge_of_words_says_that_it_cannot_judge_it(words: list[str], server: ModelsServer) -> None:
    assert main([word for word in words if "judge" not in word]) == 0
    assert server.count == 0
    summary = json.loads(Path("o", "summary.json").read_text("utf-8"))
    assert "task_completion" not in summary["metrics"] and summary["facts"]["baselines"] == []
    assert "Whether the traces did what they were asked is not judged: this judge compares words" in Path(
        "o", "summary.md"
    ).read_text("utf-8")


def test_a_panel_asks_the_members_that_can(words: list[str], server: ModelsServer) -> None:
    server.respond = lambda body: completion(body, json.dumps({"reasoning": "All of it.", "score": 1.0}))
    members = ["+judge@judge.judges.words=lexical", "~judge.judges.second", "~judge.judges.third"]
    panel = ["judge=panel", "judge.judges.first.model=local:small", *members]
    assert main([*[word for word in words if "judge" not in word], *panel]) == 0
    assert [row["metrics"]["task_completion"] for row in rows()] == [1.0, 1.0]
    assert all("words" not in json.dumps(row["judgements"]) for row in rows())
