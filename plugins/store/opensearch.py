"""OpenSearch with its k-NN plugin."""

from __future__ import annotations

import base64
import os
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
    Address,
    AwayError,
    Collection,
    Hits,
    OpenCollection,
    Points,
    Stored,
    Transfer,
    TransferSettings,
    Variable,
    lacking,
    of_another_length,
    refusal_error,
    unset_variable,
)
from runner.system.metadata import version_of

PASSING = (408, 429, 500, 502, 503, 504)
SPACE = "innerproduct"


class OpensearchStore:
    """One index a collection. `flat` compares every vector by a script score; `hnsw` is the graph of the engine faiss.
    `password_env`: the name of the environment variable with the password of `username`. Needs the extra `opensearch`.
    """

    kinds = ("flat", "hnsw")
    filters = tells = True
    incidental = ("url", "username", "password_env", "ca_file", "batch_size", "timeout_ms", "retries")

    def __init__(
        self,
        *,
        url: Address = "http://127.0.0.1:9200",
        username: str | None = None,
        password_env: Variable | None = None,
        ca_file: str | None = None,
        **transfer: Unpack[TransferSettings],
    ) -> None:
        self._url, self._username, self._password, self._ca_file = url, username, password_env, ca_file
        self.transfer = Transfer(**transfer, place=url, setting="store.url")

    def preflight(self) -> Sequence[Problem]:
        try:
            _opensearch()
        except InputError as error:
            return [Problem("store", str(error))]
        problems = unset_variable("store.password_env", self._password, self._url)
        if (self._username is None) != (self._password is None):
            problems.append(Problem("store.username", "expected a name and password_env beside it, or null for both"))
        if self._ca_file is not None and not Path(self._ca_file).is_file():
            problems.append(Problem("store.ca_file", f"no such file: {self._ca_file}"))
        return problems

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Raises InputError where the package is missing."""
        _opensearch()
        return {"opensearch-py": version_of("opensearch-py")}

    async def open(self, collection: Collection) -> OpenCollection:
        name, client = collection.name, self._client()
        try:
            with self.errors():
                if not await client.indices.exists(index=name):
                    await client.indices.create(index=name, body=_body(collection))
                mapping = (await client.indices.get_mapping(index=name))[name]["mappings"]
                dim = mapping["properties"]["vector"]["dimension"]
                if dim != collection.dim:
                    raise of_another_length(name, dim, collection.dim, self.transfer)
                await client.indices.refresh(index=name)
                n_points = (await client.count(index=name))["count"]
        except BaseException:
            await client.close()
            raise
        return _Index(self, collection, client, n_points)

    async def stored(self, root: Path) -> Sequence[Stored]:
        async with self._asking() as client:
            mappings = await client.indices.get_mapping(index="runner_*")
            return [
                Stored(
                    name,
                    (await client.count(index=name))["count"],
                    datetime.fromisoformat(mapping["mappings"]["_meta"]["made"]),
                )
                for name, mapping in sorted(mappings.items())
                if NAME.fullmatch(name)
            ]

    async def drop(self, name: str, root: Path) -> None:
        async with self._asking() as client:
            await client.indices.delete(index=name)

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[Any]:
        client = self._client()
        try:
            with self.errors():
                yield client
        finally:
            await client.close()

    def _client(self) -> Any:
        headers = {}
        if self._username is not None and self._password is not None:  # the client's own takes Latin letters only
            access = f"{self._username}:{os.environ[self._password]}".encode()
            headers["authorization"] = f"Basic {base64.b64encode(access).decode()}"
        seconds = self.transfer.timeout_ms / 1000
        return _opensearch().AsyncOpenSearch(
            self._url, headers=headers, timeout=seconds, max_retries=0, ca_certs=self._ca_file
        )

    @contextmanager
    def errors(self) -> Iterator[None]:
        """What the client raises, in words."""
        exceptions = _opensearch().exceptions
        try:
            yield
        except exceptions.ConnectionError as error:
            raise AwayError(str(error.info) if len(error.args) > 2 else str(error)) from error
        except exceptions.TransportError as error:
            reason = f"{error.status_code} {error.error}".strip()
            if error.status_code in (401, 403):
                raise refusal_error(self.transfer, "store.password_env", reason) from error
            if error.status_code in PASSING:
                raise AwayError(reason) from error
            raise StopRunError(f"store.url: {self._url} answers {reason}") from error


def _body(collection: Collection) -> dict[str, Any]:
    vector: dict[str, Any] = {"type": "knn_vector", "dimension": collection.dim}
    if collection.index.kind == "hnsw":
        graph = {"m": collection.index.links, "ef_construction": max(2, collection.index.effort)}
        vector["method"] = {"name": "hnsw", "engine": "faiss", "space_type": SPACE, "parameters": graph}
    return {
        "settings": {"index": {"knn": collection.index.kind == "hnsw", "number_of_shards": 1}},
        "mappings": {
            "_meta": {"made": datetime.now(UTC).isoformat()},
            "properties": {
                "id": {"type": "keyword"},
                "text": {"type": "text", "index": False},
                "facets": {"type": "keyword"},
                "vector": vector,
            },
        },
    }


class _Index:
    """A point is the document whose `_id` is its number."""

    def __init__(self, store: OpensearchStore, collection: Collection, client: Any, n_points: int) -> None:
        self._store, self._collection, self._client, self.n_points = store, collection, client, n_points

    async def add(self, points: Points) -> None:
        lines: list[dict[str, Any]] = []
        rows = zip(points.numbers, points.ids, points.texts, points.facets, points.vectors.tolist(), strict=True)
        for number, id, text, facets, vector in rows:
            row = {"id": id, "text": text, "facets": list(facets), "vector": vector}
            lines += [{"index": {"_id": str(number)}}, row]
        with self._store.errors():
            reply = await self._client.bulk(body=lines, index=self._collection.name)
        if reply["errors"]:
            faults = [item["index"] for item in reply["items"] if item["index"]["status"] >= 300]
            reason = f"{faults[0]['status']} {faults[0].get('error', {}).get('reason', '')}"
            if all(fault["status"] in PASSING for fault in faults):
                raise AwayError(reason)
            raise StopRunError(f"store.url: {self._store.transfer.place} took {len(faults)} points not: {reason}")
        self.n_points = max(self.n_points, points.start + len(points.ids))

    async def finish(self) -> None:
        with self._store.errors():
            await self._client.indices.refresh(index=self._collection.name)

    async def search(self, vectors: NDArray[np.float32], depth: int) -> Sequence[Hits]:
        return await self.search_among(vectors, depth, ())

    async def search_among(self, vectors: NDArray[np.float32], depth: int, where: Where) -> Sequence[Hits]:
        lines: list[dict[str, Any]] = []
        for vector in vectors.tolist():
            lines += [{}, {"size": depth, "_source": ["vector"], "query": self._query(vector, depth, where)}]
        with self._store.errors():
            reply = await self._client.msearch(body=lines, index=self._collection.name)
        for response in reply["responses"]:
            if "error" in response:
                reason = f"{response['status']} {response['error'].get('reason', response['error'])}"
                if response["status"] in PASSING:
                    raise AwayError(reason)
                raise StopRunError(f"store.url: {self._store.transfer.place} answers {reason}")
        return [
            self._hits(response["hits"]["hits"], own) for response, own in zip(reply["responses"], vectors, strict=True)
        ]

    async def texts(self, numbers: Sequence[int]) -> Sequence[str]:
        ids = {"ids": list(map(str, numbers))}
        with self._store.errors():
            reply = await self._client.mget(body=ids, index=self._collection.name, _source_includes=["text"])
        return [document["_source"]["text"] for document in reply["docs"]]

    def _query(self, vector: list[float], depth: int, where: Where) -> dict[str, Any]:
        passing = {"bool": {"filter": [{"terms": {"facets": list(group)}} for group in where]}}
        if self._collection.index.kind == "hnsw":
            effort = {"ef_search": max(self._collection.index.effort, depth)}
            filtered = {"filter": passing} if where else {}
            return {"knn": {"vector": {"vector": vector, "k": depth, "method_parameters": effort, **filtered}}}
        params = {"field": "vector", "query_value": vector, "space_type": SPACE}
        return {
            "script_score": {
                "query": passing if where else {"match_all": {}},
                "script": {"source": "knn_score", "lang": "knn", "params": params},
            }
        }

    def _hits(self, found: Sequence[Mapping[str, Any]], vector: NDArray[np.float32]) -> Hits:
        """Its own scores are no inner products, but in the order of them."""
        rows = np.array([hit["_source"]["vector"] for hit in found], dtype=np.float32).reshape(len(found), -1)
        numbers = np.array([int(hit["_id"]) for hit in found], dtype=np.int64)
        scores = rows.astype(np.float64) @ vector if len(found) else np.zeros(0)
        return Hits(numbers, scores, rows)

    async def close(self) -> None:
        await self._client.close()


def _opensearch() -> Any:
    try:
        import opensearchpy
    except ImportError as error:
        raise lacking("opensearch", "opensearch-py", error) from error
    return opensearchpy
