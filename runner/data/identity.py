"""Hashes with which runs compare their questions and labels (SHA-256, hex)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from operator import itemgetter

from runner.records import Corpus, Document, Query
from runner.system.store import ListFingerprint, fingerprint, fingerprint_of_each

MOST_DIGESTS = 10_000  # most documents of a corpus whose digests are kept in snapshots


def document_digests(documents: Sequence[Document]) -> dict[str, str]:
    """Id -> digest of eight digits, to find changed documents; empty for a large corpus."""
    if len(documents) > MOST_DIGESTS:
        return {}
    return {document.id: documents_fingerprint([document])[:8] for document in documents}


class DocumentsDigest:
    """A hash over ids, titles and texts, in order, independent of chunking."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, document: Document) -> None:
        """Add the next document to the hash."""
        for part in (document.id, document.title, document.text):
            data = part.encode("utf-8", "surrogatepass")
            self._digest.update(b"%d:" % len(data))
            self._digest.update(data)

    def hexdigest(self) -> str:
        """The hash."""
        return self._digest.hexdigest()


def documents_fingerprint(documents: Iterable[Document]) -> str:
    """Hash over ids, titles and texts, in order, independent of chunking."""
    digest = DocumentsDigest()
    for document in documents:
        digest.add(document)
    return digest.hexdigest()


def documents_identity(corpus: Corpus) -> str:
    """`documents_fingerprint` of a corpus; one on disk knows it."""
    return documents_fingerprint(corpus.documents) if corpus.shelf is None else corpus.shelf.documents_fingerprint


def queries_identity(queries: Sequence[Query]) -> dict[str, str]:
    """The hashes of all parts of queries, by name: queries, gold, slices and given, and checks where there are some.
    Each query is read once, since a large data set builds its queries again on each read."""
    texts, gold, slices, given_results = (ListFingerprint() for _ in range(4))
    checks: list[tuple[str, list[object]]] = []
    last, is_in_order = "", True
    for query in queries:
        texts.add(_question(query))
        slices.add(_slices(query))
        given_results.add([query.id, _given_values(query)])
        if query.checks:
            checks.append((query.id, [asdict(check) for check in query.checks]))
        if is_in_order := is_in_order and last <= query.id:  # that of gold labels, which are hashed by id
            gold.add(_labels(query))
            last = query.id
    return {
        "queries": texts.hexdigest(),
        "gold": gold.hexdigest() if is_in_order else gold_fingerprint(queries),
        "slices": slices.hexdigest(),
        "given": given_results.hexdigest(),
        **({"checks": fingerprint(sorted(checks, key=itemgetter(0)))} if checks else {}),
    }


def queries_fingerprint(queries: Iterable[Query]) -> str:
    """Hash over ids, texts and the turns before them, in order, without the outputs of another system."""
    return fingerprint_of_each(_question(query) for query in queries)


def gold_fingerprint(queries: Sequence[Query]) -> str:
    """Hash over answerable, grades, chunks, spans and answers, independent of the order of queries and labels."""
    ids = [query.id for query in queries]
    by_id = sorted(range(len(ids)), key=ids.__getitem__)
    return fingerprint_of_each(_labels(queries[place]) for place in by_id)


def gold_digest(query: Query) -> str:
    """Hash over the labels of one query without its id, 16 hex digits."""
    return fingerprint(_labels(query)[1:])[:16]


def slices_fingerprint(queries: Iterable[Query]) -> str:
    """Hash over language, difficulty and tags, in order."""
    return fingerprint_of_each(map(_slices, queries))


def _question(query: Query) -> list[object]:
    return [query.id, query.text, *_history(query)]


def _history(query: Query) -> list[object]:
    """The turns before a question; nothing without history, so that the hash is that of the question alone."""
    return [[[turn.role, turn.text] for turn in query.history]] if query.history else []


def _labels(query: Query) -> list[object]:
    spans = sorted([span.document_id, span.start or 0, span.end or 0, span.text or ""] for span in query.expected_spans)
    grades = sorted(query.relevance.items())
    return [query.id, query.answerable, grades, sorted(query.expected_chunks), spans, sorted(query.answers)]


def _slices(query: Query) -> list[object]:
    return [query.language, query.difficulty, *query.tags]


def _given_values(query: Query) -> list[object]:
    """The outputs of another system: ranking, contexts and answer."""
    contexts = query.given.contexts
    shown = None if contexts is None else [[context.id, context.title, context.text] for context in contexts]
    spent = [value for value in (query.given.latency_ms, query.given.cost_usd) if value is not None]
    return [query.given.ranking, shown, query.given.answer, *spent]
