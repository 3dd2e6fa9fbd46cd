"""Labels of single questions: the tables of the docstrings, row by row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics import diagnosis
from runner.metrics.diagnosis import answerability, cross, lost_at, pattern, predicted_unanswerable


@pytest.mark.parametrize(
    ("relevance", "expected"),
    [(0.3, False), (0.29, True), (None, True), (0.9, False)],
)
def test_predicted_unanswerable(relevance, expected):
    assert predicted_unanswerable(relevance, 0.3) is expected


@pytest.mark.parametrize(
    ("predicted", "answerable", "label"),
    [
        (True, False, "true_positive"),
        (True, True, "false_positive"),
        (False, False, "false_negative"),
        (False, True, "true_negative"),
    ],
)
def test_answerability(predicted, answerable, label):
    assert answerability(predicted, answerable) == label


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30))
def test_means_of_the_unanswerable_values_are_precision_recall_and_f1(cases):
    labels = [answerability(predicted, not unanswerable) for predicted, unanswerable in cases]
    both = sum(predicted and unanswerable for predicted, unanswerable in cases)
    n_predicted, n_actual = sum(p for p, _ in cases), sum(u for _, u in cases)
    assert weighted_mean("unanswerable_precision", labels) == (both / n_predicted if n_predicted else None)
    assert weighted_mean("unanswerable_recall", labels) == (both / n_actual if n_actual else None)
    total = n_predicted + n_actual
    assert weighted_mean("unanswerable_f1", labels) == (2 * both / total if total else None)


def weighted_mean(name: str, labels: list[diagnosis.Answerability]) -> float | None:
    values = [diagnosis.unanswerable_values(label)[name] for label in labels]
    weights = [diagnosis.unanswerable_weights(label).get(name, 1.0) for label in labels]
    pairs = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    return sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs) if pairs else None


ANSWERABLE = {"answerable": True, "gold_in_corpus": True, "gold_rank": 2, "k": 5}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, "none"),
        ({"refused": False, "right": True}, "none"),
        ({"refused": False, "right": None}, "none"),
        ({"gold_in_corpus": False, "gold_rank": None, "refused": True}, "not_in_corpus"),
        ({"gold_rank": None, "right": False}, "not_retrieved"),
        ({"gold_rank": 6, "right": False}, "below_k"),
        ({"gold_rank": 5, "right": False}, "wrong_answer"),
        ({"refused": True, "right": False}, "refused_answerable"),
        ({"gold_rank": 6, "right": True}, "none"),  # whatever it was answered from
        ({"answerable": False, "refused": False, "right": False}, "answered_unanswerable"),
        ({"answerable": False, "refused": True, "right": True}, "none"),
        ({"answerable": False, "gold_rank": None, "refused": False}, "answered_unanswerable"),
        ({"answerable": False, "gold_rank": None, "refused": True}, "none"),
        ({"answerable": False, "gold_rank": None}, "none"),  # nobody answered
    ],
)
def test_lost_at(facts, expected):
    assert lost_at(**{**ANSWERABLE, **facts}) == expected


@given(
    st.fixed_dictionaries(
        {
            "answerable": st.booleans(),
            "gold_in_corpus": st.booleans(),
            "gold_rank": st.none() | st.integers(1, 9),
            "k": st.integers(1, 9),
            "refused": st.booleans(),
        }
    )
)
def test_a_question_is_lost_somewhere_where_it_was_answered_wrong_and_nowhere_else(facts):
    if facts["refused"]:
        right = not facts["answerable"]
        assert (lost_at(**facts, right=right) == "none") is right
        return
    assert lost_at(**facts, right=False) != "none"
    assert lost_at(**facts, right=True) == "none"


@pytest.mark.parametrize(
    ("faithfulness", "relevancy", "expected"),
    [
        (0.61, 0.61, "ideal"),
        (0.6, 0.61, "hallucination_risk"),
        (0.61, 0.6, "context_mismatch"),
        (0.6, 0.6, "overall_problem"),
        (None, 1.0, None),
        (1.0, None, None),
    ],
)
def test_pattern(faithfulness, relevancy, expected):
    assert pattern(faithfulness, relevancy, 0.6) == expected


@pytest.mark.parametrize(
    ("recall", "faithfulness", "relevancy", "expected"),
    [
        (1.0, 0.9, 0.9, "retrieval_high_generation_high"),
        (1.0, 0.9, 0.1, "retrieval_high_generation_low"),
        (0.6, 0.9, 0.9, "retrieval_low_generation_high"),
        (0.0, 0.1, 0.9, "retrieval_low_generation_low"),
        (None, 0.9, 0.9, None),
        (1.0, None, 0.9, None),
    ],
)
def test_cross(recall, faithfulness, relevancy, expected):
    assert cross(recall, faithfulness, relevancy, 0.6) == expected
