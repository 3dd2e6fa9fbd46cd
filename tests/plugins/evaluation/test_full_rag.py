"""Where a question is lost, from what was found for it and what was answered."""

from pathlib import Path
from typing import Literal

import pytest

from runner.records import Answer, Context, Given, Query
from tests.plugins.evaluation.small_rag import TEXTS, Judges, query, row


def test_a_right_answer(tmp_path: Path) -> None:
    found, generator, judge = row(tmp_path, query(answers=("Beta is second. [2]",)))
    metrics = found.metrics
    assert (metrics["recall_at_k"], metrics["precision_at_k"], metrics["mrr"], metrics["mrr_at_1"]) == (1, 0.5, 0.5, 0)
    assert (metrics["faithfulness"], metrics["answer_relevancy"]) == (0.9, 0.8)
    assert (metrics["exact_match"], metrics["token_f1"]) == (1, 1)
    assert found.labels == {
        "answerability": "true_negative",
        "retrieval_gate": "true_negative",
        "lost_at": "none",
        "pattern": "ideal",
        "cross": "retrieval_high_generation_high",
        "citations": "valid",
    }
    assert [context.id for context in generator.contexts] == ["a#0", "b#0"]
    assert set(judge.fields["answer_relevancy"]) == {"question", "answer", "language"}
    assert [context.text for context in judge.fields["faithfulness"]["contexts"]] == [TEXTS["a"], TEXTS["b"]]
    assert found.output["retrieved"][1] == {"id": "b", "chunk": "b#0", "title": "B", "score": 2.0, "relevance": 0.6}


@pytest.mark.parametrize(("on_failure", "value"), [("zero", 0.0), ("exclude", None)])
def test_a_failed_judgement_counts_as_told_and_is_always_reported(
    tmp_path: Path, on_failure: Literal["zero", "exclude"], value: float | None
) -> None:
    judge = Judges(on_failure, faithfulness=None, answer_relevancy=1.0)
    found, _, _ = row(tmp_path, query(), judge=judge)
    assert found.metrics["faithfulness"] == value
    assert found.unscored == ("faithfulness",)
    assert found.judgements["faithfulness"].error == "no JSON"
    assert "pattern" not in found.labels  # what a judge did not say tells nothing about the answer
    assert found.labels["lost_at"] == "none"


@pytest.mark.parametrize(
    ("case", "k", "answer", "lost_at"),
    [
        (query(relevance={"c": 1}), 2, None, "below_k"),
        (query(text="nothing"), 2, None, "not_retrieved"),
        (query(relevance={"elsewhere": 1}), 2, None, "not_in_corpus"),
        (query(), 2, Answer("No answer here.", refused=True), "refused_answerable"),
        (query(answers=("Delta",)), 2, None, "wrong_answer"),
        (query(answerable=False, relevance={}), 2, None, "answered_unanswerable"),
        (query(answerable=False, relevance={}, text="nothing"), 2, None, "answered_unanswerable"),
        (query(answerable=False, relevance={}), 2, Answer("No answer here.", refused=True), "none"),
    ],
)
def test_where_a_question_is_lost(tmp_path: Path, case: Query, k: int, answer: Answer | None, lost_at: str) -> None:
    assert row(tmp_path, case, k=k, answer=answer)[0].labels["lost_at"] == lost_at


@pytest.mark.parametrize("min_score", [0.0, 1.0])
def test_the_delivered_answer_decides_whatever_min_score_says(tmp_path: Path, min_score: float) -> None:
    declined = row(tmp_path, query(), answer=Answer("No answer here.", refused=True), min_score=min_score)[0]
    assert (declined.labels["answerability"], declined.labels["lost_at"]) == ("false_positive", "refused_answerable")
    assert declined.output["declined"] is True
    assert row(tmp_path, query(answers=("Beta",)), min_score=min_score)[0].labels["lost_at"] == "none"
    made_up = row(tmp_path, query(answerable=False, relevance={}), min_score=min_score)[0]
    assert (made_up.labels["answerability"], made_up.labels["lost_at"]) == ("false_negative", "answered_unanswerable")
    assert made_up.metrics["unanswerable_recall"] == 0.0
    assert made_up.output["declined"] is False


@pytest.mark.parametrize(
    ("min_score", "answerable", "gate", "recall"),
    [(0.0, False, "false_negative", 0), (1.0, False, "true_positive", 1), (1.0, True, "false_positive", None)],
)
def test_what_min_score_would_have_said_is_counted_beside_the_answer(
    tmp_path: Path, min_score: float, answerable: bool, gate: str, recall: float | None
) -> None:
    case = query(answerable=answerable, relevance={"b": 1} if answerable else {})
    found = row(tmp_path, case, min_score=min_score)[0]
    assert (found.labels["retrieval_gate"], found.metrics["retrieval_gate_recall"]) == (gate, recall)
    assert found.metrics["retrieval_gate_precision"] == {"true_positive": 1, "false_positive": 0}.get(gate)
    assert found.weights == ({"retrieval_gate_f1": 2.0} if gate == "true_positive" else {})


@pytest.mark.parametrize(
    ("text", "declined"),
    [
        ("문서에 해당 내용이 없습니다.", True),
        ("확인되지 않습니다.", True),
        ("I could not find this in the documents.", True),
        ("환불 수수료는 없습니다.", False),
    ],
)
def test_a_text_that_refuses_declines_whether_its_generator_says_so_or_not(
    tmp_path: Path, text: str, declined: bool
) -> None:
    case = query(text="환불 수수료는 얼마인가요?", answerable=False, relevance={})
    found = row(tmp_path, case, answer=Answer(text))[0]
    assert (found.output["declined"], found.metrics["unanswerable_recall"]) == (declined, float(declined))


def test_what_counts_for_an_answer_is_what_its_generator_saw(tmp_path: Path) -> None:
    given = Given(contexts=(Context("a", "Alpha is first."), Context("c", "Gamma is third.")))
    found, _, _ = row(tmp_path, query(given=given, answers=("Delta",)))
    assert (found.metrics["recall_at_k"], found.labels["lost_at"]) == (1, "below_k")
    texts = Given(contexts=(Context("context-1", "Beta is second."),))  # nobody knows of which documents they are
    found, _, _ = row(tmp_path, query(given=texts, answers=("Delta",)))
    assert found.labels["lost_at"] not in ("none", "below_k")


def test_a_right_refusal_is_no_failure_of_generation(tmp_path: Path) -> None:
    judge = Judges(faithfulness=0.5, answer_relevancy=0.0)
    case = query(answerable=False, relevance={})
    found, _, _ = row(tmp_path, case, answer=Answer("None.", refused=True), judge=judge)
    assert set(found.labels) == {"answerability", "retrieval_gate", "lost_at"}


def test_unanswerable_questions_leave_the_ranking_metrics(tmp_path: Path) -> None:
    found, _, _ = row(tmp_path, query(answerable=False, relevance={}), answer=Answer("None.", refused=True))
    assert found.metrics["recall_at_k"] is None and found.unscored == ()
    assert found.metrics["unanswerable_precision"] == found.metrics["unanswerable_recall"] == 1
    assert found.weights == {"unanswerable_f1": 2.0}


def test_a_query_that_finds_nothing_scores_zero_and_counts_as_what_was_answered(tmp_path: Path) -> None:
    found, _, _ = row(tmp_path, query(text="nothing"))
    assert (found.metrics["recall_at_k"], found.metrics["mrr"]) == (0, 0)
    assert (found.labels["answerability"], found.labels["retrieval_gate"]) == ("true_negative", "false_positive")
