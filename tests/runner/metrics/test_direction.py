import pytest

from runner.metrics.direction import direction, span


@pytest.mark.parametrize(
    "metric",
    [
        *("latency.case.p95_ms", "cost.usd", "stale_present", "answer_stale", "leakage", "memory_noise"),
        *("memory_tokens", "memory_sentences", "documents_tokens", "context_tokens"),
    ],
)
def test_lower_is_better(metric: str) -> None:
    assert direction(metric) == "lower"


@pytest.mark.parametrize(
    "metric", ["recall_at_5", "latency", "facts_present", "memory_overall", "memory_accuracy", "stale_present_x"]
)
def test_higher_is_better(metric: str) -> None:
    assert direction(metric) == "higher"


@pytest.mark.parametrize(
    ("metric", "range_"),
    [("recall_at_5", 1), ("facts_present", 1), ("memory_overall", 100), ("memory_noise", 10), ("documents_tokens", 0)],
)
def test_how_far_a_metric_goes(metric: str, range_: float) -> None:
    assert span(metric) == range_
