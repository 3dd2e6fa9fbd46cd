"""Summarisers that do as they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from runner.domains.memory.records import Bounds, ChatTurn, Entity, Summary


class ListingSummariser:
    """The memory lists the turns that went into it, the newest first; the entities: `last`, the newest of them.
    `errors` are raised in turn, None is none. `gate` is waited for."""

    def __init__(self, errors: Sequence[Exception | None] = (), shorten: Callable[[str], str] | None = None) -> None:
        self.errors = list(errors)
        self.batches: list[list[str]] = []
        self.languages: list[str | None] = []
        self.gate: asyncio.Event | None = None
        self.shorter = shorten or (lambda memory: memory)
        self.n_shortened = 0

    async def summarise(
        self, memory: str, entities: Sequence[Entity], turns: Sequence[ChatTurn], language: str | None, bounds: Bounds
    ) -> Summary:
        self.batches.append([turn.user for turn in turns])
        self.languages.append(language)
        if self.gate is not None:
            await self.gate.wait()
        await asyncio.sleep(0)
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error
        lines = [f"{turn.user} was said." for turn in reversed(turns)]
        return Summary("\n".join([*lines, *memory.splitlines()]), (("Last ", turns[-1].user),))

    async def shorten(self, memory: str, bounds: Bounds, language: str | None) -> str:
        self.n_shortened += 1
        return self.shorter(memory)
