"""Precision at k: the share of the first k places that hold a relevant document.

The divisor is k even when fewer than k documents came back (trec_eval `P.k`). Systems that divide by
the number returned report more for short rankings.
"""

from typing import Any

from runner.metrics.measure import Measure


def gain(number: Any, rank: Any, grade: Any) -> float:
    return 1.0


def norm(k: int, n_relevant: Any, ideal: Any) -> int:
    return k


PRECISION = Measure("precision", gain, norm)
