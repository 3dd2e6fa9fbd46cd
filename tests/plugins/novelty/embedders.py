"""Embedders whose vectors a hand can work out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Points:
    """A text is the point that it writes: the numbers of its last words. Asks no model, yet is fitted on nothing."""

    def __init__(self, *, version: int = 1) -> None:
        self.version = version
        self.n_embedded = 0

    @property
    def provenance(self) -> dict[str, int]:
        return {"version": self.version}

    def prepare(self, texts: Sequence[str], workspace: Any) -> None: ...

    def embed(self, texts: Sequence[str], kind: Any) -> Vectors:
        self.n_embedded += len(texts)
        rows = np.array([[float(word) for word in text.split()[-2:]] for text in texts], dtype=np.float32)
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def is_cached(self, texts: Sequence[str], kind: Any) -> list[bool]:
        return [False] * len(texts)

    def warm_up(self) -> None: ...


class Fitted:
    """Vectors of characters, as an embedder has them that looks at all texts first."""

    def prepare(self, texts: Sequence[str], workspace: Any) -> None:
        self.letters = sorted(set("".join(texts)))

    def embed(self, texts: Sequence[str], kind: Any) -> Vectors:
        rows = np.array([[text.count(letter) for letter in self.letters] for text in texts], dtype=np.float32)
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit
