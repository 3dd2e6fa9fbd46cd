"""Runs whose answers come from a model: what it cites, what it is asked, and what is not asked at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.text.refusals import REFUSAL
from tests.services.models_replies import completion
from tests.services.models_server import ModelsServer
from tests.small_data import CORPUS, QUERIES, small_data, write_jsonl


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path) -> list[str]:
    model = ["generator=openai", "generator.model=local:small", f"provider.local.base_url={server.url}"]
    return [
        "+experiment=full_rag",
        *small_data(tmp_path),
        "retriever=keyword",
        "tracking=none",
        "out=o",
        "format=json",
        *model,
    ]


def summary() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("o/summary.json").read_text(encoding="utf-8"))
    return found


def answering(body: dict[str, Any]) -> Any:
    """[1] for the Moon, a context that is not there for Mars, none for the Sun, and a refusal for the rest."""
    asked = body["messages"][1]["content"].rpartition('name="question">')[2]
    said = {"Moon": "27 days [1].", "red planet": "Mars [9].", "minutes": "Eight minutes."}
    refusal = REFUSAL["ko" if "질문" in body["messages"][0]["content"] else "en"]
    return completion(body, next((text for word, text in said.items() if word in asked), refusal))


def test_what_answers_cite_is_counted(words: list[str], server: ModelsServer) -> None:
    server.respond = answering
    assert main(words) == 0
    found = summary()
    assert found["counts"]["citations"] == {"none": 1, "out_of_range": 1, "valid": 1}
    assert found["timing"]["latency"]["generation"]["n"] == 8
    rows = [json.loads(line) for line in Path("o/per_item.jsonl").read_text(encoding="utf-8").splitlines()]
    outputs = {row["id"]: row["output"] for row in rows}
    assert outputs["q2"]["citations_out_of_range"] == [9]
    declined = {id for id, output in outputs.items() if output["declined"]}
    assert declined == {query["id"] for query in QUERIES} - {"q1", "q2", "q3"}
    empty = [id for id, output in outputs.items() if not output["contexts"]]
    assert server.count == len(QUERIES) - len(empty)  # what found nothing is refused without asking
    assert all(outputs[id]["answer"] in REFUSAL.values() for id in empty)


def test_retrieval_below_what_is_demanded_asks_no_model(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "k=1", "evaluation.require.recall_at_k=1.0", "evaluation.require.precision_at_k=0.5"]) == 0
    asked = server.count
    assert asked > 0
    assert main([*words, "k=3", "evaluation.require.precision_at_k=0.5", "format=both", "out=p"]) == 3
    assert server.count == asked
    assert (
        "evaluation.require: precision_at_k is 0.3333, required: 0.5; no model was asked to answer or to judge"
        in capsys.readouterr().err
    )
    head = json.loads(Path("p/run.json").read_text(encoding="utf-8"))
    assert head["exit_code"] == 3
    found = json.loads(Path("p/summary.json").read_text(encoding="utf-8"))
    assert (found["status"], found["measured"]) == ("failed", "retrieval")
    assert found["cases"] == {"total": 8, "ok": 0, "failed": 0, "timeout": 0, "unscored": 0, "pending": 8}
    assert found["metrics"]["precision_at_k"]["value"] == pytest.approx(1 / 3)
    told = Path("p/summary.md").read_text(encoding="utf-8")
    assert "> **This run ended before its first case, because retrieval does not meet evaluation.require" in told
    assert "> Reason: evaluation.require: precision_at_k is 0.3333, required: 0.5" in told
    assert "The same command" not in told and Path("p/report.html").is_file()


def test_earlier_turns_reach_the_model(words: list[str], server: ModelsServer, tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "나는 화성을 좋아해."}, {"role": "assistant", "content": "그렇군요."}]
    query = {"id": "q", "query": "거기 위성은 몇 개야?", "answerable": True, "expected_notes": ["화성"]}
    write_jsonl(tmp_path / "queries.jsonl", [query | {"history": turns}, query | {"id": "r"}])
    assert main(words) == 0
    first, second = sorted((body["messages"][1]["content"] for body in server.requests), key=len, reverse=True)
    assert "user: 나는 화성을 좋아해." in first and "assistant: 그렇군요." in first
    assert "화성을 좋아해" not in second
    assert str(CORPUS[4]["text"]) in first


def test_another_prompt_is_another_run(words: list[str], server: ModelsServer, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("version: 1\nen: Answer.\nko: 답하라.\n", encoding="utf-8")
    assert main([*words, "sample=2", f"generator.prompt={own}"]) == 0
    asked = server.count
    assert main([*words, "sample=2", f"generator.prompt={own}"]) == 0
    assert server.count == asked
    own.write_text("version: 2\nen: Answer now.\nko: 바로 답하라.\n", encoding="utf-8")
    assert main([*words, "sample=2", f"generator.prompt={own}"]) == 0
    assert server.count == 2 * asked
    assert list(Path("o").glob("per_item.before-*.jsonl"))


def inventing(body: dict[str, Any]) -> Any:
    return completion(body, "It was founded in 1987 [1].")


@pytest.mark.parametrize("min_score", [0.0, 1.0])
def test_a_model_that_invents_answers_declines_nothing_whatever_the_scores_of_hits(
    words: list[str], server: ModelsServer, min_score: float
) -> None:
    server.respond = inventing
    write_jsonl(Path("unanswerable.jsonl"), [{**query, "answerable": False, "expected_notes": []} for query in QUERIES])
    kept = [word for word in words if not word.startswith("dataset.queries")]
    assert main([*kept, "dataset.queries=unanswerable.jsonl", "k=1", f"min_score={min_score}"]) == 0
    found, rows = summary(), Path("o/per_item.jsonl").read_text(encoding="utf-8").splitlines()
    outputs = [json.loads(line)["output"] for line in rows]
    answered = [output for output in outputs if output["contexts"]]  # nothing was found: the generator declines alone
    assert answered and all(output["declined"] is False for output in answered)
    share = (len(outputs) - len(answered)) / len(outputs)
    assert found["metrics"]["unanswerable_recall"]["value"] == pytest.approx(share)
    assert found["metrics"]["retrieval_gate_recall"]["value"] == (1.0 if min_score else pytest.approx(share))


def test_a_system_that_refuses_below_a_score_asks_nothing_and_plans_nothing(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *words, "generator.refuse_below=1.0"]) == 0
    assert "No run of this command calls a model." in "".join(capsys.readouterr())
    assert main([*words, "generator.refuse_below=1.0"]) == 0
    assert server.count == 0
    rows = [json.loads(line) for line in Path("o/per_item.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["output"]["answer"] for row in rows} == set(REFUSAL.values())
    assert all(row["output"]["declined"] and not row["cost"] for row in rows)
    found = summary()["metrics"]
    assert (found["unanswerable_recall"]["value"], found["unanswerable_precision"]["value"]) == (1.0, 0.25)


def test_a_score_to_refuse_below_needs_documents(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    memory = ["+experiment=memory", *[word for word in words if word.startswith(("generator", "provider"))]]
    assert main([*memory, "generator.refuse_below=0.3", "tracking=none", "out=m"]) == 1
    assert "generator.refuse_below: expected null, got 0.3: evaluation=memory looks for no documents" in (
        capsys.readouterr().err
    )
