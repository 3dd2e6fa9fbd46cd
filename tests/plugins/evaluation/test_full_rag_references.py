"""What is judged by reference answers: of which questions, of which answers, and how often a model is asked."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from plugins.evaluation.full_rag import FullRag
from plugins.generator.given import GivenGenerator
from plugins.judge.lexical import LexicalJudge
from plugins.retriever.given import GivenRetriever
from runner.cli import main
from runner.config.compose import compose_cells
from runner.records import Answer, Query
from runner.run.planning import plan_cells
from runner.system.store import Store
from tests.plugins.evaluation.small_rag import Alphabetical, Data, Judges, Says, full_rag, query, ran, row
from tests.plugins.evaluation.small_retrieval import retrieval
from tests.services.models_replies import Reply, completion
from tests.services.models_server import ModelsServer
from tests.small_data import write_jsonl

SCORES: dict[str, float | None] = {"faithfulness": 0.9, "answer_relevancy": 0.8, "answer_correctness": 0.7}
DECLINED = Answer("There is no answer in the sources.", refused=True)


def judges(**scores: float | None) -> Judges:
    return Judges(**{**SCORES, **scores})


def test_an_answer_is_held_against_the_references(tmp_path: Path) -> None:
    found, _, judge = row(tmp_path, query(answers=("Beta", "the second")), judge=judges())
    assert found.metrics["answer_correctness"] == 0.7
    assert judge.fields["answer_correctness"] == {
        "question": "which?",
        "references": ["Beta", "the second"],
        "answer": "Beta is second. [2]",
        "language": None,
    }
    assert found.judgements["answer_correctness"].reasoning == "because"
    assert found.metrics["contains_answer"] == 1.0


@pytest.mark.parametrize("case", [query(), query(answerable=False, relevance={}, answers=("Beta",))])
def test_nothing_is_asked_without_a_reference_or_an_answer_that_could_be_given(tmp_path: Path, case: Query) -> None:
    found, _, judge = row(tmp_path, case, judge=judges())
    assert "answer_correctness" not in judge.fields
    assert "answer_correctness" not in {*found.metrics, *found.unscored}


def test_an_answer_that_declined_is_wrong_without_asking(tmp_path: Path) -> None:
    found, _, judge = row(tmp_path, query(answers=("Delta",)), answer=DECLINED, judge=judges())
    assert judge.fields == {}
    assert (found.metrics["answer_correctness"], found.metrics["contains_answer"]) == (0.0, 0.0)
    assert found.unscored == () and "answer_correctness" not in found.judgements


def test_a_judgement_that_failed_is_unscored(tmp_path: Path) -> None:
    found, _, _ = row(tmp_path, query(answers=("Beta",)), judge=judges(answer_correctness=None))
    assert (found.metrics["answer_correctness"], found.unscored) == (0.0, ("answer_correctness",))


def test_a_case_that_fails_names_it(tmp_path: Path) -> None:
    class Broken(Says):
        async def generate(self, query: Query, contexts: Any) -> Answer:
            raise ValueError("no model")

    for answers, applies in ((("Beta",), True), ((), False)):
        found = ran(full_rag([query(answers=answers)], Alphabetical(), Broken(DECLINED), judges(), 2), tmp_path)
        assert ({"answer_correctness", "contains_answer"} <= set(found.unscored)) is applies


def test_other_rubrics_are_chosen(tmp_path: Path) -> None:
    judge = Judges(context_precision=0.5, context_recall=1.0)
    found = retrieval(Data(query(answers=("Beta",))), Alphabetical(), k=2)
    chosen = FullRag(
        retrieval=found,
        generator=Says(Answer("Beta.")),
        judge=judge,
        high=0.6,
        rubrics=["context_precision", "context_recall"],
    )
    scored = ran(chosen, tmp_path)
    assert {name: scored.metrics[name] for name in judge.scores} == judge.scores
    assert "faithfulness" not in scored.metrics and "pattern" not in scored.labels
    assert set(judge.fields["context_recall"]) == {"question", "references", "contexts", "language"}
    assert [context.id for context in judge.fields["context_precision"]["contexts"]] == ["a#0", "b#0"]


async def test_its_control_items_are_asked_where_a_question_has_a_reference(tmp_path: Path) -> None:
    for answers, rubrics in (
        ((), ["faithfulness", "answer_relevancy"]),
        (("Beta",), ["faithfulness", "answer_relevancy", "answer_correctness"]),
    ):
        stage = retrieval(Data(query(answers=answers)), GivenRetriever(), k=2)
        evaluation = FullRag(retrieval=stage, generator=GivenGenerator(), judge=LexicalJudge(), high=0.6)
        cases = evaluation.load().cases
        await evaluation.prepare(cases, Store(tmp_path, {id(stage.retriever): "given"}))
        assert list((await evaluation.check_judge())["judge_health"]) == rubrics


# --- through the command line, with a server ----------------------------------------------------------

FIRST = {"answerable": True, "expected_notes": ["x"], "ranking": ["x"], "contexts": ["A ticket costs 8 euros."]}
CASES = [
    {**FIRST, "id": "right", "query": "How much is it?", "answers": ["8 euros"], "answer": "It is 8 euros."},
    {**FIRST, "id": "wrong", "query": "What does it cost?", "answers": ["8 euros"], "answer": "It is 14 euros."},
    {**FIRST, "id": "open", "query": "Is it cheap?", "answer": "Rather."},
    {**FIRST, "id": "declined", "query": "What is its price?", "answers": ["8 euros"], "answer": "I don't know."},
    {"id": "none", "query": "Who sells it?", "answerable": False, "ranking": ["x"], "contexts": [], "answer": "Joe."},
]
CORRECTNESS = "You grade whether an answer is right."


def grades(body: dict[str, Any]) -> Reply:
    return completion(body, json.dumps({"reasoning": "so", "score": 0.2 if "14" in str(body["messages"]) else 0.9}))


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "answers.jsonl", CASES)
    return [
        *("+experiment=full_rag", "retriever=given", "generator=given", "judge=openai", "judge.model=local:grader"),
        *("dataset=jsonl", "dataset.corpus=null", "dataset.queries=answers.jsonl", "tracking=none", "out=run"),
        *("judge.health=false", f"provider.local.base_url={server.url}", "max_failure_rate=1"),
    ]


def test_a_run_asks_what_its_plan_says_and_no_more(words: list[str], server: ModelsServer) -> None:
    """Four cases by two rubrics, two of them by their reference too; the one that declined by none."""
    server.respond = grades
    assert plan_cells(compose_cells(words)[1]).total.live == 10
    assert main(words) == 0
    assert server.count == 10
    summary = json.loads(Path("run/summary.json").read_text("utf-8"))
    correctness = summary["metrics"]["answer_correctness"]
    assert (correctness["value"], correctness["n"]) == (pytest.approx((0.9 + 0.2 + 0) / 3), 3)
    assert summary["metrics"]["contains_answer"]["value"] == pytest.approx(1 / 3)
    assert main(words) == 0
    assert server.count == 10
    report = Path("run/summary.md").read_text("utf-8")
    assert "Judge, Answer Correctness" in report


def test_what_failed_is_asked_again_by_the_same_command(words: list[str], server: ModelsServer) -> None:
    def refuses(body: dict[str, Any]) -> Reply:
        wrong = CORRECTNESS in body["messages"][0]["content"] and "14" in body["messages"][1]["content"]
        return completion(body, None, refusal="No.") if wrong else grades(body)

    server.respond = refuses
    assert main(words) == 0
    rows = {row["id"]: row for row in map(json.loads, Path("run/per_item.jsonl").read_text("utf-8").splitlines())}
    assert {id: row["unscored"] for id, row in rows.items() if row["unscored"]} == {
        "wrong": ["answer_correctness", "right"]
    }
    server.respond, before = grades, server.count
    assert main(words) == 0
    assert server.count == before + 1
    rows = {row["id"]: row for row in map(json.loads, Path("run/per_item.jsonl").read_text("utf-8").splitlines())}
    assert Counter(len(row["unscored"]) for row in rows.values()) == {0: 5}
    assert rows["wrong"]["metrics"]["answer_correctness"] == 0.2
