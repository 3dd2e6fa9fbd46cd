"""Questions, and what another system answered, in a data set of Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.data.columns import GUESSED, ColumnSettings
from runner.data.corpus import EMPTY, build_corpus
from runner.data.documents import read_documents
from runner.data.files import expand, missing_files
from runner.data.gold import check_gold
from runner.data.logs import logs_of
from runner.data.problems import ProblemLog
from runner.data.queries import queries_of
from runner.data.tables import Table, plain
from runner.errors import CorpusError, DataError, Problem, did_you_mean, install_command
from runner.protocols import Chunker
from runner.records import DataSet
from runner.text.chunking import PLAIN

KEY = "dataset.path"
SAVED = ("state.json", "dataset_dict.json")  # what save_to_disk writes


class HfDataset:
    """A folder is read as it is; a name comes from the cache, and from the network where it is not there."""

    def __init__(
        self,
        *,
        path: str,
        name: str | None = None,
        split: str | None = None,
        corpus: str | list[str] | None = None,
        columns: ColumnSettings = GUESSED,
        separator: str | None = None,
        chunker: Chunker = PLAIN,
        strict: bool = False,
    ) -> None:
        self.path, self.name, self.split = path, name, split
        self.corpus = [corpus] if isinstance(corpus, str) else corpus
        self.columns: Mapping[str, Any] = columns
        self.separator, self.chunker, self.strict = separator, chunker, strict

    def preflight(self) -> list[Problem]:
        return missing_files(self.corpus or (), "dataset.corpus", CorpusError)

    def load(self) -> DataSet:
        log = ProblemLog(strict=self.strict)
        corpus = EMPTY
        if self.corpus is not None:
            corpus = build_corpus(read_documents(self.corpus, "dataset.corpus", log), self.chunker)
        table = Table("parquet", [(None, plain(row)) for row in self._rows()])
        columns = {field: column for field, column in self.columns.items() if column is not None}
        logs = logs_of(
            table, self.path, KEY, log, DataError, columns=columns, prefix="dataset.columns.", separator=self.separator
        )
        queries = queries_of(logs.cases, self.path, KEY, log)
        return DataSet(corpus, check_gold(queries, corpus, self.path, log), log.problems)

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        dataset = self._load_rows()
        if not hasattr(dataset, "keys"):
            rows: Sequence[Mapping[str, Any]] = dataset
            return rows
        splits = list(dataset)
        split = self.split or (splits[0] if len(splits) == 1 else "test")
        if split not in splits:
            raise DataError(f"dataset.split: {self.path} has no split '{split}'{did_you_mean(split, splits)}")
        chosen: Sequence[Mapping[str, Any]] = dataset[split]
        return chosen

    def _load_rows(self) -> Any:
        try:
            import datasets
        except ImportError:
            raise DataError(f"{KEY}: data sets of Hugging Face need datasets: {install_command('hf')}") from None
        folder: Path = expand(self.path)
        try:
            if any((folder / name).is_file() for name in SAVED):
                return datasets.load_from_disk(str(folder))
            return datasets.load_dataset(self.path, self.name)
        except Exception as problem:  # of the hub, of the network, of what a folder holds
            why = " ".join(str(problem).split())[:300]
            raise DataError(f"{KEY}: cannot load {self.path}: {type(problem).__name__}: {why}") from None
