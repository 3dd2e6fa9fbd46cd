"""Gold labels held against the corpus: ids that do not exist, where spans stand, which chunks hold them.

A label that does not fit is a warning and the query stays: its answer counts as lost, not as absent.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from runner.data.problems import ProblemLog
from runner.records import Chunk, Corpus, Document, Query, Span

SUGGESTED = 20  # unknown ids for which a similar one is looked up; each look-up compares with all ids
MOST_IDS = 5000  # no look-up in larger corpora


class GoldCheck:
    """Checks queries against one corpus. Chunks of spans are added to `expected_chunks`."""

    def __init__(self, corpus: Corpus, path: str, log: ProblemLog) -> None:
        self.corpus = corpus
        self.path = path
        self.log = log
        self._ids = _Suggestions([document.id for document in corpus.documents])
        self._chunks: dict[str, list[Chunk]] = {}
        for chunk in corpus.chunks:
            self._chunks.setdefault(chunk.document_id, []).append(chunk)

    def query(self, query: Query, line: int | None) -> Query:
        """The query with spans placed and their chunks named; warnings go to the log."""
        for document_id in query.relevance:
            self._check_document(document_id, line, "expected_notes")
        for chunk_id in query.expected_chunks:
            if chunk_id not in self.corpus.chunk_by_id:
                message = f"no chunk '{chunk_id}' in the corpus{self._chunks_of(chunk_id)}"
                self.log.warning(self.path, message, line, "expected_chunks")
        if not query.expected_spans:
            return query
        spans = tuple(self._placed(span, line) for span in query.expected_spans)
        holding = [chunk_id for span in spans for chunk_id in self._holding(span)]
        chunks = tuple(dict.fromkeys([*query.expected_chunks, *holding]))
        return replace(query, expected_spans=spans, expected_chunks=chunks)

    def _check_document(self, id: str, line: int | None, field: str) -> Document | None:
        document = self.corpus.document_by_id.get(id)
        if document is None:
            self.log.warning(self.path, f"no document '{id}' in the corpus{self._ids.near(id)}", line, field)
        return document

    def _chunks_of(self, id: str) -> str:
        chunks = self._chunks.get(id.rpartition("#")[0])
        return f"; its document has the chunks 0 to {len(chunks) - 1}" if chunks else ""

    def _placed(self, span: Span, line: int | None) -> Span:
        """With start and end in the document's text, where they can be told."""
        document = self._check_document(span.document_id, line, "expected_spans")
        if document is None:
            return span
        if span.text is None:
            if span.end is not None and span.end > len(document.text):
                message = f"ends at {span.end}, but '{document.id}' has {len(document.text)} characters"
                self.log.warning(self.path, message, line, "expected_spans")
            return span
        start = _nearest(document.text, span.text, span.start or 0)
        if start is None:
            message = f"'{document.id}' does not contain the text '{_short(span.text)}'"
            self.log.warning(self.path, message, line, "expected_spans")
            return span
        return replace(span, start=start, end=start + len(span.text))

    def _holding(self, span: Span) -> list[str]:
        """Chunks that hold the whole span; where none does, those that hold a part of it."""
        if span.start is None or span.end is None:
            return []
        chunks = self._chunks.get(span.document_id, [])
        whole = [chunk.id for chunk in chunks if chunk.start <= span.start and span.end <= chunk.end]
        return whole or [chunk.id for chunk in chunks if chunk.start < span.end and span.start < chunk.end]


def check_gold(queries: Mapping[int, Query], corpus: Corpus, path: str, log: ProblemLog) -> tuple[Query, ...]:
    """Queries by line number, checked against a corpus. Without any document nothing can be checked."""
    if not corpus.documents:
        return tuple(queries.values())
    check = GoldCheck(corpus, path, log)
    return tuple(check.query(query, line) for line, query in queries.items())


class _Suggestions:
    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids if len(ids) <= MOST_IDS else ()
        self._left = SUGGESTED

    def near(self, id: str) -> str:
        if self._left == 0:
            return ""
        self._left -= 1
        near = difflib.get_close_matches(id, self._ids, n=1, cutoff=0.6)
        return f"; did you mean '{near[0]}'?" if near else ""


def _nearest(text: str, part: str, start: int) -> int | None:
    """The place of `part` in `text` that is nearest to `start`, the earlier one of two."""
    if text.startswith(part, start):
        return start
    places: Iterable[int] = (text.rfind(part, 0, start + len(part)), text.find(part, start))
    found = [place for place in places if place >= 0]
    return min(found, key=lambda place: abs(place - start), default=None)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
