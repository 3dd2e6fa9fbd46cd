"""The rankings that another system returned, as the queries file has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.errors import EvaluationError
from runner.protocols import Workspace
from runner.records import Corpus, Query, Ranking


class GivenRetriever:
    """`ranking` of a query, else the ids of its `contexts`, scored 1/rank; of a query with an `answer` alone nothing is
    known, and one with none of the three fails.

    Ids may be of chunks or of documents, also of ones that the corpus does not have; an id that comes
    twice counts at its best score. Relevance is the score where all scores of the query are in 0..1,
    else 1.0: scores on a scale that is not known say which is best, not how good it is.
    """

    foreign_ids = True

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        return {"kind": "given"}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        return [_ranking(query, depth) for query in queries]


def _ranking(query: Query, depth: int) -> Ranking:
    hits: dict[str, float] = {}
    for id, score in _given_ranking(query):
        hits[id] = max(score, hits.get(id, score))
    ordered = sorted(hits.items(), key=lambda hit: (hit[1], hit[0]), reverse=True)[:depth]
    absolute = all(0 <= score <= 1 for score in hits.values())
    return Ranking(
        ids=tuple([id for id, _ in ordered]),
        scores=tuple([score for _, score in ordered]),
        relevance=tuple([score if absolute else 1.0 for _, score in ordered]),
    )


def _given_ranking(query: Query) -> Sequence[tuple[str, float]]:
    recorded = query.given
    if recorded.ranking is not None:
        return recorded.ranking
    if recorded.contexts is None and recorded.answer is not None:
        return ()
    if recorded.contexts is None:
        raise EvaluationError(f"query {query.id}: ranking: missing, and no contexts either; retriever=given needs one")
    return [(context.id, 1 / rank) for rank, context in enumerate(recorded.contexts, start=1)]
