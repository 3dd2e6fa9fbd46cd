"""The six ranking measures: what each relevant document found is worth, over what it could be worth.

    measure@k = sum of gain(number, rank, grade) over the relevant documents at ranks 1..k
                / norm(k, n_relevant, ideal)

`number` counts relevant documents from the top (1 for the first), `rank` counts all documents from 1,
`grade` is the judged relevance, > 0. `n_relevant` is the number of relevant documents judged for the
query, found or not; `ideal` is the discounted cumulative gain at k of the best possible ranking.

Both functions take floats (one hit, one query) or arrays (many hits, many queries) and mean the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Measure:
    """`name` is the part before the `@`."""

    name: str
    gain: Callable[[Any, Any, Any], Any]
    norm: Callable[[int, Any, Any], Any]


def _unit(number: Any, rank: Any, grade: Any) -> float:
    return 1.0


def _relevant(k: int, n_relevant: Any, ideal: Any) -> Any:
    return n_relevant


def _single(k: int, n_relevant: Any, ideal: Any) -> int:
    return 1


# --- precision: the share of the first k places that hold a relevant document -----------------------
# The divisor is k even when fewer than k documents came back (trec_eval `P.k`). Systems that divide by the number
# returned report more for short rankings.


def _places(k: int, n_relevant: Any, ideal: Any) -> int:
    return k


PRECISION = Measure("precision", _unit, _places)


# --- recall: the share of all relevant documents that are in the first k places ---------------------
# The divisor is every relevant document of the query, also when that is more than k (trec_eval `recall.k`).

RECALL = Measure("recall", _unit, _relevant)


# --- hit rate: 1 when a relevant document is in the first k places, else 0 (trec_eval `success.k`) -------


def _first_alone(number: Any, rank: Any, grade: Any) -> Any:
    return (number == 1) * 1.0


HIT_RATE = Measure("hit_rate", _first_alone, _single)


# --- average precision: precision at the rank of each relevant document found, over all relevant ones ---
# The divisor is every relevant document of the query, also when that is more than k (trec_eval `map_cut.k`), so a
# perfect first k places of a query with more relevant documents stay below 1. Its mean over queries is the mean average
# precision. Buckley and Voorhees, Retrieval system evaluation, in TREC: Experiment and Evaluation in Information
# Retrieval, 2005.


def _precision_there(number: Any, rank: Any, grade: Any) -> Any:
    return number / rank


AVERAGE_PRECISION = Measure("map", _precision_there, _relevant)


# --- reciprocal rank: 1 / rank of the first relevant document, 0 when it stands below k -------------
# Its mean over queries is the mean reciprocal rank. Voorhees and Tice, The TREC-8 question answering track evaluation,
# 1999. trec_eval's `recip_rank` is the same without a cutoff.


def _first_by_rank(number: Any, rank: Any, grade: Any) -> Any:
    return (number == 1) / rank


RECIPROCAL_RANK = Measure("mrr", _first_by_rank, _single)


# --- normalised discounted cumulative gain -----------------------------------------------------------
# The grade itself is the gain, log2(rank + 1) the discount. The ideal ranking holds all judged documents of the query,
# found or not, best first, cut at k; negative grades count as 0 (trec_eval `ndcg_cut.k`). Järvelin and Kekäläinen,
# Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4), 2002, with the discount that starts at the second
# rank.


def discounted_gain(number: Any, rank: Any, grade: Any) -> Any:
    """The term of nDCG: linear gain over log2(rank + 1), with ranks from 1 (Järvelin and Kekäläinen 2002)."""
    return grade / np.log2(rank + 1)


def _ideal(k: int, n_relevant: Any, ideal: Any) -> Any:
    return ideal


NDCG = Measure("ndcg", discounted_gain, _ideal)
