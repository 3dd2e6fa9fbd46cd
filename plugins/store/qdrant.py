"""Qdrant: a server, or its local mode in a folder of this machine."""

from __future__ import annotations

import asyncio
import os
import shutil
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from runner.errors import InputError, Problem, StopRunError
from runner.retrieval.filters import Where
from runner.retrieval.stores import (
    NAME,
    REQUESTS,
    Address,
    AwayError,
    Collection,
    Hits,
    InFlight,
    OpenCollection,
    Points,
    StoredCollection,
    Transfer,
    TransferSettings,
    Variable,
    missing_packages,
    of_another_length,
    refusal_error,
    unset_variable,
)
from runner.system.metadata import version_of

POLL_S = 0.2  # between two looks at whether an index is built
PASSING = (408, 425, 429, 500, 502, 503, 504)


class QdrantStore:
    """`url`: a server; None: the local mode, which compares every vector, in the memory of this process, with one
    folder a collection in `path` (None: `stores/qdrant` in the cache), open in one process at a time. `api_key_env`:
    the name of the environment variable that holds the key. Needs the extra `qdrant`.
    """

    kinds = ("flat", "hnsw")
    filters = tells = True
    incidental = ("url", "path", "api_key_env", *REQUESTS)

    def __init__(
        self,
        *,
        url: Address | None = None,
        path: str | None = None,
        api_key_env: Variable | None = None,
        max_concurrency: InFlight = 4,
        **transfer: Unpack[TransferSettings],
    ) -> None:
        self._url, self._path, self._key = url, path, api_key_env
        setting = "store.path" if url is None else "store.url"
        in_flight = 0 if url is None else max_concurrency
        place = url or path or "the cache"
        self.transfer = Transfer(**transfer, max_concurrency=in_flight, place=place, setting=setting)

    @property
    def is_server(self) -> bool:
        """False in the local mode."""
        return self._url is not None

    def preflight(self) -> Sequence[Problem]:
        try:
            _qdrant()
        except InputError as error:
            return [Problem("store", str(error))]
        problems = unset_variable("store.api_key_env", self._key, self.transfer.place)
        if self._url is not None and self._path is not None:
            problems.append(Problem("store.path", "expected null beside store.url: the server says where it keeps"))
        if self._path is not None and Path(self._path).is_file():
            problems.append(Problem("store.path", f"expected a folder; {self._path} is a file"))
        return problems

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Raises InputError where the package is missing."""
        _qdrant()
        return {"qdrant-client": version_of("qdrant-client")}

    async def open(self, collection: Collection) -> OpenCollection:
        models = _qdrant().models
        client = self._client(collection.name, collection.root)
        try:
            with self.errors():
                if not await client.collection_exists(collection.name):
                    links = 0 if collection.index.kind == "flat" else collection.index.links
                    graph = models.HnswConfigDiff(m=links, ef_construct=max(4, collection.index.effort))
                    size = models.VectorParams(size=collection.dim, distance=models.Distance.DOT, hnsw_config=graph)
                    made = {"made": datetime.now(UTC).isoformat()}
                    await client.create_collection(collection.name, vectors_config=size, metadata=made)
                    if self.is_server:  # the local mode has no indexes of payloads
                        await client.create_payload_index(collection.name, "facets", models.PayloadSchemaType.KEYWORD)
                dim = (await client.get_collection(collection.name)).config.params.vectors.size
                if dim != collection.dim:
                    raise of_another_length(collection.name, dim, collection.dim, self.transfer)
                n_points = (await client.count(collection.name, exact=True)).count
        except BaseException:
            await client.close()
            raise
        return _Points(self, collection, client, n_points)

    async def list_collections(self, root: Path) -> Sequence[StoredCollection]:
        if self._url is not None:
            async with self._open_client("", root) as client:
                names = [each.name for each in (await client.get_collections()).collections]
        else:
            names = [path.name for path in sorted(self._folder(root).glob("*"))]
        return [await self._describe(name, root) for name in names if NAME.fullmatch(name)]

    async def drop(self, name: str, root: Path) -> None:
        async with self._open_client(name, root) as client:
            if self.is_server:  # the local mode would forget its collection without closing the file of it
                await client.delete_collection(name)
        if self._url is None:
            await asyncio.to_thread(shutil.rmtree, self._folder(root) / name)

    async def _describe(self, name: str, root: Path) -> StoredCollection:
        async with self._open_client(name, root) as client:
            if not await client.collection_exists(name):  # a folder that was cut off while it was made
                return StoredCollection(name, 0)
            made = ((await client.get_collection(name)).config.metadata or {}).get("made")
            count = (await client.count(name, exact=True)).count
        return StoredCollection(name, count, None if made is None else datetime.fromisoformat(made))

    @asynccontextmanager
    async def _open_client(self, name: str, root: Path) -> AsyncIterator[Any]:
        client = self._client(name, root)
        try:
            with self.errors():
                yield client
        finally:
            await client.close()

    def _folder(self, root: Path) -> Path:
        return root / "qdrant" if self._path is None else Path(self._path)

    def _client(self, name: str, root: Path) -> Any:
        """Raises AwayError where another process has the folder open."""
        qdrant = _qdrant()
        with warnings.catch_warnings(), self.errors():
            warnings.simplefilter("ignore", UserWarning)  # a key without TLS: on this machine, or as the user has it
            if self._url is None:
                return qdrant.AsyncQdrantClient(path=str(self._folder(root) / name))
            key = None if self._key is None else os.environ[self._key]
            seconds = 1 + 2 * self.transfer.timeout_ms // 1000  # the deadline of an attempt ends it first
            return qdrant.AsyncQdrantClient(url=self._url, api_key=key, timeout=seconds, check_compatibility=False)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the client into errors of a store."""
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        try:
            yield
        except UnexpectedResponse as error:
            reason = f"{error.status_code} {error.content.decode('utf-8', 'replace')[:200]}".strip()
            if error.status_code in (401, 403):
                raise refusal_error(self.transfer, "store.api_key_env", reason) from error
            if error.status_code in PASSING:
                raise AwayError(reason) from error
            raise StopRunError(f"{self.transfer.setting}: {self.transfer.place} answers {reason}") from error
        except ResponseHandlingException as error:
            raise AwayError(str(error)) from error
        except RuntimeError as error:
            if "already accessed" in str(error):
                raise AwayError("another process has it open, and the local mode takes one at a time") from error
            raise
        except OSError as error:
            raise StopRunError(f"{self.transfer.setting}: {self.transfer.place}: {error}") from error


class _Points:
    def __init__(self, store: QdrantStore, collection: Collection, client: Any, n_points: int) -> None:
        self._store, self._collection, self._client, self.n_points = store, collection, client, n_points

    async def add(self, points: Points) -> None:
        models = _qdrant().models
        payloads = [
            {"id": id, "text": text, "facets": list(facets)}
            for id, text, facets in zip(points.ids, points.texts, points.facets, strict=True)
        ]
        batch = models.Batch(ids=list(points.numbers), vectors=points.vectors.tolist(), payloads=payloads)
        with self._store.errors(), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the local mode is slow beyond 20,000 points
            await self._client.upsert(self._collection.name, batch, wait=True)
        self.n_points = max(self.n_points, points.start + len(points.ids))

    async def finish(self) -> None:
        if self._collection.index.kind == "flat":
            return
        while True:
            with self._store.errors():
                status = (await self._client.get_collection(self._collection.name)).status
            if status != _qdrant().models.CollectionStatus.YELLOW:
                return
            await asyncio.sleep(POLL_S)

    async def search(self, vectors: NDArray[np.float32], depth: int) -> Sequence[Hits]:
        return await self._nearest(vectors, depth, None)

    async def search_among(self, vectors: NDArray[np.float32], depth: int, where: Where) -> Sequence[Hits]:
        models = _qdrant().models
        groups = [models.FieldCondition(key="facets", match=models.MatchAny(any=list(group))) for group in where]
        return await self._nearest(vectors, depth, models.Filter(must=groups))

    async def texts(self, numbers: Sequence[int]) -> Sequence[str]:
        with self._store.errors():
            points = await self._client.retrieve(self._collection.name, list(numbers), with_payload=["text"])
        by_number = {point.id: point.payload["text"] for point in points}
        return [by_number[number] for number in numbers]

    async def _nearest(self, vectors: NDArray[np.float32], depth: int, condition: Any) -> Sequence[Hits]:
        models, index = _qdrant().models, self._collection.index
        params = None  # the local mode compares every vector, and has none
        if self._store.is_server:
            params = models.SearchParams(exact=index.kind == "flat", hnsw_ef=max(index.effort, depth))
        requests = [
            models.QueryRequest(
                query=vector, limit=depth, params=params, filter=condition, with_vector=True, with_payload=False
            )
            for vector in vectors.tolist()
        ]
        with self._store.errors():
            responses = await self._client.query_batch_points(self._collection.name, requests)
        return [self._hits(response.points) for response in responses]

    def _hits(self, points: Sequence[Any]) -> Hits:
        vectors = np.array([point.vector for point in points], dtype=np.float32).reshape(-1, self._collection.dim)
        numbers = np.array([point.id for point in points], dtype=np.int64)
        return Hits(numbers, np.array([point.score for point in points], dtype=np.float64), vectors)

    async def close(self) -> None:
        await self._client.close()


def _qdrant() -> Any:
    try:
        import qdrant_client
    except ImportError as error:
        raise missing_packages("qdrant", "qdrant-client", error) from error
    return qdrant_client
