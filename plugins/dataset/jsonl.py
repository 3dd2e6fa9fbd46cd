"""A corpus and queries in JSON Lines."""

from __future__ import annotations

from pathlib import Path

from runner.data.corpus import EMPTY
from runner.data.files import missing_files
from runner.data.gold import read_with_gold
from runner.data.problems import ProblemLog
from runner.data.stored import CorpusStore
from runner.errors import CorpusError, DataError, Problem
from runner.protocols import Chunker
from runner.records import Corpus, DataSet
from runner.text.chunking import PLAIN


class JsonlDataset:
    """`corpus`: one file, several (one corpus), or null when the queries bring their rankings with them. `queries`:
    null where the documents alone are wanted, as in `chat` and `embed`. A large corpus is read into `cache_dir` once
    and opened there; a `dry_run` keeps nothing, a `cold_start` reads nothing of it."""

    def __init__(
        self,
        *,
        corpus: str | list[str] | None,
        queries: str | None,
        chunker: Chunker = PLAIN,
        strict: bool = False,
        cache_dir: str | None = None,
        cold_start: bool = False,
        dry_run: bool = False,
    ) -> None:
        self.corpus = [corpus] if isinstance(corpus, str) else corpus
        self.queries = queries
        self.chunker = chunker
        self.strict = strict
        self.store = CorpusStore(Path(cache_dir) if cache_dir else None, cold=cold_start, read_only=dry_run)

    def preflight(self) -> list[Problem]:
        corpus = missing_files(self.corpus or (), "dataset.corpus", CorpusError)
        return [*corpus, *missing_files([self.queries] if self.queries else (), "dataset.queries", DataError)]

    def load(self) -> DataSet:
        log = ProblemLog(strict=self.strict)
        corpus = self._load_corpus(log)
        if self.queries is None:
            return DataSet(corpus, (), log.problems)
        queries = read_with_gold(self.queries, "dataset.queries", corpus, log)
        return DataSet(corpus, queries, log.problems)

    def _load_corpus(self, log: ProblemLog) -> Corpus:
        if self.corpus is None:
            return EMPTY
        return self.store.read(self.corpus, "dataset.corpus", log, self.chunker)
