import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics import trace

TYPES = st.lists(st.sampled_from(trace.TYPES), max_size=60)


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([], 0.0),
        (["thought"], 0.125 + 0.01),
        (["thought", "tool_call", "observation", "tool_call", "observation"], 0.375 + 0.05),
        (["error_recovery"], 0.125 + 0.3 + 0.01),
        (list(trace.TYPES), 0.5 + 0.3 + 0.04),
        (["thought"] * 60, 0.125 + 0.6),  # the share for steps has no end of its own
        (["thought"] * 100, 1.0),
    ],
)
def test_complexity(types: list[str], expected: float) -> None:
    assert trace.complexity(types) == pytest.approx(expected, abs=1e-12)


def test_novelty() -> None:
    assert trace.novelty(None) == 0.5
    assert trace.novelty(0.25) == 0.75
    assert trace.novelty(-0.5) == 1.5


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ([], 0.0),
        ([None, None], 0.0),
        ([None] * 8 + ["a", "b"], 0.6),
        (["a", "a", "a", "a"], 0.75),
        (["a", None, None], 1.0),
        (["a", "b"], 1.0),
    ],
)
def test_diversity(tools: list[str | None], expected: float) -> None:
    assert trace.diversity(tools) == pytest.approx(expected, abs=1e-12)


def test_outcome() -> None:
    assert trace.outcome(0.8, True) == 0.8
    assert trace.outcome(0.8, False) == pytest.approx(0.24, abs=1e-12)


def test_the_sum_is_weighted_by_name() -> None:
    dimensions = {"outcome": 0.7, "complexity": 0.1, "novelty": 0.3, "diversity": 0.5}
    weights = {"novelty": 0.2, "diversity": 0.3, "complexity": 0.1, "outcome": 0.4}
    assert trace.weighted_sum(dimensions, weights) == pytest.approx(0.01 + 0.06 + 0.15 + 0.28, abs=1e-12)


def recoveries(n: int) -> list[str]:
    return ["error_recovery"] * n


@pytest.mark.parametrize(
    ("score", "types", "tools", "success", "expected", "rules"),
    [
        (0.6, ["thought"], [None], True, 0.1, ("single_thought",)),
        (0.6, ["thought"], ["a"], True, 0.0, ("single_thought", "one_tool")),
        (0.6, ["observation"], [None], True, 0.6, ()),
        (0.6, ["thought", "thought"], [None, None], True, 0.6, ()),
        (0.6, recoveries(2), [None] * 2, True, 0.6, ()),
        (0.6, recoveries(3), [None] * 3, True, 0.7, ("recovery_bonus",)),
        (0.95, recoveries(3), [None] * 3, True, 1.0, ("recovery_bonus",)),
        (0.6, recoveries(3), [None] * 3, False, 0.6, ()),
        (0.95, recoveries(3), ["a", None, None], True, 0.9, ("recovery_bonus", "one_tool")),
        (0.6, ["tool_call", "tool_call"], ["a", "a"], True, 0.5, ("one_tool",)),
        (0.05, ["tool_call", "tool_call"], ["a", "a"], True, 0.0, ("one_tool",)),
        (0.6, ["tool_call", "tool_call"], ["a", "b"], True, 0.6, ()),
        (1.2, ["observation"], [None], True, 1.0, ()),
    ],
)
def test_rules(
    score: float,
    types: list[str],
    tools: list[str | None],
    success: bool,
    expected: float,
    rules: tuple[str, ...],
) -> None:
    found, fired = trace.apply_rules(score, types, tools, success)
    assert found == pytest.approx(expected, abs=1e-12)
    assert fired == rules


@given(TYPES)
def test_dimensions_stay_within_0_and_1(types: list[str]) -> None:
    assert 0 <= trace.complexity(types) <= 1
    assert 0 <= trace.diversity([kind if kind != "thought" else None for kind in types]) <= 1
