"""Searches all queries: a timed probe, the rest in batches, and a deadline for every attempt.

Searching is one set of coroutines. A retriever in this process is searched in a thread, and nothing in them is awaited.
One that asks a server (RemoteRetriever) is awaited on the event loop of the run, several batches at once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, TypeVar

import numpy as np

from runner.errors import EvaluationError, InputError, RunnerError, StopRunError, describe_unexpected
from runner.llm.metering import Entries, metering
from runner.protocols import CachedRetriever, RemoteRetriever, Retriever, attribute_of
from runner.records import Corpus, Query, Ranking
from runner.system.stopwatch import deadline, stopwatch
from runner.system.threads import LoopCalls, Worker, finish, gather_all, in_thread

T = TypeVar("T")

PROBE = 1000  # queries that are searched alone and timed; the others go in batches
BATCH = 64
ASKING_BATCH = 1024  # queries a batch of a retriever that calls a model with many texts in a request
ASKING_PROBE = 200  # most timed queries of a retriever that waits for a model or a server: they run one after the other
AGENT_PROBE = 20  # most timed queries of a retriever that waits for several model replies a query
ASKING_ATTEMPTS = 8  # multiple of timeout_ms for a search that asks a model or a server: its requests are retried
TIMEOUT = "timeout"
EMPTY = Ranking((), (), ())


@dataclass(frozen=True, slots=True)
class SearchResult:
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
    queries where a search may call a model or asks a server, and AGENT_PROBE where the retriever works on several
    questions at once (`concurrency`).

    `loop`: where a RemoteRetriever is awaited, `concurrency` batches at once; without it, its `search` is called.
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
        loop: LoopCalls | None = None,
    ) -> None:
        self.retriever, self.corpus, self.depth = retriever, corpus, depth
        self._cached = retriever if isinstance(retriever, CachedRetriever) and retriever.caches else None
        self._loop = loop
        is_remote = loop is not None and isinstance(retriever, RemoteRetriever) and retriever.is_remote
        self._remote = retriever if is_remote and isinstance(retriever, RemoteRetriever) else None
        self._concurrency = int(attribute_of(retriever, "concurrency"))
        self._probe_size, self._warmup, self._seed = min(probe, self._most_timed), warmup, seed
        waits = self._cached is not None or self._remote is not None
        self._timeout_s = timeout_ms / 1000 * (ASKING_ATTEMPTS if waits else 1)
        self._batch_size = BATCH if self._cached is None else ASKING_BATCH
        self._worker = Worker()

    @property
    def _most_timed(self) -> int:
        if self._cached is None and self._remote is None:
            return PROBE
        return AGENT_PROBE if self._remote is None and self._concurrency > 1 else ASKING_PROBE

    def search_all(self, queries: Sequence[Query]) -> Iterator[tuple[int, SearchResult]]:
        """Search each query once; yields (place in `queries`, result), the timed probe first."""
        chosen = np.random.default_rng(self._seed).permutation(len(queries))[: self._probe_size]
        timed = sorted(chosen.tolist())
        untimed = sorted(set(range(len(queries))) - set(timed))
        n_at_once = self._batch_size
        if self._remote is not None:
            n_at_once = max(ASKING_BATCH, self._concurrency * self._batch_size)
        try:
            self._run(self._warm_up([queries[place] for place in timed]))
            for place in timed:
                yield place, self._run(self._search_timed(queries[place]))
            for start in range(0, len(untimed), n_at_once):
                places = untimed[start : start + n_at_once]
                yield from zip(
                    places, self._run(self._search_batches([queries[place] for place in places])), strict=True
                )
        finally:
            self._worker.close()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return finish(coroutine) if self._loop is None or self._remote is None else self._loop.run(coroutine)

    # --- one at a time, on the clock --------------------------------------------------------------

    async def _search_timed(self, query: Query) -> SearchResult:
        live = self._cached is None or not self._cached.is_cached([query])[0]
        result = await self._search_one(query, self._first_depth)
        if not live:
            result = replace(result, latency_ms=None)
        return (await self._search_deeper([query], [result]))[0]

    async def _warm_up(self, queries: Sequence[Query]) -> None:
        """Search the first `warmup` queries, or let a retriever with a cache prepare itself."""
        if self._cached is None:
            for query in queries[: self._warmup]:
                await self._search_one(query, self._first_depth)
        elif self._warmup and not all(self._cached.is_cached(queries)):
            await self._attempt(self._prepare_cached, self._timeout_s)

    async def _prepare_cached(self) -> None:
        if self._cached is not None and self._remote is None:
            self._cached.warm_up()
        elif self._cached is not None and self._remote is not None:
            await in_thread(self._cached.warm_up)
            await self._remote.search_async([], 1)  # connects

    async def _search_one(self, query: Query, depth: int) -> SearchResult:
        async def search_timed() -> SearchResult:
            with stopwatch() as watch:
                result = (await self._search([query], depth))[0]
                latency_ms = watch.ms
            return replace(result, latency_ms=latency_ms if watch.live else None)

        result = await self._attempt(search_timed, self._timeout_s)
        return result if isinstance(result, SearchResult) else SearchResult(error=result)

    # --- many at a time ---------------------------------------------------------------------------

    async def _search_batches(self, queries: Sequence[Query]) -> list[SearchResult]:
        """Search in batches, of a remote retriever `concurrency` at once."""
        starts = range(0, len(queries), self._batch_size)
        waiting, results = iter(starts), dict[int, list[SearchResult]]()

        async def work() -> None:
            for start in waiting:
                batch = queries[start : start + self._batch_size]
                results[start] = await self._search_deeper(batch, await self._batch(batch, self._first_depth))

        if self._remote is None:
            await work()
        else:
            await gather_all(work() for _ in range(self._concurrency))
        return [each for start in starts for each in results[start]]

    async def _batch(self, queries: Sequence[Query], depth: int) -> list[SearchResult]:
        """Search a batch; where it fails or is late, search its queries one by one, so that a bad query fails alone.

        A batch that may cost money gets the time of all its queries: to give it up would mean to pay twice.
        """
        timeout_s = self._timeout_s * (1 if self._cached is None else len(queries))
        results = await self._attempt(lambda: self._search(queries, depth), timeout_s)
        if isinstance(results, str):
            return [replace(await self._search_one(query, depth), latency_ms=None) for query in queries]
        return results

    async def _search(self, queries: Sequence[Query], depth: int) -> list[SearchResult]:
        owner = queries[0].id if len(queries) == 1 else ""
        with metering(owners={query.text: query.id for query in queries}, owner=owner) as meter:
            if self._remote is None:
                rankings = self.retriever.search(queries, depth)
            else:
                rankings = await self._remote.search_async(queries, depth)
        if len(rankings) != len(queries):
            raise EvaluationError(f"the retriever returned {len(rankings)} rankings for {len(queries)} queries")
        asked = meter.of_each([query.id for query in queries])
        return [SearchResult(ranking, asked=own) for ranking, own in zip(rankings, asked, strict=True)]

    async def _attempt(self, search: Callable[[], Coroutine[Any, Any, T]], timeout_s: float) -> T | str:
        """The result or the error. A configuration error raises, since it holds for all queries."""
        try:
            if self._remote is None:
                return self._worker.call(lambda: finish(search()), timeout_s)
            with deadline(timeout_s):
                return await search()
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

    async def _search_deeper(self, queries: Sequence[Query], searched: list[SearchResult]) -> list[SearchResult]:
        """Search again, twice as deep each time, for queries with too few documents and more chunks to come."""
        depth = self._first_depth
        while depth < len(self.corpus.chunks):
            places = [place for place, result in enumerate(searched) if self._lacks_documents(result.ranking, depth)]
            if not places:
                break
            depth *= 2
            batch = await self._batch([queries[place] for place in places], depth)
            for place, deeper in zip(places, batch, strict=True):
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
