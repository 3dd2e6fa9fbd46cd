"""What takes up space here, sessions of a store that cannot be continued or were not used for long, and old files."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated, Any, Protocol, runtime_checkable

from pydantic import Field

from runner.commands import LANGUAGE, SPOKEN, Command, Option
from runner.commands.clean import files, stores
from runner.config.arguments import single_quote
from runner.config.language import language_of
from runner.domains.memory.protocols import MemoryStore
from runner.domains.memory.records import SessionKey
from runner.errors import ConfigError, InputError
from runner.system import terminal
from runner.words.wording import Wording, wording

CONFIG = "clean"
COMMAND = Command(
    CONFIG,
    options=(Option("idle", "HOURS"), Option("tenant", "NAME"), Option("dry_run"), LANGUAGE),
    words="SETTING=VALUE",
    settings=CONFIG,
    parts={"outputs": files.OUTPUTS, "cache": files.CACHE, "stores": stores.COMMAND},
)
REASONS = ("incomplete", "endless", "idle")


def main(argv: Sequence[str]) -> int:
    """List what takes up space; where an argument names sessions or their store, clean that store. Raises ConfigError
    with everything that is wrong or missing, and StopRunError for a store that cannot be used."""
    if argv and argv[0] in COMMAND.parts:
        return {"outputs": files.outputs, "cache": files.cache, "stores": stores.main}[argv[0]](argv[1:])
    options = COMMAND.read(argv)
    say = wording(options.language or language_of(argv), CONFIG)
    settings = list(_settings(options))
    if settings:
        _clean_sessions([*settings, *["dry_run=true"] * options.dry_run], say)
    else:
        files.list_all(say)
    return 0


def _settings(options: Any) -> Iterator[str]:
    """The settings that choose sessions: `--idle 12` as `idle=12`, and those typed as settings."""
    if options.idle is not None:
        yield f"idle={options.idle}"
    if options.tenant is not None:
        yield f"tenant={single_quote(options.tenant)}"
    yield from (word for word in options.words if not word.startswith(f"{SPOKEN}="))


def _clean_sessions(settings: list[str], say: Wording) -> None:
    from runner.config.components import build
    from runner.config.settings import settings_of
    from runner.protocols import Preflight

    components = build(settings_of(CONFIG, settings, CONFIG).clean)
    problems = [
        problem for part in components.parts.values() if isinstance(part, Preflight) for problem in part.preflight()
    ]
    if problems:
        raise ConfigError(problems)
    asyncio.run(_clean(components.root, say))


async def _clean(cleaning: Cleaning, say: Wording) -> None:
    verb = "would" if cleaning.dry_run else "deleted"
    counts: Counter[str] = Counter()
    async for key, reason in cleaning.delete_sessions():
        why = say(f"reason.{reason}", hours=f"{cleaning.idle or 0:g}")
        counts[why] += 1
        terminal.lines(say(verb, tenant=repr(key.tenant), session=repr(key.session), reason=why))
    parts = (f"  {count} {why}" for why, count in sorted(counts.items()))
    terminal.lines(say(f"total.{verb}", n=counts.total(), total=f"{cleaning.n_seen:,}"), *parts)


@runtime_checkable
class KeepingStore(Protocol):
    """A store that keeps sessions after the program ends."""

    async def clean(self, key: SessionKey, *, idle_hours: float | None, dry_run: bool) -> str:
        """Delete a session where there is a reason, and return it (one of REASONS); empty where it stays."""


class Cleaning:
    """Selects the sessions of a store to delete, as conf and the command line say."""

    def __init__(
        self,
        *,
        store: MemoryStore,
        tenant: Annotated[str, Field(min_length=1)] | None = None,
        idle: Annotated[float, Field(ge=0)] | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete sessions that cannot be continued, and those that were not used for `idle` hours."""
        self.dry_run = dry_run
        self._store = store
        self._tenant = tenant
        self.idle = idle
        self.n_seen = 0

    async def delete_sessions(self) -> AsyncIterator[tuple[SessionKey, str]]:
        """Delete the sessions, and yield each with its reason. Raises InputError for a store without lasting
        sessions."""
        store = self._store
        if not isinstance(store, KeepingStore):
            raise InputError("memory/store: this one keeps nothing after its program has ended; expected redis")
        async with self._store.open():
            async for key in self._store.sessions():
                if self._tenant not in (None, key.tenant):
                    continue
                self.n_seen += 1
                reason = await store.clean(key, idle_hours=self.idle, dry_run=self.dry_run)
                if reason:
                    yield key, reason
