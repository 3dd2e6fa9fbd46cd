"""OpenSearch: vectors with its k-NN plugin, and words by BM25."""

from __future__ import annotations

import base64
import math
import os
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import orjson
from numpy.typing import NDArray

from runner.errors import EvaluationError, InputError, Problem, StopRunError
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
    WordHits,
    WordSettings,
    missing_packages,
    of_another_length,
    refusal_error,
    unset_variable,
)
from runner.system.metadata import version_of
from runner.system.threads import gather_all

PASSING = (408, 429, 500, 502, 503, 504)
SPACE = "innerproduct"


class OpensearchStore:
    """One index a collection. `flat` compares every vector by a script score; `hnsw` is the graph of the engine faiss.
    Texts are ranked by words with an analyzer of the server (`nori` needs its plugin analysis-nori).
    `password_env`: the name of the environment variable with the password of `username`. Needs the extra `opensearch`.
    """

    kinds = ("flat", "hnsw")
    filters = tells = ranks_words = True
    incidental = ("url", "username", "password_env", "ca_file", *REQUESTS)

    def __init__(
        self,
        *,
        url: Address = "http://127.0.0.1:9200",
        username: str | None = None,
        password_env: Variable | None = None,
        ca_file: str | None = None,
        max_concurrency: InFlight = 4,
        **transfer: Unpack[TransferSettings],
    ) -> None:
        self._url, self._username, self._password, self._ca_file = url, username, password_env, ca_file
        self.transfer = Transfer(**transfer, max_concurrency=max_concurrency, place=url, setting="store.url")

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
                dim = mapping["properties"].get("vector", {"dimension": 0})["dimension"]
                if dim != collection.dim:
                    raise of_another_length(name, dim, collection.dim, self.transfer)
                await client.indices.refresh(index=name)
                n_points = (await client.count(index=name))["count"]
                factor = await self._factor(client, collection)
        except BaseException:
            await client.close()
            raise
        return _Index(self, collection, client, n_points, factor)

    async def _factor(self, client: Any, collection: Collection) -> float:
        """The factor of scores of words: before version 3, k1 + 1 as in the first papers."""
        if collection.words is None or int((await client.info())["version"]["number"].partition(".")[0]) >= 3:
            return 1.0
        return collection.words.k1 + 1

    async def list_collections(self, root: Path) -> Sequence[StoredCollection]:
        async with self._open_client() as client:
            mappings = await client.indices.get_mapping(index="runner_*")
            return [
                StoredCollection(
                    name,
                    (await client.count(index=name))["count"],
                    datetime.fromisoformat(mapping["mappings"]["_meta"]["made"]),
                )
                for name, mapping in sorted(mappings.items())
                if NAME.fullmatch(name)
            ]

    async def drop(self, name: str, root: Path) -> None:
        async with self._open_client() as client:
            await client.indices.delete(index=name)

    @asynccontextmanager
    async def _open_client(self) -> AsyncIterator[Any]:
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
        seconds = 2 * self.transfer.timeout_ms / 1000  # the deadline of an attempt ends it first, with its own words
        return _opensearch().AsyncOpenSearch(
            self._url,
            headers=headers,
            timeout=seconds,
            max_retries=0,
            ca_certs=self._ca_file,
            serializer=_serializer(),
        )

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the client into errors of a store."""
        exceptions = _opensearch().exceptions
        try:
            yield
        except exceptions.ConnectionError as error:
            raise AwayError(str(error.info) if len(error.args) > 2 else str(error)) from error
        except exceptions.TransportError as error:
            reason = f"{error.status_code} {_in_words(error)}"
            if error.status_code in (401, 403):
                raise refusal_error(self.transfer, "store.password_env", reason) from error
            if error.status_code in PASSING:
                raise AwayError(reason) from error
            raise StopRunError(f"store.url: {self._url} answers {reason}") from error


def _body(collection: Collection) -> dict[str, Any]:
    settings, properties = _of_vectors(collection) if collection.words is None else _of_words(collection.words)
    return {
        "settings": {"index": {"number_of_shards": 1, **settings}},
        "mappings": {
            "_meta": {"made": datetime.now(UTC).isoformat()},
            "properties": {"id": {"type": "keyword"}, "facets": {"type": "keyword"}, **properties},
        },
    }


def _of_vectors(collection: Collection) -> tuple[dict[str, Any], dict[str, Any]]:
    vector: dict[str, Any] = {"type": "knn_vector", "dimension": collection.dim}
    if collection.index.kind == "hnsw":
        graph = {"m": collection.index.links, "ef_construction": max(2, collection.index.effort)}
        vector["method"] = {"name": "hnsw", "engine": "faiss", "space_type": SPACE, "parameters": graph}
    text = {"type": "text", "index": False}
    return {"knn": collection.index.kind == "hnsw"}, {"text": text, "vector": vector}


def _of_words(words: WordSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    bm25 = {"type": "BM25", "k1": words.k1, "b": words.b}
    text = {"type": "text", "analyzer": words.analyzer, "similarity": "own"}
    return {"similarity": {"own": bm25}}, {"text": text}


class _Index:
    """A point is the document whose `_id` is its number."""

    def __init__(
        self, store: OpensearchStore, collection: Collection, client: Any, n_points: int, factor: float
    ) -> None:
        self._store, self._collection, self._client, self.n_points = store, collection, client, n_points
        self._factor = factor  # of scores by words

    async def add(self, points: Points) -> None:
        lines: list[dict[str, Any]] = []
        rows = zip(points.numbers, points.ids, points.texts, points.facets, points.vectors, strict=True)
        for number, id, text, facets, vector in rows:
            row = {"id": id, "text": text, "facets": list(facets), **({"vector": vector} if len(vector) else {})}
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
        searches = [
            {"size": depth, "_source": ["vector"], "query": self._query(vector, depth, where)}
            for vector in np.ascontiguousarray(vectors)
        ]
        found = await self._hits_of_each(searches)
        return [self._hits(hits, own) for hits, own in zip(found, vectors, strict=True)]

    async def search_words(self, texts: Sequence[str], depth: int, where: Where) -> Sequence[WordHits]:
        order, passing = {"sort": ["_score", {"id": "desc"}], "track_scores": True}, _filter_clause(where)
        searches = [
            {"size": depth, "_source": False, **order, "query": {"bool": {"must": {"match": {"text": text}}} | passing}}
            for text in texts
        ]
        requests: list[Coroutine[Any, Any, list[Any]]] = [self._hits_of_each(searches), self._terms_of_each(texts)]
        hits_of_each, terms_of_each = await gather_all(requests)
        return [
            WordHits(
                np.array([int(hit["_id"]) for hit in hits], dtype=np.int64),
                np.array([hit["_score"] for hit in hits], dtype=np.float64),
                self._own_score(terms.get("term_vectors", {}).get("text")),
            )
            for hits, terms in zip(hits_of_each, terms_of_each, strict=True)
        ]

    async def _terms_of_each(self, texts: Sequence[str]) -> list[Mapping[str, Any]]:
        about = {"fields": "text", "term_statistics": True, "positions": False, "offsets": False, "payloads": False}
        body = {"docs": [{"doc": {"text": text}} for text in texts]}
        with self._store.errors():
            reply = await self._client.mtermvectors(body=body, index=self._collection.name, **about)
        docs: list[Mapping[str, Any]] = reply["docs"]
        return docs

    async def _hits_of_each(self, searches: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
        lines = [line for search in searches for line in ({}, search)]
        with self._store.errors():
            reply = await self._client.msearch(body=lines, index=self._collection.name)
        for response in reply["responses"]:
            if "error" in response:
                reason = f"{response['status']} {response['error'].get('reason', response['error'])}"
                if response["status"] in PASSING:
                    raise AwayError(reason)
                if self._collection.words is not None and response["status"] == 400:  # of so many terms, for instance
                    raise EvaluationError(f"the store takes this query not: {reason}")
                raise StopRunError(f"store.url: {self._store.transfer.place} answers {reason}")
        return [response["hits"]["hits"] for response in reply["responses"]]

    def _own_score(self, terms: Mapping[str, Any] | None) -> float:
        """The BM25 score of a text that is the query itself, as Lucene computes it except for the length, which is
        exact here."""
        words = self._collection.words
        if terms is None or words is None:
            return 0.0
        statistics = terms["field_statistics"]
        length = sum(term["term_freq"] for term in terms["terms"].values())
        n_texts = statistics["doc_count"]
        norm = words.k1 * (1 - words.b + words.b * length * n_texts / max(1, statistics["sum_ttf"]))
        total = 0.0
        for term in terms["terms"].values():
            count, frequency = term["term_freq"], term.get("doc_freq", 1)
            weight = math.log1p((n_texts - frequency + 0.5) / (frequency + 0.5))
            total += count * weight * count / (count + norm)  # a term that the query repeats counts each time
        return total * self._factor

    async def texts(self, numbers: Sequence[int]) -> Sequence[str]:
        ids = {"ids": list(map(str, numbers))}
        with self._store.errors():
            reply = await self._client.mget(body=ids, index=self._collection.name, _source_includes=["text"])
        return [document["_source"]["text"] for document in reply["docs"]]

    def _query(self, vector: NDArray[np.float32], depth: int, where: Where) -> dict[str, Any]:
        passing = {"bool": _filter_clause(where)}
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

    def _hits(self, entries: Sequence[Mapping[str, Any]], vector: NDArray[np.float32]) -> Hits:
        """The hits. The scores of OpenSearch are not inner products, but have the same order."""
        rows = np.array([hit["_source"]["vector"] for hit in entries], dtype=np.float32).reshape(len(entries), -1)
        numbers = np.array([int(hit["_id"]) for hit in entries], dtype=np.int64)
        scores = rows.astype(np.float64) @ vector if len(entries) else np.zeros(0)
        return Hits(numbers, scores, rows)

    async def close(self) -> None:
        await self._client.close()


def _in_words(error: Any) -> str:
    """The message of OpenSearch for an error, in one line."""
    about = error.info.get("error") if isinstance(error.info, Mapping) else None
    said = about.get("reason") if isinstance(about, Mapping) else None
    return " ".join(str(said or error.error).split())


def _filter_clause(where: Where) -> dict[str, Any]:
    """The clause of a query for facets; empty without a filter."""
    return {"filter": [{"terms": {"facets": list(group)}} for group in where]} if where else {}


def _serializer() -> Any:
    """Writes float32 in as few digits as it takes, and reads the vectors of hits in a tenth of the client's time."""
    opensearch = _opensearch()

    class Serializer(opensearch.serializer.JSONSerializer):  # type: ignore[misc, name-defined]
        def loads(self, s: str) -> Any:
            """The values of a reply."""
            try:
                return orjson.loads(s)
            except orjson.JSONDecodeError as error:
                raise opensearch.exceptions.SerializationError(s, error) from error

        def dumps(self, data: Any) -> Any:
            """The text of a request."""
            if isinstance(data, str):
                return data
            try:
                return orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY).decode()
            except TypeError:  # half a character, which orjson refuses
                return super().dumps(data)

    return Serializer()


def _opensearch() -> Any:
    try:
        import opensearchpy
    except ImportError as error:
        raise missing_packages("opensearch", "opensearch-py", error) from error
    return opensearchpy
