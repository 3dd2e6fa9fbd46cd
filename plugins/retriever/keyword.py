"""BM25 over the terms of a tokenizer (bm25s: every score is computed when the index is built)."""

from __future__ import annotations

import logging
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.domains.links.graph_rerank import GraphRerank
from runner.domains.links.store import NoteStore
from runner.errors import CorpusError
from runner.protocols import Tokenizer, Workspace, offered
from runner.records import Corpus, Query, Ranking
from runner.system.metadata import version_of
from runner.system.store import fingerprint
from runner.text.ordering import best, byte_ranks
from runner.text.passages import passages

BATCH = 1024  # texts that are held as terms at a time
NO_TERM = ""  # no tokenizer gives it
REMEMBERED = 50_000  # chunks; of larger corpora no terms are kept

Tokenize = Callable[[Sequence[str]], list[list[str]]]


class KeywordRetriever:
    """`method` is the variant of BM25 (Kamphuis et al. 2020, "Which BM25 do you mean?").

    Relevance is the score over the query's self-score: what BM25 gives a chunk that is the query
    itself. A term that no chunk has counts in it like a term that one chunk has, so a query is fully
    matched (1.0) only when all of it is.

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
        graph_rerank: bool | None = None,
        graph_weight: Annotated[float, Field(ge=0)] = 0.1,
    ) -> None:
        self.tokenizer = tokenizer
        self.method = method
        self.k1 = k1
        self.b = b
        self.graph = GraphRerank(graph_rerank, graph_weight)

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {"bm25s": version_of("bm25s"), "tokenizer": offered(self.tokenizer, "provenance")}

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        """Raises CorpusError for a corpus without chunks."""
        if not corpus.chunks:
            raise CorpusError("the corpus is empty: there is nothing to index")
        key = {"corpus": corpus.fingerprint, "retriever": workspace.identity(self), "provenance": self.provenance}
        tokenize = self._remembering(workspace) if len(corpus.chunks) <= REMEMBERED else self.tokenizer.tokenize
        folder = workspace.folder("keyword", key, lambda path: self._build(path, corpus, tokenize))
        self._open(folder, corpus)
        return {
            "kind": "bm25",
            "n_chunks": len(self._ids),
            "n_terms": len(self._vocabulary),
            "size_bytes": sum(file.stat().st_size for file in folder.iterdir()),
            **self.graph.index(corpus, workspace),
        }

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Chunks that share no term with the query, or only terms without weight, are no hits."""
        return self.graph.search(self._search, queries, depth)

    def _search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        return [self._rank(terms, depth) for terms in self.tokenizer.tokenize([query.text for query in queries])]

    # --- index ------------------------------------------------------------------------------------

    def _remembering(self, workspace: Workspace) -> Tokenize:
        store = NoteStore(workspace.root, cold=workspace.cold, reads=workspace.stored)
        identity = fingerprint([workspace.identity(self.tokenizer), offered(self.tokenizer, "provenance")])
        return partial(store.terms, self.tokenizer, identity)

    def _build(self, folder: Path, corpus: Corpus, tokenize: Tokenize) -> None:
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.WARNING)
        vocabulary, chunks = self._terms(passages(corpus), tokenize)
        bm25 = bm25s.BM25(k1=self.k1, b=self.b, method=self.method, dtype="float64")
        bm25.index((chunks, vocabulary), create_empty_token=False, show_progress=False)
        bm25.save(folder, show_progress=False)
        np.save(folder / "mean_length.npy", np.mean([len(chunk) for chunk in chunks]))

    def _terms(self, texts: Sequence[str], tokenize: Tokenize) -> tuple[dict[str, int], list[array[int]]]:
        """Term numbers in order of first occurrence, and the terms of each text as such numbers."""
        vocabulary: dict[str, int] = {}
        numbered: list[array[int]] = []
        for start in range(0, len(texts), BATCH):
            numbered.extend(
                array("i", [vocabulary.setdefault(term, len(vocabulary)) for term in terms])
                for terms in tokenize(texts[start : start + BATCH])
            )
        if not vocabulary:  # bm25s cannot index nothing
            return {NO_TERM: 0}, [array("i", [0]) for _ in texts]
        return vocabulary, numbered

    def _open(self, folder: Path, corpus: Corpus) -> None:
        import bm25s

        self._bm25 = bm25s.BM25.load(folder, mmap=True)
        for name in ("data", "indices", "indptr"):  # plain views of the maps are cheaper to slice
            self._bm25.scores[name] = np.asarray(self._bm25.scores[name])
        self._vocabulary: dict[str, int] = self._bm25.vocab_dict
        self._mean_length = float(np.load(folder / "mean_length.npy"))
        self._ids = [chunk.id for chunk in corpus.chunks]
        self._ranks = byte_ranks(self._ids)
        self._idf = idf(np.diff(self._bm25.scores["indptr"]), len(self._ids), self.method)
        self._idf_unknown = float(idf(np.ones(1), len(self._ids), self.method)[0])

    # --- search -----------------------------------------------------------------------------------

    def _rank(self, terms: Sequence[str], depth: int) -> Ranking:
        known = [self._vocabulary[term] for term in terms if term in self._vocabulary]
        scores = self._bm25.get_scores_from_ids(known)  # a term that the query repeats counts each time
        order = best(scores, self._ranks, depth, above=0.0)
        scores = scores[order]
        relevance = np.minimum(scores / self._self_score(terms), 1.0) if len(order) else scores
        ids = tuple([self._ids[position] for position in order])
        return Ranking(ids, tuple(scores.tolist()), tuple(relevance.tolist()))

    def _self_score(self, terms: Sequence[str]) -> float:
        norm = self.k1 * (1 - self.b + self.b * len(terms) / self._mean_length)
        total = 0.0
        for term, count in Counter(terms).items():
            number = self._vocabulary.get(term)
            weight = self._idf_unknown if number is None else float(self._idf[number])
            total += count * weight * count / (count + norm)
        return total * (self.k1 + 1) if self.method == "atire" else total


def idf(frequencies: NDArray[Any], n_chunks: int, method: str) -> NDArray[np.float64]:
    """Weight of terms that occur in so many of the chunks, as bm25s computes it."""
    if method == "atire":
        return np.log(n_chunks / frequencies)
    odds = (n_chunks - frequencies + 0.5) / (frequencies + 0.5)
    return np.log1p(odds) if method == "lucene" else np.log(np.maximum(odds, 1.0))
