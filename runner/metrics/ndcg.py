"""Normalised discounted cumulative gain at k, with the grade itself as gain and log2(rank + 1) as discount.

The ideal ranking holds all judged documents of the query, found or not, best first, cut at k; negative
grades count as 0 (trec_eval `ndcg_cut.k`). Järvelin and Kekäläinen, Cumulated gain-based evaluation of
IR techniques, ACM TOIS 20(4), 2002, with the discount that starts at the second rank.
"""

from typing import Any

import numpy as np

from runner.metrics.measure import Measure


def gain(number: Any, rank: Any, grade: Any) -> Any:
    return grade / np.log2(rank + 1)


def norm(k: int, n_relevant: Any, ideal: Any) -> Any:
    return ideal


NDCG = Measure("ndcg", gain, norm)
