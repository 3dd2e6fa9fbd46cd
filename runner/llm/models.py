"""Every language and embedding model that a run uses, behind one door."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Iterable, Iterator, Mapping, MutableMapping
from concurrent import futures
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Field

from runner.errors import ConfigError, Problem, StopRunError
from runner.llm.address import server_of
from runner.llm.calls import CallLog
from runner.llm.door import Door
from runner.llm.messages import Role
from runner.llm.model import Model
from runner.llm.names import name_problem
from runner.llm.provider import Provider
from runner.llm.rehearsal import Rehearsal
from runner.llm.retry import Patience, Retry
from runner.llm.service import Service, Unstored
from runner.llm.settings import Budget, CacheMode, ProviderSettings

T = TypeVar("T")

OVER = "the run has ended"  # seen by nobody but what it left behind


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
        self._servers = {
            name: Retry(
                Provider(name, settings, timeout_s=timeout_ms / 1000, max_concurrency=max_concurrency), Patience()
            )
            for name, settings in providers.items()
        }
        self._door = Door(Path(cache_dir), cache, None if out is None else Path(out), budget)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_over = False
        self.used: list[Model] = []
        self.services: list[Service] = []
        self.memories: list[Unstored] = []
        self.max_concurrency = max_concurrency

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Models:
        """Itself: a copy of what asks models goes through the same door."""
        return self

    @property
    def cache_mode(self) -> CacheMode:
        """The setting `cache`."""
        return self._door.cache.mode

    @property
    def replies_set_aside(self) -> Path | None:
        """Where the stored replies are that could not be used, when they were looked at for the first time."""
        return self._door.cache.set_aside

    @property
    def names(self) -> dict[str, list[str]]:
        """Role -> models that are used in it."""
        used: list[Model | Service | Unstored] = [*self.used, *self.services, *self.memories]
        roles = sorted({model.role for model in used})
        return {role: sorted({model.name for model in used if model.role == role}) for role in roles}

    def model(self, name: str, role: Role) -> Model:
        """The model called `provider:name`. Raises ConfigError for a provider that is not there, or is at an
        address that is none."""
        if message := name_problem(name, self._servers):
            raise ConfigError([Problem(role, message)])
        provider, _, own_name = name.partition(":")
        if problem := self._servers[provider].provider.address_problem():
            raise ConfigError([problem])
        self.used.append(Model(self._door, self._servers[provider], own_name, role))
        return self.used[-1]

    def service(self, name: str, *, is_shared: bool, language: str) -> Service:
        """A running system, by the name that ledger and reports have for it. `is_shared`: what it replies serves later
        runs, too, not only those of the sweep that asked."""
        self.services.append(Service(self._door, name, is_shared=is_shared, language=language))
        return self.services[-1]

    def memory(self, name: str) -> Unstored:
        """The memory of another system, by the name that ledger and reports have for it."""
        self.memories.append(Unstored(self._door, name, "memory"))
        return self.memories[-1]

    @property
    def sweep(self) -> str:
        """A name that only this sweep has, where that matters (cache=refresh)."""
        return self._door.ledger.sweep if self.cache_mode == "refresh" else ""

    @property
    def made_up(self) -> MutableMapping[Path, dict[bytes, Any]] | None:
        """Vectors of a rehearsal, by the file that they will be in; None where requests are made."""
        return None if self._door.rehearsal is None else self._door.rehearsal.vectors

    @asynccontextmanager
    async def opened(self, cell: str | None = None, calls: CallLog | None = None) -> AsyncIterator[None]:
        """Around everything that asks a model, in the event loop that asks. `cell` names the run in the ledger;
        `calls` notes what is asked for its cases."""
        self._door.cell, self._loop = cell or self._door.cell, asyncio.get_running_loop()
        self._door.calls = calls
        self._is_over = False
        async with AsyncExitStack() as closing:
            for service in self.services:
                service.begin()
            for server in self._servers.values():
                server.begin()
                closing.push_async_callback(server.provider.close)
            closing.push_async_callback(self._door.close)
            if (self.used or self.services) and self._door.rehearsal is None and self._door.cache.mode != "replay":
                self._get_ready()
            try:
                yield
            finally:
                self._is_over, self._door.calls = True, None

    def _get_ready(self) -> None:
        """What takes a second is no part of the first request."""
        self._door.cache.check()
        for provider in {model.provider for model in self.used}:
            if provider.problem() is None:
                provider.connect()

    def blocking(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What a coroutine of one of these models returns, for a thread beside the event loop, or for a program
        without one. Raises StopRunError in a thread that has outlived the run."""
        if self._is_over:
            coroutine.close()
            raise StopRunError(OVER)
        if self._loop is None:
            return asyncio.run(self._alone(coroutine))
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()
        except futures.CancelledError:
            raise StopRunError(OVER) from None

    async def _alone(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            async with self.opened():
                return await coroutine
        finally:
            self._loop, self._is_over = None, False

    @contextmanager
    def rehearsing(self, rehearsal: Rehearsal, cell: str) -> Iterator[None]:
        """Requests are counted into `rehearsal` instead of made. Raises StopRunError at the end where it is not known
        which replies are stored: then nothing was counted rightly."""
        self._door.rehearsal, self._door.cell = rehearsal, cell
        try:
            yield
        finally:
            self._door.rehearsal = None
        if self._door.cache.problem is not None:
            raise self._door.cache.problem

    def keys_missing(self, names: Collection[str]) -> list[Problem]:
        """Providers of the models called so whose key is not there."""
        found = {name.partition(":")[0] for name in names} & self._servers.keys()  # a running system has no provider
        return [problem for name in sorted(found) if (problem := self._servers[name].provider.problem())]

    @property
    def servers(self) -> list[str]:
        """Where requests go, with the names of their providers."""
        found = {model.provider.name: model.provider.address for model in self.used}
        return [f"{server_of(address)} ({name})" for name, address in sorted(found.items())]

    def slowest(self, limit: int = 3) -> list[str]:
        """The requests that have been under way for longest, in words."""
        return self._door.slowest(limit)

    def spent(self, tokens: str = "{:,} tokens") -> str:
        """Live use since this object was made, in words; empty when there was none. `tokens`: how they are called."""
        return self._door.spent(tokens)

    def usage(self, cell: str) -> Mapping[str, Any]:
        """See Ledger.usage; empty for a run that asked no model."""
        try:
            return self._door.ledger.usage(cell)
        finally:
            self._door.ledger.close()


def models_among(parts: Iterable[object]) -> Models | None:
    """The door that the parts of a run go through; None where none of them asks a model."""
    return next((part for part in parts if isinstance(part, Models)), None)
