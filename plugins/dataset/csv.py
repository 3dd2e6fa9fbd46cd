"""Questions, and what another system answered, in a table or an export as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.data.columns import DOCUMENT_NAMES, GUESSED, ColumnSettings, guess
from runner.data.corpus import EMPTY, build_corpus
from runner.data.documents import read_documents
from runner.data.files import missing_files
from runner.data.gold import check_gold
from runner.data.jsonl import read_jsonl
from runner.data.logs import logs_of
from runner.data.problems import ProblemLog
from runner.data.queries import queries_of
from runner.data.tables import kind_of, read_table
from runner.errors import CorpusError, DataError, Problem, RunnerError
from runner.protocols import Chunker
from runner.records import DataSet
from runner.text.chunking import PLAIN


class CsvDataset:
    """`corpus`: null where the questions bring what was retrieved. Rows as runner.data.logs reads them."""

    def __init__(
        self,
        *,
        queries: str,
        corpus: str | list[str] | None = None,
        columns: ColumnSettings = GUESSED,
        separator: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        chunker: Chunker = PLAIN,
        strict: bool = False,
    ) -> None:
        self.corpus = [corpus] if isinstance(corpus, str) else corpus
        self.queries = queries
        self.columns: Mapping[str, Any] = columns
        self.separator, self.encoding, self.sheet = separator, encoding, sheet
        self.chunker, self.strict = chunker, strict

    def preflight(self) -> list[Problem]:
        corpus = missing_files(self.corpus or (), "dataset.corpus", CorpusError)
        return [*corpus, *missing_files([self.queries], "dataset.queries", DataError)]

    def load(self) -> DataSet:
        log = ProblemLog(strict=self.strict)
        corpus = EMPTY
        if self.corpus is not None:
            documents = read_documents(self.corpus, "dataset.corpus", log, self._documents)
            corpus = build_corpus(documents, self.chunker)
        key = "dataset.queries"
        table = read_table(self.queries, key, log, DataError, encoding=self.encoding, sheet=self.sheet)
        logs = logs_of(
            table,
            self.queries,
            key,
            log,
            DataError,
            columns={field: name for field, name in self.columns.items() if name is not None},
            prefix="dataset.columns.",
            separator=self.separator,
        )
        queries = queries_of(logs.cases, self.queries, key, log)
        return DataSet(corpus, check_gold(queries, corpus, self.queries, log), log.problems)

    def _documents(
        self, path: str, key: str, log: ProblemLog, error: type[RunnerError]
    ) -> Iterator[tuple[int | None, Mapping[str, Any]]]:
        """Rows of a table with the fields of documents in place of its columns; lines of JSON as they are."""
        if kind_of(path) in ("jsonl", None):
            yield from read_jsonl(path, key, log, error)
            return
        table = read_table(path, key, log, error, encoding=self.encoding)
        columns = {field: guess(field, table.columns, DOCUMENT_NAMES) for field in DOCUMENT_NAMES}
        names = {column: field for field, column in columns.items() if column is not None}
        for number, (line, row) in enumerate(table.rows, 1):
            data = {names.get(name, name): value for name, value in row.items()}
            yield line, {**data, "id": str(data.get("id") or f"row-{number}")}
