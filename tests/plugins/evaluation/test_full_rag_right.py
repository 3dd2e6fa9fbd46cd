"""What `right` is decided by, whatever is reported beside it."""

from pathlib import Path
from typing import Any

import pytest

from runner.metrics.checks import read_check
from runner.records import Answer, Check, GivenResults, Query
from tests.plugins.evaluation.small_rag import Judges, Says, query, row

GOOD = {"faithfulness": 0.9, "answer_relevancy": 0.8}
REFUSAL = Answer("I could not find this in the documents.", refused=True)


class Model(Judges):
    baseline = False


def checks(*entries: dict[str, Any]) -> tuple[Check, ...]:
    return tuple(map(read_check, entries))


HAS_BETA, HAS_GAMMA = {"contains": "Beta"}, {"contains": "Gamma"}


@pytest.mark.parametrize("metrics", [None, ["right"], ["right", "recall"], ["right", "faithfulness"]])
@pytest.mark.parametrize(
    ("answers", "asked", "by"),
    [(("Delta",), {"answer_correctness"}, "correctness"), ((), {"faithfulness", "answer_relevancy"}, "stand_in")],
)
def test_what_is_reported_changes_neither_right_nor_what_it_asks(
    tmp_path: Path, metrics: list[str] | None, answers: tuple[str, ...], asked: set[str], by: str
) -> None:
    judge = Model(**GOOD, answer_correctness=0.7)
    found, _, _ = row(tmp_path, query(answers=answers), judge=judge, metrics=metrics)
    assert (found.metrics["right"], found.labels["right_by"]) == (1.0, by)
    assert asked <= judge.fields.keys()
    if metrics is not None:
        assert set(judge.fields) - asked <= set(metrics)
        assert {"answer_correctness", "answer_relevancy"}.isdisjoint(found.metrics)


def test_a_judge_without_a_model_is_not_asked_for_a_comparison_that_nobody_reports(tmp_path: Path) -> None:
    judge = Judges()
    found, _, _ = row(tmp_path, query(answers=("Beta",)), judge=judge, metrics=["right"])
    assert (found.labels["right_by"], judge.fields) == ("reference", {})


def test_a_failed_comparison_is_reported_although_its_rubric_is_not(tmp_path: Path) -> None:
    judge = Model(answer_correctness=None)
    found, _, _ = row(tmp_path, query(answers=("Beta",)), judge=judge, metrics=["right"])
    assert (found.metrics["right"], found.labels["right_by"], found.unscored) == (None, "not_judged", ("right",))


def test_without_right_nothing_is_asked_or_said_for_it(tmp_path: Path) -> None:
    judge = Model()
    found, _, _ = row(tmp_path, query(answers=("Beta",)), judge=judge, metrics=["recall"])
    assert (judge.fields, {"right", "answer_correctness"} & found.metrics.keys()) == ({}, set())
    assert {"right_by", "lost_at"}.isdisjoint(found.labels)


# --- refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", [(), ("Beta",)])
@pytest.mark.parametrize("answerable", [True, False])
def test_a_refusal_has_no_claims_and_costs_no_request(
    tmp_path: Path, answers: tuple[str, ...], answerable: bool
) -> None:
    judge = Model(**GOOD)
    labels: dict[str, Any] = {"answers": answers} if answerable else {"answerable": False, "relevance": {}}
    found, _, _ = row(tmp_path, query(**labels), judge=judge, answer=REFUSAL)
    assert judge.fields == {}
    assert {"faithfulness", "answer_relevancy"}.isdisjoint(found.metrics) and found.unscored == ()
    assert found.metrics.get("answer_correctness") == (0.0 if answers and answerable else None)
    assert (found.metrics["right"], found.labels["right_by"]) == (float(not answerable), "declined")


def test_an_answer_that_gives_the_reference_is_no_refusal(tmp_path: Path) -> None:
    judge = Model(**GOOD, answer_correctness=1.0)
    answer = Answer("I could not find this in the documents, but Beta.", refused=True)
    found, _, _ = row(tmp_path, query(answers=("Beta",)), judge=judge, answer=answer)
    assert found.output["declined"] is False
    assert (found.metrics["right"], found.labels["answerability"]) == (1.0, "true_negative")
    assert "answer_correctness" in judge.fields


LOG = {"relevance": {}, "given": GivenResults(answer="which?")}


@pytest.mark.parametrize(
    ("changes", "right", "has_label"),
    [
        (LOG, None, False),  # nothing tells whether the question has an answer
        ({**LOG, "answers": ("Beta",)}, 0.0, True),
        ({**LOG, "relevance": {"b": 1}}, 0.0, True),
        ({**LOG, "given": GivenResults(answer="which?", contexts=())}, 0.0, True),
        ({**LOG, "answerable": False}, 1.0, True),
    ],
)
def test_a_refusal_in_a_log_without_labels_is_undecided(
    tmp_path: Path, changes: dict[str, Any], right: float | None, has_label: bool
) -> None:
    found, _, _ = row(tmp_path, query(**changes), answer=REFUSAL)
    assert found.metrics["right"] == right
    assert ("answerability" in found.labels) is has_label
    assert (found.metrics.get("unanswerable_precision") is not None) is has_label


# --- checks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("metrics", [None, ["right"]])
@pytest.mark.parametrize(
    ("entries", "answers", "right", "by"),
    [
        ((HAS_BETA,), (), 1.0, "checks"),
        ((HAS_BETA, HAS_GAMMA), (), 0.0, "checks"),
        ((HAS_BETA,), ("Beta",), 1.0, "reference"),
        ((HAS_GAMMA,), ("Beta",), 0.0, "checks"),
        ((HAS_BETA,), ("Delta",), 0.0, "absent"),
        (({"latency": None, "threshold": 0.0},), (), None, "unknown"),
    ],
)
def test_checks_of_a_case_decide_beside_its_references(
    tmp_path: Path,
    metrics: list[str] | None,
    entries: tuple[dict[str, Any], ...],
    answers: tuple[str, ...],
    right: float | None,
    by: str,
) -> None:
    case = query(relevance={}, answers=answers, checks=checks(*entries))
    found, _, _ = row(tmp_path, case, metrics=metrics, generator=Says(Answer("Beta is second."), live=False))
    assert (found.metrics["right"], found.labels["right_by"]) == (right, by)
    if by == "checks" and not right:
        assert "contains: Gamma" in found.judgements["case_checks"].reasoning


@pytest.mark.parametrize(("refuses", "right"), [("find", 1.0), ("Beta", 0.0)])
def test_checks_may_ask_for_a_refusal(tmp_path: Path, refuses: str, right: float) -> None:
    case = query(relevance={}, checks=checks({"contains": refuses}))
    assert row(tmp_path, case, answer=REFUSAL)[0].metrics["right"] == right


class Repeats(Says):
    is_logged = True


@pytest.mark.parametrize(("latency_ms", "right"), [(None, None), (900.0, 1.0), (1100.0, 0.0)])
def test_the_latency_of_a_given_answer_is_that_of_its_log(
    tmp_path: Path, latency_ms: float | None, right: float | None
) -> None:
    given = GivenResults(answer="Beta.", contexts=(), latency_ms=latency_ms)
    case = query(relevance={}, given=given, checks=checks({"type": "latency", "threshold": 1000}))
    assert row(tmp_path, case, generator=Repeats(Answer("Beta.")))[0].metrics["right"] == right


def test_what_a_given_answer_cost_is_read_from_its_log(tmp_path: Path) -> None:
    given = GivenResults(answer="Beta.", contexts=(), cost_usd=0.02)
    case: Query = query(relevance={}, given=given, checks=checks({"type": "cost", "threshold": 0.01}))
    found = row(tmp_path, case, generator=Repeats(Answer("Beta.")))[0]
    assert found.judgements["case_checks"].details["checks"] == [
        {"check": "max-cost-usd: 0.01", "passed": False, "reason": "expected at most $0.01, cost $0.02"}
    ]
