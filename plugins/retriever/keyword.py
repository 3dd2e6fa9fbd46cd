"""BM25 over the terms of a tokenizer (bm25s: every score is computed when the index is built)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.domains.links.graph_rerank import GraphRerank
from runner.domains.links.store import NoteStore
from runner.errors import CorpusError
from runner.protocols import Tokenizer, Workspace, attribute_of
from runner.records import Corpus, Query, Ranking
from runner.retrieval import postings
from runner.retrieval.filters import Filter, facets_of_chunks, passing_mask, where_of
from runner.retrieval.postings import Bm25, Postings, Span
from runner.system.metadata import version_of
from runner.system.store import fingerprint
from runner.text.ordering import best, byte_ranks
from runner.text.passages import passages

BATCH = 1024  # texts that are held as terms at a time
REMEMBERED = 50_000  # chunks; of larger corpora no terms are kept

Tokenize = Callable[[Sequence[str]], list[list[str]]]


class KeywordRetriever:
    """`method` is the variant of BM25 (Kamphuis et al. 2020, "Which BM25 do you mean?").

    Relevance is the score over the query's self-score: what BM25 gives a chunk that is the query
    itself. A term that no chunk has counts in it like a term that one chunk has, so a query is fully
    matched (1.0) only when all of it is.

    `filter`: name -> value, or values of which one is enough, that the documents of hits have (their language, and what
    their metadata holds); the weights of terms are those of the whole corpus.

    In a corpus of up to 50,000 chunks, one that did not change is not tokenised again; the statistics are those of the
    whole corpus, so they are computed again from the terms of all chunks, whatever has changed.
    """

    answer_model = "keyword"

    def __init__(
        self,
        *,
        tokenizer: Tokenizer,
        method: Literal["lucene", "robertson", "atire"] = "lucene",
        k1: Annotated[float, Field(ge=0)] = 1.5,
        b: Annotated[float, Field(ge=0, le=1)] = 0.75,
        filter: Filter | None = None,
        graph_rerank: bool | None = None,
        graph_weight: Annotated[float, Field(ge=0)] = 0.1,
    ) -> None:
        self.tokenizer = tokenizer
        self.method = method
        self.k1 = k1
        self.b = b
        self._where = where_of(filter)
        self._passing: NDArray[np.bool_] | None = None
        self.graph = GraphRerank(graph_rerank, graph_weight)

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {"bm25s": version_of("bm25s"), "tokenizer": attribute_of(self.tokenizer, "provenance")}

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        """Raises CorpusError for a corpus without chunks."""
        if not corpus.chunks:
            raise CorpusError("the corpus is empty: there is nothing to index")
        key = {
            "corpus": corpus.fingerprint,
            "tokenizer": workspace.identity(self.tokenizer),
            "bm25": [self.method, self.k1, self.b],
            "provenance": self.provenance,
        }
        tokenize = self._stored_tokenizer(workspace) if len(corpus.chunks) <= REMEMBERED else self.tokenizer.tokenize
        folder = workspace.folder("keyword", key, lambda path: self._build(path, corpus, tokenize))
        self._open(folder, corpus)
        if self._where:
            self._passing = passing_mask(facets_of_chunks(corpus), self._where, "retriever.filter")
        candidates = {} if self._passing is None else {"n_candidates": int(self._passing.sum())}
        return {
            "kind": "bm25",
            "n_chunks": len(self._ids),
            **candidates,
            "n_terms": self._postings.n_terms,
            "size_bytes": sum(file.stat().st_size for file in folder.iterdir()),
            **self.graph.index(corpus, workspace),
        }

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Chunks that share no term with the query, or only terms without weight, are no hits."""
        terms, deep = self.tokenizer.tokenize([query.text for query in queries]), self.graph.depth(depth)
        return self.graph.rerank([self._rank(own, deep) for own in terms], depth)

    # --- index ------------------------------------------------------------------------------------

    def _stored_tokenizer(self, workspace: Workspace) -> Tokenize:
        store = NoteStore(workspace.root, cold=workspace.cold, reads=workspace.stored_root)
        identity = fingerprint([workspace.identity(self.tokenizer), attribute_of(self.tokenizer, "provenance")])
        return partial(store.terms, self.tokenizer, identity)

    def _build(self, folder: Path, corpus: Corpus, tokenize: Tokenize) -> None:
        texts = passages(corpus)
        batches = (tokenize([*texts[start : start + BATCH]]) for start in range(0, len(texts), BATCH))
        postings.build(folder, chain.from_iterable(batches), Bm25(self.method, self.k1, self.b))

    def _open(self, folder: Path, corpus: Corpus) -> None:
        self._postings = Postings(folder)
        self._ids = corpus.ids
        self._ranks = byte_ranks(self._ids)
        self._weights: dict[int, float] = {}  # by number of chunks

    # --- search -----------------------------------------------------------------------------------

    def _rank(self, terms: Sequence[str], depth: int) -> Ranking:
        spans = self._postings.spans(terms)
        known = [spans[term] for term in terms if term in spans]
        scores = self._postings.scores(known)  # a term that the query repeats counts each time
        if self._passing is not None:
            scores = np.where(self._passing, scores, 0.0)
        order = best(scores, self._ranks, depth, above=0.0)
        scores = scores[order]
        relevance = np.minimum(scores / self._self_score(terms, spans), 1.0) if len(order) else scores
        ids = tuple([self._ids[position] for position in order.tolist()])
        return Ranking(ids, tuple(scores.tolist()), tuple(relevance.tolist()))

    def _self_score(self, terms: Sequence[str], spans: Mapping[str, Span]) -> float:
        norm = self.k1 * (1 - self.b + self.b * len(terms) / self._postings.mean_length)
        total = 0.0
        for term, count in Counter(terms).items():
            begin, end = spans.get(term, (0, 1))  # one chunk
            weight = self._idf_of(end - begin)
            total += count * weight * count / (count + norm)
        return total * (self.k1 + 1) if self.method == "atire" else total

    def _idf_of(self, frequency: int) -> float:
        weight = self._weights.get(frequency)
        if weight is None:
            weight = float(idf(np.array([frequency]), self._postings.n_chunks, self.method)[0])
            self._weights[frequency] = weight
        return weight


def idf(frequencies: NDArray[Any], n_chunks: int, method: str) -> NDArray[np.float64]:
    """Weight of terms that occur in so many of the chunks, as bm25s computes it."""
    if method == "atire":
        return np.log(n_chunks / frequencies)
    odds = (n_chunks - frequencies + 0.5) / (frequencies + 0.5)
    return np.log1p(odds) if method == "lucene" else np.log(np.maximum(odds, 1.0))
