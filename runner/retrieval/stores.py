"""Stores for the vectors of a corpus: the protocol, and how a collection is filled and searched.

The name of a collection is a hash of its content (texts, embedder, kind of index), so it is filled once and never
changed. Its points are numbered 0 to size - 1 in the order of the corpus, and sent in batches in this order. A fill
that was interrupted resumes after the points that are there.

    class ListStore:
        kinds = ("flat",)
        transfer = Transfer()

        async def open(self, collection: Collection) -> OpenCollection:
            return OpenList()

    class OpenList:
        n_points = 0

        async def add(self, points: Points) -> None:
            self.vectors[points.start :] = points.vectors
"""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from runner.errors import CorpusError, EvaluationError, InputError, Problem, StopRunError, install_command
from runner.llm.address import NOT_SHOWN, address_problem, variable_problem
from runner.protocols import attribute_of
from runner.retrieval.filters import Where
from runner.system.stopwatch import in_line
from runner.system.store import fingerprint
from runner.system.threads import LoopThread, gather_all

T = TypeVar("T")
H = TypeVar("H", "Hits", "WordHits")
Kind = Literal["flat", "hnsw", "ivf", "ivf_pq"]
NAME = re.compile(r"runner_[0-9a-f]{24}")  # names of our collections; `clean stores` ignores others
LAYOUT = 2  # version of the stored points, part of the collection name
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 5.0  # seconds before a further attempt
VECTORS_A_REQUEST = 8  # queries in one request: the reply holds the vectors of all hits, a megabyte a query as JSON
TEXTS_A_REQUEST = 64  # the same of queries whose hits are numbers
RECALL_SAMPLE = 200  # points of which the recall of an index is measured
CHECKED_POINTS = 32  # that are read back when a collection is opened
CHECKED_HITS = 8  # of each: points with the same vector are hits, too
SAME = 1e-3  # by which the product of a vector with itself may differ from 1 in a store


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The kind of index: `flat` compares every vector; `hnsw` searches a graph with `links` neighbours a vector and
    `effort` candidates; `ivf` searches `probes` of `lists` clusters; `ivf_pq` does so over codes of `code_bytes` bytes
    a vector (None: a quarter of its length), then compares the best vectors in full. `threads`: for building, in FAISS
    alone."""

    kind: Kind = "flat"
    links: int = 32
    effort: int = 128
    lists: int | None = None
    probes: int = 16
    seed: int = 42
    code_bytes: int | None = None
    threads: int = 1

    def lists_of(self, count: int) -> int:
        """The number of clusters for so many vectors: `lists`, or 4 x the square root where it is None; with at least
        39 vectors each."""
        return min(self.lists or max(1, min(round(4 * count**0.5), count // 39)), count)

    @property
    def content_settings(self) -> Mapping[str, Any]:
        """The settings of this kind on which the content of the index depends."""
        if self.kind == "hnsw":
            return {"kind": self.kind, "links": self.links, "effort": self.effort}
        lists = {"lists": self.lists} if self.kind in ("ivf", "ivf_pq") else {}
        return {"kind": self.kind, **lists, **({"code_bytes": self.code_bytes} if self.kind == "ivf_pq" else {})}

    @property
    def recall_settings(self) -> Mapping[str, Any]:
        """The settings of this kind on which the index and its recall depend."""
        return {"kind": self.kind} if self.kind == "flat" else asdict(self)


@dataclass(frozen=True, slots=True)
class WordSettings:
    """How a store makes terms of texts and ranks them by BM25."""

    analyzer: str
    k1: float
    b: float


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection to open, or to create where it is missing. `dim`: length of its vectors, which have norm 1 and are
    compared by inner product. `root`: default folder of a store in files. `words`: that of texts without vectors, which
    are ranked by their words; then `dim` is 0 and `index` does not matter."""

    name: str
    size: int
    dim: int
    index: IndexSettings
    root: Path
    words: WordSettings | None = None


@dataclass(frozen=True, slots=True)
class Points:
    """Consecutive points: point start + n has the n-th id, text and facets, and vectors[n] (float32 [n_points, dim]).
    `facets`: what filters are about (runner.retrieval.filters)."""

    start: int
    ids: Sequence[str]
    texts: Sequence[str]
    vectors: NDArray[np.float32]
    facets: Sequence[Sequence[str]]

    def part(self, start: int, end: int) -> Points:
        """The points from `start` to before `end`, counted from 0."""
        texts, facets = [*self.texts[start:end]], self.facets[start:end]
        return Points(start, [*self.ids[start:end]], texts, self.vectors[start:end], facets)

    @property
    def numbers(self) -> range:
        """The numbers of the points."""
        return range(self.start, self.start + len(self.ids))


@dataclass(frozen=True, slots=True)
class Hits:
    """The nearest points of one query, best first: numbers int64 [n], scores float64 [n] (inner products), and the
    vectors as they were sent, float32 [n, dim]. Scores are recomputed from the vectors in double precision, so that
    near ties have the same order in every store. `vectors` None: the store does not return them, and its own scores
    count."""

    numbers: NDArray[np.int64]
    scores: NDArray[np.float64]
    vectors: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class WordHits:
    """The best texts of one query by BM25: numbers int64 [n] and scores float64 [n] by descending score, ties by id
    descending (as bytes). `own`: the score of a text that is the query itself, on the same scale, by the statistics of
    the collection; a term that no text has counts like a term that one text has."""

    numbers: NDArray[np.int64]
    scores: NDArray[np.float64]
    own: float


@dataclass(frozen=True, slots=True)
class StoredCollection:
    """A collection in a store. `made`: its time of creation, None where it is unknown."""

    name: str
    n_points: int
    made: datetime | None = None


@dataclass(frozen=True, slots=True)
class Transfer:
    """How requests to a store are made: points a batch, the deadline of one attempt, and the number of retries.
    `max_concurrency`: searches in flight on the event loop of a run; 0 of a store in this process, which threads search
    with one request at a time. `place`: the address for messages; `setting`: the key of the address in conf."""

    batch_size: int = 512
    timeout_ms: int = 30_000
    retries: int = 3
    max_concurrency: int = 0
    place: str = ""
    setting: str = "store"


def _validator(problem: Callable[[str], str | None]) -> AfterValidator:
    def check(value: str) -> str:
        if fault := problem(value):
            raise PydanticCustomError(NOT_SHOWN, "{message}", {"message": fault})
        return value

    return AfterValidator(check)


InFlight = Annotated[int, Field(ge=1, le=256)]  # searches at once
Address = Annotated[str, _validator(address_problem)]  # http:// or https://, without a user, a password and parameters
Variable = Annotated[str, _validator(variable_problem)]  # the NAME of an environment variable


def unset_variable(setting: str, name: str | None, place: str) -> list[Problem]:
    """The problem of an environment variable that a setting names and that is not set."""
    if name is None or os.environ.get(name):
        return []
    message = f"the environment variable {name} is not set; it holds the secret for {place}; null sends none"
    return [Problem(setting, message)]


def missing_packages(store: str, packages: str, error: Exception) -> InputError:
    """The error for packages that are not installed; the extra has the name of the store."""
    word = "packages" if " and " in packages else "package"
    return InputError(
        f"store={store} needs the {word} {packages} ({error}); install the extra: {install_command(store)}"
    )


def refusal_error(transfer: Transfer, setting: str, reason: str) -> StopRunError:
    """The error for a store that refuses the user or password."""
    return StopRunError(
        f"{setting}: the store at {transfer.place} refuses access ({reason}); {setting}=NAME names the environment "
        f"variable that holds the right secret"
    )


REQUESTS = ("batch_size", "timeout_ms", "retries", "max_concurrency")  # settings of a server that no result depends on


class TransferSettings(TypedDict, total=False):
    """The settings of every store that takes requests (`**transfer: Unpack[TransferSettings]`)."""

    batch_size: Annotated[int, Field(ge=1, le=10_000)]
    timeout_ms: Annotated[int, Field(ge=1)]
    retries: Annotated[int, Field(ge=0, le=10)]


class AwayError(EvaluationError):
    """A store did not answer, or is temporarily unavailable: the same request may succeed when it is sent again."""


class OpenCollection(Protocol):
    """A connected collection. Its methods raise AwayError where the same request may succeed later, and StopRunError
    where it will not; a deadline cancels them.

        class ServerCollection:
            def __init__(self, client: Client, n_points: int) -> None:
                self.client, self.n_points = client, n_points

            async def add(self, points: Points) -> None:
                await self.client.put(points.start, points.vectors)

            async def finish(self) -> None:
                await self.client.build_index()

            async def search(self, vectors: NDArray[np.float32], depth: int) -> Sequence[Hits]:
                return [await self.client.nearest(vector, depth) for vector in vectors]

            async def close(self) -> None:
                await self.client.close()
    """

    @property
    def n_points(self) -> int:
        """Number of points; a collection whose fill was interrupted has those with the lowest numbers."""

    async def add(self, points: Points) -> None:
        """Args:
        points: to add; those with known numbers are replaced.
        """

    async def finish(self) -> None:
        """Called after all points were added, for example to build an index."""

    async def search(self, vectors: NDArray[np.float32], depth: int) -> Sequence[Hits]:
        """Args:
            vectors: queries, float32 [n_queries, dim].
            depth: how many points to return for each, from 1.

        Returns:
            The nearest points of each query, nearest first.
        """

    async def close(self) -> None:
        """Close files and connections."""


@runtime_checkable
class Store(Protocol):
    """Stores collections of vectors. `kinds`: of index that it offers; `transfer`: how requests are made.

    class ServerStore:
        kinds = ("flat", "hnsw")
        transfer = Transfer(place="http://127.0.0.1:6333", setting="store.url")

        async def open(self, collection: Collection) -> OpenCollection:
            client = Client("http://127.0.0.1:6333")
            await client.make(collection.name, collection.dim)
            return ServerCollection(client, await client.count(collection.name))
    """

    kinds: tuple[str, ...]
    transfer: Transfer

    async def open(self, collection: Collection) -> OpenCollection:
        """Open a collection, or create it.

        Args:
            collection: its name, its size, the length of its vectors, and its index.

        Returns:
            The open collection.

        Raises:
            AwayError: the store did not answer; the same request may succeed later.
            StopRunError: the store refuses, or the vectors there have another length.
        """


@runtime_checkable
class Within(Protocol):
    """The store without a server: the index is a file of this program, which is searched in memory.

    class NoStore:
        is_within = True
    """

    @property
    def is_within(self) -> bool:
        """True where `open` is never called."""


@runtime_checkable
class Filtering(Protocol):
    """A store that searches among some of the points: its collections have `search_among`.

    class ServerStore:
        filters = True

    class ServerCollection:
        async def search_among(self, vectors: NDArray[np.float32], depth: int, where: Where) -> Sequence[Hits]:
            wanted = " AND ".join(f"facets && ARRAY{list(group)}" for group in where)
            return await self.client.nearest(vectors, depth, wanted)
    """

    @property
    def filters(self) -> bool:
        """Whether the store filters points by facets."""


class Among(Protocol):
    """A collection of a store that filters.

    class ServerCollection:
        async def search_among(self, vectors: NDArray[np.float32], depth: int, where: Where) -> Sequence[Hits]:
            return await self.client.nearest(vectors, depth, facets=where)
    """

    async def search_among(self, vectors: NDArray[np.float32], depth: int, where: Where) -> Sequence[Hits]:
        """Args:
            vectors: queries, float32 [n_queries, dim].
            depth: how many points to return for each, from 1.
            where: groups of facets; a point passes with a facet of each group.

        Returns:
            The nearest of the points that pass, nearest first.
        """


@runtime_checkable
class WordSearching(Protocol):
    """A store that ranks texts by BM25 itself: it opens collections with `words`, which have `search_words`.

    class ServerStore:
        ranks_words = True

    class ServerCollection:
        async def search_words(self, texts: Sequence[str], depth: int, where: Where) -> Sequence[WordHits]:
            return [await self.client.match(text, depth, where) for text in texts]
    """

    @property
    def ranks_words(self) -> bool:
        """Whether the store ranks texts by words."""


class WordSearch(Protocol):
    """A collection of texts that are ranked by their words.

    class ServerCollection:
        async def search_words(self, texts: Sequence[str], depth: int, where: Where) -> Sequence[WordHits]:
            return [await self.client.match(text, depth, facets=where) for text in texts]
    """

    async def search_words(self, texts: Sequence[str], depth: int, where: Where) -> Sequence[WordHits]:
        """Args:
            texts: queries.
            depth: how many texts to return for each, from 1.
            where: groups of facets, as for `search_among`.

        Returns:
            The best texts of each query, by descending score. A text that shares no term with the query is no hit.

        Raises:
            EvaluationError: the store cannot take a query.
        """


@runtime_checkable
class Telling(Protocol):
    """A store that gives the texts of points back: its collections have `texts`.

    class ServerStore:
        tells = True

    class ServerCollection:
        async def texts(self, numbers: Sequence[int]) -> Sequence[str]:
            return [row.text for row in await self.client.rows(numbers)]
    """

    @property
    def tells(self) -> bool:
        """Whether the store returns the texts of points."""


class TextCollection(Protocol):
    """A collection of a store that gives texts back.

    class ServerCollection:
        async def texts(self, numbers: Sequence[int]) -> Sequence[str]:
            return [row.text for row in await self.client.rows(numbers)]
    """

    async def texts(self, numbers: Sequence[int]) -> Sequence[str]:
        """Args:
            numbers: of points.

        Returns:
            Their texts, in this order.
        """


@runtime_checkable
class Keeping(Protocol):
    """A store whose collections can be listed and deleted (`python -m runner clean stores`).

    class ServerStore:
        async def list_collections(self, root: Path) -> Sequence[StoredCollection]:
            there = await self.client.all()
            return [StoredCollection(each.name, each.count) for each in there if NAME.fullmatch(each.name)]

        async def drop(self, name: str, root: Path) -> None:
            await self.client.delete(name)
    """

    async def list_collections(self, root: Path) -> Sequence[StoredCollection]:
        """Args:
            root: the folder of a store that keeps files.

        Returns:
            The collections that this program made.
        """

    async def drop(self, name: str, root: Path) -> None:
        """Delete a collection.

        Args:
            name: of the collection.
            root: the folder of a store that keeps files.
        """


RESUMES = " Run the same command again to resume"
OPTIONAL: Mapping[type, tuple[type, ...]] = {Store: (Within, Filtering, WordSearching, Telling, Keeping)}


def collection_name(content: Mapping[str, Any]) -> str:
    """The name of a collection, from JSON values that describe its content."""
    return f"runner_{fingerprint([LAYOUT, content])[:24]}"


def unreachable_error(transfer: Transfer, reason: str, attempts: int, then: str = RESUMES) -> StopRunError:
    """The error for a store that did not answer in so many attempts; `then`: what the same command does again."""
    return StopRunError(
        f"{transfer.setting}: the store at {transfer.place} cannot be reached: {reason} (asked {attempts} times); is "
        f"it up, and the address right?{then}"
    )


def of_another_length(name: str, dim: int, expected_dim: int, transfer: Transfer) -> StopRunError:
    """The error for a collection of our name with vectors of another length."""
    return StopRunError(
        f"store: the collection {name} at {transfer.place} has vectors of {dim} numbers, and the embedder makes "
        f"{expected_dim}; delete it: python -m runner clean stores"
    )


def changed_collection(name: str, transfer: Transfer) -> CorpusError:
    """The error for a collection whose points are not those that were sent."""
    return CorpusError(
        f"store: the collection {name} at {transfer.place or 'this place'} was changed by somebody: it holds other "
        "vectors or texts than those of the corpus; cold_start=true fills it again, clean stores deletes it"
    )


def checked_points(size: int) -> list[int]:
    """The numbers of points that are read back, evenly spread over a collection."""
    numbers: list[int] = np.unique(np.linspace(0, size - 1, min(size, CHECKED_POINTS)).astype(np.int64)).tolist()
    return numbers


def _products(hits: Hits, vector: NDArray[np.float32]) -> dict[int, float]:
    """The inner product of each hit with a vector, by its number."""
    scores = hits.scores if hits.vectors is None else hits.vectors.astype(np.float64) @ vector.astype(np.float64)
    return dict(zip(hits.numbers.tolist(), np.asarray(scores, dtype=np.float64).tolist(), strict=True))


Find = Callable[["OpenCollection", int, int], Coroutine[Any, Any, Sequence[H]]]


@dataclass
class _Line:
    """The connection of one event loop to a collection. `turns`: of requests."""

    turns: asyncio.Semaphore
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    collection: OpenCollection | None = None


class StoreIndex:
    """One collection of a store. Each event loop that searches it has a connection of its own. The blocking methods are
    for threads: their requests run in a loop in a thread of this object. A search after `close` opens the collection
    again."""

    def __init__(self, store: Store, collection: Collection) -> None:
        self._store, self._collection = store, collection
        self._loop = LoopThread()
        self._lines: dict[asyncio.AbstractEventLoop, _Line] = {}

    @property
    def dim(self) -> int:
        """Length of the vectors."""
        return self._collection.dim

    @property
    def size(self) -> int:
        """Number of points of the complete collection."""
        return self._collection.size

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that searches, for a thread without an event loop."""
        return self._loop.run(coroutine)

    def fill(self, points: Points, *, anew: bool = False) -> int:
        """Send the points that the store lacks, or all of them where `anew`, and return their number. Raises
        StopRunError."""
        return self.run(self._fill(points, anew=anew))

    def facts(self, vectors: NDArray[np.float32]) -> dict[str, Any]:
        """Facts for the report of a collection filled with these vectors, with the recall of an approximate index."""
        collection = self._collection
        kind = collection.index.kind
        facts: dict[str, Any] = {"kind": kind, "n_chunks": self.size, "dim": self.dim, "collection": collection.name}
        if kind == "flat":
            return facts

        def search(queries: NDArray[np.float32], depth: int) -> Sequence[Sequence[int]]:
            return [hits.numbers.tolist() for hits in self.run(self.nearest(queries, depth))]

        return {**facts, "recall_at_10": Recall(vectors, collection.index.seed).of(search)}

    def check(self, vectors: NDArray[np.float32] | None, texts: Sequence[str]) -> None:
        """Read some points back. Raises CorpusError where they are not those that were sent.

        Args:
            vectors: of the points `checked_points(size)`, float32 [n_points, dim]; None for a collection of words.
            texts: all texts of the collection, which a store that returns texts must have.
        """
        numbers = checked_points(self.size)
        is_same = True
        if vectors is not None:
            is_same = self._holds_vectors(numbers, vectors)
        if is_same and attribute_of(self._store, "tells"):
            is_same = self.texts(numbers) == [texts[number] for number in numbers]
        if not is_same:
            raise changed_collection(self._collection.name, self._store.transfer)

    def _holds_vectors(self, numbers: Sequence[int], vectors: NDArray[np.float32]) -> bool:
        """Whether these points are the nearest to their vectors; of an approximate index, whether most are."""
        asked = [place for place, vector in enumerate(vectors) if vector.any()]
        found = self.run(self.nearest(vectors[asked], min(CHECKED_HITS, self.size)))
        products = [_products(hits, vectors[place]) for place, hits in zip(asked, found, strict=True)]
        own = [scores.get(numbers[place]) for place, scores in zip(asked, products, strict=True)]
        if any(score is not None and abs(score - 1) > SAME for score in own):
            return False
        unsure = [scores for scores, score in zip(products, own, strict=True) if score is None]
        lost = [scores for scores in unsure if len(scores) < CHECKED_HITS or min(scores.values()) < 1 - SAME]
        return len(lost) <= (0 if self._collection.index.kind == "flat" else len(asked) // 2)

    def is_whole(self) -> bool:
        """Whether it has all points."""
        return self.run(self._ensure_open()).n_points >= self.size

    async def nearest(self, vectors: NDArray[np.float32], n_hits: int, where: Where = ()) -> list[Hits]:
        """The nearest points of each query that pass a filter. Raises StopRunError."""

        async def find(collection: OpenCollection, start: int, end: int) -> Sequence[Hits]:
            if where:
                return await cast("Among", collection).search_among(vectors[start:end], n_hits, where)
            return await collection.search(vectors[start:end], n_hits)

        return await self._in_requests(find, len(vectors), VECTORS_A_REQUEST)

    async def rank_words(self, texts: Sequence[str], n_hits: int, where: Where = ()) -> list[WordHits]:
        """The best texts of a collection with `words` for each query. Raises StopRunError, and EvaluationError for a
        query that the store cannot take."""

        async def find(collection: OpenCollection, start: int, end: int) -> Sequence[WordHits]:
            return await cast("WordSearch", collection).search_words(texts[start:end], n_hits, where)

        return await self._in_requests(find, len(texts), TEXTS_A_REQUEST)

    def texts(self, numbers: Sequence[int]) -> list[str]:
        """The texts of points, in this order. Raises StopRunError."""

        async def ask(start: int) -> Sequence[str]:
            batch = numbers[start : start + self._store.transfer.batch_size]

            async def read() -> Sequence[str]:
                return await cast("TextCollection", await self._ensure_open()).texts(batch)

            texts = await self._retry(read)
            if len(texts) != len(batch):
                name = type(self._store).__name__
                raise StopRunError(f"store ({name}): returned {len(texts)} texts of {len(batch)} points")
            return texts

        async def ask_all() -> list[str]:
            size = self._store.transfer.batch_size
            return [text for start in range(0, len(numbers), size) for text in await ask(start)]

        return self.run(ask_all())

    def close(self) -> None:
        """Close the connections. Not for the thread of an event loop that has searched."""
        for loop, line in list(self._lines.items()):
            if loop.is_running():
                asyncio.run_coroutine_threadsafe(self._forget(line), loop).result()
        self._lines.clear()
        self._loop.close()

    # --- requests -----------------------------------------------------------------------------------

    def _line(self) -> _Line:
        loop = asyncio.get_running_loop()
        if loop not in self._lines:
            self._lines[loop] = _Line(asyncio.Semaphore(max(1, self._store.transfer.max_concurrency)))
        return self._lines[loop]

    async def _ensure_open(self) -> OpenCollection:
        line = self._line()
        async with line.opening:
            if line.collection is None:
                line.collection = await self._retry(lambda: self._store.open(self._collection))
            return line.collection

    async def _forget(self, line: _Line) -> None:
        async with line.opening:
            opened, line.collection = line.collection, None
        if opened is not None:
            await opened.close()

    async def _in_requests(self, find: Find[H], n_queries: int, n_a_request: int) -> list[H]:
        """The results of `find` for parts of the queries (from a place to before another one), one request each."""
        line = self._line()
        await self._ensure_open()

        async def ask(start: int) -> Sequence[H]:
            end = min(start + n_a_request, n_queries)

            async def search() -> Sequence[H]:
                return await find(await self._ensure_open(), start, end)

            with in_line():
                await line.turns.acquire()
            try:
                return self._check_hits(await self._retry(search), end - start)
            finally:
                line.turns.release()

        parts = await gather_all(ask(start) for start in range(0, n_queries, n_a_request))
        return [hits for part in parts for hits in part]

    async def _fill(self, points_of_all: Points, *, anew: bool) -> int:
        collection = await self._ensure_open()
        size = self._store.transfer.batch_size
        n_stored = 0 if anew else collection.n_points
        first = n_stored if n_stored >= self.size else n_stored - n_stored % size  # an interrupted batch is sent again
        for start in range(first, self.size, size):
            points = points_of_all.part(start, start + size)
            await self._retry(lambda points=points: collection.add(points))  # type: ignore[misc]
        if n_stored < self.size:
            await self._retry(collection.finish, is_long=True)
        return self.size - first

    async def _retry(self, ask: Callable[[], Coroutine[Any, Any, T]], *, is_long: bool = False) -> T:
        """Call `ask` with retries. `is_long`: without a deadline."""
        transfer = self._store.transfer
        wait_s, reason = FIRST_WAIT_S, ""
        for attempt in range(transfer.retries + 1):
            try:
                async with asyncio.timeout(None if is_long else transfer.timeout_ms / 1000):
                    return await ask()
            except TimeoutError:
                reason = f"no answer in {transfer.timeout_ms} ms"
            except AwayError as error:
                reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            if attempt < transfer.retries:
                await asyncio.sleep(wait_s * random.uniform(0.5, 1))
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        raise unreachable_error(transfer, reason, transfer.retries + 1)

    def _check_hits(self, hits_of_queries: Sequence[H], n_queries: int) -> Sequence[H]:
        """Check the hits of a store: unknown numbers would become wrong scores later."""
        name = type(self._store).__name__
        if len(hits_of_queries) != n_queries:
            raise StopRunError(f"store ({name}): returned {len(hits_of_queries)} lists of hits for {n_queries} queries")
        for hits in hits_of_queries:
            if not np.all((hits.numbers >= 0) & (hits.numbers < self.size)):
                raise StopRunError(f"store ({name}): returned a point that is none of its {self.size}")
            if len(set(hits.numbers.tolist())) != len(hits.numbers) or len(hits.scores) != len(hits.numbers):
                raise StopRunError(f"store ({name}): returned a point twice, or points without scores")
        return hits_of_queries


@dataclass
class Recall:
    """Measures the share of the ten exact nearest neighbours that a search finds, for points drawn with `seed`."""

    vectors: NDArray[np.float32]
    seed: int
    sample: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.sample = np.random.default_rng(self.seed).permutation(len(self.vectors))[:RECALL_SAMPLE]

    @property
    def depth(self) -> int:
        """The number of hits: one more than neighbours, since a point is its own nearest one."""
        return min(11, len(self.vectors))

    def of(self, search: Callable[[NDArray[np.float32], int], Sequence[Sequence[int]]]) -> float:
        """The recall. `search`: (queries, depth) -> the numbers of the nearest points of each."""
        import faiss

        queries = self.vectors[self.sample]
        exact = faiss.knn(queries, self.vectors, self.depth, metric=faiss.METRIC_INNER_PRODUCT)[1].tolist()
        shares = [
            len((set(near) & set(near_found)) - {own}) / max(1, len(set(near) - {own}))
            for own, near, near_found in zip(self.sample, exact, search(queries, self.depth), strict=True)
        ]
        return round(float(np.mean(shares)), 4)
