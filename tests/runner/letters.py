"""An embedder whose vectors count letters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.retrieval.embeddings import EmbeddingStore, Kind, in_turn

MODEL = {"model": "letters"}


class Letters:
    """[number of letters, 1], and a note of what was computed."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        self.batches.append(texts)
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


def embed(
    root: Path, texts: list[str], kind: Kind = "passage", batch_size: int = 8, **options: Any
) -> tuple[Letters, NDArray[np.float32]]:
    letters = Letters()
    store = EmbeddingStore(root, MODEL, **options)
    return letters, store.embed(texts, kind, in_turn(letters), batch_size=batch_size)
