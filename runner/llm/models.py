"""Every language and embedding model that a run uses, behind one door."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Iterable, Iterator, Mapping, MutableMapping
from concurrent import futures
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

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
from runner.llm.settings import Budget, CacheMode, ProviderSettings

if TYPE_CHECKING:
    from runner.llm.service import Service, UnstoredService

T = TypeVar("T")

OVER = "the run has ended"  # the error in a thread that outlives the run


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
        self.memories: list[UnstoredService] = []
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
        """The place to which an unusable file of stored replies was moved; None where there was none."""
        return self._door.cache.set_aside

    @property
    def names(self) -> dict[str, list[str]]:
        """Role -> models that are used in it."""
        used: list[Model | Service | UnstoredService] = [*self.used, *self.services, *self.memories]
        roles = sorted({model.role for model in used})
        return {role: sorted({model.name for model in used if model.role == role}) for role in roles}

    def model(self, name: str, role: Role) -> Model:
        """The model called `provider:name`. Raises ConfigError for an unknown provider, and for an invalid address."""
        if message := name_problem(name, self._servers):
            raise ConfigError([Problem(role, message)])
        provider, _, own_name = name.partition(":")
        if problem := self._servers[provider].provider.address_problem():
            raise ConfigError([problem])
        self.used.append(Model(self._door, self._servers[provider], own_name, role))
        return self.used[-1]

    def service(self, name: str, *, is_shared: bool, language: str) -> Service:
        """A running system; ledger and reports use `name`. `is_shared`: later sweeps may use its stored replies,
        too."""
        from runner.llm.service import Service

        self.services.append(Service(self._door, name, is_shared=is_shared, language=language))
        return self.services[-1]

    def memory(self, name: str) -> UnstoredService:
        """The memory of another system; ledger and reports use `name`."""
        from runner.llm.service import UnstoredService

        self.memories.append(UnstoredService(self._door, name, "memory"))
        return self.memories[-1]

    @property
    def sweep(self) -> str:
        """A unique name of this sweep where it is needed (cache=refresh), else empty."""
        return self._door.ledger.sweep if self.cache_mode == "refresh" else ""

    @property
    def made_up(self) -> MutableMapping[Path, dict[bytes, Any]] | None:
        """The made-up vectors of a rehearsal, by the file that they stand for; None where requests are sent."""
        return None if self._door.rehearsal is None else self._door.rehearsal.vectors

    @asynccontextmanager
    async def open(self, cell: str | None = None, calls: CallLog | None = None) -> AsyncIterator[None]:
        """Enter it around all model requests, in the event loop that makes them. `cell` names the run in the ledger;
        `calls` logs the requests of its cases."""
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
            if self.may_send:
                self._get_ready()
            try:
                yield
            finally:
                self._is_over, self._door.calls = True, None

    @property
    def may_send(self) -> bool:
        """Whether a model or a system may be asked, for whose reply one waits then."""
        is_live = self._door.rehearsal is None and self._door.cache.mode != "replay"
        return is_live and bool(self.used or self.services)

    def _get_ready(self) -> None:
        """Load what takes long, so that the first request does not include it."""
        self._door.cache.check()
        for provider in {model.provider for model in self.used}:
            if provider.problem() is None:
                provider.connect()

    def blocking(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of one of these models from a thread beside the event loop, or from a program without one,
        and return its result. Raises StopRunError in a thread that has outlived the run."""
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
            async with self.open():
                return await coroutine
        finally:
            self._loop, self._is_over = None, False

    @contextmanager
    def rehearsing(self, rehearsal: Rehearsal, cell: str) -> Iterator[None]:
        """Count requests into `rehearsal` instead of sending them. Raises StopRunError at the end where the cache could
        not be read: the counts would be wrong."""
        self._door.rehearsal, self._door.cell = rehearsal, cell
        try:
            yield
        finally:
            self._door.rehearsal = None
        if self._door.cache.problem is not None:
            raise self._door.cache.problem

    def keys_missing(self, names: Collection[str]) -> list[Problem]:
        """The providers of these models whose key is missing."""
        found = {name.partition(":")[0] for name in names} & self._servers.keys()  # of a running system
        return [problem for name in sorted(found) if (problem := self._servers[name].provider.problem())]

    @property
    def servers(self) -> list[str]:
        """The addresses that requests are sent to, with the names of their providers."""
        found = {model.provider.name: model.provider.address for model in self.used}
        return [f"{server_of(address)} ({name})" for name, address in sorted(found.items())]

    def slowest(self, limit: int = 3) -> list[str]:
        """The oldest requests in flight, in words."""
        return self._door.slowest(limit)

    def describe_spending(self, tokens: str = "{:,} tokens") -> str:
        """The live requests, tokens and cost of this process, in words; empty if none. `tokens`: the format of the
        token count."""
        return self._door.describe_spending(tokens)

    def usage(self, cell: str) -> Mapping[str, Any]:
        """See Ledger.usage; empty for a run that called no model."""
        try:
            return self._door.ledger.usage(cell)
        finally:
            self._door.ledger.close()


def models_among(parts: Iterable[object]) -> Models | None:
    """The `Models` among the parts of a run; None where no part calls a model."""
    return next((part for part in parts if isinstance(part, Models)), None)
