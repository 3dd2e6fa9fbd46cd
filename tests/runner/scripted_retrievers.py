"""Retrievers that answer from a table and note what they were asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.protocols import Workspace
from runner.records import Corpus, Query, Ranking
from runner.retrieval.rankings import Rankings, rank_all
from runner.retrieval.searching import Searcher
from tests.corpora import corpus_of, question, workspace


class Scripted:
    """A retriever that answers `text` with all chunks, those that it names first, and notes what it was asked."""

    def __init__(self, corpus: Corpus, odd: Mapping[str, Callable[[], None]] | None = None) -> None:
        self.corpus = corpus
        self._odd = odd or {}
        self._asked: list[list[str]] = []
        self._depths: list[int] = []

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        return {}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        self._asked.append([query.id for query in queries])
        self._depths.append(depth)
        for query in queries:
            self._odd.get(query.id, lambda: None)()
        return [self._rank(query, depth) for query in queries]

    def _rank(self, query: Query, depth: int) -> Ranking:
        ids = sorted(
            (chunk.id for chunk in self.corpus.chunks), key=lambda name: (name in query.text, name), reverse=True
        )
        ids = ids[:depth]
        scores = tuple(float(len(ids) - place) for place in range(len(ids)))
        return Ranking(tuple(ids), scores, tuple(score / len(ids) for score in scores))


class Remembering(Scripted):
    """What a retriever with a paid embedder looks like."""

    def __init__(self, corpus: Corpus, *, known: Sequence[str] = (), caches: bool = True) -> None:
        super().__init__(corpus)
        self.caches = caches
        self._known = set(known)
        self._warmed = 0

    def is_cached(self, queries: Sequence[Query]) -> list[bool]:
        return [query.id in self._known for query in queries]

    def warm_up(self) -> None:
        self._warmed += 1

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        self._known |= {query.id for query in queries}
        return super().search(queries, depth)


CORPUS = corpus_of({"a": "첫째", "b": "둘째", "c": "셋째"})


def rank(retriever: Scripted, queries: Sequence[Query], root: Path, **options: Any) -> Rankings:
    settings = {"depth": 100, "timeout_ms": 10_000, "seed": 1, "corpus": CORPUS} | options
    return rank_all(Searcher(retriever, **settings), queries, workspace(root, retriever))


def numbered(count: int) -> list[Query]:
    return [question(f"a#0 {n}", id=f"q{n}") for n in range(count)]
