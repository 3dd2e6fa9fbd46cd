"""Whether one question was answered right: the table of the module, row by row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.right import decide

ANSWERED = {"answerable": True, "declined": False, "known_answer": None, "high": 0.6}


@pytest.mark.parametrize(
    ("facts", "right", "by"),
    [
        ({"declined": True, "answerable": False}, True, "declined"),
        ({"declined": True, "known_answer": True, "correctness": 1.0}, False, "declined"),
        ({"answerable": False, "faithfulness": 1.0, "answer_relevancy": 1.0}, False, "answered"),
        ({"not_judged": True, "known_answer": True}, None, "not_judged"),
        ({"correctness": 0.61, "known_answer": False}, True, "correctness"),
        ({"correctness": 0.6, "known_answer": True}, False, "correctness"),
        ({"known_answer": True, "faithfulness": 0.0, "answer_relevancy": 0.0}, True, "known_answer"),
        ({"known_answer": False, "faithfulness": 1.0, "answer_relevancy": 1.0}, False, "known_answer"),
        ({"faithfulness": 0.7, "answer_relevancy": 0.61}, True, "stand_in"),
        ({"faithfulness": 0.7, "answer_relevancy": 0.6}, False, "stand_in"),
        ({"faithfulness": 0.6, "answer_relevancy": 0.7}, False, "stand_in"),
        ({"faithfulness": 0.9}, None, "unknown"),
        ({"answer_relevancy": 0.9}, None, "unknown"),
        ({}, None, "unknown"),
    ],
)
def test_what_decides(facts: dict[str, Any], right: bool | None, by: str) -> None:
    found = decide(**{**ANSWERED, **facts})
    assert (found.right, found.by) == (right, by)
    assert found.value == (None if right is None else float(right))


def test_without_a_limit_no_score_is_high() -> None:
    assert decide(answerable=True, declined=False, known_answer=None, correctness=1.0).right is False


shares = st.none() | st.floats(0, 1)


@given(st.booleans(), st.booleans(), st.none() | st.booleans(), shares, st.booleans(), shares, shares)
def test_an_invented_answer_is_never_right_and_declining_only_where_there_is_no_answer(
    answerable: bool,
    declined: bool,
    known: bool | None,
    correctness: float | None,
    not_judged: bool,
    faithfulness: float | None,
    relevancy: float | None,
) -> None:
    found = decide(
        answerable=answerable,
        declined=declined,
        known_answer=known,
        correctness=correctness,
        not_judged=not_judged,
        faithfulness=faithfulness,
        answer_relevancy=relevancy,
        high=0.6,
    )
    if declined or not answerable:
        assert found.right is (declined and not answerable)
    assert (found.right is None) == (found.by in ("not_judged", "unknown"))
