from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.catalogue import built_in_catalogue
from runner.report.worst import lost_at, scores, worst_cases
from tests.run_folders import ROWS, row


def ids(rows: list[dict[str, Any]], count: int = 10) -> list[str]:
    return [found["id"] for found in worst_cases(rows, count, built_in_catalogue())]


def test_failing_before_weak_before_nothing_else() -> None:
    assert ids(ROWS) == ["q-7", "q-4", "q-5", "q-2", "q-6|x", "q-3"]


def test_a_perfect_case_is_not_among_them() -> None:
    assert ids([row("q-1")]) == []


def test_a_right_refusal_is_not_among_them_whatever_a_judge_gives_it_but_a_leak_is() -> None:
    given = {"recall_at_k": None, "faithfulness": 0.5, "answer_relevancy": 0.0}
    output = {"answerable": False, "declined": True}
    right = row("right", metrics=given, output=output)
    wrong = row("wrong", metrics=given, output={**output, "answerable": True}, labels={"lost_at": "refused_answerable"})
    leak = row("leak", metrics={**given, "leakage": 1.0}, output=output)
    assert ids([right, wrong, leak]) == ["wrong", "leak"]


def test_a_failing_question_comes_before_a_weaker_one_that_does_not_fail() -> None:
    weak = row("weak", metrics={"recall_at_k": 0.2, "faithfulness": 0.1, "answer_relevancy": 0.1})
    failing = row("failing", labels={"lost_at": "wrong_answer"})
    assert ids([weak, failing]) == ["failing", "weak"]


def test_a_case_that_never_ended_comes_after_one_that_ended_as_badly() -> None:
    crashed = row("a", status="failed", metrics={}, error="boom")
    metrics = {"recall_at_k": 0.0, "faithfulness": 0.0, "answer_relevancy": 0.0}
    hopeless = row("b", metrics=metrics, labels={"lost_at": "not_retrieved", "answerability": "false_positive"})
    assert ids([crashed, hopeless]) == ["b", "a"]


def test_traces_stand_in_the_order_of_their_scores() -> None:
    busy = {"score": 0.2, "complexity": 1.0, "diversity": 1.0}
    plain = {"score": 0.4, "complexity": 0.2, "diversity": 0.0}
    rows = [{"id": id, "status": "ok", "metrics": metrics} for id, metrics in (("plain", plain), ("busy", busy))]
    assert ids(rows) == ["busy", "plain"]
    assert scores(rows[0], built_in_catalogue()) == {"score": 0.4}


def test_a_missing_judgement_counts_zero_and_a_score_that_does_not_apply_not_at_all() -> None:
    missing = row("missing", metrics={"faithfulness": None}, unscored=["faithfulness"])
    not_applicable = row("n/a", metrics={"recall_at_k": None})
    assert scores(missing, built_in_catalogue()) == {"recall_at_k": 1.0, "faithfulness": None, "answer_relevancy": 1.0}
    assert scores(not_applicable, built_in_catalogue()) == {"faithfulness": 1.0, "answer_relevancy": 1.0}
    assert ids([missing, not_applicable]) == ["missing"]


def test_rows_of_an_evaluation_with_other_metrics_are_compared_by_all_of_them() -> None:
    plain = {"status": "ok", "labels": {}, "unscored": []}
    rows = [{**plain, "id": "x", "metrics": {"novelty": 0.5}}, {**plain, "id": "y", "metrics": {"novelty": 0.2}}]
    assert ids(rows) == ["y", "x"]


def test_lost_at() -> None:
    assert [lost_at(found) for found in ROWS[:2]] == [None, "not_retrieved"]


@given(st.permutations(ROWS), st.integers(1, 7))
def test_the_order_of_the_journal_does_not_matter(rows: list[dict[str, Any]], count: int) -> None:
    assert ids(rows, count) == ids(ROWS)[:count]
