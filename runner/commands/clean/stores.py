"""Delete old collections of a store: lists what would be deleted; --yes deletes it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner.commands import LANGUAGE, Command, Option, whole_number_reader
from runner.config.language import language_of
from runner.errors import ConfigError, InputError
from runner.retrieval.stores import AwayError, Keeping, Store, StoredCollection, unreachable_error
from runner.system import terminal
from runner.words.wording import wording

CONFIG, ROOT = "clean_stores", "stores"
COMMAND = Command(
    "clean stores",
    options=(Option("older_than", "DAYS", whole_number_reader(0)), Option("yes"), LANGUAGE),
    words="SETTING=VALUE",
    settings=CONFIG,
)


class Collections:
    """The lasting collections of a store."""

    def __init__(self, *, store: Store, cache_dir: str) -> None:
        self._store, self._root = store, Path(cache_dir) / "stores"

    async def list_all(self) -> list[StoredCollection]:
        """The collections, oldest first, those of unknown age last. Raises InputError for a store without lasting
        collections."""
        try:
            collections = await self._demand_keeping().list_collections(self._root)
        except AwayError as error:
            raise unreachable_error(self._store.transfer, str(error), 1, then="") from error
        return sorted(collections, key=lambda each: (each.made or datetime.max.replace(tzinfo=UTC), each.name))

    async def drop(self, name: str) -> None:
        """Delete a collection."""
        await self._demand_keeping().drop(name, self._root)

    def _demand_keeping(self) -> Keeping:
        if not isinstance(self._store, Keeping):
            raise InputError(
                "store: faiss keeps its indexes in the cache, which `clean cache` cleans; expected another choice, "
                "such as store=qdrant"
            )
        return self._store


def main(argv: Sequence[str]) -> int:
    """Raises ConfigError with everything that is wrong or missing, and StopRunError for a store that cannot be
    used."""
    from runner.config.components import build
    from runner.config.settings import settings_of
    from runner.protocols import Preflight

    options = COMMAND.read(argv)
    words = [word for word in options.words if not word.startswith("report.language=")]
    components = build(settings_of(CONFIG, words, ROOT).stores)
    problems = [
        problem for part in components.parts.values() if isinstance(part, Preflight) for problem in part.preflight()
    ]
    if problems:
        raise ConfigError(problems)
    asyncio.run(_clean(components.root, options, options.language or language_of(argv)))
    return 0


async def _clean(collections: Collections, options: Any, language: str) -> None:
    say = wording(language, "clean")
    older_than, is_sure = options.older_than, options.yes
    collections_there = await collections.list_all()
    going = [collection for collection in collections_there if _is_old(collection, older_than)]
    for collection in collections_there:
        days = "?" if collection.made is None else str(_days(collection.made))
        if collection in going and is_sure:
            await collections.drop(collection.name)
        key = "stays" if collection not in going else "gone" if is_sure else "would_go"
        terminal.lines(say(f"stores.{key}", name=collection.name, n=f"{collection.n_points:,}", days=days))
    if not going:
        terminal.lines(say("stores.none", n=len(collections_there)))
        return
    terminal.lines(say("stores.done" if is_sure else "stores.would", n=len(going), total=len(collections_there)))


def _is_old(collection: StoredCollection, older_than: int | None) -> bool:
    """Whether to delete a collection: never without --older-than; one of unknown age only with --older-than 0."""
    if older_than is None:
        return False
    return older_than == 0 or (collection.made is not None and _days(collection.made) >= older_than)


def _days(made: datetime) -> int:
    return max(0, (datetime.now(UTC) - made).days)
