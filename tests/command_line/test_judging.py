"""Runs that are judged by a model: every request is planned, and controls are asked once for each run."""

import json
from pathlib import Path

import pytest

from runner.cli import main
from runner.config.compose import compose_cells
from runner.llm.controls import controls
from runner.run.planning import plan_cells
from tests.services.models_replies import completion
from tests.services.models_server import ModelsServer, serving_models
from tests.small_data import small_data

CONTROLS = sum(len(control.expected) for control in controls())
BEST = {"score": 1.0, "reasoning": "Right."}


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path) -> list[str]:
    model = ["judge=openai", "judge.model=local:small", f"provider.local.base_url={server.url}"]
    return ["+experiment=full_rag", *small_data(tmp_path), "tracking=none", "format=json", "out=o", *model]


@pytest.mark.parametrize(("cache", "n"), [("use", 3), pytest.param("none", 2, marks=pytest.mark.slow)])
def test_a_sweep_in_waves_asks_what_its_plan_says(cache: str, n: int, words: list[str], server: ModelsServer) -> None:
    rubric = "answer_relevancy"  # the fewest controls
    sweep = [*words, "retriever=keyword", "k=1,2", "budget.requests=1000", f"cache={cache}"]
    sweep += [f"evaluation.rubrics=[{rubric}]", f"sample={n}"]
    planned = plan_cells(compose_cells(sweep)[1]).total.live
    assert main(sweep) == 0
    assert server.count == planned
    totals = [json.loads(Path("o", cell, "summary.json").read_text("utf-8"))["timing"]["usage_total"] for cell in "01"]
    assert sum(total["live"]["requests"] for total in totals) == planned
    if cache == "none":
        assert [total["cached"]["requests"] for total in totals] == [0, 0]
    else:
        asked = sum(rubric in control.expected for control in controls())
        assert totals[1]["cached"]["requests"] >= asked > totals[0]["cached"]["requests"]


def test_controls_are_planned_where_it_is_open_whether_retrieval_is_good_enough(
    words: list[str], server: ModelsServer
) -> None:
    embedded = [*words, "retriever=semantic", "embedder=openai", "embedder.model=local:small"]
    (cell,) = plan_cells(compose_cells([*embedded, "evaluation.require.recall_at_k=1.0", "k=1"])[1]).cells
    judged = sum(expected.live for account, expected in cell.expected.items() if account.role == "judge")
    assert judged >= CONTROLS
    assert server.count == 0


def test_cases_without_a_judgement_count_as_bad_and_not_as_failed(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.respond = lambda body: completion(body, None, refusal="No.")
    assert main([*words, "judge.health=false"]) == 3
    said = capsys.readouterr().err  # the two questions without an answer are refused, and no judge is asked
    assert "full_rag: 8/8 cases, 0 failed, 6 without all scores, " in said
    assert "error: 6 of 8 cases failed or lack a score (75.0%, max_failure_rate is 5.0%)" in said


# --- budgets and stored replies that cannot be used -----------------------------------------------


def test_a_budget_that_the_controls_spend_is_told(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*words, "sample=2"]
    assert main([*words, "budget.requests=5"]) == 3
    assert server.count == 5
    said = capsys.readouterr().err.splitlines()
    assert said[-2:] == [
        "error: budget.requests=5 is spent (5 used) before the first case was done; the judge is first checked with "
        "control items (judge.health=false leaves them out)",
        "not finished; the same command keeps finished cases and runs the rest again (o); raise the budget first",
    ]
    assert main([*words, "budget.requests=5000"]) == 0
    assert json.loads(Path("o", "summary.json").read_text("utf-8"))["cases"]["ok"] == 2


@pytest.mark.parametrize("budget", ["budget.requests=5", pytest.param("budget.tokens=3000", marks=pytest.mark.slow)])
def test_the_end_of_a_sweep_tells_how_to_go_on(
    budget: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["cache=none", "sample=3", "judge.health=false"]
    assert main([*words, "retriever=keyword", "k=1,2", *few, budget]) == 3
    assert capsys.readouterr().err.endswith(" (o); raise the budget first\n")


@pytest.mark.parametrize("cache", ["read", "replay"])
@pytest.mark.parametrize("health", ["true", "false"])
@pytest.mark.parametrize("command", [["plan"], []])
def test_stored_replies_that_are_damaged_are_never_taken_for_none(
    command: list[str],
    health: str,
    cache: str,
    words: list[str],
    server: ModelsServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("stored").mkdir()
    Path("stored", "models.sqlite").write_text("no database at all", encoding="utf-8")
    code = main([*command, *words, "cache_dir=stored", f"cache={cache}", f"judge.health={health}"])
    assert (code, server.count) == (3, 0)
    said = capsys.readouterr()
    *told, error = (said.out + said.err).splitlines()
    assert all(line.startswith("data goes to http://127.0.0.1:") for line in told)
    assert error == (
        "error: stored/models.sqlite: file is not a database; cache=use sets the damaged file aside and "
        "begins a new one"
    )


@pytest.mark.parametrize("command", [[], ["plan"]])
def test_stored_replies_that_are_damaged_are_set_aside_and_that_is_told(
    command: list[str], words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("stored").mkdir()
    Path("stored", "models.sqlite").write_text("no database at all", encoding="utf-8")
    words = [*words, "judge.health=false", "sample=2"]
    assert main([*command, *words, "cache_dir=stored"]) == 0
    note = (
        "note: the stored replies were damaged or of another version, and are now stored/models.damaged; they count "
        "as missing"
    )
    assert capsys.readouterr().err.splitlines().count(note) == 1
    assert Path("stored", "models.damaged").read_text(encoding="utf-8") == "no database at all"
    assert main([*command, *words, "cache_dir=stored"]) == 0
    assert note not in capsys.readouterr().err


def test_a_budget_with_a_damaged_ledger_sends_nothing(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("o").mkdir()
    Path("o", "ledger.sqlite").write_text("no database at all", encoding="utf-8")
    words = [*words, "judge.health=false", "sample=2"]
    assert main([*words, "budget.usd=1"]) == 1
    assert server.count == 0
    assert capsys.readouterr().err.splitlines()[-1] == (
        "error: o/ledger.sqlite: file is not a database; what was spent of budget.usd is unknown; move the file away "
        "to start counting again"
    )
    assert main(words) == 0
    note = "note: o/ledger.sqlite was damaged, and is now o/ledger.damaged; what it counted is not shown"
    assert note in capsys.readouterr().err.splitlines()
    assert Path("o", "ledger.damaged").read_text(encoding="utf-8") == "no database at all"


def test_what_changed_is_told_when_a_run_starts_over(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    def said() -> list[str]:
        assert main([*words, "judge.health=false"]) == 0
        return [line.split(" since ")[0] for line in capsys.readouterr().err.splitlines() if "starting over" in line]

    assert said() == []
    with serving_models() as moved:
        words[-1] = f"provider.local.base_url={moved.url}"
        assert said() == ["starting over: the judge (model, server or prompt) changed"]
        queries = Path("queries.jsonl").read_text(encoding="utf-8")
        Path("queries.jsonl").write_text(queries.replace("red planet?", "red one?"), encoding="utf-8")
        assert said() == ["starting over: the data changed"]
        assert said() == []


# --- judges side by side ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "judges",
    [
        pytest.param("judge=lexical,openai", marks=pytest.mark.slow),
        "judge=openai judge.model=local:small,local:large",
    ],
)
def test_answers_are_made_once_for_all_judges(
    judges: str, server: ModelsServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The larger model gives every answer the highest score."""
    server.respond = lambda body: completion(body, json.dumps(BEST)) if body["model"] == "large" else None
    generator = ["generator=openai", "generator.model=local:writer"]
    local = [f"provider.{name}.base_url={server.url}" for name in ("local", "openai")]
    words = ["+experiment=full_rag", *small_data(tmp_path), *generator, *local, "provider.openai.api_key_env=null"]
    assert main([*words, *judges.split(), "judge.health=false", "retriever=keyword", "tracking=none", "out=o"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    written = [body for body in server.requests if body["model"] == "writer"]
    assert len(written) == 7  # the eighth question finds nothing, and no generator is asked
    found = json.loads(Path("o/summary.json").read_text("utf-8"))["comparison"]
    assert found["judges"][0]["n"] == 7  # the refusal is not judged
    assert {rubric["name"] for rubric in found["judges"][0]["rubrics"]} >= {"faithfulness", "answer_relevancy"}
    assert found["timing"]["pareto"] is None
    assert [entry["name"] for entry in found["metrics"] if not entry["same"]] == []
    assert "Judges side by side" in shown and "python -m runner calibrate LABELS.jsonl judge=openai" in shown
    assert "no main metric" not in shown and "Correct, because" not in shown
    if "large" in judges:
        rubrics = {rubric["name"]: rubric for rubric in found["judges"][0]["rubrics"]}
        assert rubrics["faithfulness"]["means"]["1"] == 1.0
        assert rubrics["faithfulness"]["beside"][0]["bias"] > 0
