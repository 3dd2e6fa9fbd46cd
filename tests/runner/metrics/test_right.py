"""Whether one question was answered right: the table of the module, row by row."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.right import UNDECIDED, By, Decision, decide
from runner.words.wording import wording

ANSWERED = {"answerable": True, "declined": False, "by_reference": None, "high": 0.6}
GIVEN, ABSENT, OPEN = Decision(True, "reference"), Decision(False, "absent"), Decision(None, "undecided")


@pytest.mark.parametrize(
    ("facts", "right", "by"),
    [
        ({"declined": True, "answerable": False}, True, "declined"),
        ({"declined": True, "answerable": False, "by_reference": GIVEN}, True, "declined"),
        ({"declined": True, "by_reference": ABSENT, "correctness": 1.0}, False, "declined"),
        ({"declined": True, "by_reference": GIVEN}, True, "reference"),
        ({"declined": True, "by_reference": Decision(True, "words")}, False, "declined"),
        ({"declined": True}, False, "declined"),
        ({"answerable": False, "faithfulness": 1.0, "answer_relevancy": 1.0}, False, "answered"),
        ({"not_judged": True, "by_reference": GIVEN}, None, "not_judged"),
        ({"correctness": 0.61, "by_reference": ABSENT}, True, "correctness"),
        ({"correctness": 0.6, "by_reference": GIVEN}, False, "correctness"),
        ({"by_reference": GIVEN, "faithfulness": 0.0, "answer_relevancy": 0.0}, True, "reference"),
        ({"by_reference": ABSENT, "faithfulness": 1.0, "answer_relevancy": 1.0}, False, "absent"),
        (
            {"by_reference": Decision(None, "undecided"), "faithfulness": 1.0, "answer_relevancy": 1.0},
            None,
            "undecided",
        ),
        ({"by_reference": Decision(None, "needs_model")}, None, "needs_model"),
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
    assert decide(answerable=True, declined=False, by_reference=None, correctness=1.0).right is False


shares = st.none() | st.floats(0, 1)
by_reference = st.sampled_from([None, GIVEN, ABSENT, OPEN, Decision(None, "needs_model")])


@given(st.booleans(), st.booleans(), by_reference, shares, st.booleans(), shares, shares)
def test_an_invented_answer_is_never_right_and_declining_only_where_there_is_no_answer(
    answerable: bool,
    declined: bool,
    reference: Decision | None,
    correctness: float | None,
    not_judged: bool,
    faithfulness: float | None,
    relevancy: float | None,
) -> None:
    found = decide(
        answerable=answerable,
        declined=declined,
        by_reference=reference,
        correctness=correctness,
        not_judged=not_judged,
        faithfulness=faithfulness,
        answer_relevancy=relevancy,
        high=0.6,
    )
    if not answerable:
        assert found.right is declined
    elif declined:
        assert found.right is (reference == GIVEN)
    assert (found.right is None) == (found.by in UNDECIDED)


def test_every_rule_has_a_name_and_a_meaning_in_both_languages() -> None:
    for language in ("en", "ko"):
        say = wording(language, "report")
        for by in get_args(By):
            assert f"right_by.{by}" in say.texts
            assert f"right_means.{by}" in say.texts
