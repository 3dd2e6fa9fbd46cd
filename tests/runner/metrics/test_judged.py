"""Judgements as values: what a failed one counts, and that it is told."""

from typing import Literal

import pytest

from runner.metrics.judged import (
    MEMORY,
    f1,
    judged_correctness,
    judged_memory,
    rank_weighted_precision,
    score_judgements,
    score_of,
)
from runner.records import Judgement

GRADES = {"relevance": 9, "completeness": 5, "accuracy": 7, "noise": 2}
FAILED = Judgement(None, error="no JSON")


def test_a_judgement_has_no_score_where_the_judge_failed_or_was_not_asked() -> None:
    assert score_of(Judgement(0.25)) == 0.25
    assert score_of(Judgement(0.0)) == 0.0
    assert score_of(Judgement(0.25, error="a panel without its second judge")) is None
    assert score_of(FAILED) is None
    assert score_of(None) is None


@pytest.mark.parametrize(("on_failure", "instead"), [("zero", 0.0), ("exclude", None)])
def test_what_a_failed_judgement_counts(on_failure: Literal["zero", "exclude"], instead: float | None) -> None:
    judgements = {"faithfulness": Judgement(0.75), "answer_relevancy": FAILED, "not asked for": Judgement(1.0)}
    values, failed = score_judgements(judgements, ["faithfulness", "answer_relevancy", "never given"], on_failure)
    assert values == {"faithfulness": 0.75, "answer_relevancy": instead, "never given": instead}
    assert failed == ("answer_relevancy", "never given")


def test_a_score_of_zero_is_no_failure() -> None:
    assert score_judgements({"faithfulness": Judgement(0.0)}, ["faithfulness"], "exclude") == (
        {"faithfulness": 0.0},
        (),
    )


def test_an_answer_that_declines_is_not_correct_whatever_was_judged() -> None:
    judgements = {"answer_correctness": Judgement(0.75)}
    assert judged_correctness(judgements, declined=False, on_failure="exclude") == ({"answer_correctness": 0.75}, ())
    assert judged_correctness(judgements, declined=True, on_failure="exclude") == ({"answer_correctness": 0.0}, ())


def test_the_five_scores_of_a_memory() -> None:
    details = {"scores": {criterion: {"score": grade} for criterion, grade in GRADES.items()}}
    values, failed = judged_memory(Judgement(0.625, details=details), "zero")
    assert values == {"memory_overall": 62.5, **{f"memory_{name}": float(grade) for name, grade in GRADES.items()}}
    assert failed == ()


@pytest.mark.parametrize("judgement", [FAILED, None])
def test_how_much_noise_there_is_no_failed_judgement_tells(judgement: Judgement | None) -> None:
    """Counted as 0, a failure would be the best that there is."""
    values, failed = judged_memory(judgement, "zero")
    assert set(failed) == set(MEMORY) == {"memory_overall", *(f"memory_{name}" for name in GRADES)}
    assert values == {**dict.fromkeys(MEMORY, 0.0), "memory_noise": None}
    assert judged_memory(judgement, "exclude") == (dict.fromkeys(MEMORY), MEMORY)


@pytest.mark.parametrize(
    ("precision", "recall", "expected"), [(0.5, 1, 2 / 3), (0.5, 0.25, 1 / 3), (1, 1, 1), (0, 1, 0), (0, 0, 0)]
)
def test_f1(precision: float, recall: float, expected: float) -> None:
    assert f1(precision, recall) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("useful", "expected"),
    [
        ("110", 1.0),
        ("011", (1 / 2 + 2 / 3) / 2),
        ("101", (1 + 2 / 3) / 2),
        ("001", 1 / 3),
        ("000", 0.0),
        ("", 0.0),
    ],
)
def test_precision_is_weighted_by_the_ranks_of_useful_chunks(useful: str, expected: float) -> None:
    assert rank_weighted_precision([each == "1" for each in useful]) == pytest.approx(expected, abs=1e-15)
