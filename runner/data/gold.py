"""Checks gold labels against the corpus: unknown ids, and the places of spans.

A label that does not fit is a warning and the query stays: its gold counts as not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from runner.data.jsonl import read_jsonl
from runner.data.problems import ProblemLog
from runner.data.queries import queries_in, stop_without
from runner.errors import DataError, similar
from runner.records import Corpus, Query, Span
from runner.system.spool import Spool

SUGGESTED = 20  # most unknown ids for which a similar id is searched, which compares all ids
MOST_IDS = 5000  # no search in larger corpora
NAMED = 3  # unknown ids named in one warning


def check_gold(
    queries: Iterable[tuple[int | None, Query]],
    corpus: Corpus,
    path: str,
    log: ProblemLog,
    field: str = "expected_notes",
) -> Sequence[Query]:
    """The queries of (line, query) pairs with their spans placed.

    Nothing is checked without documents. `field`: the name of the gold documents in the file.
    """
    if not corpus.documents:
        return Spool(query for _, query in queries)
    check = _GoldCheck(corpus, path, log, field)
    return Spool(check.query(query, line) for line, query in queries)


def read_with_gold(path: str, key: str, corpus: Corpus, log: ProblemLog) -> Sequence[Query]:
    """`read_queries` and `check_gold` in one go: each query is stored once. The problems of all lines come before those
    of the labels."""
    of_labels = ProblemLog()
    queries = check_gold(queries_in(read_jsonl(path, key, log, DataError), path, log), corpus, path, of_labels)
    stop_without(queries, path, key, log)
    log.adopt(of_labels.problems)
    return queries


class _GoldCheck:
    def __init__(self, corpus: Corpus, path: str, log: ProblemLog, field: str) -> None:
        self.documents = corpus.document_by_id
        self.chunks = corpus.chunk_by_id
        self.path = path
        self.log = log
        self.field = field
        self.ids = list(self.documents) if len(self.documents) <= MOST_IDS else []
        self.suggestions_left = SUGGESTED

    def query(self, query: Query, line: int | None) -> Query:
        gold = [document_id for document_id, grade in query.relevance.items() if grade > 0]
        messages = {
            self.field: self._unknown("document", gold, self.documents),
            "expected_chunks": self._unknown("chunk", query.expected_chunks, self.chunks),
        }
        spans = []
        for index, span in enumerate(query.expected_spans):
            placed, messages[f"expected_spans[{index}]"] = self._place(span)
            spans.append(placed)
        for field, message in messages.items():
            if message:
                of = f" (query '{query.id}')" if line is None else ""
                self.log.warning(self.path, message + of, line, field)
        return replace(query, expected_spans=tuple(spans)) if spans else query

    def _unknown(self, noun: str, ids: Sequence[str], known: Mapping[str, object]) -> str:
        unknown = [each for each in ids if each not in known]
        if not unknown:
            return ""
        names = ", ".join(f"'{each}'" for each in unknown[:NAMED])
        if len(unknown) == 1:
            return f"no {noun} {names} in the corpus{self._near_note(unknown[0]) if noun == 'document' else ''}"
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        return f"no {noun}s {names}{more} in the corpus"

    def _near_note(self, unknown: str) -> str:
        if self.suggestions_left == 0:
            return ""
        self.suggestions_left -= 1
        near = similar(unknown, self.ids)
        return f"; did you mean '{near}'?" if near else ""

    def _place(self, span: Span) -> tuple[Span, str]:
        """The span with the place of its text, which NFC may have moved, and what is wrong with it."""
        document = self.documents.get(span.document_id)
        if document is None:
            return span, self._unknown("document", [span.document_id], self.documents)
        if span.text is None:
            beyond = span.end is not None and span.end > len(document.text)
            message = f"ends at {span.end}, but '{document.id}' has {len(document.text)} characters"
            return span, message if beyond else ""
        start = _nearest(document.text, span.text, span.start or 0)
        if start is None:
            return span, f"'{document.id}' does not contain the text '{_excerpt(span.text)}'"
        return replace(span, start=start, end=start + len(span.text)), ""


def _nearest(text: str, part: str, start: int) -> int | None:
    """The place of `part` in `text` nearest to `start`; of two equally near ones the earlier."""
    before, after = text.rfind(part, 0, start + len(part)), text.find(part, start)
    found = [place for place in (before, after) if place >= 0]
    return min(found, key=lambda place: abs(place - start), default=None)


def _excerpt(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
