"""Latent semantic analysis of the corpus itself: needs no model, no key and no network.

Deerwester et al. (1990), "Indexing by latent semantic analysis", with character n-grams for words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.protocols import Workspace
from runner.text.ngrams import NgramCounts, count_ngrams

BATCH = 256  # texts that are held as counts at a time
BLOCK = 8192  # features that are projected at a time
NEGLIGIBLE = 1e-10  # an eigenvalue below this share of the largest is zero


class LsaEmbedder:
    """TF-IDF (1 + log tf, smoothed idf) over character 2- and 3-grams, projected on the leading singular
    vectors: at most `dim`, and no more than the rank of the corpus.

    Only the `max_features` n-grams that most passages share take part. A corpus of more than
    `fit_sample` passages is fitted on that many of them, drawn with `seed`.

    The projection depends on all passages that it is fitted on: when one of them changes, it is fitted again and
    every passage gets another vector. It stays as it is when none of them does.
    """

    is_fitted: ClassVar[bool] = True
    keyword_weight: ClassVar[float] = 0.4  # the best of benchmarks/fusion.py, whichever set is left out

    def __init__(
        self,
        *,
        dim: Annotated[int, Field(ge=1, le=4096)] = 384,
        max_features: Annotated[int, Field(ge=1)] = 131072,
        fit_sample: Annotated[int, Field(ge=1)] = 4096,
        seed: Annotated[int, Field(ge=0)] = 42,
    ) -> None:
        self.dim = dim
        self.max_features = max_features
        self.fit_sample = fit_sample
        self.seed = seed

    def prepare(self, texts: Sequence[str], workspace: Workspace) -> None:
        sample = self._sample(texts)
        key = {"embedder": workspace.identity(self), "texts": _digest(sample)}
        folder = workspace.folder("lsa", key, lambda path: self._fit(path, sample))
        self._vocabulary = np.load(folder / "vocabulary.npy")
        self._projection = np.asarray(np.load(folder / "projection.npy", mmap_mode="r"))

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        """A text without a known n-gram is a row of zeros. `kind` makes no difference."""
        vectors = np.empty((len(texts), self._projection.shape[1]), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            weights = _weights(count_ngrams(texts[start : start + BATCH]), self._vocabulary)
            vectors[start : start + BATCH] = weights @ self._projection
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return unit

    # --- fit --------------------------------------------------------------------------------------

    def _fit(self, folder: Path, texts: Sequence[str]) -> None:
        counts = count_ngrams(texts)
        vocabulary, idf = self._features(counts)
        np.save(folder / "vocabulary.npy", vocabulary)
        np.save(folder / "projection.npy", _projection(_weights(counts, vocabulary), idf, self.dim))

    def _sample(self, texts: Sequence[str]) -> Sequence[str]:
        if len(texts) <= self.fit_sample:
            return texts
        chosen = np.random.default_rng(self.seed).choice(len(texts), self.fit_sample, replace=False)
        return [texts[place] for place in np.sort(chosen)]

    def _features(self, counts: NgramCounts) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """n-grams in ascending order, and the idf of each; among equally frequent ones the lower code stays."""
        codes, frequencies = np.unique(counts.codes, return_counts=True)
        kept = np.sort(np.lexsort((codes, -frequencies))[: self.max_features])
        n_texts = len(counts.offsets) - 1
        return codes[kept], np.log((1 + n_texts) / (1 + frequencies[kept])) + 1


def _weights(counts: NgramCounts, vocabulary: NDArray[np.int64]) -> Any:
    """Sparse float32 [n_texts, n_features]: 1 + log of how often a text holds an n-gram."""
    from scipy.sparse import csr_matrix

    columns = np.searchsorted(vocabulary, counts.codes)
    is_known = columns < len(vocabulary)
    is_known[is_known] = vocabulary[columns[is_known]] == counts.codes[is_known]
    offsets = np.concatenate(([0], np.cumsum(is_known)))[counts.offsets]
    values = (1 + np.log(counts.counts[is_known])).astype(np.float32)
    return csr_matrix((values, columns[is_known], offsets), shape=(len(counts.offsets) - 1, len(vocabulary)))


def _projection(weights: Any, idf: NDArray[np.float64], dim: int) -> NDArray[np.float32]:
    """float32 [n_features, at most dim]: the right singular vectors of the TF-IDF rows (each of length 1),
    times the idf, so that embedding is one product. One column of zeros for a corpus without features.
    """
    from scipy.sparse import diags_array

    rows = weights.astype(np.float64) @ diags_array(idf)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows = diags_array(np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)) @ rows
    if rows.nnz == 0:
        return np.zeros((len(idf), 1), dtype=np.float32)
    left_vectors = _left_singular_vectors(rows, dim)
    columns = rows.T.tocsr()
    projection = np.empty((len(idf), left_vectors.shape[1]), dtype=np.float32)
    for start in range(0, len(idf), BLOCK):
        block = slice(start, start + BLOCK)
        projection[block] = (columns[block] @ left_vectors) * idf[block, None]
    return projection


def _left_singular_vectors(rows: Any, dim: int) -> NDArray[np.float64]:
    """Each over its singular value, by the eigenvectors of the Gram matrix, which is small."""
    from scipy.linalg import eigh
    from threadpoolctl import threadpool_limits

    last = rows.shape[0] - 1
    with threadpool_limits(limits=1):  # the last bits depend on how many threads add
        values, vectors = eigh((rows @ rows.T).toarray(), subset_by_index=[max(0, last - dim + 1), last])
    kept = np.flatnonzero(values > NEGLIGIBLE * values[-1])[::-1]
    left: NDArray[np.float64] = vectors[:, kept] / np.sqrt(values[kept])
    return left


def _digest(texts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()
