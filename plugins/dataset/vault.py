"""A folder of Markdown notes and queries in JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from runner.data.corpus import build_corpus
from runner.data.files import missing_files, missing_folder
from runner.data.gold import check_gold
from runner.data.notes import note_names, read_notes
from runner.data.problems import ProblemLog, why_empty
from runner.data.queries import read_queries
from runner.domains.links.store import NoteStore
from runner.errors import CorpusError, DataError, Problem
from runner.protocols import Chunker
from runner.records import DataSet, Query
from runner.system.spool import Spool
from runner.text.chunking import AT_HEADINGS
from runner.text.note_ids import NoteNames


class VaultDataset:
    """`queries`: null where the notes alone are wanted, as in `chat` and `embed`. They may name a note by its path, its
    title or an alias, in any spelling.

    What was read of a note is kept in `cache_dir`, so that only notes that have changed are parsed again; a `dry_run`
    keeps nothing, a `cold_start` reads nothing of it.
    """

    def __init__(
        self,
        *,
        notes: str,
        queries: str | None,
        chunker: Chunker = AT_HEADINGS,
        strict: bool = False,
        cache_dir: str | None = None,
        cold_start: bool = False,
        dry_run: bool = False,
    ) -> None:
        self.notes = notes
        self.queries = queries
        self.chunker = chunker
        self.strict = strict
        self.store = NoteStore(Path(cache_dir) if cache_dir else None, cold=cold_start, read_only=dry_run)

    def preflight(self) -> list[Problem]:
        notes = missing_folder(self.notes, "dataset.notes", CorpusError)
        return [*notes, *missing_files([self.queries] if self.queries else (), "dataset.queries", DataError)]

    def load(self) -> DataSet:
        log = ProblemLog(strict=self.strict)
        notes = read_notes(self.notes, "dataset.notes", log, self.store.outlines)
        names = note_names(notes)
        for spellings in names.same_path():
            log.warning(self.notes, f"notes that differ in spelling only: {_quote(spellings, ' and ')}")
        corpus = build_corpus(notes, self.chunker, self.store.passages)
        if self.queries is None:
            return DataSet(corpus, (), log.problems)
        references = _References(names, self.queries, log)
        queries = references.resolve_all(read_queries(self.queries, "dataset.queries", log))
        log.stop_if_strict()
        if not queries:
            raise DataError(f"dataset.queries: no queries in {self.queries}{why_empty(log, self.queries)}")
        return DataSet(corpus, check_gold(queries, corpus, self.queries, log), log.problems)


class _References:
    """Puts ids of notes in the place of names. Unknown names stay; an ambiguous gold note is an error."""

    def __init__(self, names: NoteNames, path: str, log: ProblemLog) -> None:
        self.names = names
        self.path = path
        self.log = log

    def resolve_all(self, queries: Iterable[tuple[int, Query]]) -> Sequence[tuple[int, Query]]:
        """Queries with their line numbers; those with an ambiguous gold note are left out."""
        return Spool((line, self._resolve(query, line)) for line, query in queries if not self._ambiguous(query, line))

    def _ambiguous(self, query: Query, line: int) -> bool:
        gold = {
            "expected_notes": query.relevance,
            "expected_spans": [span.document_id for span in query.expected_spans],
        }
        ambiguous = False
        for field, references in gold.items():
            for reference in references:
                ids = self.names.resolve(reference)
                if len(ids) > 1:
                    ambiguous = True
                    self.log.error(self.path, f"'{reference}' may be {_quote(ids)}; write the path", line, field)
        return ambiguous

    def _resolve(self, query: Query, line: int) -> Query:
        recorded = query.given
        if recorded.ranking is not None:
            recorded = replace(recorded, ranking=tuple((self._id(hit), score) for hit, score in recorded.ranking))
        return replace(
            query,
            relevance=self._relevance(query, line),
            expected_chunks=tuple(self._id(chunk) for chunk in query.expected_chunks),
            expected_spans=tuple(
                replace(span, document_id=self._id(span.document_id)) for span in query.expected_spans
            ),
            given=recorded,
        )

    def _relevance(self, query: Query, line: int) -> dict[str, int]:
        """Two names of one note count once, with the higher grade."""
        relevance: dict[str, int] = {}
        for reference, grade in query.relevance.items():
            note = self._id(reference)
            if note in relevance:
                self.log.warning(self.path, f"'{note}' is named twice", line, "expected_notes")
            relevance[note] = max(grade, relevance.get(note, grade))
        return relevance

    def _id(self, reference: str) -> str:
        """The note, or `note#n`, that a reference names; the reference itself when it is not known."""
        ids = self.names.resolve(reference)
        if not ids and "#" in reference:
            name, _, chunk = reference.rpartition("#")
            return f"{self._id(name)}#{chunk}"
        return ids[0] if len(ids) == 1 else reference


def _quote(names: Sequence[str], between: str = " or ") -> str:
    return between.join(f"'{name}'" for name in names)
