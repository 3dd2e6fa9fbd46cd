from pathlib import Path

import numpy as np

from plugins.embedder.none import NoEmbedder
from runner.system.store import Store


def test_every_text_is_a_vector_of_length_zero(tmp_path: Path) -> None:
    embedder = NoEmbedder()
    embedder.prepare(["a"], Store(tmp_path, {}))
    vectors = embedder.embed(["가", "b"], "passage")
    assert vectors.shape == (2, 0)
    assert vectors.dtype == np.float32
