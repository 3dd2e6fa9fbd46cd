"""A folder of Markdown notes and places in them where links are expected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from runner.data.corpus import build_corpus
from runner.data.files import missing_files, missing_folder
from runner.data.notes import read_notes
from runner.data.problems import ProblemLog, why_empty
from runner.domains.links.events import read_events
from runner.domains.links.graph import VaultGraph
from runner.domains.links.hiding import Words
from runner.domains.links.link_cases import Cases, LinkData
from runner.domains.links.link_files import WrittenCase, read_links, written_case
from runner.domains.links.making import hidden_links
from runner.domains.links.store import NoteStore
from runner.domains.links.suggesting import Vault
from runner.errors import CorpusError, DataError, InputError, Problem
from runner.protocols import Chunker
from runner.records import DataSet, Document
from runner.text.chunking import AT_HEADINGS

FOLDER = Path(__file__).parent / "links_data"


class LinksDataset:
    """`links` names places and what is expected there; null hides `remove_ratio` of the pairs (note, note it links
    to), drawn with `seed`. Either way no note that a suggester sees holds a link that is expected of it, nor does the
    graph; `link_text` says what stays in the place of such a link. `notes` null: those that come with the program.
    `events`: what people did with suggestions."""

    def __init__(
        self,
        *,
        notes: str | None = None,
        links: str | None = None,
        events: str | None = None,
        remove_ratio: Annotated[float, Field(gt=0, le=1)] = 0.3,
        seed: Annotated[int, Field(ge=0)] = 42,
        link_text: Words = "alias",
        chunker: Chunker = AT_HEADINGS,
        strict: bool = False,
        cache_dir: str | None = None,
        cold_start: bool = False,
        dry_run: bool = False,
    ) -> None:
        self.notes, self.links, self.events = notes or str(FOLDER), links, events
        self.remove_ratio, self.seed, self.link_text = remove_ratio, seed, link_text
        self.chunker = chunker
        self.strict = strict
        self.store = NoteStore(Path(cache_dir) if cache_dir else None, cold=cold_start, read_only=dry_run)

    def preflight(self) -> list[Problem]:
        links = missing_files([self.links] if self.links else [], "dataset.links", DataError)
        events = missing_files([self.events] if self.events else [], "dataset.events", DataError)
        return [*missing_folder(self.notes, "dataset.notes", CorpusError), *links, *events]

    def read(self) -> LinkData:
        log = ProblemLog(strict=self.strict)
        notes = read_notes(self.notes, "dataset.notes", log, self.store.outlines)
        graph = VaultGraph(notes, self.store.markup)
        written_cases = read_links(self.links, "dataset.links", log) if self.links else self._hide(notes, graph)
        events = read_events(self.events, "dataset.events", graph.names, log) if self.events else ()
        path = self.links or self.notes
        cases, visible_notes = Cases(notes, graph, path, log).hide(written_cases, events, self.link_text)
        log.stop_if_strict()
        if not cases:
            raise DataError(f"dataset.links: no links in {path}{why_empty(log, path)}")
        vault = Vault(
            build_corpus(visible_notes, self.chunker, self.store.passages), VaultGraph(visible_notes, self.store.markup)
        )
        return LinkData(vault, cases, events, log.problems)

    def load(self) -> DataSet:
        """Raises InputError: there are places, no questions."""
        raise InputError(
            "dataset=links has no questions; +experiment=links suggests links, dataset=vault has questions"
        )

    def _hide(self, notes: Sequence[Document], graph: VaultGraph) -> dict[int, WrittenCase]:
        rows = hidden_links(notes, graph, ratio=self.remove_ratio, seed=self.seed, words=self.link_text)
        if not rows:
            raise DataError(
                f"dataset.notes: no note in {self.notes} links to another one, so there is nothing to hide; "
                "name places and what is expected there in dataset.links"
            )
        return {number: written_case(row) for number, row in enumerate(rows, start=1)}
