"""Question answering data in the format of SQuAD 1.1, SQuAD 2.0 and KorQuAD 1.0."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import orjson

from runner.data.corpus import build_corpus
from runner.data.documents import is_new
from runner.data.fields import Fields
from runner.data.files import missing_files, read_bytes
from runner.data.gold import check_gold
from runner.data.jsonl import parse_with_care
from runner.data.problems import ProblemLog, why_empty
from runner.errors import CorpusError, DataError, Problem
from runner.protocols import Chunker
from runner.records import DataSet, Document, Query, Span
from runner.text.chunking import PLAIN

UNTITLED = "untitled"


class SquadDataset:
    """Each paragraph is a document, `{title}/{n}` with n counted from 0 for each title.

    Questions keep their ids; those on one article are one group, and those with `is_impossible` are unanswerable.
    """

    def __init__(
        self,
        *,
        path: str | list[str],
        language: str | None = None,
        chunker: Chunker = PLAIN,
        strict: bool = False,
    ) -> None:
        self.paths = [path] if isinstance(path, str) else path
        self.language = language
        self.chunker = chunker
        self.strict = strict

    def preflight(self) -> list[Problem]:
        return missing_files(self.paths, "dataset.path", CorpusError)

    def load(self) -> DataSet:
        log = ProblemLog(strict=self.strict)
        reader = _Reader(self.language, log)
        for path in self.paths:
            reader.read(path)
        log.stop_if_strict()
        files = ", ".join(self.paths) or "an empty list of files"
        why = "".join(why_empty(log, path) for path in reader.queries)
        if not reader.documents:
            raise CorpusError(f"dataset.path: no paragraphs in {files}{why}")
        if not any(reader.queries.values()):
            raise DataError(f"dataset.path: no questions in {files}{why}")
        corpus = build_corpus(reader.documents, self.chunker)
        checked = [check_gold(queries, corpus, path, log) for path, queries in reader.queries.items()]
        return DataSet(corpus, tuple(chain.from_iterable(checked)), log.problems)


class _Reader:
    """Collects paragraphs and questions. A problem is named by its place: `data[0].paragraphs[3].context`."""

    def __init__(self, language: str | None, log: ProblemLog) -> None:
        self.language = language
        self.log = log
        self.documents: list[Document] = []
        self.queries: dict[str, list[tuple[None, Query]]] = {}
        self._counts: dict[str, int] = {}
        self._places: dict[str, str] = {}

    def read(self, path: str) -> None:
        self.queries.setdefault(path, [])
        for article in _objects(Fields(_json(path, self.log), path, None, self.log), "data"):
            title = article.text("title") or UNTITLED
            for paragraph in _objects(article, "paragraphs"):
                self._read_paragraph(paragraph, title)

    def _read_paragraph(self, paragraph: Fields, title: str) -> None:
        text = paragraph.required_text("context")
        number = self._counts.get(title, 0)
        self._counts[title] = number + 1
        if paragraph.failed:
            return
        document = Document(f"{title}/{number}", text, title, self.language)
        self.documents.append(document)
        for question in _objects(paragraph, "qas"):
            query = self._query(question, document)
            if query is not None and is_new(question, query.id, self._places):
                self.queries[question.path].append((None, query))

    def _query(self, question: Fields, document: Document) -> Query | None:
        query_id, text = question.required_text("id"), question.required_text("question")
        answerable = not (question.flag("is_impossible") if "is_impossible" in question.data else False)
        answers = [_span(answer, document) for answer in _objects(question, "answers")] if answerable else []
        if question.failed or None in answers:
            return None
        spans = tuple(dict.fromkeys(span for span in answers if span is not None))
        return Query(
            id=query_id,
            text=text,
            answerable=answerable,
            relevance={document.id: 1} if answerable else {},
            expected_spans=spans,
            answers=tuple(dict.fromkeys(span.text for span in spans if span.text)),
            language=self.language,
            group=None if document.title == UNTITLED else document.title,
        )


def _span(answer: Fields, document: Document) -> Span | None:
    text, start = answer.required_text("text"), answer.integer("answer_start")
    if answer.failed:
        return None
    return Span(document.id, start, None if start is None else start + len(text), text)


def _objects(fields: Fields, name: str) -> Iterator[Fields]:
    for index, item in enumerate(fields.items(name) or ()):
        if isinstance(item, dict):
            yield fields.inner(f"{name}[{index}]", item)
        else:
            fields.wrong(f"{name}[{index}]", "an object", item)


def _json(path: str, log: ProblemLog) -> dict[str, Any]:
    content = read_bytes(path, "dataset.path", CorpusError)
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        value = _carefully(content, path, log)
    if not isinstance(value, dict) or not isinstance(value.get("data"), list):
        raise DataError(f'dataset.path: {path} is not SQuAD data: expected an object with a list "data"')
    return value


def _carefully(content: bytes, path: str, log: ProblemLog) -> Any:
    try:
        return parse_with_care(content, path, None, log)
    except ValueError as problem:
        raise DataError(f"dataset.path: {path}: {problem}") from None
