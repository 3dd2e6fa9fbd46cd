"""Average precision at k: precision at the rank of each relevant document found, over all relevant documents.

The divisor is every relevant document of the query, also when that is more than k (trec_eval
`map_cut.k`), so a perfect first k places of a query with more relevant documents stay below 1. Its mean
over queries is the mean average precision. Buckley and Voorhees, Retrieval system evaluation, in TREC:
Experiment and Evaluation in Information Retrieval, 2005.
"""

from typing import Any

from runner.metrics.measure import Measure


def gain(number: Any, rank: Any, grade: Any) -> Any:
    return number / rank


def norm(k: int, n_relevant: Any, ideal: Any) -> Any:
    return n_relevant


AVERAGE_PRECISION = Measure("map", gain, norm)
