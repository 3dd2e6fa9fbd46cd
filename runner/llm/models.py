"""Every language and embedding model that a run uses, behind one door."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.llm.messages import ChatReply, ChatRequest, Role
from runner.llm.settings import Budget, CacheMode, ProviderSettings

T = TypeVar("T")


class Models:
    """`out` is the folder of the run or sweep, which holds the ledger of its budget (null: in memory)."""

    not_in_identity: ClassVar[bool] = True

    def __init__(
        self,
        *,
        providers: dict[str, ProviderSettings],
        cache: CacheMode,
        budget: Budget,
        cache_dir: str,
        out: str | None,
        timeout_ms: Annotated[int, Field(ge=1)],
        max_concurrency: Annotated[int, Field(ge=1)],
    ) -> None:
        self.providers = providers

    def model(self, name: str, role: Role) -> Model:
        """Raises ConfigError for a provider that is not there."""
        return Model(name)

    @asynccontextmanager
    async def opened(self, cell: str = ".") -> AsyncIterator[None]:
        """Around everything that asks a model. `cell` names the run in the ledger."""
        yield


class Model:
    def __init__(self, name: str) -> None:
        self.name = name
        self.provenance: Mapping[str, Any] = {"model": name}

    async def chat(self, request: ChatRequest) -> ChatReply:
        raise NotImplementedError

    async def structured(self, request: ChatRequest, read: Callable[[Mapping[str, Any]], T]) -> T:
        raise NotImplementedError

    async def embed(self, texts: Sequence[str], dimensions: int | None) -> NDArray[np.float32]:
        raise NotImplementedError
