"""Nearest chunks by the cosine of embeddings, in a FAISS index or in a store."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Coroutine, Mapping, Sequence
from contextvars import copy_context
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.domains.links.graph_rerank import GraphRerank
from runner.errors import CorpusError, Problem, StopRunError
from runner.protocols import CachedEmbedder, Embedder, Workspace, attribute_of
from runner.records import Chunk, Corpus, Query, Ranking
from runner.retrieval import faiss_index
from runner.retrieval.faiss_index import FACTS, FaissIndex
from runner.retrieval.filters import Filter, facets_of_chunks, passing_mask, where_of
from runner.retrieval.stores import (
    Collection,
    Hits,
    IndexSettings,
    Kind,
    Points,
    Store,
    StoreIndex,
    checked_points,
    collection_name,
)
from runner.system.metadata import version_of
from runner.system.threads import compute, finish
from runner.text.ordering import best, byte_ranks
from runner.text.passages import passages

T = TypeVar("T")
MARGIN = 32  # more candidates than asked for, to see where a tie at the end of a ranking ends
SAMPLE = "sample.npy"  # vectors of the points that are read back
BLOCK = 1 << 16  # texts that are embedded at a time
ROUNDING = 1e-5  # float32 inner products of unit vectors differ by less between the kernels of FAISS


class SemanticRetriever:
    """FAISS, or a store, proposes candidates; their cosines are then computed in double precision, the same way
    whether a query comes alone or in a batch. Relevance is the cosine, 0 where it is negative.

    `flat` is exact. `hnsw`, `ivf` and `ivf_pq` look at a part of the vectors only and report `recall_at_10`: the
    share of the ten exact nearest neighbours they find, for chunks drawn with `seed`. `ivf_pq` searches short codes and
    reads the vectors of its candidates from disk, so that scores are those of the other kinds.

    `build_threads` for hnsw and ivf_pq, None for all cores. With more than one the graph, and with it what is found,
    is another one each time.

    `filter`: name -> value, or values of which one is enough, that the documents of hits have (their language, and what
    their metadata holds). `texts`: whether contexts come from the corpus or from the store.

    `store` None: a FAISS index in the cache. Otherwise the vectors go to a collection that is named by what they are
    made of (runner.retrieval.stores).
    """

    answer_model = "semantic"

    def __init__(
        self,
        *,
        embedder: Embedder,
        store: Store | None = None,
        index: Kind = "flat",
        hnsw_links: Annotated[int, Field(ge=2, le=128)] = 32,
        hnsw_effort: Annotated[int, Field(ge=1)] = 128,
        ivf_lists: Annotated[int, Field(ge=1)] | None = None,
        ivf_probes: Annotated[int, Field(ge=1)] = 16,
        pq_bytes: Annotated[int, Field(ge=1, le=1024)] | None = None,
        build_threads: Annotated[int, Field(ge=1)] | None = 1,
        seed: Annotated[int, Field(ge=0)] = 42,
        filter: Filter | None = None,
        texts: Literal["corpus", "store"] = "corpus",
        graph_rerank: bool | None = None,
        graph_weight: Annotated[float, Field(ge=0)] = 0.1,
    ) -> None:
        self.embedder = embedder
        self.store = None if store is None or attribute_of(store, "is_within") else store
        threads = build_threads or os.cpu_count() or 1
        self.settings = IndexSettings(
            index, hnsw_links, hnsw_effort, ivf_lists, ivf_probes, seed, code_bytes=pq_bytes, threads=threads
        )
        self._where = where_of(filter)
        self._passing: NDArray[np.bool_] | None = None
        self._takes_texts = texts == "store"
        self._is_stand_in = False
        self._index: FaissIndex | StoreIndex
        self.graph = GraphRerank(graph_rerank, graph_weight)

    def preflight(self) -> list[Problem]:
        problems = []
        if not attribute_of(self.embedder, "has_vectors"):
            message = "none makes no vectors, and this retriever needs them; choose another embedder"
            problems.append(Problem("embedder", message))
        if self.store is not None and self.settings.kind not in self.store.kinds:
            kinds = " or ".join(f"index={kind}" for kind in self.store.kinds)
            problems.append(Problem("store", f"this one has no index={self.settings.kind}; it has {kinds}"))
        if self.store is not None and self._where and not attribute_of(self.store, "filters"):
            problems.append(Problem("store", "this one searches without filters; expected retriever.filter=null"))
        if self._takes_texts and (self.store is None or not attribute_of(self.store, "tells")):
            problems.append(Problem("store", "this one gives no texts back; expected retriever.texts=corpus"))
        return problems

    @property
    def keyword_weight(self) -> float | None:
        return cast("float | None", attribute_of(self.embedder, "keyword_weight"))

    @property
    def provenance(self) -> Mapping[str, Any]:
        embedder = attribute_of(self.embedder, "provenance")
        if self.store is None:
            return {"faiss": version_of("faiss-cpu"), "embedder": embedder}
        stand_in = {"stand_in": "faiss"} if self._is_stand_in else {}
        return {"store": attribute_of(self.store, "provenance"), **stand_in, "embedder": embedder}

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        """Raises CorpusError for a corpus without chunks."""
        if not corpus.chunks:
            raise CorpusError("the corpus is empty: there is nothing to index")
        texts = passages(corpus)
        self.embedder.prepare(texts, workspace)
        is_rehearsal = (
            workspace.stored_root != workspace.root
        )  # of vectors that may be made up, which no store is to get
        self._is_stand_in = self.store is not None and is_rehearsal
        self._n_candidates = len(texts)
        if self._where:
            self._passing = passing_mask(facets_of_chunks(corpus), self._where, "retriever.filter")
            self._n_candidates = int(self._passing.sum())
        folder: Path
        if self.store is None or is_rehearsal:
            folder, self._index = self._build_in_memory(corpus, texts, workspace)
        else:
            folder, self._index = self._in_store(self.store, corpus, texts, workspace)
        self._ids = corpus.ids
        self._ranks = byte_ranks(self._ids)
        self._numbers = corpus.place_by_id
        facts: dict[str, Any] = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        if isinstance(self._index, FaissIndex):
            facts["size_bytes"] = sum(file.stat().st_size for file in folder.iterdir())
        if self._where:
            facts["n_candidates"] = self._n_candidates
        return {**facts, **self.graph.index(corpus, workspace)}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """All chunks are candidates, also those with a negative cosine. A query without any feature
        (a row of zeros) finds nothing."""
        deep = self.graph.depth(depth)
        vectors = self.embedder.embed([query.text for query in queries], "query")
        return self.graph.rerank(self._run(self._rank_all(vectors, deep)), depth)

    async def search_async(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """As `search`. The queries are embedded in a thread, one batch at a time."""
        vectors = np.zeros((0, self._index.dim), dtype=np.float32)
        if queries:
            embed = copy_context().run, self.embedder.embed  # with the meters of this task
            vectors = await compute(*embed, [query.text for query in queries], "query")
        return self.graph.rerank(await self._rank_all(vectors, self.graph.depth(depth)), depth)

    @property
    def is_remote(self) -> bool:
        return self._server is not None

    @property
    def concurrency(self) -> int:
        return 1 if self._server is None else self._server.transfer.max_concurrency

    @property
    def _server(self) -> Store | None:
        """The store, where it is a server that is asked."""
        asks = self.store is not None and not self._is_stand_in and self.store.transfer.max_concurrency
        return self.store if asks else None

    def _run(self, search: Coroutine[Any, Any, T]) -> T:
        return self._index.run(search) if isinstance(self._index, StoreIndex) else finish(search)

    async def _rank_all(self, vectors: NDArray[np.float32], depth: int) -> list[Ranking]:
        """The rankings of embedded queries. Waits for a store alone."""
        vectors = self._fit_length(vectors)
        asked = np.flatnonzero(vectors.any(axis=1))
        rankings = [Ranking((), (), ())] * len(vectors)
        for place, candidates in zip(asked, await self._candidates(vectors[asked], depth), strict=True):
            rankings[place] = self._rank(vectors[place], candidates, depth)
        return rankings

    def _fit_length(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Vectors that are made up, or of blank texts, at the length of those in the index. Raises StopRunError for
        others of another length."""
        if vectors.shape[1] == self._index.dim:
            return vectors
        if attribute_of(self.embedder, "is_rehearsed") or not vectors.any():
            return np.resize(vectors, (len(vectors), self._index.dim))
        name = self.provenance["embedder"].get("model", type(self.embedder).__name__)
        raise StopRunError(
            f"the index was built of vectors of {self._index.dim} numbers by {name}, and {name} now makes vectors of "
            f"{vectors.shape[1]}: another model answers under this name; cold_start=true rebuilds the index"
        )

    # --- what the embedder remembers ----------------------------------------------------------------

    @property
    def caches(self) -> bool:
        return isinstance(self.embedder, CachedEmbedder)

    def is_cached(self, queries: Sequence[Query]) -> list[bool]:
        if not isinstance(self.embedder, CachedEmbedder):
            return [False] * len(queries)
        return self.embedder.is_cached([query.text for query in queries], "query")

    def texts_of(self, ids: Sequence[str]) -> list[str] | None:
        """The texts that the store holds of chunks; None where those of the corpus count."""
        if not self._takes_texts or not isinstance(self._index, StoreIndex):
            return None
        return self._index.texts([self._numbers[id] for id in ids])

    def warm_up(self) -> None:
        if isinstance(self.embedder, CachedEmbedder):
            self.embedder.warm_up()
        if self._server is None:  # a server is connected by `search_async`
            self._run(self._candidates(np.zeros((1, self._index.dim), dtype=np.float32), 1))

    def close(self) -> None:
        self._index.close()

    # --- index ------------------------------------------------------------------------------------

    def _build_in_memory(self, corpus: Corpus, texts: Sequence[str], workspace: Workspace) -> tuple[Path, FaissIndex]:
        """A folder with the facts of an index, and the index."""
        key = {
            "corpus": corpus.fingerprint,
            "embedder": workspace.identity(self.embedder),
            "index": self.settings.recall_settings,
            "provenance": self.provenance,
        }

        def build(path: Path) -> None:
            faiss_index.build(path, self._embed_texts(texts, workspace), self.settings)

        folder = workspace.folder("semantic", key, build)
        return folder, FaissIndex(folder, self.settings)

    def _in_store(
        self, store: Store, corpus: Corpus, texts: Sequence[str], workspace: Workspace
    ) -> tuple[Path, StoreIndex]:
        """The same of a collection. It is filled once; points that it has lost since are sent again, and some are read
        back each time, to notice that somebody has changed it."""
        content = {
            "corpus": corpus.fingerprint,
            "embedder": [workspace.identity(self.embedder), attribute_of(self.embedder, "provenance")],
            "index": self.settings.content_settings,
        }
        ids = corpus.ids

        def open_index(dim: int) -> StoreIndex:
            return StoreIndex(
                store, Collection(collection_name(content), len(ids), dim, self.settings, workspace.root / "stores")
            )

        def build(path: Path) -> None:
            vectors = self._embed_texts(texts, workspace)
            index = open_index(vectors.shape[1])
            try:
                index.fill(_points(corpus, vectors), anew=workspace.cold)
                np.save(path / SAMPLE, vectors[checked_points(len(ids))])
                (path / FACTS).write_text(json.dumps(index.facts(vectors)), encoding="utf-8")
            finally:
                index.close()

        folder = workspace.folder("collections", {**content, "place": store.transfer.place, "sample": SAMPLE}, build)
        index = open_index(int(json.loads((folder / FACTS).read_text(encoding="utf-8"))["dim"]))
        if not index.is_whole():
            index.fill(_points(corpus, self._embed_texts(texts, workspace)))
        index.check(np.load(folder / SAMPLE), ChunkTexts(corpus.chunks))
        return folder, index

    def _embed_texts(self, texts: Sequence[str], workspace: Workspace) -> NDArray[np.float32]:
        """float32 [n_texts, dim]; more than BLOCK texts go to a file, with one block in memory at a time."""
        first = self._block(texts[:BLOCK])
        if len(texts) <= BLOCK:
            return first
        workspace.root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=workspace.root) as file:  # its map lives as long as it is wanted
            vectors = np.memmap(file, dtype=np.float32, mode="w+", shape=(len(texts), first.shape[1]))
        vectors[:BLOCK] = first
        for start in range(BLOCK, len(texts), BLOCK):
            block = self._block([*texts[start : start + BLOCK]])
            if block.shape[1] != vectors.shape[1]:
                name, (_, dim) = type(self.embedder).__name__, vectors.shape
                raise StopRunError(f"{name} made vectors of {block.shape[1]} numbers, after some of {dim}")
            vectors[start : start + BLOCK] = block
        return vectors

    def _block(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = self.embedder.embed(texts, "passage")
        if vectors.ndim != 2 or len(vectors) != len(texts):
            name = type(self.embedder).__name__
            raise StopRunError(f"{name} made vectors of the shape {vectors.shape} for {len(texts)} passages")
        return vectors

    # --- search -----------------------------------------------------------------------------------

    async def _candidates(self, vectors: NDArray[np.float32], depth: int) -> list[Hits]:
        """Candidates among which are the `depth` best of each query, however ties are broken."""
        n_hits = min(self._n_candidates, depth + MARGIN)
        hits_of_queries = await self._nearest(vectors, n_hits)
        if self.settings.kind == "flat" and n_hits < self._n_candidates:
            tied = [n for n, hits in enumerate(hits_of_queries) if hits.scores[-1] >= hits.scores[depth - 1] - ROUNDING]
            if tied:
                for place, more in zip(tied, await self._candidates(vectors[tied], 2 * n_hits), strict=True):
                    hits_of_queries[place] = more
        return hits_of_queries

    async def _nearest(self, vectors: NDArray[np.float32], n_hits: int) -> list[Hits]:
        if isinstance(self._index, StoreIndex):
            return await self._index.nearest(vectors, n_hits, self._where)
        return self._index.nearest(vectors, n_hits, self._passing)

    def _rank(self, vector: NDArray[np.float32], hits: Hits, depth: int) -> Ranking:
        scores = hits.scores
        vectors = hits.vectors if isinstance(self._index, StoreIndex) else self._index.vectors_of(hits.numbers)
        if vectors is not None:
            scores = np.einsum("ij,j->i", vectors.astype(np.float64), vector.astype(np.float64))
        order = best(scores, self._ranks[hits.numbers], depth)
        ids = tuple([self._ids[number] for number in hits.numbers[order].tolist()])
        scores = scores[order]
        return Ranking(ids, tuple(scores.tolist()), tuple(np.clip(scores, 0.0, 1.0).tolist()))


def _points(corpus: Corpus, vectors: NDArray[np.float32]) -> Points:
    """All points of a collection."""
    return Points(0, corpus.ids, ChunkTexts(corpus.chunks), vectors, facets_of_chunks(corpus))


class ChunkTexts(Sequence[str]):
    """The texts of chunks, perhaps on disk: each is read on access."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks

    def __len__(self) -> int:
        return len(self._chunks)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [chunk.text for chunk in self._chunks[place]]
        return self._chunks[place].text
