"""Where a question is lost, from what was found for it and what was answered."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from plugins.retriever.given import GivenRetriever
from runner.errors import EvaluationError
from runner.records import Answer, Context, GivenResults, Query, Ranking
from runner.run.engine import run_case
from runner.system.store import Store
from tests.plugins.evaluation.small_rag import TEXTS, Alphabetical, Judges, Says, full_rag, query, ran, row


def test_a_right_answer(tmp_path: Path) -> None:
    found, generator, judge = row(tmp_path, query(answers=("Beta is second. [2]",)))
    metrics = found.metrics
    assert (metrics["recall_at_k"], metrics["precision_at_k"], metrics["mrr"], metrics["mrr_at_1"]) == (1, 0.5, 0.5, 0)
    assert (metrics["faithfulness"], metrics["answer_relevancy"]) == (0.9, 0.8)
    assert (metrics["exact_match"], metrics["token_f1"]) == (1, 1)
    assert found.labels == {
        "answerability": "true_negative",
        "retrieval_gate": "true_negative",
        "right_by": "reference",
        "lost_at": "none",
        "pattern": "ideal",
        "cross": "retrieval_high_generation_high",
        "citations": "valid",
    }
    assert [context.id for context in generator.contexts] == ["a#0", "b#0"]
    assert set(judge.fields["answer_relevancy"]) == {"question", "answer", "language"}
    assert [context.text for context in judge.fields["faithfulness"]["contexts"]] == [TEXTS["a"], TEXTS["b"]]
    assert found.output["retrieved"][1] == {"id": "b", "chunk": "b#0", "title": "B", "score": 2.0, "relevance": 0.6}


class Unwalked(dict):
    """Records by id, of which one may be looked up and all may not be walked."""

    def __iter__(self):
        raise AssertionError("a step of a case walks the corpus")

    keys = values = items = __iter__


@pytest.mark.parametrize("gold", ["b", "elsewhere"])
def test_no_step_of_a_case_walks_the_corpus(tmp_path: Path, gold: str) -> None:
    """Where it is as large as here, nobody would notice; at 100,000 documents it is half of the time of a case."""
    case = query(relevance={gold: 1}, expected_chunks=("b#0",), answers=("Delta",))
    evaluation = full_rag(
        [case], Alphabetical(), Says(Answer("Beta.")), Judges(faithfulness=0.9, answer_relevancy=0.8), 2
    )
    cases = evaluation.load().cases
    asyncio.run(evaluation.prepare(cases, Store(tmp_path, {id(evaluation.retrieval.retriever): "alphabetical"})))
    corpus = replace(evaluation.retrieval.corpus)
    vars(corpus).update(document_by_id=Unwalked(corpus.document_by_id), chunk_by_id=Unwalked(corpus.chunk_by_id))
    evaluation.retrieval.corpus = corpus
    row = asyncio.run(run_case(evaluation, cases[0], 60))
    assert (row.status, row.error) == ("ok", None)
    assert row.labels["lost_at"] == ("wrong_answer" if gold == "b" else "not_in_corpus")


@pytest.mark.parametrize(("on_failure", "value"), [("zero", 0.0), ("exclude", None)])
def test_a_failed_judgement_counts_as_told_and_is_always_reported(
    tmp_path: Path, on_failure: Literal["zero", "exclude"], value: float | None
) -> None:
    judge = Judges(on_failure, faithfulness=None, answer_relevancy=1.0)
    found, _, _ = row(tmp_path, query(), judge=judge)
    assert found.metrics["faithfulness"] == value
    assert found.unscored == ("faithfulness", "right")
    assert found.judgements["faithfulness"].error == "no JSON"
    assert "pattern" not in found.labels  # what a judge did not say tells nothing about the answer
    assert (found.metrics["right"], found.labels["right_by"]) == (None, "not_judged")
    assert "lost_at" not in found.labels


@pytest.mark.parametrize(
    ("case", "k", "answer", "lost_at"),
    [
        (query(relevance={"c": 1}, answers=("Delta",)), 2, None, "below_k"),
        (query(text="nothing", answers=("Delta",)), 2, None, "not_retrieved"),
        (query(relevance={"elsewhere": 1}, answers=("Delta",)), 2, None, "not_in_corpus"),
        (query(relevance={"c": 1}), 2, None, "none"),  # the judge approves, whatever it was answered from
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
    given = GivenResults(contexts=(Context("a", "Alpha is first."), Context("c", "Gamma is third.")))
    found, _, _ = row(tmp_path, query(given=given, answers=("Delta",)))
    assert (found.metrics["recall_at_k"], found.labels["lost_at"]) == (1, "below_k")
    texts = GivenResults(
        contexts=(Context("context-1", "Beta is second."),)
    )  # nobody knows of which documents they are
    found, _, _ = row(tmp_path, query(given=texts, answers=("Delta",)))
    assert found.labels["lost_at"] not in ("none", "below_k")


def test_a_right_refusal_is_no_failure_of_generation(tmp_path: Path) -> None:
    judge = Judges(faithfulness=0.5, answer_relevancy=0.0)
    case = query(answerable=False, relevance={})
    found, _, _ = row(tmp_path, case, answer=Answer("None.", refused=True), judge=judge)
    assert set(found.labels) == {"answerability", "retrieval_gate", "right_by", "lost_at", "answer"}
    assert found.metrics["right"] == 1.0


def test_unanswerable_questions_leave_the_ranking_metrics(tmp_path: Path) -> None:
    found, _, _ = row(tmp_path, query(answerable=False, relevance={}), answer=Answer("None.", refused=True))
    assert found.metrics["recall_at_k"] is None and found.unscored == ()
    assert found.metrics["unanswerable_precision"] == found.metrics["unanswerable_recall"] == 1
    assert found.weights == {"unanswerable_f1": 2.0}


def test_a_query_that_finds_nothing_scores_zero_and_counts_as_what_was_answered(tmp_path: Path) -> None:
    found, _, _ = row(tmp_path, query(text="nothing"))
    assert (found.metrics["recall_at_k"], found.metrics["mrr"]) == (0, 0)
    assert (found.labels["answerability"], found.labels["retrieval_gate"]) == ("true_negative", "false_positive")


# --- right or wrong -------------------------------------------------------------------------------


class Model(Judges):
    baseline = False


@pytest.mark.parametrize(
    ("scores", "answers", "right", "by"),
    [
        ({"answer_correctness": 0.7}, ("Delta",), 1.0, "correctness"),  # a model knows better than the matcher
        ({"answer_correctness": 0.6}, ("Beta",), 0.0, "correctness"),  # not above `high`
        ({"answer_correctness": None}, ("Beta",), None, "not_judged"),
        ({}, (), 1.0, "stand_in"),
        ({"faithfulness": 0.6}, (), 0.0, "stand_in"),
        ({"faithfulness": None}, (), None, "not_judged"),
    ],
)
def test_a_model_decides_by_the_known_answers(
    tmp_path: Path, scores: dict[str, float | None], answers: tuple[str, ...], right: float | None, by: str
) -> None:
    judge = Model(**{"faithfulness": 0.9, "answer_relevancy": 0.8, **scores})
    found, _, _ = row(tmp_path, query(answers=answers), judge=judge)
    assert (found.metrics["right"], found.labels["right_by"]) == (right, by)


@pytest.mark.parametrize(("answerable", "refused"), [(True, True), (False, False), (False, True)])
def test_declining_is_right_where_there_is_no_answer(tmp_path: Path, answerable: bool, refused: bool) -> None:
    case = query(answerable=answerable, relevance={"b": 1} if answerable else {}, answers=("Beta",) * answerable)
    found, _, _ = row(
        tmp_path,
        case,
        answer=Answer("I cannot say." if refused else "Beta, I think.", refused=refused),
        judge=Model(faithfulness=1.0, answer_relevancy=1.0, answer_correctness=1.0),
    )
    by = "declined" if refused else "answered"
    assert (found.metrics["right"], found.labels["right_by"]) == (float(refused and not answerable), by)


class Breaks(Says):
    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        raise EvaluationError("gone")


class FindsNothing(Alphabetical):
    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        raise EvaluationError("no index")


def test_a_case_whose_generator_failed_keeps_what_was_found_for_it(tmp_path: Path) -> None:
    failed = ran(full_rag([query()], Alphabetical(), Breaks(Answer("")), Judges(), 2), tmp_path / "a")
    answered = row(tmp_path / "b", query())[0]
    assert failed.status == "failed"
    assert "recall_at_k" in failed.metrics
    assert failed.metrics.items() <= answered.metrics.items()
    assert set(failed.unscored) == {"right", "faithfulness", "answer_relevancy"}
    assert not failed.labels


def test_a_case_that_could_not_be_ranked_is_not_scored(tmp_path: Path) -> None:
    failed = ran(full_rag([query()], FindsNothing(), Says(Answer("")), Judges(), 2), tmp_path)
    assert not failed.metrics
    assert {"right", "recall_at_k", "faithfulness"} <= set(failed.unscored)


def test_faithfulness_to_texts_that_nobody_knows_is_not_judged(tmp_path: Path) -> None:
    """A ranking of ids, without contexts and without a corpus that has them."""
    retriever = GivenRetriever()
    judge = Judges(faithfulness=0.0, answer_relevancy=1.0)
    case = query(relevance={"x": 1}, given=GivenResults(ranking=(("x", 1.0), ("y", 0.5))))
    evaluation = full_rag([case], retriever, Says(Answer("Beta is second.")), judge, 2)
    found = ran(evaluation, tmp_path)
    assert found.metrics["recall_at_k"] == 1
    assert "faithfulness" not in found.metrics
    assert "faithfulness" not in found.unscored
    assert (found.metrics["right"], found.labels["right_by"]) == (None, "unknown")
    assert found.labels["contexts"] == "without_texts"
    assert "lost_at" not in found.labels
