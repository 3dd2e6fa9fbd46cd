"""Several answers to one question: their mean, and how far they differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from runner.metrics.metric import Metric
from runner.records import Scores

END = "_spread"  # of the name of a metric whose standard deviation it is
LABEL = "steady"  # whether a question was answered right all, some or none of the times


def spreads(metrics: Iterable[Metric]) -> Iterator[Metric]:
    """The standard deviation of each metric over the answers to one question (n - 1 in its denominator)."""
    for metric in metrics:
        yield replace(
            metric,
            name=f"{metric.name}{END}",
            better="lower",
            label={"en": f"{metric.label['en']} Spread", "ko": f"{metric.label['ko']} 산포"},
            short={},
            meaning={
                "en": "Standard deviation of the answers to one question.",
                "ko": "같은 질문에 대한 답변들의 표준편차",
            },
            grades=None,
            main=False,
            headline=None,
            shown=frozenset(),
            quality=None,
            tells_right=False,
            group="repeats",
            summary=f"{metric.in_summaries}{END}",
        )


def average_scores(parts: Sequence[Scores], spread: Sequence[str] = (), right: str = "") -> Scores:
    """Several answers to one question as one.

    Args:
        parts: the scores of each answer, at least one.
        spread: metrics whose standard deviation over the answers is a value of its own.
        right: the metric that says whether the question was answered right.

    Returns:
        (Weighted) means over the answers to which a metric applies, and the spreads. Labels are those of the first
        answer. What is unscored of one answer is unscored of the question.
    """
    values: dict[str, float | None] = {}
    weights: dict[str, float] = {}
    for name in dict.fromkeys(name for part in parts for name in part.values):
        terms = [(v, part.weights.get(name, 1.0)) for part in parts if (v := part.values.get(name)) is not None]
        total = math.fsum(weight for _, weight in terms)
        values[name] = math.fsum(value * weight for value, weight in terms) / total if total else None
        if total != len(terms):
            weights[name] = total / len(terms)
    for name in spread:
        if any(name in part.values for part in parts):
            values[f"{name}{END}"] = deviation([v for part in parts if (v := part.values.get(name)) is not None])
    unscored = tuple(dict.fromkeys(name for part in parts for name in part.unscored))
    return Scores(values, unscored, weights, {**parts[0].labels, **_steady(values.get(right))})


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _steady(mean: float | None) -> dict[str, str]:
    if mean is None:
        return {}
    return {LABEL: "all" if mean == 1 else "never" if mean == 0 else "some"}
