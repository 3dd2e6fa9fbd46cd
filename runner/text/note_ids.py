"""How notes are named: a path relative to their folder, a title or an alias, in any spelling."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence


def note_key(name: str) -> str:
    """The common form of spellings of one name: without case, `.md`, the difference of space, underscore and hyphen,
    and in NFC."""
    name = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    name = name.strip().replace("\\", "/").removeprefix("./").removesuffix(".md")
    return name.replace("_", " ").replace("-", " ")


class NoteNames:
    """Finds the ids that a reference may mean.

    What is tried in turn: the id itself, the path in any spelling, the end of a path (`b` or `a/b` for
    `notes/a/b.md`), a title, an alias. The first of these that matches decides.
    """

    def __init__(self) -> None:
        self._key_by_id: dict[str, str] = {}
        self._paths: dict[str, list[str]] = defaultdict(list)
        self._names: dict[str, list[str]] = defaultdict(list)
        self._titles: dict[str, list[str]] = defaultdict(list)
        self._aliases: dict[str, list[str]] = defaultdict(list)

    def add(self, id: str, title: str = "", aliases: Iterable[str] = ()) -> None:
        """Let a note be found by its id, path, file name, title and aliases."""
        key = self._key_by_id[id] = note_key(id)
        self._paths[key].append(id)
        self._names[key.rpartition("/")[2]].append(id)
        self._titles[note_key(title)].append(id)
        for alias in dict.fromkeys(note_key(alias) for alias in aliases):
            self._aliases[alias].append(id)

    def resolve(self, reference: str) -> Sequence[str]:
        """Ids in the order in which they were added: none when unknown, several when ambiguous."""
        if reference in self._key_by_id:
            return (reference,)
        key = note_key(reference)
        if not key:
            return ()
        found = self._paths.get(key) or self._notes_ending_with(key) or self._titles.get(key) or self._aliases.get(key)
        return tuple(found or ())

    def same_path(self) -> list[list[str]]:
        """Groups of ids that differ in spelling only."""
        return [ids for ids in self._paths.values() if len(ids) > 1]

    def _notes_ending_with(self, key: str) -> list[str]:
        named = self._names.get(key.rpartition("/")[2], [])
        return [note for note in named if f"/{self._key_by_id[note]}".endswith(f"/{key}")]
