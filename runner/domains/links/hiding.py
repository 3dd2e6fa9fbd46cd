"""Removes links from a text, so that the rest does not reveal their targets."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from runner.domains.links.links import Link
from runner.records import Document
from runner.text.note_ids import note_key

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

Words = Literal["none", "alias", "all"]

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` gives way to `words`."""

    start: int
    end: int
    words: str = ""


@dataclass(frozen=True, slots=True)
class EditedText:
    """A text after edits, and the edits by the positions that they had before."""

    text: str
    edits: tuple[Edit, ...]

    def at(self, position: int) -> int:
        """The new place of a position in the text before the edits; a position within a link is moved to its start."""
        before = bisect_right([edit.start for edit in self.edits], position)
        shift = sum(len(edit.words) - (edit.end - edit.start) for edit in self.edits[: before - 1]) if before else 0
        if not before:
            return position
        last = self.edits[before - 1]
        if position < last.end:
            return last.start + shift
        return position + shift + len(last.words) - (last.end - last.start)


def apply_edits(text: str, edits: Iterable[Edit]) -> EditedText:
    """Apply edits to a text. An edit within another one (a link in the words of a link) is part of it."""
    outermost: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if not outermost or edit.start >= outermost[-1].end:
            outermost.append(edit)
    parts, end = [], 0
    for edit in outermost:
        parts += [text[end : edit.start], edit.words]
        end = edit.end
    return EditedText("".join([*parts, text[end:]]), tuple(outermost))


def remaining_words(link: Link, target: Document | None, words: Words) -> str:
    """The words that replace a hidden link: none, an alias that does not name the note, or all that the link shows."""
    words_shown = link.alias or ("" if words != "all" else link.reference.rpartition("/")[2].removesuffix(".md"))
    if words == "none":
        return ""
    if words == "alias" and target is not None and note_key(words_shown) in names_of(target):
        return ""
    return words_shown


def names_of(note: Document) -> set[str]:
    """The names of a note, in the spelling of note_key: its file, its title, its aliases."""
    names = (note.id.rpartition("/")[2], note.title, *note.metadata.get("aliases", ()))
    return {note_key(name) for name in names}


def definitions(text: str, leads_there: Callable[[str], bool]) -> Iterator[Edit]:
    """Lines such as `[name]: path/to/note.md "Title"` whose address `leads_there`."""
    if "]:" not in text:
        return
    environment: dict[str, dict[str, dict[str, object]]] = {}
    _blocks().parse(text, environment)
    starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    every = [*environment.get("references", {}).values(), *environment.get("duplicate_refs", ())]
    for definition in every:
        lines = definition["map"]
        if isinstance(lines, list) and leads_there(str(definition["href"])):
            yield Edit(starts[lines[0]], starts[min(lines[1], len(starts) - 1)])


@cache
def _blocks() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable("inline")
