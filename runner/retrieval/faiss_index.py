"""A FAISS index: built once into a file, and searched in the memory of this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.retrieval.stores import Hits, IndexSettings, Recall

FILE, FACTS = "index.faiss", "facts.json"


def build(folder: Path, vectors: NDArray[np.float32], settings: IndexSettings) -> None:
    """Write the index, and its facts for the report, into a folder."""
    import faiss

    faiss.omp_set_num_threads(1)  # hnsw and ivf depend on the order of insertion
    index = _filled(vectors, settings)
    faiss.write_index(index, str(folder / FILE))
    facts: dict[str, Any] = {"kind": settings.kind, "n_chunks": len(vectors), "dim": vectors.shape[1]}
    if settings.kind != "flat":

        def search(queries: NDArray[np.float32], depth: int) -> Sequence[Sequence[int]]:
            found: list[list[int]] = index.search(queries, depth, params=_effort(settings, 10))[1].tolist()
            return found

        facts["recall_at_10"] = Recall(vectors, settings.seed).of(search)
    (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")


def _filled(vectors: NDArray[np.float32], settings: IndexSettings) -> Any:
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


def _effort(settings: IndexSettings, wanted: int, among: Any = None) -> Any:
    """`among`: what tells FAISS which vectors a filter leaves."""
    import faiss

    if settings.kind == "hnsw":
        return faiss.SearchParametersHNSW(efSearch=max(settings.effort, wanted), sel=among)
    if settings.kind == "ivf":
        return faiss.SearchParametersIVF(nprobe=settings.probes, sel=among)
    return None if among is None else faiss.SearchParameters(sel=among)


class FaissIndex:
    """An index that `build` wrote, mapped into memory."""

    def __init__(self, folder: Path, settings: IndexSettings) -> None:
        import faiss

        self._index = faiss.read_index(str(folder / FILE), faiss.IO_FLAG_MMAP_IFC)
        self._settings = settings

    @property
    def dim(self) -> int:
        """Length of the vectors."""
        return int(self._index.d)

    @property
    def size(self) -> int:
        """How many vectors there are."""
        return int(self._index.ntotal)

    def nearest(
        self, vectors: NDArray[np.float32], wanted: int, passing: NDArray[np.bool_] | None = None
    ) -> list[Hits]:
        """For each query; among the vectors that are `passing`."""
        import faiss

        faiss.omp_set_num_threads(1)
        among = None if passing is None else faiss.IDSelectorBitmap(np.packbits(passing, bitorder="little"))
        scores, numbers = self._index.search(vectors, wanted, params=_effort(self._settings, wanted, among))
        return [self._hits(row[row >= 0], own[row >= 0]) for row, own in zip(numbers, scores, strict=True)]

    def _hits(self, numbers: NDArray[np.int64], scores: NDArray[np.float32]) -> Hits:
        return Hits(numbers, scores.astype(np.float64), self._index.reconstruct_batch(numbers))

    def close(self) -> None:
        """Nothing to do: the memory is freed with the object."""
