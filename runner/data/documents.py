"""Documents from JSONL: {"id", "title", "text", "lang" or "language"}; any other key is metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from runner.data.fields import Fields
from runner.data.jsonl import read_jsonl
from runner.data.problems import ProblemLog, why_empty
from runner.errors import CorpusError, RunnerError
from runner.records import Document

KNOWN = frozenset({"id", "_id", "title", "text", "lang", "language"})


Records = Callable[[str, str, ProblemLog, type[RunnerError]], Iterable[tuple[int | None, Mapping[str, Any]]]]


def read_documents(paths: Iterable[str], key: str, log: ProblemLog, records: Records | None = None) -> list[Document]:
    """Documents in file order. A bad line and a repeated id are errors and left out. `records` reads a file (default:
    JSON Lines).

    Raises CorpusError when a file cannot be read or holds no usable document.
    """
    return list(documents_in(paths, key, log, records))


def documents_in(paths: Iterable[str], key: str, log: ProblemLog, records: Records | None = None) -> Iterator[Document]:
    """Like `read_documents`, one at a time; errors are raised when the iteration reaches them."""
    places: dict[str, str] = {}
    for path in paths:
        before = len(places)
        for line, data in (records or read_jsonl)(path, key, log, CorpusError):
            fields = Fields(data, path, line, log)
            document = _document(fields)
            if document is not None and is_new(fields, document.id, places):
                yield document
        log.stop_if_strict()
        if len(places) == before:
            raise CorpusError(f"{key}: no documents in {path}{why_empty(log, path)}")
    if not places:
        raise CorpusError(f"{key}: expected at least one file, found an empty list")


def is_new(fields: Fields, id: str, places: dict[str, str]) -> bool:
    """Whether an id is new; `places` maps ids to their places."""
    if id in places:
        fields.error("id", f"'{id}' is already the id at {places[id]}; the first one counts")
        return False
    places[id] = fields.place
    return True


def _document(fields: Fields) -> Document | None:
    fields.warn_of_misspellings(KNOWN)
    document_id = fields.required_text("id", "_id")
    title = fields.text("title") or ""
    text = fields.text("text")
    if text is None and not fields.failed:
        fields.wrong("text", "text", None)
    language = fields.text("language", "lang")
    if fields.failed:
        return None
    if not (text or title).strip():
        fields.error("text", "expected text or a title, found neither")
        return None
    metadata = {name: value for name, value in fields.data.items() if name not in KNOWN}
    return Document(document_id, text or "", title, language, metadata)
