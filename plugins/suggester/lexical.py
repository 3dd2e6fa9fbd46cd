"""Notes whose title, alias or file name the text says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from runner.domains.links.mentions import Mention, MentionIndex
from runner.domains.links.reasons import of_mention
from runner.domains.links.suggesting import Place, Suggestions, Vault, best_suggestions
from runner.protocols import Workspace
from runner.records import Document


class LexicalSuggester:
    """A name that occurs verbatim in the anchor has confidence 1; a name with some words there has up to 1/2, by how
    rare these words are among all names. Words only beside the anchor count `beside` as much."""

    def __init__(self, *, beside: Annotated[float, Field(ge=0, le=1)] = 0.7) -> None:
        self.beside = beside

    def index(self, vault: Vault, workspace: Workspace) -> Mapping[str, Any]:
        names = [(note.id, name) for note in vault.corpus.documents for name in _names(note)]
        self._index = MentionIndex(names)
        return {"kind": "names", "n_names": len(names)}

    def suggest(self, places: Sequence[Place], depth: int) -> list[Suggestions]:
        suggestions = []
        for place in places:
            strengths = {note: mention.strength for note, mention in self._mentions(place).items()}
            suggestions.append(Suggestions(best_suggestions(strengths, place, depth)))
        return suggestions

    def reason(self, place: Place, note: str) -> str:
        mention = self._mentions(place).get(note)
        return of_mention(mention, place.language) if mention is not None else ""

    def _mentions(self, place: Place) -> dict[str, Mention]:
        mentions = {
            note: Mention(named.name, named.words, named.is_whole, self.beside * named.strength)
            for note, named in self._index.mentions(place.context).items()
        }
        for note, mention in self._index.mentions(place.anchor).items():
            if note not in mentions or mention.strength > mentions[note].strength:
                mentions[note] = mention
        return mentions


def _names(note: Document) -> list[str]:
    file = note.id.rpartition("/")[2].removesuffix(".md").replace("-", " ").replace("_", " ")
    return list(dict.fromkeys((note.title, file, *note.metadata.get("aliases", ()))))
