"""Small vaults for suggesters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.data.corpus import build_corpus
from runner.domains.links.graph import VaultGraph
from runner.domains.links.suggesting import Place, Suggestion, Vault
from runner.records import Document
from runner.text.chunking import Cutter
from runner.text.language import Language


@dataclass
class Folders:
    """A workspace that builds everything anew."""

    root: Path
    cold: bool = False

    def identity(self, component: object) -> str:
        return str(id(component))

    @property
    def stored_root(self) -> Path:
        return self.root

    def folder(self, kind: str, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        path = self.root / f"{kind}-{len(list(self.root.iterdir()))}"
        path.mkdir()
        build(path)
        return path


def vault(notes: Mapping[str, str], aliases: Mapping[str, list[str]] | None = None) -> Vault:
    """Notes by id; the first line is the title."""
    documents = [
        Document(id, text, text.partition("\n")[0], metadata={"aliases": (aliases or {}).get(id, [])})
        for id, text in notes.items()
    ]
    return Vault(build_corpus(documents, Cutter()), VaultGraph(documents))


def place(note: str, anchor: str, context: str = "", language: Language = "en", skip: set[str] | None = None) -> Place:
    return Place(note, anchor, context or anchor, language, frozenset(skip or ()))


def notes_of(found: tuple[Suggestion, ...]) -> list[str]:
    return [each.note for each in found]


BREWING = {
    "home.md": "Home\n\nWhat we drink: [[tea]], [[coffee]].",
    "tea.md": "Green tea\n\nLeaves in hot water. Never boil the leaves.",
    "coffee.md": "Coffee\n\nBeans are ground and brewed under pressure.",
    "kettle.md": "Kettle\n\nHeats water. An electric kettle switches itself off when the water boils.",
    "bread.md": "Bread\n\nFlour, water and salt; bake it for an hour.",
    "morning.md": "Morning\n\nFirst the [[kettle]] hums while the cat sleeps. Then [[bread]].",
}
