"""Searches all queries: a timed probe, the rest in batches, and a deadline for every attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TypeVar

import numpy as np

from runner.errors import EvaluationError, InputError, RunnerError, StopRunError, describe_unexpected
from runner.llm.metering import Entries, metering
from runner.protocols import CachedRetriever, Retriever, offered
from runner.records import Corpus, Query, Ranking
from runner.system.stopwatch import stopwatch
from runner.system.threads import Worker

T = TypeVar("T")

PROBE = 1000  # queries that are searched alone and timed; the others go in batches
BATCH = 64
ASKING_BATCH = 1024  # queries a batch of a retriever that calls a model with many texts in a request
ASKING_PROBE = 200  # most timed queries of such a retriever, since they run one after the other
AGENT_PROBE = 20  # most timed queries of a retriever that waits for several model replies a query
ASKING_ATTEMPTS = 8  # multiple of timeout_ms for a search that may call a model: its requests are retried
TIMEOUT = "timeout"
EMPTY = Ranking((), (), ())


@dataclass(frozen=True, slots=True)
class Found:
    """The result of one query. `latency_ms`: set where a live search was timed alone and nothing was retried, without
    time in queues. `asked`: cost of the models, by role."""

    ranking: Ranking = EMPTY
    latency_ms: float | None = None
    error: str | None = None
    asked: Entries = field(default_factory=dict)


class Searcher:
    """Searches with one retriever until every query has `depth` documents or its chunks are exhausted.

    Up to `probe` queries, drawn with `seed`, are searched one at a time and timed, after `warmup` untimed searches
    (none where a search may cost something); the others are searched in batches. The probe has at most ASKING_PROBE
    queries where a search may call a model, and AGENT_PROBE where the retriever works on several questions at once
    (`concurrency`).
    """

    def __init__(
        self,
        retriever: Retriever,
        corpus: Corpus,
        *,
        depth: int,
        timeout_ms: float,
        seed: int,
        probe: int = PROBE,
        warmup: int = 1,
    ) -> None:
        self.retriever, self.corpus, self.depth = retriever, corpus, depth
        self._cached = retriever if isinstance(retriever, CachedRetriever) and retriever.caches else None
        if self._cached is not None:
            probe = min(probe, AGENT_PROBE if offered(retriever, "concurrency") > 1 else ASKING_PROBE)
        self._probe_size, self._warmup, self._seed = probe, warmup, seed
        self._timeout_s = timeout_ms / 1000 * (1 if self._cached is None else ASKING_ATTEMPTS)
        self._batch_size = BATCH if self._cached is None else ASKING_BATCH
        self._worker = Worker()

    def search_all(self, queries: Sequence[Query]) -> Iterator[tuple[int, Found]]:
        """Search each query once; yields (place in `queries`, result), the timed probe first."""
        chosen = np.random.default_rng(self._seed).permutation(len(queries))[: self._probe_size]
        timed = sorted(chosen.tolist())
        untimed = sorted(set(range(len(queries))) - set(timed))
        try:
            self._warm_up([queries[place] for place in timed])
            yield from self._probe(queries, timed)
            for start in range(0, len(untimed), self._batch_size):
                places = untimed[start : start + self._batch_size]
                batch = [queries[place] for place in places]
                yield from zip(places, self._search_deeper(batch, self._batch(batch, self._first_depth)), strict=True)
        finally:
            self._worker.close()

    # --- one at a time, on the clock --------------------------------------------------------------

    def _probe(self, queries: Sequence[Query], places: Sequence[int]) -> Iterator[tuple[int, Found]]:
        for place in places:
            query = queries[place]
            live = self._cached is None or not self._cached.is_cached([query])[0]
            found = self._single(query, self._first_depth)
            if not live:
                found = replace(found, latency_ms=None)
            yield place, self._search_deeper([query], [found])[0]

    def _warm_up(self, queries: Sequence[Query]) -> None:
        """Search the first `warmup` queries, or let a retriever with a cache prepare itself."""
        if self._cached is None:
            for query in queries[: self._warmup]:
                self._single(query, self._first_depth)
        elif self._warmup and not all(self._cached.is_cached(queries)):
            self._attempt(self._cached.warm_up, self._timeout_s)

    def _single(self, query: Query, depth: int) -> Found:
        def search_timed() -> Found:
            with stopwatch() as watch:
                found = self._search([query], depth)[0]
                latency_ms = watch.ms
            return replace(found, latency_ms=latency_ms if watch.live else None)

        found = self._attempt(search_timed, self._timeout_s)
        return found if isinstance(found, Found) else Found(error=found)

    # --- many at a time ---------------------------------------------------------------------------

    def _batch(self, queries: Sequence[Query], depth: int) -> list[Found]:
        """Search a batch; where it fails or is late, search its queries one by one, so that a bad query fails alone.

        A batch that may cost money gets the time of all its queries: to give it up would mean to pay twice.
        """
        timeout_s = self._timeout_s * (1 if self._cached is None else len(queries))
        found = self._attempt(lambda: self._search(queries, depth), timeout_s)
        if isinstance(found, str):
            return [replace(self._single(query, depth), latency_ms=None) for query in queries]
        return found

    def _search(self, queries: Sequence[Query], depth: int) -> list[Found]:
        owner = queries[0].id if len(queries) == 1 else ""
        with metering(owners={query.text: query.id for query in queries}, owner=owner) as meter:
            rankings = self.retriever.search(queries, depth)
        if len(rankings) != len(queries):
            raise EvaluationError(f"the retriever returned {len(rankings)} rankings for {len(queries)} queries")
        asked = meter.of_each([query.id for query in queries])
        return [Found(ranking, asked=own) for ranking, own in zip(rankings, asked, strict=True)]

    def _attempt(self, function: Callable[[], T], timeout_s: float) -> T | str:
        """The result or the error. A configuration error raises, since it holds for all queries."""
        try:
            return self._worker.call(function, timeout_s)
        except TimeoutError as error:
            return str(error) or TIMEOUT
        except (InputError, StopRunError):
            raise
        except Exception as error:
            return str(error) if isinstance(error, RunnerError) else describe_unexpected(error)

    # --- to the depth asked for -------------------------------------------------------------------

    @property
    def _first_depth(self) -> int:
        """The first depth in chunks; higher than `depth` where documents have several chunks."""
        per_document = ceil(len(self.corpus.chunks) / max(1, len(self.corpus.documents)))
        return self.depth * min(max(1, per_document), 4)

    def _search_deeper(self, queries: Sequence[Query], searched: list[Found]) -> list[Found]:
        """Search again, twice as deep each time, for queries with too few documents and more chunks to come."""
        depth = self._first_depth
        while depth < len(self.corpus.chunks):
            places = [place for place, result in enumerate(searched) if self._lacks_documents(result.ranking, depth)]
            if not places:
                break
            depth *= 2
            for place, deeper in zip(places, self._batch([queries[place] for place in places], depth), strict=True):
                before = searched[place]
                latency_ms = before.latency_ms if deeper.error is None else None
                searched[place] = replace(deeper, latency_ms=latency_ms, asked={**deeper.asked, **before.asked})
        return [replace(result, ranking=self._trim(result.ranking)) for result in searched]

    def _lacks_documents(self, ranking: Ranking, depth: int) -> bool:
        """Whether documents are missing; false where the matching chunks are exhausted."""
        if any(self._lacks_documents(leg, depth) for leg in ranking.legs.values()):
            return True
        return len(ranking.ids) >= depth and len(set(self.corpus.documents_of(ranking.ids))) < self.depth

    def _trim(self, ranking: Ranking) -> Ranking:
        """The first `depth` chunks, then only chunks that bring a new document, to `depth` documents."""
        documents: set[str] = set()
        places = []
        for place, document in enumerate(self.corpus.documents_of(ranking.ids)):
            if place >= self.depth and len(documents) >= self.depth:
                break
            if place < self.depth or document not in documents:
                places.append(place)
            documents.add(document)
        return Ranking(
            ids=tuple([ranking.ids[place] for place in places]),
            scores=tuple([ranking.scores[place] for place in places]),
            relevance=tuple([ranking.relevance[place] for place in places]),
            legs={name: self._trim(leg) for name, leg in ranking.legs.items()},
            trajectory=ranking.trajectory,
        )
