"""Embeddings from a server that speaks OpenAI's `/v1/embeddings`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.embeddings import EmbeddingStore
from runner.errors import EvaluationError, InputError
from runner.protocols import Workspace

if TYPE_CHECKING:
    from openai import OpenAI

DEFAULT_URL = "https://api.openai.com/v1"
RETRIES = 2  # of a request that was turned away or lost


class OpenaiEmbedder:
    """Each text is asked for once and kept (runner.embeddings). `base_url: null` is OPENAI_BASE_URL or
    OpenAI itself; `api_key_env` names the variable that holds the key, null for a server without one.
    `timeout_ms` is for one request.
    """

    def __init__(
        self,
        *,
        model: str = "text-embedding-3-small",
        base_url: str | None = None,
        api_key_env: str | None = "OPENAI_API_KEY",
        dimensions: Annotated[int, Field(ge=1)] | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        batch_size: Annotated[int, Field(ge=1, le=2048)] = 64,
        timeout_ms: Annotated[int, Field(ge=1)] = 15000,
    ) -> None:
        self.model = model
        self.base_url = base_url
        self.api_key_env = api_key_env
        self.dimensions = dimensions
        self.prefixes = {"query": query_prefix, "passage": passage_prefix}
        self.batch_size = batch_size
        self.timeout_ms = timeout_ms

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {"url": self._address}

    def prepare(self, texts: Sequence[str], workspace: Workspace) -> None:
        """Opens the store. The server is not asked, nor the key needed, for texts that are in it."""
        model = {"url": self._address, "model": self.model, "dimensions": self.dimensions, "prefixes": self.prefixes}
        self._store = EmbeddingStore(workspace.root, model)

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        """Raises InputError without a key, EvaluationError for what the server refuses."""
        prefix = self.prefixes[kind]
        return self._store.embed(
            texts, kind, lambda batch: self._ask([prefix + text for text in batch]), batch_size=self.batch_size
        )

    def is_cached(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[bool]:
        return self._store.has(texts, kind)

    def warm_up(self) -> None:
        """Makes the client; a request could cost something."""
        _ = self._client

    # --- the server -------------------------------------------------------------------------------

    @property
    def _url(self) -> str:
        return self.base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL

    @property
    def _address(self) -> str:
        """The URL as it may be shown and kept: without a user or password."""
        parts = urlsplit(self._url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    @property
    def _key(self) -> str:
        if self.api_key_env is None:
            return "none"
        key = os.environ.get(self.api_key_env)
        if not key:
            raise InputError(
                f"embedder: the environment variable {self.api_key_env} is not set; it holds the key for "
                f"{self._address} (embedder.api_key_env=NAME names another one, embedder.api_key_env=null sends none)"
            )
        return key

    @cached_property
    def _client(self) -> OpenAI:
        from openai import OpenAI

        return OpenAI(api_key=self._key, base_url=self._url, timeout=self.timeout_ms / 1000, max_retries=RETRIES)

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        from openai import OpenAIError, omit

        try:
            response = self._client.embeddings.create(
                model=self.model,
                input=texts,
                dimensions=omit if self.dimensions is None else self.dimensions,
                encoding_format="float",
            )
            ordered = sorted(response.data, key=lambda item: item.index)
            return np.array([item.embedding for item in ordered], dtype=np.float32)
        except (OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise EvaluationError(
                f"embedding with {self.model} at {self._address} failed: {self._readable(error)}"
            ) from error

    def _readable(self, error: Exception) -> str:
        """What the server or the connection said, in one line, without the key."""
        said = " ".join(str(error).split()) or type(error).__name__
        return said.replace(self._key, "***") if self.api_key_env else said
