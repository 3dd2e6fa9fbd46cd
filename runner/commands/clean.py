"""Delete the sessions of a store that nobody can go on with, or that were not used for long."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated, Protocol, runtime_checkable

from pydantic import Field

from runner.commands import Command, Option
from runner.config.arguments import single_quoted
from runner.domains.memory.protocols import MemoryStore
from runner.domains.memory.records import SessionKey
from runner.errors import ConfigError, InputError
from runner.system import terminal

CONFIG = "clean"
COMMAND = Command(
    CONFIG,
    options=(Option("idle", "HOURS"), Option("tenant", "NAME"), Option("dry_run")),
    words="SETTING=VALUE",
    settings=CONFIG,
)
REASONS = {
    "incomplete": "incomplete: a part of it is gone",
    "endless": "without an end: a part of it has no time to live",
    "idle": "not used for {idle:g} hours",
}


def main(argv: Sequence[str]) -> int:
    """Raises ConfigError with everything that is wrong or missing, and StopRunError for a store that cannot be
    used."""
    from runner.config.components import build
    from runner.config.settings import settings_of
    from runner.protocols import Preflight

    built = build(settings_of(CONFIG, list(_settings(argv)), CONFIG).clean)
    problems = [problem for part in built.parts.values() if isinstance(part, Preflight) for problem in part.preflight()]
    if problems:
        raise ConfigError(problems)
    asyncio.run(_clean(built.root))
    return 0


def _settings(argv: Sequence[str]) -> Iterator[str]:
    """`--idle 12` as `idle=12`."""
    options = COMMAND.read(argv)
    if options.idle is not None:
        yield f"idle={options.idle}"
    if options.tenant is not None:
        yield f"tenant={single_quoted(options.tenant)}"
    if options.dry_run:
        yield "dry_run=true"
    yield from options.words


async def _clean(cleaning: Cleaning) -> None:
    verb = "would delete" if cleaning.dry_run else "deleted"
    counts: Counter[str] = Counter()
    async for key, reason in cleaning.deleted():
        counts[reason] += 1
        terminal.write(f"{verb} {key.tenant!r} {key.session!r}, {reason}\n")
    parts = "".join(f"\n  {count} {reason}" for reason, count in sorted(counts.items()))
    terminal.write(f"{verb} {counts.total()} of {terminal.counted(cleaning.n_seen, 'session')}{parts}\n")


@runtime_checkable
class KeepingStore(Protocol):
    """A store whose sessions outlive the program."""

    async def clean(self, key: SessionKey, *, idle_hours: float | None, dry_run: bool) -> str:
        """Deletes a session for a reason, and returns which of REASONS; empty where it stays."""


class Cleaning:
    """Which sessions of a store are to go, as `conf` and the words of the command say."""

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
