"""No embedder: for evaluations that can do without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from runner.protocols import Workspace


class NoEmbedder:
    """Every text is a vector of length 0. `has_vectors` tells those that cannot do without."""

    has_vectors = False

    def prepare(self, texts: Sequence[str], workspace: Workspace) -> None: ...

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        """float32 [n_texts, 0]"""
        return np.empty((len(texts), 0), dtype=np.float32)
