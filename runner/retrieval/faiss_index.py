"""A FAISS index: built once into a file, and searched in the memory of this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.retrieval.stores import Hits, IndexSettings, Recall

FILE, FACTS, VECTORS = "index.faiss", "facts.json", "vectors.f32"
ROWS = 1 << 16  # vectors that are added at a time
REFINED = 4  # times as many candidates of ivf_pq as are wanted, by their codes; the best by their vectors stay
TRAINED_ON = 64  # vectors a cluster of ivf_pq
ROUNDS = 10  # of its clustering, which takes most of the time
CODES = 256  # values of one byte of a code


def build(folder: Path, vectors: NDArray[np.float32], settings: IndexSettings) -> None:
    """Write the index, and its facts for the report, into a folder."""
    import faiss

    is_plain = settings.kind in ("flat", "ivf")  # hnsw and ivf depend on the order of insertion
    faiss.omp_set_num_threads(1 if is_plain else settings.threads)
    index = _build_compressed(vectors, settings) if settings.kind == "ivf_pq" else _build_index(vectors, settings)
    faiss.omp_set_num_threads(1)
    faiss.write_index(index, str(folder / FILE))
    if settings.kind == "ivf_pq":
        with (folder / VECTORS).open("wb") as file:
            for start in range(0, len(vectors), ROWS):
                file.write(vectors[start : start + ROWS].tobytes())
    facts: dict[str, Any] = {"kind": settings.kind, "n_chunks": len(vectors), "dim": vectors.shape[1]}
    if settings.kind != "flat":

        def search(queries: NDArray[np.float32], depth: int) -> Sequence[Sequence[int]]:
            numbers = _search(index, settings, queries, depth)[1]
            if settings.kind != "ivf_pq":
                found: list[list[int]] = numbers.tolist()
                return found
            pairs = zip(queries, numbers, strict=True)
            return [_refine(vectors, query, row[row >= 0])[:depth].tolist() for query, row in pairs]

        facts["recall_at_10"] = Recall(vectors, settings.seed).of(search)
    (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")


def _build_index(vectors: NDArray[np.float32], settings: IndexSettings) -> Any:
    import faiss

    count, dim = vectors.shape
    if settings.kind == "hnsw":
        index = faiss.IndexHNSWFlat(dim, settings.links, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = settings.effort
    elif settings.kind == "ivf":
        lists = settings.lists_of(count)
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dim), dim, lists, faiss.METRIC_INNER_PRODUCT)
        index.cp.seed = settings.seed
        index.cp.min_points_per_centroid = 1
        index.train(vectors)
    else:
        index = faiss.IndexFlatIP(dim)
    index.add(vectors)
    if settings.kind == "ivf":
        index.make_direct_map()  # to read vectors by their number
    return index


def _build_compressed(vectors: NDArray[np.float32], settings: IndexSettings) -> Any:
    """Jégou et al. (2011), "Product quantization for nearest neighbor search", after a random rotation, which spreads
    what vectors say evenly over the bytes of their codes."""
    import faiss

    count, dim = vectors.shape
    code_bytes, lists = settings.code_bytes or max(1, dim // 4), settings.lists_of(count)
    wide = -(-dim // code_bytes) * code_bytes  # a multiple of the bytes
    clusters = faiss.IndexIVFPQ(faiss.IndexFlatIP(wide), wide, lists, code_bytes, 8, faiss.METRIC_INNER_PRODUCT)
    for training in (clusters.cp, clusters.pq.cp):
        training.seed, training.min_points_per_centroid, training.niter = settings.seed, 1, ROUNDS
    index = faiss.IndexPreTransform(faiss.RandomRotationMatrix(dim, wide), clusters)
    index.train(_sample(vectors, max(TRAINED_ON * lists, TRAINED_ON * CODES), settings.seed))
    for start in range(0, count, ROWS):
        index.add(np.ascontiguousarray(vectors[start : start + ROWS]))
    return index


def _sample(vectors: NDArray[np.float32], size: int, seed: int) -> NDArray[np.float32]:
    """A sample of at most `size` vectors, in order; few vectors are repeated, since each value of a byte needs one."""
    if len(vectors) > size:
        chosen = np.random.default_rng(seed).choice(len(vectors), size, replace=False)
        return np.ascontiguousarray(vectors[np.sort(chosen)])
    return np.resize(vectors, (max(len(vectors), CODES), vectors.shape[1]))


def _search(
    index: Any, settings: IndexSettings, queries: NDArray[np.float32], n_hits: int, among: Any = None
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Scores and numbers [n_queries, at least `n_hits`], best first; -1 where there is no more. `among`: selects the
    vectors that pass a filter, for FAISS."""
    import faiss

    effort = None
    if settings.kind == "hnsw":
        effort = faiss.SearchParametersHNSW(efSearch=max(settings.effort, n_hits), sel=among)
    elif settings.kind == "ivf":
        effort = faiss.SearchParametersIVF(nprobe=settings.probes, sel=among)
    elif settings.kind == "ivf_pq":
        n_hits = min(index.ntotal, REFINED * n_hits)
        inner = faiss.SearchParametersIVF(nprobe=settings.probes, sel=among)
        effort = faiss.SearchParametersPreTransform(index_params=inner)
    elif among is not None:
        effort = faiss.SearchParameters(sel=among)
    found: tuple[NDArray[np.float32], NDArray[np.int64]] = index.search(queries, n_hits, params=effort)
    return found


def _refine(vectors: NDArray[np.float32], query: NDArray[np.float32], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers by the inner product of their vectors with a query, best first."""
    return numbers[np.argsort(-(vectors[numbers] @ query), kind="stable")]


class FaissIndex:
    """An index that `build` wrote, mapped into memory."""

    def __init__(self, folder: Path, settings: IndexSettings) -> None:
        import faiss

        self._index = faiss.read_index(str(folder / FILE), faiss.IO_FLAG_MMAP_IFC)
        self._settings = settings
        self._vectors: NDArray[np.float32] | None = None
        if settings.kind == "ivf_pq":
            self._vectors = np.memmap(folder / VECTORS, dtype=np.float32, mode="r", shape=(self.size, self.dim))

    @property
    def dim(self) -> int:
        """Length of the vectors."""
        return int(self._index.d)

    @property
    def size(self) -> int:
        """How many vectors there are."""
        return int(self._index.ntotal)

    def nearest(self, vectors: NDArray[np.float32], depth: int, passing: NDArray[np.bool_] | None = None) -> list[Hits]:
        """The nearest vectors of each query, among those that are `passing`; `vectors_of` has the vectors."""
        import faiss

        faiss.omp_set_num_threads(1)
        among = None if passing is None else faiss.IDSelectorBitmap(np.packbits(passing, bitorder="little"))
        scores, numbers = _search(self._index, self._settings, vectors, depth, among)
        scores = scores.astype(np.float64)
        return [Hits(row[is_hit], own[is_hit]) for row, own, is_hit in zip(numbers, scores, numbers >= 0, strict=True)]

    def vectors_of(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """float32 [n, dim]. Of one query at a time: of a batch, megabytes would be allocated anew for each batch."""
        if self._vectors is not None:
            return self._vectors[numbers]
        vectors: NDArray[np.float32] = self._index.reconstruct_batch(numbers)
        return vectors

    def close(self) -> None:
        """Nothing to do: the memory is freed with the object."""
