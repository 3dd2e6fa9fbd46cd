"""Recall at k: the share of all relevant documents that stand in the first k places (trec_eval `recall.k`).

The divisor is every relevant document of the query, also when that is more than k.
"""

from typing import Any

from runner.metrics.measure import Measure


def gain(number: Any, rank: Any, grade: Any) -> float:
    return 1.0


def norm(k: int, n_relevant: Any, ideal: Any) -> Any:
    return n_relevant


RECALL = Measure("recall", gain, norm)
