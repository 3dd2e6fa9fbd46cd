"""One ranking out of two: a keyword leg and a semantic leg."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import copy_context
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from runner.domains.links.graph_rerank import GraphRerank
from runner.protocols import CachedRetriever, Closing, RemoteRetriever, Retriever, TextTelling, Workspace, attribute_of
from runner.records import Corpus, Query, Ranking
from runner.retrieval.filters import Filter
from runner.retrieval.fusion import BALANCED, POOL, Normalization, Values, convex_values, fuse, over, reciprocal_ranks
from runner.system.threads import compute, gather_all
from runner.text.ordering import best, byte_ranks


class HybridRetriever:
    """Fuses the `pool` best chunks of each leg, whatever depth is asked for, so that neither k nor the
    depth moves the fusion. The rankings of the legs are reported beside it.

    `convex`: weight x keyword + (1 - weight) x semantic, of scores that are normalised over the 100 best
    chunks of each leg (Bruch et al. 2023, "An analysis of fusion functions for hybrid retrieval"). What a
    leg did not return counts as its lowest score, or as 0 where the leg returned all it had.
    `rrf`: the sum of 1 / (rrf_k + rank), nothing from a leg that did not return the chunk (Cormack et al.
    2009); weaker where the legs are unequal.
    Relevance is weight x keyword + (1 - weight) x semantic of the legs' relevance, whichever fusion. `weight` None:
    what the embedder of the semantic leg says (`keyword_weight`), else one half.
    `filter`: of both legs.
    The graph reranks what is fused; a leg is reranked before it is fused only where its own settings ask for it.
    """

    answer_model = "hybrid"

    def __init__(
        self,
        *,
        keyword: Retriever,
        semantic: Retriever,
        fusion: Literal["convex", "rrf"] = "convex",
        weight: Annotated[float, Field(ge=0, le=1)] | None = None,
        normalization: Normalization = "zscore",
        rrf_k: Annotated[int, Field(ge=1)] = 60,
        pool: Annotated[int, Field(ge=1)] = POOL,
        filter: Filter | None = None,
        graph_rerank: bool | None = None,
        graph_weight: Annotated[float, Field(ge=0)] = 0.1,
    ) -> None:
        self.legs: Mapping[str, Retriever] = {"keyword": keyword, "semantic": semantic}
        self.fusion = fusion
        self.weight = self._suggested_weight() if weight is None else weight
        self.weights = np.array([[self.weight], [1 - self.weight]])
        self.normalization = normalization
        self.rrf_k = rrf_k
        self.pool = pool
        self.filter = filter  # of both legs, which take it from conf
        self.graph = GraphRerank(graph_rerank, graph_weight)

    def _suggested_weight(self) -> float:
        suggested = attribute_of(self.legs["semantic"], "keyword_weight")
        return BALANCED if suggested is None else float(suggested)

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {name: attribute_of(leg, "provenance") for name, leg in self.legs.items()}

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        facts = {name: dict(leg.index(corpus, workspace)) for name, leg in self.legs.items()}
        self._ids, self._places = corpus.ids, corpus.place_by_id
        self._ranks = byte_ranks(self._ids)
        self._n_candidates = facts["keyword"].get("n_candidates", len(self._ids))
        size = sum(leg.get("size_bytes", 0) for leg in facts.values())
        own = {"kind": self.fusion, "weight": self.weight, "n_chunks": len(self._ids), "size_bytes": size}
        return {**own, **facts, **self.graph.index(corpus, workspace)}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        deep = self.graph.depth(depth)
        rankings = [leg.search(queries, max(deep, self.pool)) for leg in self.legs.values()]
        return self.graph.rerank([self._fuse(legs, deep) for legs in zip(*rankings, strict=True)], depth)

    async def search_async(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """As `search`, with both legs at once; one in this process in a thread, one batch at a time."""
        deep = self.graph.depth(depth)
        rankings = await gather_all(_search_leg(leg, queries, max(deep, self.pool)) for leg in self.legs.values())
        return self.graph.rerank([self._fuse(legs, deep) for legs in zip(*rankings, strict=True)], depth)

    @property
    def is_remote(self) -> bool:
        return any(attribute_of(leg, "is_remote") for leg in self.legs.values())

    @property
    def concurrency(self) -> int:
        remote = [leg for leg in self.legs.values() if attribute_of(leg, "is_remote")]
        return max((int(attribute_of(leg, "concurrency")) for leg in remote), default=1)

    @property
    def caches(self) -> bool:
        return any(leg.caches for leg in self._cached_legs())

    def is_cached(self, queries: Sequence[Query]) -> list[bool]:
        answers = [leg.is_cached(queries) for leg in self._cached_legs()]
        return [any(answer) for answer in zip(*answers, strict=True)] if answers else [False] * len(queries)

    def warm_up(self) -> None:
        for leg in self._cached_legs():
            leg.warm_up()

    def texts_of(self, ids: Sequence[str]) -> list[str] | None:
        told = (leg.texts_of(ids) for leg in self.legs.values() if isinstance(leg, TextTelling))
        return next((texts for texts in told if texts is not None), None)

    def close(self) -> None:
        for leg in self.legs.values():
            if isinstance(leg, Closing):
                leg.close()

    def _cached_legs(self) -> list[CachedRetriever]:
        return [leg for leg in self.legs.values() if isinstance(leg, CachedRetriever)]

    # --- fusion -----------------------------------------------------------------------------------

    def _fuse(self, legs: Sequence[Ranking], depth: int) -> Ranking:
        places_of_legs = [np.array([self._places[id] for id in leg.ids[: self.pool]], dtype=np.int64) for leg in legs]
        weights = self.weights if self.fusion == "convex" else np.ones((len(legs), 1))
        union, scores = fuse(places_of_legs, [self._values(leg) for leg in legs], weights)
        relevance_of_legs = [np.array(leg.relevance[: self.pool], dtype=np.float64) for leg in legs]
        relevance = np.stack(
            [over(union, places, 0.0, own) for places, own in zip(places_of_legs, relevance_of_legs, strict=True)]
        )
        order = best(scores, self._ranks[union], depth)
        return Ranking(
            ids=tuple([self._ids[place] for place in union[order].tolist()]),
            scores=tuple(scores[order].tolist()),
            relevance=tuple((self.weights * relevance).sum(axis=0)[order].tolist()),
            legs={name: _top(leg, depth) for name, leg in zip(self.legs, legs, strict=True)},
        )

    def _values(self, leg: Ranking) -> Values:
        scores = np.array(leg.scores[: self.pool])
        if self.fusion == "rrf":
            return reciprocal_ranks(len(scores), self.rrf_k)
        return convex_values(scores, pool=self.pool, total=self._n_candidates, normalization=self.normalization)


async def _search_leg(leg: Retriever, queries: Sequence[Query], depth: int) -> list[Ranking]:
    if isinstance(leg, RemoteRetriever) and leg.is_remote:
        return await leg.search_async(queries, depth)
    return await compute(copy_context().run, leg.search, queries, depth)  # with the meters of this task


def _top(ranking: Ranking, depth: int) -> Ranking:
    return Ranking(ranking.ids[:depth], ranking.scores[:depth], ranking.relevance[:depth])
