"""A chunk that an agent has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Candidate:
    """`metadata`: the tags of the chunk (runner.domains.agent.tags) and of its document. `relevance`: the retriever's,
    0..1."""

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    relevance: float = 0.0

    @property
    def passage(self) -> str:
        """The text with the title and the headings above it."""
        return "\n".join(part for part in (self.title, self.metadata.get("section"), self.text) if part)
