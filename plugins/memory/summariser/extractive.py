"""Summaries made of what was said: a baseline without a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from runner.domains.memory.extraction.digest import digest
from runner.domains.memory.records import Bounds, ChatTurn, Entity, Summary
from runner.system.threads import compute


class ExtractiveSummariser:
    """Keeps statements verbatim: of the user all but small talk, wishes, conditions, questions, possibilities and
    requests for this once, of the assistant those with a new number or name. Of several statements about the same
    subject, the newest holds; a correction or a cancellation removes the statement that it is about. It knows the usual
    ways in which Korean and English state something, and no others."""

    baseline: ClassVar[bool] = True

    async def summarise(
        self,
        memory: str,
        entities: Sequence[Entity],
        turns: Sequence[ChatTurn],
        language: str | None,
        bounds: Bounds,
    ) -> Summary:
        return await compute(digest, memory, entities, turns, language, bounds)

    async def shorten(self, memory: str, bounds: Bounds, language: str | None) -> str:
        """The memory as it is, since `summarise` keeps to the bounds."""
        return memory
