"""A shelf of a few chunks, and what ranks them in a fixed way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.domains.agent.candidate import Candidate
from runner.domains.agent.fallbacks import Fallbacks
from runner.domains.agent.shelf import Collection, Shelf
from runner.domains.agent.toolbox import Toolbox
from runner.protocols import Workspace
from runner.records import Assessment, Chunk, Corpus, Document, Query, Ranking

FALLBACKS = Fallbacks(
    {"not_ready": {"ko": "준비 중", "en": "not ready"}, "not_found": {"ko": "없음", "en": "not found"}},
    {"ko": [("문의", "/help")], "en": [("Help", "/help")]},
    0.5,
)


def sectioned(**documents: Sequence[tuple[str, str]]) -> Corpus:
    """Document id -> its chunks as (headings joined by /, text); `guide…` and `faq…` are of that doc_type."""
    chunks, records = [], []
    for name, parts in documents.items():
        start = 0
        for n, (headings, text) in enumerate(parts):
            path = tuple(headings.split("/")) if headings else ()
            chunks.append(Chunk(f"{name}#{n}", name, text, start, start + len(text), path))
            start += len(text)
        kind = next((kind for kind in ("faq", "guide") if name.startswith(kind)), None)
        metadata = {} if kind is None else {"doc_type": kind}
        records.append(Document(name, "".join(text for _, text in parts), "", None, metadata))
    return Corpus(records, chunks, "/".join(documents))


@dataclass
class Counting:
    """Ranks chunks by how many words of the query they hold (those with none are no hits); relevance is the share."""

    asked: list[list[str]] = field(default_factory=list)

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        self.chunks = corpus.chunks
        return {"kind": "counting", "size_bytes": 5}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        self.asked.append([query.text for query in queries])
        return [self._rank(query.text.split(), depth) for query in queries]

    def _rank(self, words: Sequence[str], depth: int) -> Ranking:
        counts = {chunk.id: sum(word in chunk.text for word in words) / len(words) for chunk in self.chunks}
        hits = sorted(((share, id) for id, share in counts.items() if share), reverse=True)[:depth]
        shares = tuple([share for share, _ in hits])
        return Ranking(tuple([id for _, id in hits]), shares, shares)


@dataclass
class Says:
    """A reranker that answers with `said(number of the call, ids of the candidates)`."""

    said: Callable[[int, Sequence[str]], Assessment]
    seen: list[tuple[list[str], list[str]]] = field(default_factory=list)

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        pass

    def rerank(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> Assessment:
        self.seen.append(([each.id for each in candidates], list(past_queries)))
        return self.said(len(self.seen), self.seen[-1][0])


def shelf_of(corpus: Corpus, count: int = 2) -> Shelf:
    base = Counting()
    base.chunks = corpus.chunks
    return Shelf(corpus, base, [Collection(base, count)])


def toolbox_of(shelf: Shelf, reranker: Any, question: str = "question", **options: Any) -> Toolbox:
    query = Query("q", question, True, {})
    return Toolbox(query, shelf=shelf, reranker=reranker, fallbacks=FALLBACKS, **{"max_calls": 3, **options})
