"""The indexed corpus as the tools of an agent see it: its collections, the tags of its chunks, its sections."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from runner.domains.agent.candidate import Candidate
from runner.domains.agent.tags import chunk_tags
from runner.errors import EvaluationError
from runner.protocols import Retriever
from runner.records import Chunk, Corpus, Query, Ranking

SECTION_CHUNKS = 8  # chunks; of a longer section the nearest ones are returned
SHOWN = 20  # most tags, or values of a tag, in an error
TAGGED_DEPTH = 200  # depth of the first search for tagged chunks; then ten times as many, and so on


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection with its own index. `count`: chunks that a search returns from it."""

    retriever: Retriever
    count: int


class Shelf:
    """`base` ranks the whole corpus. Searches run one at a time, since retrievers need not be thread-safe."""

    def __init__(self, corpus: Corpus, base: Retriever, collections: Sequence[Collection]) -> None:
        self.corpus, self._base, self._collections = corpus, base, collections
        self._tags = chunk_tags(corpus)
        self._values_by_tag: dict[str, set[Any]] = {}
        for tags in self._tags.values():
            for name, value in tags.items():
                self._values_by_tag.setdefault(name, set()).update(_values(value))
        self._lock = Lock()

    @property
    def retrievers(self) -> list[Retriever]:
        """The retrievers of the collections."""
        return [each.retriever for each in self._collections]

    def has(self, tag: str, value: Any) -> bool:
        """Whether some chunk has the tag."""
        return not _values(value).isdisjoint(self._values_by_tag.get(tag, ()))

    @property
    def count(self) -> int:
        """The number of chunks that a search returns."""
        return sum(collection.count for collection in self._collections)

    def search_all(self, query: Query) -> Sequence[Candidate]:
        """The best chunks of each collection, one collection after the other."""
        with self._lock:
            rankings = [each.retriever.search([query], each.count)[0] for each in self._collections]
        return self._best(rankings)

    def best_of_all(self, queries: Sequence[Query], base: Sequence[Ranking]) -> list[Sequence[Candidate]]:
        """`search_all` for many queries with known rankings by `base`, with one batch search of each other index."""
        with self._lock:
            by_collection = [
                base if each.retriever is self._base else each.retriever.search(queries, each.count)
                for each in self._collections
            ]
        return [self._best(rankings) for rankings in zip(*by_collection, strict=True)]

    def _best(self, rankings: Sequence[Ranking]) -> Sequence[Candidate]:
        return [
            self.candidate(id, ranking.relevance[place])
            for ranking, collection in zip(rankings, self._collections, strict=True)
            for place, id in enumerate(ranking.ids[: collection.count])
        ]

    def search_by_metadata(self, query: Query, filters: Mapping[str, Any]) -> Sequence[Candidate]:
        """The best chunks of the corpus with all of these tags. Raises EvaluationError for an unknown tag or value,
        with the known ones."""
        self._check(filters)
        total, depth = len(self.corpus.chunks), TAGGED_DEPTH
        while True:
            with self._lock:
                ranking = self._base.search([query], min(depth, total))[0]
            places = [place for place, id in enumerate(ranking.ids) if _fits(self._tags[id], filters)][: self.count]
            if len(places) == self.count or len(ranking.ids) < depth or depth >= total:
                return [self.candidate(ranking.ids[place], ranking.relevance[place]) for place in places]
            depth *= 10

    def section(self, chunk_id: str) -> Sequence[Candidate]:
        """The chunks of the section of a chunk, or of the smallest enclosing section with more than this chunk, in
        reading order; [] where the chunk is the whole document. Raises EvaluationError for an unknown chunk."""
        chunk = self.corpus.chunk_by_id.get(chunk_id)
        if chunk is None:
            raise EvaluationError(f"there is no chunk '{chunk_id}'")
        chunks = self.corpus.chunks_of(chunk.document_id)
        for length in range(len(chunk.headings), -1, -1):
            section = [each for each in chunks if each.headings[:length] == chunk.headings[:length]]
            if len(section) > 1:
                return [self.candidate(each.id, 0.0) for each in _around(section, chunk)]
        return []

    def candidate(self, id: str, relevance: float) -> Candidate:
        """A chunk as a candidate for a reranker."""
        corpus = self.corpus
        return Candidate(id, corpus.text_of(id) or "", corpus.title_of(id), self._tags.get(id, {}), relevance)

    def _check(self, filters: Mapping[str, Any]) -> None:
        if not filters:
            raise EvaluationError("expected at least one tag to search by")
        for name in filters.keys() - self._values_by_tag.keys():
            raise EvaluationError(f"no chunk has a tag '{name}'; known: {_first_ids(self._values_by_tag)}")
        for name, value in filters.items():
            known = self._values_by_tag[name]
            if _values(value).isdisjoint(known):
                listed = _first_ids(known - {"", None})
                raise EvaluationError(f"no chunk has {name}={_as_text(value)}; known: {listed or 'no value'}")


def _first_ids(known: Iterable[Any]) -> str:
    shown = sorted(map(_as_text, known))
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return f"{', '.join(shown[:SHOWN])}{more}"


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


def _fits(tags: Mapping[str, Any], filters: Mapping[str, Any]) -> bool:
    """Whether tags match filters: texts in any case, and any element of lists."""
    return all(not _values(tags.get(name)).isdisjoint(_values(wanted)) for name, wanted in filters.items())


def _values(value: Any) -> set[Any]:
    """The values of a tag in comparable form: case-folded texts, numbers, and anything else as text."""
    items = value if isinstance(value, list | tuple) else [value]
    return {_comparable(item) for item in items}


def _comparable(item: Any) -> Any:
    if isinstance(item, str):
        return item.casefold()
    return item if isinstance(item, int | float | None) else repr(item)


def _around(section: Sequence[Chunk], chunk: Chunk) -> Sequence[Chunk]:
    place = next(number for number, each in enumerate(section) if each.id == chunk.id)
    start = max(0, min(place - SECTION_CHUNKS // 2, len(section) - SECTION_CHUNKS))
    return section[start : start + SECTION_CHUNKS]
