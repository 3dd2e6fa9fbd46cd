"""Deleting the sessions that a store should not hold any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Protocol, runtime_checkable

from pydantic import Field

from runner.domains.memory.protocols import MemoryStore
from runner.domains.memory.records import SessionKey
from runner.errors import InputError

REASONS = {
    "incomplete": "incomplete: a part of it is gone",
    "endless": "without an end: a part of it has no time to live",
    "idle": "not used for {idle:g} hours",
}


@runtime_checkable
class KeepingStore(Protocol):
    """A store whose sessions outlive the program."""

    async def clean(self, key: SessionKey, *, idle_hours: float | None, dry_run: bool) -> str:
        """Deletes a session for a reason, and returns which of REASONS; empty where it stays."""


class Cleaning:
    def __init__(
        self,
        *,
        store: MemoryStore,
        tenant: Annotated[str, Field(min_length=1)] | None = None,
        idle: Annotated[float, Field(ge=0)] | None = None,
        dry_run: bool = False,
    ) -> None:
        """Sessions that nobody can go on with always go; those that were not used for `idle` hours, too."""
        self.dry_run = dry_run
        self._store = store
        self._tenant = tenant
        self._idle = idle
        self.n_seen = 0

    async def deleted(self) -> AsyncIterator[tuple[SessionKey, str]]:
        """Each with the reason, once it is gone. Raises InputError for a store with nothing to clean."""
        store = self._store
        if not isinstance(store, KeepingStore):
            raise InputError("memory/store: this one keeps nothing after its program has ended; expected redis")
        async with self._store.opened():
            async for key in self._store.sessions():
                if self._tenant not in (None, key.tenant):
                    continue
                self.n_seen += 1
                reason = await store.clean(key, idle_hours=self._idle, dry_run=self.dry_run)
                if reason:
                    yield key, REASONS[reason].format(idle=self._idle)
