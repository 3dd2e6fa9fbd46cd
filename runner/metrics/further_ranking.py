"""Ranking measures beside the six that every run has, each for one query.

`ranked`: ids of documents, best first, each once. `relevance`: grade by id; above 0 is relevant, 0 was judged and is
not, below 0 counts as not judged (trec_eval). All are None for a query without a relevant document, `judged` for one
without a judged one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

Relevance = Mapping[str, int]


def rank_biased_precision(ids: Sequence[str], relevance: Relevance, p: float) -> float | None:
    """(1 - p) times the sum of p^(rank - 1) over the relevant documents: the gain of a reader who continues from each
    document to the next with probability p. Binary.

    Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS 27(1), 2008.

    Args:
        ids: of documents, best first.
        relevance: judged id -> grade.
        p: the patience of the reader, 0..1.

    Returns:
        0 to below 1: with R relevant documents at most 1 - p^R. None without a relevant document.
    """
    if not _n_relevant(relevance):
        return None
    return (1 - p) * sum(p**place for place, id in enumerate(ids) if relevance.get(id, 0) > 0)


def expected_reciprocal_rank(ids: Sequence[str], relevance: Relevance, k: int, max_grade: int) -> float | None:
    """Sum over the first k ranks of 1 / rank times the probability that a reader stops there: a document of grade g is
    enough with (2^g - 1) / 2^max_grade.

    Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009; gdeval takes a
    max_grade of 4.

    Args:
        ids: of documents, best first.
        relevance: judged id -> grade.
        k: >= 1.
        max_grade: the highest grade of the data.

    Returns:
        0 to below 1; None without a relevant document.
    """
    if not _n_relevant(relevance):
        return None
    score, reading = 0.0, 1.0
    for rank, id in enumerate(islice(ids, k), start=1):
        enough = (2 ** min(max(relevance.get(id, 0), 0), max_grade) - 1) / 2**max_grade
        score += reading * enough / rank
        reading *= 1 - enough
    return score


def r_precision(ids: Sequence[str], relevance: Relevance) -> float | None:
    """Precision at R, where R is the number of relevant documents (trec_eval `Rprec`).

    Args:
        ids: of documents, best first.
        relevance: judged id -> grade.

    Returns:
        0..1; None without a relevant document.
    """
    n = _n_relevant(relevance)
    return sum(relevance.get(id, 0) > 0 for id in islice(ids, n)) / n if n else None


def binary_preference(ids: Sequence[str], relevance: Relevance) -> float | None:
    """How seldom documents judged not relevant precede relevant ones; unjudged documents do not count. As trec_eval
    `bpref`: of the documents before a relevant one at most R count, over the lesser of R and how many are judged not
    relevant.

    Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004.

    Args:
        ids: of documents, best first.
        relevance: judged id -> grade.

    Returns:
        0..1; None without a relevant document.
    """
    n = _n_relevant(relevance)
    if not n:
        return None
    n_irrelevant = sum(grade == 0 for grade in relevance.values())
    score, before = 0.0, 0
    for id in ids:
        grade = relevance.get(id, -1)
        if grade > 0:
            score += 1 - min(before, n) / min(n_irrelevant, n) if before else 1.0
        elif grade == 0:
            before += 1
    return score / n


def judged_share(ids: Sequence[str], relevance: Relevance, k: int) -> float | None:
    """The share of the first k places that hold a judged document; of fewer than k documents the share of those that
    came back (ir_measures `Judged@k`). Where it is low, other measures call unknown what was never looked at.

    Args:
        ids: of documents, best first.
        relevance: judged id -> grade.
        k: >= 1.

    Returns:
        0..1, 0 for a ranking without a document; None where nothing is judged.
    """
    if not relevance:
        return None
    first = list(islice(ids, k))
    return sum(id in relevance for id in first) / len(first) if first else 0.0


def success(ids: Sequence[str], relevance: Relevance, k: int) -> float | None:
    """Whether a relevant document is in the first k places (trec_eval `success.k`); hit_rate by its other name.

    Args:
        ids: of documents, best first.
        relevance: judged id -> grade.
        k: >= 1.

    Returns:
        0 or 1; None without a relevant document.
    """
    if not _n_relevant(relevance):
        return None
    return float(any(relevance.get(id, 0) > 0 for id in islice(ids, k)))


def _n_relevant(relevance: Relevance) -> int:
    return sum(grade > 0 for grade in relevance.values())
