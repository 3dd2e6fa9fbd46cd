"""Hit rate at k: 1 when a relevant document stands in the first k places, else 0 (trec_eval `success.k`)."""

from typing import Any

from runner.metrics.measure import Measure


def gain(number: Any, rank: Any, grade: Any) -> Any:
    return (number == 1) * 1.0


def norm(k: int, n_relevant: Any, ideal: Any) -> int:
    return 1


HIT_RATE = Measure("hit_rate", gain, norm)
