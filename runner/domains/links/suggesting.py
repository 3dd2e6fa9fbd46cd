"""Places where a link may be missing in a note, notes that could be linked there, and the protocol of suggesters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from runner.domains.links.graph import VaultGraph
from runner.protocols import Workspace
from runner.records import Corpus
from runner.text.language import Language


@dataclass(frozen=True, slots=True)
class Vault:
    """Notes as a suggester may see them: links under test are not in their texts, nor in the graph."""

    corpus: Corpus
    graph: VaultGraph


@dataclass(frozen=True, slots=True)
class Place:
    """`anchor` (perhaps empty) and the text around it, in the note `note`. Notes in `skip` are not to be suggested;
    reasons are given in `language`."""

    note: str
    anchor: str
    context: str
    language: Language
    skip: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A note to link to. `confidence` is 0..1, `parts` what it is made of, where it is made of several."""

    note: str
    confidence: float
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Best first: confidence descending, ties by id descending. No note twice, never the note of the place. `legs`
    holds what parts of a suggester would suggest alone, by name."""

    best: tuple[Suggestion, ...] = ()
    legs: Mapping[str, tuple[Suggestion, ...]] = field(default_factory=dict)


class Suggester(Protocol):
    """Finds notes that a place in a note could link to. It may have `caches`: true where it asks a model and remembers
    the replies, so that many places are better asked for at once.

    class ByTitle:
        def index(self, vault: Vault, workspace: Workspace) -> Mapping[str, Any]:
            self.titles = {note.id: vault.corpus.title_of(note.id) for note in vault.corpus.documents}
            return {"kind": "titles"}

        def suggest(self, places: Sequence[Place], depth: int) -> list[Suggestions]:
            return [Suggestions(best_suggestions(self.confidences(place), place, depth)) for place in places]

        def reason(self, place: Place, note: str) -> str:
            return f"The text names “{self.titles[note]}”."

        def confidences(self, place: Place) -> Mapping[str, float]:
            return {note: 1.0 for note, title in self.titles.items() if title in place.context}
    """

    def index(self, vault: Vault, workspace: Workspace) -> Mapping[str, Any]:
        """Get ready for places in these notes. Called once, before `suggest`.

        Args:
            vault: notes and their graph.
            workspace: where indexes are kept.

        Returns:
            Facts for the report.
        """

    def suggest(self, places: Sequence[Place], depth: int) -> list[Suggestions]:
        """Suggest notes to link to.

        Args:
            places: sentences of notes.
            depth: how many notes to suggest for each at most, from 1.

        Returns:
            Suggestions for each place, by descending confidence; none of confidence 0.
        """

    def reason(self, place: Place, note: str) -> str:
        """Explain a suggestion to the person who decides on it.

        Args:
            place: where the link would stand.
            note: the suggested note.

        Returns:
            A sentence that quotes only the text, the note, or what is beside a link to it.
        """


def best_suggestions(confidences: Mapping[str, float], place: Place, depth: int) -> tuple[Suggestion, ...]:
    """The `depth` best of the notes that may be suggested there."""
    allowed = (
        (confidence, note)
        for note, confidence in confidences.items()
        if confidence > 0 and note != place.note and note not in place.skip
    )
    return tuple(Suggestion(note, confidence) for confidence, note in sorted(allowed, reverse=True)[:depth])
