"""Six ranking measures at many cutoffs, for one query or for many, with the semantics of trec_eval.

A relevant document has a grade above 0. A document listed twice counts once, at its best rank. A query
without results scores 0; a query without any relevant document is not a ranking query and has no scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from runner.metrics.measure import (
    AVERAGE_PRECISION,
    HIT_RATE,
    NDCG,
    PRECISION,
    RECALL,
    RECIPROCAL_RANK,
    discounted_gain,
)
from runner.metrics.metric import Grades, Metric

MEASURES = (PRECISION, RECALL, HIT_RATE, NDCG, AVERAGE_PRECISION, RECIPROCAL_RANK)

METRICS = (
    Metric(
        name="precision",
        better="higher",
        label={"en": "Precision", "ko": "Precision"},
        no_grade={
            "en": "Precision@k has no grade: a question with fewer relevant documents than k cannot reach 1.",
            "ko": "Precision@k에는 등급이 없습니다. 관련 문서가 k개보다 적은 질문은 1에 이를 수 없기 때문입니다.",
        },
        depends=("k", "queries", "gold", "documents", "metric_code.ranking"),
        group="retrieval",
        shown=frozenset({"run"}),
    ),
    Metric(
        name="recall",
        better="higher",
        label={"en": "Recall", "ko": "Recall"},
        grades=Grades(),
        depends=("k", "queries", "gold", "documents", "metric_code.ranking"),
        group="retrieval",
        main=True,
        headline=1,
        shown=frozenset({"worst"}),
        quality=2,
    ),
    Metric(
        name="hit_rate",
        better="higher",
        label={"en": "Hit Rate", "ko": "Hit Rate"},
        grades=Grades(),
        depends=("k", "queries", "gold", "documents", "metric_code.ranking"),
        group="retrieval",
        shown=frozenset({"run"}),
        tells_right=True,
    ),
    Metric(
        name="mrr",
        better="higher",
        label={"en": "MRR", "ko": "MRR"},
        grades=Grades(),
        depends=("k", "queries", "gold", "documents", "metric_code.ranking"),
        group="retrieval",
        main=True,
        headline=3,
        shown=frozenset(),
        quality=None,
    ),
    Metric(
        name="ndcg",
        better="higher",
        label={"en": "nDCG", "ko": "nDCG"},
        grades=Grades(),
        depends=("k", "queries", "gold", "documents", "metric_code.ranking"),
        group="retrieval",
        main=True,
        headline=2,
        shown=frozenset(),
        quality=2,
    ),
    Metric(
        name="map",
        better="higher",
        label={"en": "MAP", "ko": "MAP"},
        grades=Grades(),
        depends=("k", "queries", "gold", "documents", "metric_code.ranking"),
        group="retrieval",
        shown=frozenset(),
    ),
)

Id = TypeVar("Id", str, bytes)
Hit = tuple[int, int, int]  # of a relevant document: its number from the top, its rank, its grade
Found = tuple[tuple[Hit, ...], tuple[int, ...]]  # of a ranking, and all grades above 0, the best first
KNOWN = 1_000  # different rankings whose values are kept, a KB each


def rank_ids(scores: Mapping[Id, float]) -> list[Id]:
    """Order ids as trec_eval does.

    Args:
        scores: id -> score.

    Returns:
        Ids by score descending, ties by id descending. Strings of code points sort as their UTF-8 bytes do.
    """
    return [document for _, document in sorted(zip(scores.values(), scores, strict=True), reverse=True)]


def ranking_metrics(
    ranked_ids: Sequence[str], relevance: Mapping[str, int], cutoffs: Sequence[int]
) -> dict[str, float | None]:
    """Every measure at every cutoff, for one query.

    Args:
        ranked_ids: ids of documents, best first, without repeats.
        relevance: judged id -> grade.
        cutoffs: >= 1.

    Returns:
        `{"precision@1": …, "recall@1": …}`, 0..1; all None when no judged document is relevant.
    """
    found = relevant_hits(ranked_ids, relevance, max(cutoffs, default=0))
    return dict(zip(_names(tuple(cutoffs)), values_at(found, tuple(cutoffs)), strict=True))


def relevant_hits(ranked_ids: Sequence[str], relevance: Mapping[str, int], depth: int) -> Found:
    """The hits of a ranking, for `values_at`.

    Args:
        ranked_ids: ids of documents, best first.
        relevance: judged id -> grade.
        depth: the largest cutoff.

    Returns:
        The relevant documents among the first `depth`, and all grades above 0, the best first.
    """
    grades = {id: grade for id, grade in relevance.items() if grade > 0}
    best = tuple(sorted(grades.values(), reverse=True))
    if grades.keys().isdisjoint(ranked_ids):
        return (), best
    ranks = enumerate(islice(dict.fromkeys(ranked_ids), depth), 1)
    hits = [(rank, grades[document]) for rank, document in ranks if document in grades]
    return tuple([(number, *hit) for number, hit in enumerate(hits, 1)]), best


@lru_cache(maxsize=KNOWN)
def values_at(relevant: Found, cutoffs: tuple[int, ...]) -> tuple[float | None, ...]:
    """Every measure at every cutoff. Results are kept: few questions have many relevant documents, and most rankings
    hold them at the ranks of another one.

    Args:
        relevant: what `relevant_hits` returned.
        cutoffs: >= 1.

    Returns:
        Values 0..1, cutoff by cutoff; None when no judged document is relevant.
    """
    hits, best = relevant
    if not best:
        return (None,) * (len(cutoffs) * len(MEASURES))
    within = [sum(rank <= k for _, rank, _ in hits) for k in cutoffs]
    totals = [list(accumulate((measure.gain(*hit) for hit in hits), initial=0.0)) for measure in MEASURES]
    ideal = enumerate(best[: max(cutoffs, default=0)], 1)
    dcg = list(accumulate(discounted_gain(rank, rank, grade) for rank, grade in ideal))
    return tuple(
        float(total[count] / measure.norm(k, len(best), dcg[min(k, len(dcg)) - 1]))
        for k, count in zip(cutoffs, within, strict=True)
        for measure, total in zip(MEASURES, totals, strict=True)
    )


def score_rankings(
    grades: NDArray[np.integer[Any]],
    n_relevant: NDArray[np.integer[Any]],
    ideal: NDArray[np.integer[Any]],
    cutoffs: Sequence[int],
) -> dict[str, NDArray[np.float64]]:
    """Every measure at every cutoff, for many queries at once.

    Args:
        grades: [n_queries, depth], grade of the document at each rank, best first, each document once; 0 for unjudged
            documents and past the end of a ranking.
        n_relevant: [n_queries], relevant documents judged for the query.
        ideal: [n_queries, width], judged grades in descending order, padded with 0; `width` may stop at the largest
            cutoff.
        cutoffs: >= 1.

    Returns:
        `{"precision@1": float64 [n_queries], …}`; NaN where a query has no relevant document.
    """
    depth = max(cutoffs, default=0)
    n_queries = len(grades)
    query, column = np.nonzero(grades[:, :depth] > 0)
    first = np.searchsorted(query, np.arange(n_queries))
    rank = column + 1
    hit = (np.arange(len(query)) - first[query] + 1, rank, grades[query, column])
    gains = [np.broadcast_to(measure.gain(*hit), rank.shape) for measure in MEASURES]
    dcg = _cumulative_gain(ideal[:, :depth])
    has_relevant = n_relevant > 0
    results = {}
    for k in cutoffs:
        within = rank <= k
        queries = query[within]
        for measure, gain in zip(MEASURES, gains, strict=True):
            total = np.bincount(queries, weights=gain[within], minlength=n_queries)
            norm = measure.norm(k, n_relevant, dcg[:, min(k, dcg.shape[1]) - 1])
            results[f"{measure.name}@{k}"] = np.divide(total, norm, out=np.full(n_queries, np.nan), where=has_relevant)
    return results


@lru_cache(maxsize=64)
def _names(cutoffs: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"{measure.name}@{k}" for k in cutoffs for measure in MEASURES)


def _cumulative_gain(grades: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Discounted cumulative gain at each rank, float64 [n_queries, width] with a width of at least 1."""
    if grades.shape[1] == 0:
        return np.zeros((len(grades), 1))
    ranks = np.arange(1, grades.shape[1] + 1)
    dcg: NDArray[np.float64] = np.cumsum(discounted_gain(ranks, ranks, np.maximum(grades, 0)), axis=1)
    return dcg
