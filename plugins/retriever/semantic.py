"""Nearest chunks by the cosine of embeddings, in a FAISS index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.domains.links.graph_rerank import GraphRerank
from runner.errors import CorpusError, Problem, StopRunError
from runner.protocols import CachedEmbedder, Embedder, Workspace, offered
from runner.records import Corpus, Query, Ranking
from runner.text.ordering import best, byte_ranks
from runner.text.passages import passages

MARGIN = 32  # more candidates than asked for, to see where a tie at the end of a ranking ends
ROUNDING = 1e-5  # float32 inner products of unit vectors differ by less between the kernels of FAISS
EXACT_SAMPLE = 200  # chunks whose neighbours are compared with the exact ones


class SemanticRetriever:
    """FAISS proposes candidates; their cosines are then computed in double precision, the same way
    whether a query comes alone or in a batch. Relevance is the cosine, 0 where it is negative.

    `flat` is exact. `hnsw` and `ivf` look at a part of the vectors only and report `recall_at_10`: the
    share of the ten exact nearest neighbours they find, for chunks drawn with `seed`.
    """

    answer_model = "semantic"

    def __init__(
        self,
        *,
        embedder: Embedder,
        index: Literal["flat", "hnsw", "ivf"] = "flat",
        hnsw_links: Annotated[int, Field(ge=2, le=128)] = 32,
        hnsw_effort: Annotated[int, Field(ge=1)] = 128,
        ivf_lists: Annotated[int, Field(ge=1)] | None = None,
        ivf_probes: Annotated[int, Field(ge=1)] = 16,
        seed: Annotated[int, Field(ge=0)] = 42,
        graph_rerank: bool | None = None,
        graph_weight: Annotated[float, Field(ge=0)] = 0.1,
    ) -> None:
        self.embedder = embedder
        self.kind = index
        self.hnsw_links = hnsw_links
        self.hnsw_effort = hnsw_effort
        self.ivf_lists = ivf_lists
        self.ivf_probes = ivf_probes
        self.seed = seed
        self.graph = GraphRerank(graph_rerank, graph_weight)

    def preflight(self) -> list[Problem]:
        if offered(self.embedder, "has_vectors"):
            return []
        return [Problem("embedder", "none makes no vectors, and this retriever needs them; choose another embedder")]

    @property
    def keyword_weight(self) -> float | None:
        return cast("float | None", offered(self.embedder, "keyword_weight"))

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {"faiss": version("faiss-cpu"), "embedder": offered(self.embedder, "provenance")}

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        """Raises CorpusError for a corpus without chunks."""
        import faiss

        if not corpus.chunks:
            raise CorpusError("the corpus is empty: there is nothing to index")
        texts = passages(corpus)
        self.embedder.prepare(texts, workspace)
        key = {"corpus": corpus.fingerprint, "retriever": workspace.identity(self), "provenance": self.provenance}
        folder = workspace.folder("semantic", key, lambda path: self._build(path, texts))
        self._index = faiss.read_index(str(folder / "index.faiss"), faiss.IO_FLAG_MMAP_IFC)
        self._ids = [chunk.id for chunk in corpus.chunks]
        self._ranks = byte_ranks(self._ids)
        facts: dict[str, Any] = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        size = sum(file.stat().st_size for file in folder.iterdir())
        return {**facts, "size_bytes": size, **self.graph.index(corpus, workspace)}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """All chunks are candidates, also those with a negative cosine. A query without any feature
        (a row of zeros) finds nothing."""
        return self.graph.search(self._search, queries, depth)

    def _search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        vectors = self.embedder.embed([query.text for query in queries], "query")
        if vectors.shape[1] != self._index.d:
            vectors = self._fitted(vectors)
        asked = np.flatnonzero(vectors.any(axis=1))
        rankings = [Ranking((), (), ())] * len(queries)
        for place, candidates in zip(asked, self._candidates(vectors[asked], depth), strict=True):
            rankings[place] = self._rank(vectors[place], candidates, depth)
        return rankings

    def _fitted(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Vectors that are made up, or of blank texts, at the length of those in the index. Raises StopRunError for
        others."""
        if offered(self.embedder, "is_rehearsed") or not vectors.any():
            return np.resize(vectors, (len(vectors), self._index.d))
        name = self.provenance["embedder"].get("model", type(self.embedder).__name__)
        raise StopRunError(
            f"the index was built of vectors of {self._index.d} numbers by {name}, and {name} now makes vectors of "
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

    def warm_up(self) -> None:
        if isinstance(self.embedder, CachedEmbedder):
            self.embedder.warm_up()
        self._candidates(np.zeros((1, self._index.d), dtype=np.float32), 1)

    # --- index ------------------------------------------------------------------------------------

    def _build(self, folder: Path, texts: Sequence[str]) -> None:
        import faiss

        vectors = self.embedder.embed(texts, "passage")
        if vectors.ndim != 2 or len(vectors) != len(texts):
            name = type(self.embedder).__name__
            raise StopRunError(f"{name} made vectors of the shape {vectors.shape} for {len(texts)} passages")
        faiss.omp_set_num_threads(1)  # the order of insertion decides how hnsw and ivf turn out
        index = self._index_of(vectors)
        faiss.write_index(index, str(folder / "index.faiss"))
        facts: dict[str, Any] = {"kind": self.kind, "n_chunks": len(vectors), "dim": vectors.shape[1]}
        if self.kind != "flat":
            facts["recall_at_10"] = self._recall(index, vectors)
        (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")

    def _index_of(self, vectors: NDArray[np.float32]) -> Any:
        import faiss

        count, dim = vectors.shape
        if self.kind == "hnsw":
            index = faiss.IndexHNSWFlat(dim, self.hnsw_links, faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction = self.hnsw_effort
        elif self.kind == "ivf":
            lists = min(self.ivf_lists or max(1, min(round(4 * count**0.5), count // 39)), count)
            index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dim), dim, lists, faiss.METRIC_INNER_PRODUCT)
            index.cp.seed = self.seed
            index.cp.min_points_per_centroid = 1
            index.train(vectors)
        else:
            index = faiss.IndexFlatIP(dim)
        index.add(vectors)
        if self.kind == "ivf":
            index.make_direct_map()  # to get vectors back by their number
        return index

    def _recall(self, index: Any, vectors: NDArray[np.float32]) -> float:
        import faiss

        chosen = np.random.default_rng(self.seed).permutation(len(vectors))[:EXACT_SAMPLE]
        depth = min(11, len(vectors))  # a chunk is its own nearest neighbour
        exact = faiss.knn(vectors[chosen], vectors, depth, metric=faiss.METRIC_INNER_PRODUCT)[1]
        found = index.search(vectors[chosen], depth, params=self._effort(10))[1]
        shares = [
            len((set(near) & set(near_found)) - {own}) / max(1, len(set(near) - {own}))
            for own, near, near_found in zip(chosen, exact.tolist(), found.tolist(), strict=True)
        ]
        return round(float(np.mean(shares)), 4)

    # --- search -----------------------------------------------------------------------------------

    def _candidates(self, vectors: NDArray[np.float32], depth: int) -> list[NDArray[np.int64]]:
        """Numbers of chunks that hold the `depth` best of each query, whatever decides between ties."""
        import faiss

        faiss.omp_set_num_threads(1)
        total = self._index.ntotal
        wanted = min(total, depth + MARGIN)
        scores, numbers = self._index.search(vectors, wanted, params=self._effort(wanted))
        candidates = [row[row >= 0] for row in numbers]
        if self.kind == "flat" and wanted < total:
            tied = np.flatnonzero(scores[:, -1] >= scores[:, depth - 1] - ROUNDING)
            if len(tied):
                for place, more in zip(tied, self._candidates(vectors[tied], 2 * wanted), strict=True):
                    candidates[place] = more
        return candidates

    def _effort(self, wanted: int) -> Any:
        import faiss

        if self.kind == "hnsw":
            return faiss.SearchParametersHNSW(efSearch=max(self.hnsw_effort, wanted))
        if self.kind == "ivf":
            return faiss.SearchParametersIVF(nprobe=self.ivf_probes)
        return None

    def _rank(self, vector: NDArray[np.float32], candidates: NDArray[np.int64], depth: int) -> Ranking:
        vectors = self._index.reconstruct_batch(candidates).astype(np.float64)
        scores = np.einsum("ij,j->i", vectors, vector.astype(np.float64))
        order = best(scores, self._ranks[candidates], depth)
        ids = tuple([self._ids[number] for number in candidates[order]])
        scores = scores[order]
        return Ranking(ids, tuple(scores.tolist()), tuple(np.clip(scores, 0.0, 1.0).tolist()))
