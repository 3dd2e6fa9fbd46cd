"""Summaries made of what was said: a baseline without a model."""

from __future__ import annotations

from collections.abc import Sequence

from runner.memory.records import Bounds, ChatTurn, Entity, Summary
from runner.memory.statements import summarised
from runner.threads import compute


class ExtractiveSummariser:
    async def summarise(
        self,
        memory: str,
        entities: Sequence[Entity],
        turns: Sequence[ChatTurn],
        language: str | None,
        bounds: Bounds,
    ) -> Summary:
        return await compute(summarised, memory, entities, turns, language, bounds)

    async def shorten(self, memory: str, bounds: Bounds, language: str | None) -> str:
        """As it is: `summarise` keeps to the bounds."""
        return memory
