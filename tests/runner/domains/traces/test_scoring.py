from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.domains.traces import score_trace
from runner.domains.traces.records import Step, Trace
from runner.errors import DataError, InputError
from runner.metrics.profile import Profile, shipped_profiles
from runner.metrics.trace import DIMENSIONS, TYPES
from tests.runner.domains.traces.examples import finance, recovering, trace

DOMAINS = ("default", "finance", "code", "medical", "customer_service")

steps = st.lists(
    st.builds(
        Step,
        type=st.sampled_from(TYPES),
        content=st.text(max_size=3),
        tool=st.none() | st.sampled_from(["search", "sql", "계산기"]),
    ),
    min_size=1,
    max_size=40,
)
traces = st.builds(
    Trace,
    id=st.just("t"),
    objective=st.just("?"),
    domain=st.sampled_from([*DOMAINS, "물류"]),
    steps=steps.map(tuple),
    success=st.booleans(),
    confidence=st.floats(0, 1),
)


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("default", 0.66125),
        ("finance", 0.724),
        ("code", 0.719),
        ("medical", 0.76975),
        ("customer_service", 0.711),
        ("logistics", 0.66125),
    ],
)
def test_golden_values_of_the_example(domain: str, expected: float) -> None:
    assert score_trace(finance(domain=domain)).score == pytest.approx(expected, abs=1e-9)
    if domain != "logistics":
        assert score_trace(finance(domain="물류"), profile=domain).score == pytest.approx(expected, abs=1e-9)


def test_golden_values_of_recoveries() -> None:
    succeeded, failed = score_trace(recovering()), score_trace(recovering(success=False))
    assert succeeded.score == pytest.approx(0.833571429, abs=1e-9)
    assert succeeded.before_rules == pytest.approx(0.733571429, abs=1e-9)
    assert succeeded.rules == ("recovery_bonus",)
    assert failed.score == pytest.approx(0.584821429, abs=1e-9)
    assert failed.rules == ()


def test_unknown_success_leaves_no_outcome_and_no_score() -> None:
    unknown = score_trace(recovering(success=None))
    assert (unknown.score, unknown.before_rules, unknown.rules, unknown.dimensions.outcome) == (None, None, (), None)
    assert unknown.dimensions.complexity == score_trace(recovering()).dimensions.complexity


def test_a_single_thought() -> None:
    found = score_trace(trace("t", [("thought", "hm", None)]))
    assert (found.score, found.rules) == (0.1, ("single_thought",))


def test_what_a_score_tells() -> None:
    found = score_trace(finance(), novelty=0.9)
    assert found.profile == "finance"
    assert found.dimensions.novelty == 0.9
    assert found.score == pytest.approx(0.724 + 0.4 * 0.25, abs=1e-12)
    assert list(found.weights) == list(DIMENSIONS)


def test_a_trace_may_be_an_object_and_a_profile_ones_own() -> None:
    data: dict[str, Any] = {
        "id": "a",
        "metadata": {"success": True},
        "task": {"objective": "?"},
        "steps": [{"type": "thought"}, {"type": "observation"}],
        "outcome": {"confidence": 0.8},
    }
    outcome_only: Any = {"complexity": 0, "novelty": 0, "diversity": 0, "outcome": 1}
    assert score_trace(data, Profile(name="mine", weights=outcome_only)).score == pytest.approx(0.8)
    data["outcome"]["confidence"] = 2
    with pytest.raises(DataError, match=r"outcome\.confidence: expected a number from 0 to 1, found number 2"):
        score_trace(data)


def test_a_profile_that_there_is_not() -> None:
    with pytest.raises(InputError, match=r"no profile 'finanse'; did you mean 'finance'\?"):
        score_trace(finance(), profile="finanse")


@given(traces, st.floats(0, 2), st.sampled_from(DOMAINS))
def test_scores_stay_within_0_and_1(subject: Trace, novelty: float, profile: str) -> None:
    score = score_trace(subject, profile, novelty=novelty).score
    assert score is not None and 0 <= score <= 1


@given(traces, st.floats(0, 1))
def test_more_confidence_never_lowers_the_score_of_a_success(subject: Trace, confidence: float) -> None:
    low, high = sorted((subject.confidence, confidence))
    scores = [score_trace(replace(subject, success=True, confidence=each)).score for each in (low, high)]
    low_score, high_score = scores
    assert low_score is not None and high_score is not None and low_score <= high_score


@given(traces, st.randoms(use_true_random=False))
def test_the_order_of_steps_changes_nothing(subject: Trace, random: Any) -> None:
    shuffled = list(subject.steps)
    random.shuffle(shuffled)
    assert score_trace(replace(subject, steps=tuple(shuffled))) == score_trace(subject)


@given(traces, st.floats(0, 1), st.sampled_from(DOMAINS))
def test_before_the_rules_it_is_a_mix_of_the_dimensions(subject: Trace, novelty: float, profile: str) -> None:
    found = score_trace(subject, profile, novelty=novelty)
    values = [getattr(found.dimensions, name) for name in DIMENSIONS]
    assert min(values) - 1e-12 <= found.before_rules <= max(values) + 1e-12
    expected = sum(getattr(found.dimensions, name) * shipped_profiles()[profile].weights[name] for name in DIMENSIONS)
    assert found.before_rules == pytest.approx(expected, abs=1e-12)
