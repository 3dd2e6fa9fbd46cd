"""Cases of missing links, and the vault as a suggester may see it: no note holds a link that is expected of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable
from urllib.parse import unquote

from runner.data.problems import ProblemLog
from runner.domains.links.events import LinkEvent
from runner.domains.links.graph import VaultGraph
from runner.domains.links.hiding import Edit, EditedText, Words, apply_edits, definitions, remaining_words
from runner.domains.links.link_files import WrittenCase
from runner.domains.links.links import Link, links_of, written_links
from runner.domains.links.resolving import meant_notes
from runner.domains.links.suggesting import Vault
from runner.errors import did_you_mean
from runner.records import DataProblem, Document
from runner.system.store import fingerprint
from runner.text.language import detect_language

OWN = frozenset({"title", "aliases", "tags"})  # of metadata: names of the note itself
MOST_IDS = 5000  # no look-up of similar names in larger vaults


@dataclass(frozen=True, slots=True)
class LinkCase:
    """A place in a note, in the text that the suggester sees (`start` and `end` None: the anchor is not in it, and
    `context` comes from the file). Each of `expected` is one concept: the notes that are right for it, empty where
    there is no such note."""

    id: str
    note: str
    anchor: str
    expected: tuple[frozenset[str], ...]
    start: int | None = None
    end: int | None = None
    context: str = ""
    accepted: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    language: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def difficulty(self) -> str | None:
        return None

    @property
    def clusters(self) -> dict[str, str]:
        return {"document": self.note}

    @property
    def gold(self) -> str:
        """Hash over expected, accepted and rejected targets."""
        labels = [sorted(self.accepted), sorted(self.rejected)]
        return fingerprint([sorted(sorted(concept) for concept in self.expected), labels])[:16]


@dataclass(frozen=True, slots=True)
class LinkData:
    """Cases in file order, the vault without what they expect, what people decided, and what was wrong."""

    vault: Vault
    cases: tuple[LinkCase, ...]
    events: tuple[LinkEvent, ...] = ()
    problems: tuple[DataProblem, ...] = ()


@runtime_checkable
class LinkPlaces(Protocol):
    """A data set of places in notes.

    class Marked:
        def read(self) -> LinkData:
            vault = Vault(self.corpus, VaultGraph(self.corpus.documents))
            return LinkData(vault, tuple(self.cases))
    """

    def read(self) -> LinkData:
        """Returns:
            Notes, and places whose links are expected.

        Raises:
            DataError, CorpusError: files cannot be used.
        """


class Hiding:
    """Notes without the links from a note to those that are expected of it. `hidden`: note -> expected notes."""

    def __init__(
        self, notes: Sequence[Document], graph: VaultGraph, hidden: Mapping[str, Collection[str]], words: Words
    ) -> None:
        self._notes = {note.id: note for note in notes}
        self._graph, self._hidden, self._words = graph, hidden, words
        self._ambiguous: dict[str, list[Edit]] = defaultdict(list)
        for loose in graph.ambiguous:
            if not self._targets(loose.source).isdisjoint(loose.candidates):
                self._ambiguous[loose.source].append(Edit(loose.link.start, loose.link.end))
        self.texts = {note: self._hide_links(self._notes[note]) for note in hidden}

    def notes(self) -> list[Document]:
        """All notes, those with hidden links as they are without them."""
        return [
            replace(note, text=self.texts[id].text, metadata=self._metadata(note)) if id in self.texts else note
            for id, note in self._notes.items()
        ]

    def scrub(self, text: str, note: str) -> str:
        """A text about a place in the note, which may hold the same links."""
        edits = [self._edit(link, target) for link, target in self._links_to_targets(links_of(text), note)]
        return " ".join(apply_edits(text, [*edits, *self._lookalike_edits(text, note)]).text.split())

    def _hide_links(self, note: Document) -> EditedText:
        led = [(edge.link, edge.target) for edge in self._graph.out_links(note.id)]
        edits = [self._edit(link, target) for link, target in led if target in self._targets(note.id)]
        places = definitions(note.text, lambda address: self._leads_there(address, note.id))
        written = self._lookalike_edits(note.text, note.id)
        return apply_edits(note.text, [*edits, *self._ambiguous[note.id], *written, *places])

    def _lookalike_edits(self, text: str, note: str) -> Iterator[Edit]:
        """Edits that remove all that only looks like a link, whatever `words`."""
        for link, _ in self._links_to_targets(written_links(text), note):
            yield Edit(link.start, link.end)

    def _metadata(self, note: Document) -> Mapping[str, Any]:
        """The metadata without the links: front matter may name the linked note, too (`related: "[[name]]"`)."""
        return {name: each if name in OWN else self._remove_note(each, note.id) for name, each in note.metadata.items()}

    def _remove_note(self, value: Any, note: str) -> Any:
        if isinstance(value, str):
            named = not self._targets(note).isdisjoint(self._graph.names.resolve(value))
            return "" if named else apply_edits(value, self._lookalike_edits(value, note)).text
        if isinstance(value, Mapping):
            return {name: self._remove_note(each, note) for name, each in value.items()}
        return [self._remove_note(each, note) for each in value] if isinstance(value, list | tuple) else value

    def _links_to_targets(self, links: Sequence[Link], note: str) -> Iterator[tuple[Link, str]]:
        for link in links:
            meant = self._targets(note).intersection(meant_notes(link, note, self._graph.names))
            if meant:
                yield link, min(meant)

    def _leads_there(self, address: str, note: str) -> bool:
        link = Link("markdown", unquote(address.partition("#")[0]), None, None, None, 0, 0, 1)
        return any(True for _ in self._links_to_targets([link], note))

    def _edit(self, link: Link, target: str) -> Edit:
        return Edit(link.start, link.end, remaining_words(link, self._notes.get(target), self._words))

    def _targets(self, note: str) -> set[str]:
        return set(self._hidden.get(note, ()))


class Cases:
    """Converts written lines into cases. Raises nothing: problems are logged."""

    def __init__(self, notes: Sequence[Document], graph: VaultGraph, path: str, log: ProblemLog) -> None:
        self._notes, self._graph, self._path, self._log = notes, graph, path, log
        self._texts = {note.id: note for note in notes}

    def hide(
        self, case_by_line: Mapping[int, WrittenCase], events: Sequence[LinkEvent], words: Words
    ) -> tuple[tuple[LinkCase, ...], list[Document]]:
        """Cases by line number; and the notes without what they expect."""
        cases = {line: case for line, each in case_by_line.items() if (case := self._resolve(each, line)) is not None}
        hidden: dict[str, set[str]] = defaultdict(set)
        for case in cases.values():
            hidden[case.note].update(*case.expected)
        hiding = Hiding(self._notes, self._graph, hidden, words)
        labels = _labels(events)
        placed = [self._place(case, case_by_line[line], line, hiding) for line, case in cases.items()]
        return tuple(_add_labels(case, labels) for case in placed), hiding.notes()

    # --- names --------------------------------------------------------------------------------------

    def _resolve(self, raw: WrittenCase, line: int) -> LinkCase | None:
        source = self._note(raw.source_note, line, "source_note", is_needed=True)
        concepts = [
            frozenset(filter(None, (self._note(name, line, "expected_links") for name in names)))
            for names in raw.expected
        ]
        ambiguous = any(len(self._graph.names.resolve(name)) > 1 for names in raw.expected for name in names)
        if source is None or ambiguous or not self._has_room(raw, source, line):
            return None
        accepted, rejected = (
            frozenset(filter(None, (self._note(name, line, field) for name in names)))
            for field, names in (("accepted", raw.accepted), ("rejected", raw.rejected))
        )
        note = self._texts[source]
        language = raw.language or note.language or detect_language(f"{raw.anchor}\n{raw.context or ''}")
        tags = raw.tags or self._graph.tags.get(source, ())
        return LinkCase(
            id=raw.id,
            note=source,
            anchor=raw.anchor,
            expected=_merge_spellings(concepts),
            accepted=accepted,
            rejected=rejected,
            language=language,
            tags=tuple(tags),
        )

    def _note(self, name: str, line: int, field: str, *, is_needed: bool = False) -> str | None:
        matches = self._graph.names.resolve(name)
        if len(matches) == 1:
            return matches[0]
        if matches:
            may_be = " or ".join(f"'{each}'" for each in matches)
            self._log.error(self._path, f"'{name}' may be {may_be}; write the path", line, field)
            return None
        near = did_you_mean(name, self._graph.notes) if len(self._graph.notes) <= MOST_IDS else ""
        tell = self._log.error if is_needed else self._log.warning
        tell(self._path, f"no note '{name}'{near if 'did you mean' in near else ''}", line, field)
        return None

    def _has_room(self, case: WrittenCase, source: str, line: int) -> bool:
        size = len(self._texts[source].text)
        if case.anchor_range is None or case.anchor_range[1] <= size:
            return True
        message = f"ends at {case.anchor_range[1]}, but '{source}' has {size} characters"
        self._log.error(self._path, message, line, "anchor_range")
        return False

    # --- places -------------------------------------------------------------------------------------

    def _place(self, case: LinkCase, raw: WrittenCase, line: int, hiding: Hiding) -> LinkCase:
        edited_note = hiding.texts[case.note]
        anchor = hiding.scrub(raw.anchor, case.note)
        span = raw.anchor_range or _anchor_span(raw.anchor, self._texts[case.note].text, edited_note)
        if span is not None:
            return replace(case, anchor=anchor, start=edited_note.at(span[0]), end=edited_note.at(span[1]))
        start = edited_note.text.find(anchor) if anchor else -1
        if start >= 0:
            return replace(case, anchor=anchor, start=start, end=start + len(anchor))
        instead = "its context is taken from the file" if raw.context else "it has no context"
        self._log.warning(self._path, f"'{case.note}' does not contain the anchor; {instead}", line, "anchor")
        return replace(case, anchor=anchor, context=hiding.scrub(raw.context or "", case.note))


def _anchor_span(anchor: str, text: str, edited_note: EditedText) -> tuple[int, int] | None:
    """The place of the anchor in the text before the edits: the first one that holds a hidden link, else the first."""
    places = []
    start = text.find(anchor)
    while start >= 0:
        places.append((start, start + len(anchor)))
        start = text.find(anchor, start + 1)
    with_link = (each for each in places if any(each[0] <= edit.start < each[1] for edit in edited_note.edits))
    return next(with_link, places[0] if places else None)


def _merge_spellings(concepts: Sequence[frozenset[str]]) -> tuple[frozenset[str], ...]:
    """Spellings of one concept are one: what shares a note is put together. What means no note stays by itself."""
    groups: list[frozenset[str]] = []
    for concept in concepts:
        shared = [other for other in groups if other & concept]
        groups = [other for other in groups if not other & concept]
        groups.append(concept.union(*shared))
    return tuple(groups)


def _labels(events: Sequence[LinkEvent]) -> Mapping[str, list[LinkEvent]]:
    by_note: dict[str, list[LinkEvent]] = defaultdict(list)
    for event in events:
        by_note[event.note].append(event)
    return by_note


def _add_labels(case: LinkCase, labels: Mapping[str, Sequence[LinkEvent]]) -> LinkCase:
    """Add the decisions of people at a place; the latest counts, and those of the file of cases before all others."""
    decided: dict[str, bool] = {}
    for event in labels.get(case.note, ()):
        if event.anchor is None or event.anchor == case.anchor:
            decided[event.target] = event.is_accepted
    for note in (*case.accepted, *case.rejected):
        decided[note] = note in case.accepted
    accepted = frozenset(note for note, is_accepted in decided.items() if is_accepted)
    return replace(case, accepted=accepted, rejected=frozenset(decided) - accepted)
