"""Reciprocal rank at k: 1 / rank of the first relevant document, 0 when it stands below k.

Its mean over queries is the mean reciprocal rank. Voorhees and Tice, The TREC-8 question answering
track evaluation, 1999. trec_eval's `recip_rank` is the same without a cutoff.
"""

from typing import Any

from runner.metrics.measure import Measure


def gain(number: Any, rank: Any, grade: Any) -> Any:
    return (number == 1) / rank


def norm(k: int, n_relevant: Any, ideal: Any) -> int:
    return 1


RECIPROCAL_RANK = Measure("mrr", gain, norm)
