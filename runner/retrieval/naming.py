"""Finds the documents that a running system answered from, by the ids and texts of its contexts.

A known id is that of a document or a chunk of the corpus, or one in the labels; `document#3` of an unknown chunk stands
for its document; a note may be named as labels name it, without path and `.md`, or by its title. A context without a
known id belongs to the document that contains its text, apart from white space, if exactly one does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from runner.records import Context, Corpus, NamedContext, Query, Ranking, SystemReply
from runner.text.note_ids import NoteNames

SHORTEST = 20  # characters; a shorter text does not identify a document
END = "\0"  # between documents in the joined text; no text contains it
NamedBy = Literal["ids", "texts", "unidentified", "nothing"]


@dataclass(frozen=True, slots=True)
class NamedContexts:
    """The identified contexts of a reply. `by`: how they were identified; `unidentified` where one of them was not.
    `strange`: unknown ids, or beginnings of unknown texts."""

    ranking: Ranking
    contexts: tuple[Context, ...]
    by: NamedBy
    has_texts: bool
    strange: tuple[str, ...] = ()

    @property
    def is_ranked(self) -> bool:
        """Whether all contexts were identified by id or text, so that they are a ranking."""
        return self.by in ("ids", "texts")


@dataclass(frozen=True, slots=True)
class _Place:
    """The identity of one context: its id, None where it is unknown."""

    id: str | None
    by: Literal["ids", "texts", "strange", "nothing"]


class Naming:
    """Finds the documents of a corpus that the contexts of a running system come from."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    def of(self, query: Query, reply: SystemReply) -> NamedContexts:
        if reply.contexts is None:
            return NamedContexts(Ranking((), (), ()), (), "nothing", has_texts=False)
        items = list(reply.contexts)
        places = [self._place(each, query) for each in items]
        contexts = tuple(self._contexts(items, places))
        by = _identification([place.by for place in places])
        strange = tuple(
            each.id or (each.text or "")[:40]
            for each, place in zip(items, places, strict=True)
            if place.by in ("strange", "nothing")
        )
        return NamedContexts(_ranking(items, places), contexts, by, bool(contexts) or not items, strange)

    def _place(self, context: NamedContext, query: Query) -> _Place:
        if context.id is not None and (known := self._known_id(context.id, query)) is not None:
            return _Place(known, "ids")
        if context.text and (document := self._id_of_text(context.text)) is not None:
            return _Place(document, "texts")
        if context.id is None:
            return _Place(None, "nothing")
        return _Place(context.id, "strange" if self.corpus.documents else "ids")

    def _known_id(self, id: str, query: Query) -> str | None:
        known = (self.corpus.chunk_by_id, self.corpus.document_by_id, query.relevance)
        for each in filter(None, (id, id.rpartition("#")[0])):
            if any(each in ids for ids in known):
                return each
        notes = self._notes.resolve(id)
        return notes[0] if len(notes) == 1 else None

    @cached_property
    def _notes(self) -> NoteNames:
        names = NoteNames()
        for document in self.corpus.documents:
            if document.id.endswith(".md"):
                names.add(document.id, document.title)
        return names

    def _contexts(self, named: list[NamedContext], places: list[_Place]) -> Iterator[Context]:
        """The contexts of the system with their texts, as far as they are known."""
        for number, (each, place) in enumerate(zip(named, places, strict=True), start=1):
            text = each.text or (self.corpus.text_of(place.id) if place.id is not None else None)
            if text:
                title = self.corpus.title_of(place.id) if place.id is not None else ""
                yield Context(place.id or f"context-{number}", text, title)

    # --- by text ----------------------------------------------------------------------------------

    def _id_of_text(self, text: str) -> str | None:
        """The chunk with this text, else the only document that contains it."""
        plain = " ".join(text.split())
        if (chunk := self._chunks.get(plain)) is not None:
            return chunk or None
        if len(plain) < SHORTEST:
            return None
        text_of_all, starts = self._documents
        first = text_of_all.find(plain)
        if first < 0:
            return None
        place = bisect_right(starts, first) - 1
        end = starts[place + 1] if place + 1 < len(starts) else len(text_of_all)
        return self.corpus.documents[place].id if text_of_all.find(plain, end) < 0 else None

    @cached_property
    def _chunks(self) -> dict[str, str]:
        """Text -> id of the chunk; empty for a text in chunks of two documents."""
        id_of: dict[str, str] = {}
        for chunk in self.corpus.chunks:
            text = " ".join(chunk.text.split())
            other = id_of.setdefault(text, chunk.id)
            if other and self.corpus.document_of(other) != chunk.document_id:
                id_of[text] = ""
        return id_of

    @cached_property
    def _documents(self) -> tuple[str, list[int]]:
        """The joined texts of all documents, and the offset of each."""
        texts = [" ".join(document.text.split()) + END for document in self.corpus.documents]
        return "".join(texts), [0, *accumulate(map(len, texts))][:-1]


def _identification(ways: list[Literal["ids", "texts", "strange", "nothing"]]) -> NamedBy:
    if "nothing" in ways or (ways and all(way == "strange" for way in ways)):
        return "unidentified"
    return "texts" if "texts" in ways else "ids"


def _ranking(contexts: list[NamedContext], places: list[_Place]) -> Ranking:
    """The ids by score where all have one, else in the order of the reply; each id once."""
    scores = [each.score for each in contexts if each.score is not None]
    hits: dict[str, float] = {}
    for rank, (each, place) in enumerate(zip(contexts, places, strict=True), start=1):
        score = each.score if each.score is not None and len(scores) == len(contexts) else 1 / rank
        if place.id is not None:
            hits[place.id] = max(score, hits.get(place.id, score))
    ordered = sorted(hits.items(), key=lambda hit: (hit[1], hit[0]), reverse=True)
    is_share = all(0 <= score <= 1 for _, score in ordered)
    return Ranking(
        ids=tuple(id for id, _ in ordered),
        scores=tuple(score for _, score in ordered),
        relevance=tuple(score if is_share else 1.0 for _, score in ordered),
    )
