"""Notes and the links between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.data.notes import note_names
from runner.domains.links.links import Link, Markup, markups_of, property_links
from runner.domains.links.resolving import means_no_note, meant_notes
from runner.records import Document

DAMPING = 0.85
STEPS = 200
PRECISION = 1e-12


@dataclass(frozen=True, slots=True)
class Edge:
    """A link and the note that it means."""

    source: str
    target: str
    link: Link


@dataclass(frozen=True, slots=True)
class LooseLink:
    """A link that does not lead to exactly one note: `candidates` is empty for a broken link, and has several ids for
    an ambiguous one."""

    source: str
    link: Link
    candidates: tuple[str, ...] = ()


class VaultGraph:
    """`notes` are ids in the order of the documents. `edges` are links in texts, `properties` those in front matter,
    which lead to one other note; links of a note to itself are no edges, they are `within` it.

    `read` reads texts; one that remembers (NoteStore.markup) reads only those that are new.
    """

    def __init__(
        self, documents: Iterable[Document], read_markups: Callable[[Sequence[str]], Sequence[Markup]] = markups_of
    ) -> None:
        documents = list(documents)
        self.names = note_names(documents)
        self.notes = tuple([document.id for document in documents])
        self.edges: list[Edge] = []
        self.properties: list[Edge] = []
        self.within: list[Edge] = []
        self.broken: list[LooseLink] = []
        self.ambiguous: list[LooseLink] = []
        self.in_code: list[LooseLink] = []
        self.tags: dict[str, tuple[str, ...]] = {}
        for document, markup in zip(documents, read_markups([document.text for document in documents]), strict=True):
            self._add(document, markup)

    def _add(self, document: Document, markup: Markup) -> None:
        note = document.id
        self.tags[note] = tuple(dict.fromkeys((*document.metadata.get("tags", ()), *markup.tags)))
        for link in markup.links:
            targets = tuple(meant_notes(link, note, self.names))
            if len(targets) > 1:
                self.ambiguous.append(LooseLink(note, link, targets))
            elif targets:
                (self.within if targets[0] == note else self.edges).append(Edge(note, targets[0], link))
            elif not means_no_note(link):
                self.broken.append(LooseLink(note, link))
        for link in property_links(document.metadata):
            targets = tuple(self.names.resolve(link.reference))
            if len(targets) == 1 and targets[0] != note:
                self.properties.append(Edge(note, targets[0], link))
        for link in markup.code_links:
            self.in_code.append(LooseLink(note, link, tuple(meant_notes(link, note, self.names))))

    def out_links(self, note: str) -> Sequence[Edge]:
        """The links in the text, in order."""
        return self._by_source.get(note, ())

    def back_links(self, note: str) -> Sequence[Edge]:
        """The links to a note in texts, by source in the order of the notes, then in the order of the text."""
        return self._by_target.get(note, ())

    def links_from(self, note: str) -> frozenset[str]:
        """The notes to which this one links, in its text or its front matter."""
        return self._targets.get(note, frozenset())

    def linking_to(self, note: str) -> frozenset[str]:
        """The notes that link to this one, in their text or their front matter."""
        return self._sources.get(note, frozenset())

    @property
    def n_links(self) -> int:
        """Links from one note to another, in texts and front matter."""
        return len(self.edges) + len(self.properties)

    @cached_property
    def _by_source(self) -> Mapping[str, list[Edge]]:
        return _group((edge.source, edge) for edge in self.edges)

    @cached_property
    def _by_target(self) -> Mapping[str, list[Edge]]:
        return _group((edge.target, edge) for edge in self.edges)

    @cached_property
    def _targets(self) -> Mapping[str, frozenset[str]]:
        pairs = _group((edge.source, edge) for edge in (*self.edges, *self.properties))
        return {note: frozenset(edge.target for edge in edges) for note, edges in pairs.items()}

    @cached_property
    def _sources(self) -> Mapping[str, frozenset[str]]:
        pairs = _group((edge.target, edge) for edge in (*self.edges, *self.properties))
        return {note: frozenset(edge.source for edge in edges) for note, edges in pairs.items()}

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The row and column of each note."""
        return {note: place for place, note in enumerate(self.notes)}

    @cached_property
    def matrix(self) -> Any:
        """Sparse float64 [n_notes, n_notes]: 1 where the note of the row links to the note of the column."""
        from scipy.sparse import csr_array

        edges = (*self.edges, *self.properties)
        pairs = {(self.places[edge.source], self.places[edge.target]) for edge in edges}
        rows, columns = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
        return csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(self.notes), len(self.notes)))

    @cached_property
    def neighbourhood(self) -> Any:
        """Sparse float64 [n_notes, n_notes], symmetric: 1 / sqrt(degree x degree) where two notes are linked in either
        direction, so that neither hubs nor lonely notes gain by their number of links alone."""
        from scipy.sparse import diags_array

        either = self.matrix.maximum(self.matrix.T)
        degrees = np.asarray(either.sum(axis=1)).ravel()
        scale = diags_array(np.divide(1, np.sqrt(degrees), out=np.zeros(len(degrees)), where=degrees > 0))
        return (scale @ either @ scale).tocsr()

    @cached_property
    def centrality(self) -> NDArray[np.float64]:
        """PageRank [n_notes] (Page et al. 1999, damping 0.85); sums to 1. A note that links to none spreads evenly."""
        n = max(1, len(self.notes))
        degrees = np.asarray(self.matrix.sum(axis=1)).ravel()
        shares = np.divide(1, degrees, out=np.zeros(len(degrees)), where=degrees > 0)
        incoming = self.matrix.T.tocsr()
        rank = np.full(len(degrees), 1 / n)
        for _ in range(STEPS):
            spread = incoming @ (rank * shares) + rank[degrees == 0].sum() / n
            following = (1 - DAMPING) / n + DAMPING * spread
            if np.abs(following - rank).sum() < PRECISION:
                break
            rank = following
        return rank


def _group(pairs: Iterable[tuple[str, Edge]]) -> dict[str, list[Edge]]:
    edges_by_name: dict[str, list[Edge]] = defaultdict(list)
    for name, edge in pairs:
        edges_by_name[name].append(edge)
    return dict(edges_by_name)
