"""BM25 of a store that ranks words itself, with the analyzers that it has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from runner.domains.links.graph_rerank import GraphRerank
from runner.errors import CorpusError, Problem
from runner.protocols import Retriever, Workspace, attribute_of
from runner.records import Corpus, Query, Ranking
from runner.retrieval.faiss_index import FACTS
from runner.retrieval.filters import Filter, facets_of_chunks, passing_mask, where_of
from runner.retrieval.stores import (
    Collection,
    IndexSettings,
    Points,
    Store,
    StoreIndex,
    WordHits,
    WordSettings,
    collection_name,
)
from runner.system.metadata import write_json
from runner.text.passages import passages


class StoreKeywordRetriever:
    """The store makes terms of passages and queries with `analyzer`, keeps the index and ranks.

    Relevance is the score over what a passage that is the query itself would score, as with `retriever=keyword`.
    `filter`: name -> value, or values of which one is enough, that the documents of hits have.

    A plan asks no store: there, `plan` ranks instead.
    """

    answer_model = "keyword"
    incidental = ("plan",)

    def __init__(
        self,
        *,
        store: Store,
        plan: Retriever,
        analyzer: Annotated[str, Field(pattern=r"^[\w.-]+$")] = "nori",
        k1: Annotated[float, Field(ge=0)] = 1.2,
        b: Annotated[float, Field(ge=0, le=1)] = 0.75,
        filter: Filter | None = None,
        graph_rerank: bool | None = None,
        graph_weight: Annotated[float, Field(ge=0)] = 0.1,
    ) -> None:
        self.store, self.plan = store, plan
        self.words = WordSettings(analyzer, k1, b)
        self._where = where_of(filter)
        self._index: StoreIndex | Retriever | None = None
        self.graph = GraphRerank(graph_rerank, graph_weight)

    def preflight(self) -> list[Problem]:
        if attribute_of(self.store, "ranks_words"):
            return []
        return [Problem("store", "this one ranks no words; expected store=opensearch, or retriever=keyword")]

    @property
    def provenance(self) -> Mapping[str, Any]:
        stand_in = {"stand_in": attribute_of(self.plan, "provenance")} if self._index is self.plan else {}
        return {"store": attribute_of(self.store, "provenance"), **stand_in}

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        """Raises CorpusError for a corpus without chunks."""
        if not corpus.chunks:
            raise CorpusError("the corpus is empty: there is nothing to index")
        self._ids = corpus.ids
        candidates = {}
        if self._where:
            left = passing_mask(facets_of_chunks(corpus), self._where, "retriever.filter")
            candidates = {"n_candidates": int(left.sum())}
        if workspace.stored_root != workspace.root:  # a plan
            self._index, facts = self.plan, self.plan.index(corpus, workspace)
        else:
            facts = self._fill(corpus, workspace)
        return {**facts, **candidates, **self.graph.index(corpus, workspace)}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Chunks that share no term with the query are no hits."""
        deep = self.graph.depth(depth)
        if isinstance(self._index, StoreIndex):
            return self.graph.rerank(self._index.run(self._rank_words(self._index, queries, deep)), depth)
        if self._index is None:
            raise RuntimeError("index() comes before search()")
        return self.graph.rerank(self._index.search(queries, deep), depth)

    @property
    def is_remote(self) -> bool:
        return self.store.transfer.max_concurrency > 0 and isinstance(self._index, StoreIndex)

    @property
    def concurrency(self) -> int:
        return max(1, self.store.transfer.max_concurrency)

    async def search_async(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Like `search`."""
        if not isinstance(self._index, StoreIndex):
            raise RuntimeError("no store is asked")
        return self.graph.rerank(await self._rank_words(self._index, queries, self.graph.depth(depth)), depth)

    def close(self) -> None:
        if isinstance(self._index, StoreIndex):
            self._index.close()

    async def _rank_words(self, index: StoreIndex, queries: Sequence[Query], depth: int) -> list[Ranking]:
        texts = [query.text for query in queries]
        return [self._ranking(hits) for hits in await index.rank_words(texts, depth, self._where)]

    def _ranking(self, hits: WordHits) -> Ranking:
        relevance = np.minimum(hits.scores / hits.own, 1.0) if hits.own > 0 else np.zeros(len(hits.scores))
        ids = tuple([self._ids[number] for number in hits.numbers.tolist()])
        return Ranking(ids, tuple(hits.scores.tolist()), tuple(relevance.tolist()))

    def _fill(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        """The facts of the collection, which is filled once; texts that it has lost since are added again."""
        content = {"corpus": corpus.fingerprint, "words": [self.words.analyzer, self.words.k1, self.words.b]}
        name = collection_name(content)
        size, root = len(corpus.ids), workspace.root / "stores"
        index = self._index = StoreIndex(self.store, Collection(name, size, 0, IndexSettings(), root, self.words))
        texts = passages(corpus)
        points = Points(0, corpus.ids, texts, np.zeros((size, 0), dtype=np.float32), facets_of_chunks(corpus))

        def build(path: Path) -> None:
            index.fill(points, anew=workspace.cold)
            facts = {"kind": "bm25", "n_chunks": size, "collection": name, "analyzer": self.words.analyzer}
            write_json(path / FACTS, facts)

        folder = workspace.folder("collections", {**content, "place": self.store.transfer.place}, build)
        if not index.is_whole():
            index.fill(points)
        index.check(None, texts)
        facts: dict[str, Any] = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        return facts
