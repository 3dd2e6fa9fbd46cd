"""What a reasoning trace is worth: four dimensions, their weighted sum, and three rules.

Source: the evaluation algorithm of KnowledgePulse (weights, rules, vector cache), and its public implementation
where the text leaves something open. What that leaves odd is kept: the share for steps is not capped at 0.2 (the
whole of complexity is, at 1), a single thought that carries a tool ends at 0.0 by rules 1 and 3, and novelty may pass
1. The one deviation: what comes out in the end is held within 0..1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runner.metrics.metric import Metric

METRICS = (
    Metric(
        name="score",
        better="higher",
        label={"en": "Trace Score", "ko": "추론 추적 점수"},
        depends=("tasks", "metric_code.trace", "trace_weights"),
        group="traces",
        headline=7,
        shown=frozenset({"cases", "worst"}),
    ),
    Metric(
        name="complexity",
        better="higher",
        label={"en": "Complexity", "ko": "복잡도"},
        depends=("tasks", "metric_code.trace"),
        group="traces",
        shown=frozenset({"sweeps", "cases"}),
        quality=None,
    ),
    Metric(
        name="novelty",
        better="higher",
        label={"en": "Novelty", "ko": "참신성"},
        depends=("tasks", "metric_code.trace"),
        group="traces",
        shown=frozenset({"sweeps", "cases"}),
        quality=None,
    ),
    Metric(
        name="diversity",
        better="higher",
        label={"en": "Tool Diversity", "ko": "도구 다양성"},
        depends=("tasks", "metric_code.trace"),
        group="traces",
        shown=frozenset({"sweeps", "cases"}),
        quality=None,
    ),
    Metric(
        name="outcome",
        better="higher",
        label={"en": "Outcome", "ko": "결과"},
        depends=("tasks", "metric_code.trace"),
        group="traces",
        shown=frozenset({"sweeps", "cases"}),
        quality=None,
    ),
)

DIMENSIONS = ("complexity", "novelty", "diversity", "outcome")

TYPES = ("thought", "tool_call", "observation", "error_recovery")
UNKNOWN_NOVELTY = 0.5  # without an embedder, and for the first trace of all
FAILED = 0.3  # of the confidence in an outcome that was no success
LONG = 20  # steps

SINGLE_THOUGHT, RECOVERY, ONE_TOOL = "single_thought", "recovery_bonus", "one_tool"
RULES = (SINGLE_THOUGHT, RECOVERY, ONE_TOOL)


def complexity(types: Sequence[str]) -> float:
    """Args:
        types: of the steps, in order.

    Returns:
        0..1: half for all four types of steps, .3 for a recovery from an error, .2 for every 20 steps.
    """
    recovery = 0.3 if "error_recovery" in types else 0.0
    return min(1.0, len(set(types)) / len(TYPES) * 0.5 + recovery + len(types) / LONG * 0.2)


def novelty(nearest: float | None) -> float:
    """Args:
        nearest: the largest cosine to an earlier trace; None where there was none to compare with.

    Returns:
        1 - nearest, UNKNOWN_NOVELTY without an earlier trace.
    """
    return UNKNOWN_NOVELTY if nearest is None else 1.0 - nearest


def diversity(tools: Sequence[str | None]) -> float:
    """Args:
        tools: of the steps; None for a step without a tool.

    Returns:
        0..1: different tools for each step, times 3.
    """
    return min(1.0, _n_different(tools) / max(1, len(tools)) * 3)


def outcome(confidence: float, success: bool) -> float:
    """0..1."""
    return confidence * (1.0 if success else FAILED)


def weighted_sum(dimensions: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The sum of the dimensions, each times its weight, in the order of DIMENSIONS."""
    return sum(dimensions[name] * weights[name] for name in DIMENSIONS)


def apply_rules(
    score: float, types: Sequence[str], tools: Sequence[str | None], success: bool
) -> tuple[float, tuple[str, ...]]:
    """Apply the rules to a score, each independently of the others.

    Args:
        score: the weighted sum, 0..1.
        types: of the steps, in order.
        tools: of the steps; None for a step without a tool.
        success: whether the task was done; None where it is unknown.

    Returns:
        The score after the rules, 0..1, and the names of the rules that fired, in their order.
    """
    fired = []
    if len(types) == 1 and types[0] == "thought":
        score = 0.1
        fired.append(SINGLE_THOUGHT)
    if success and types.count("error_recovery") > 2:
        score = min(1.0, score + 0.1)
        fired.append(RECOVERY)
    if _n_different(tools) == 1:
        score = max(0.0, score - 0.1)
        fired.append(ONE_TOOL)
    return min(1.0, max(0.0, score)), tuple(fired)


def _n_different(tools: Sequence[str | None]) -> int:
    return len(set(tools) - {None})
