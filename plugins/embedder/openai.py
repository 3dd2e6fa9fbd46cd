"""Embeddings from any server that speaks OpenAI's `/v1/embeddings`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.errors import StopRunError
from runner.llm.models import Models
from runner.protocols import Workspace
from runner.retrieval.embeddings import BatchSink, EmbeddingStore


class OpenaiEmbedder:
    """Each text is asked for once and kept (runner.retrieval.embeddings), `batch_size` texts in a request, as many
    requests under way as the run and the provider allow. `dimensions: null` leaves their number to the model.
    """

    keyword_weight: ClassVar[float] = 0.3  # as e5 has it: not measured with a server's model

    def __init__(
        self,
        *,
        models: Models,
        model: str = "openai:text-embedding-3-small",
        dimensions: Annotated[int, Field(ge=1)] | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        batch_size: Annotated[int, Field(ge=1, le=2048)] = 64,
    ) -> None:
        self._models, self._model = models, models.model(model, "embedder")
        self.dimensions = dimensions
        self.prefixes = {"query": query_prefix, "passage": passage_prefix}
        self.batch_size = batch_size

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {**self._model.provenance, "dimensions": self.dimensions}

    @property
    def is_rehearsed(self) -> bool:
        """Whether some vectors are made up, of any length: requests are counted instead of made."""
        return self._model.is_rehearsed and self._store.has_made_up

    def prepare(self, texts: Sequence[str], workspace: Workspace) -> None:
        """Opens the store. The server is not asked, nor the key needed, for texts that are in it."""
        model_settings = {**self.provenance, "model": self._model.name.partition(":")[2], "prefixes": self.prefixes}
        self._store = EmbeddingStore(
            workspace.root,
            model_settings,
            self._models.cache_mode,
            sweep=self._models.sweep,
            made_up=self._models.made_up,
            reads=workspace.stored_root,
            server=f"{self._model.name} at {self._model.provider.address}",
        )

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        """For a thread beside the event loop. Raises StopRunError, InputError without a key, and EvaluationError
        for what the server refuses, or answers with what is no vector; what came back before or beside is kept."""
        prefix = self.prefixes[kind]

        def ask(batches: Sequence[list[str]], done: BatchSink) -> None:
            self._models.blocking(self._ask([[prefix + text for text in batch] for batch in batches], done, prefix))

        def note(found: list[str]) -> None:
            self._models.blocking(self._note_stored([prefix + text for text in found], prefix))

        vectors = self._store.embed(texts, kind, ask, batch_size=self.batch_size, note_stored=note)
        self._model.meter(text for text in texts if text.strip())
        return vectors

    def is_cached(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[bool]:
        return self._store.has(texts, kind)

    def warm_up(self) -> None:
        """Nothing to do: connecting is no part of a latency, and a request could cost something."""

    # --- the model ----------------------------------------------------------------------------------

    async def _ask(self, batches: Sequence[list[str]], sink: BatchSink, prefix: str) -> None:
        """Embed batches by several workers. A worker ends when its batch fails, the others continue: a fault of one
        text costs little, and a fault of all texts ends all."""
        batches_left = iter(enumerate(batches))

        async def work() -> None:
            for number, batch in batches_left:
                vectors = await self._model.embed(batch, self.dimensions, prefix=prefix)
                sink(number, vectors.rows, vectors.sent_by)

        workers = [work() for _ in range(min(len(batches), self._models.max_concurrency))]
        outcomes = await asyncio.gather(*workers, return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        for failure in sorted(failures, key=lambda each: not isinstance(each, StopRunError)):
            raise failure

    async def _note_stored(self, texts: Sequence[str], prefix: str) -> None:
        for start in range(0, len(texts), self.batch_size):
            self._model.note_stored(texts[start : start + self.batch_size], prefix=prefix)
