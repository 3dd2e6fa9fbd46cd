"""Where a link may be missing in a note, what could be linked there, and who suggests it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from runner.protocols import Workspace
from runner.records import Corpus
from runner.text.language import Language
from runner.vault.graph import VaultGraph


@dataclass(frozen=True, slots=True)
class Vault:
    """Notes as a suggester may see them: links under test are not in their texts, nor in the graph."""

    corpus: Corpus
    graph: VaultGraph


@dataclass(frozen=True, slots=True)
class Place:
    """`anchor` (perhaps empty) and the text around it, in the note `note`; reasons are given in `language`."""

    note: str
    anchor: str
    context: str
    language: Language


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A note to link to. `confidence` is 0..1; `reason` is for whoever decides."""

    note: str
    confidence: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Best first: confidence descending, ties by id descending. No note twice, never the note of the place. `legs`
    holds what parts of a suggester would suggest alone, without reasons."""

    best: tuple[Suggestion, ...] = ()
    legs: Mapping[str, tuple[Suggestion, ...]] = field(default_factory=dict)


class Suggester(Protocol):
    """It may have `caches`: true where it asks a model and remembers what it said, so that asking for many places at
    once is faster."""

    def index(self, vault: Vault, workspace: Workspace) -> Mapping[str, Any]:
        """Get ready for places in these notes. Returns facts for the report."""

    def suggest(self, places: Sequence[Place], depth: int) -> list[Suggestions]:
        """At most `depth` notes for each place; none of confidence 0."""


@runtime_checkable
class NearText(Protocol):
    """A suggester by likeness of texts, which tells apart what the text of a note and what links to it are worth."""

    def likeness(self, places: Sequence[Place]) -> list[Likeness]: ...


@dataclass(frozen=True, slots=True)
class Likeness:
    """Of one place, by note: 0..1."""

    by_text: Mapping[str, float]
    by_links: Mapping[str, float]
