"""A folder of the BEIR benchmark: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv."""

from __future__ import annotations

from pathlib import Path

from runner.data.files import PACKED, missing_folder, open_folder
from runner.data.gold import check_gold
from runner.data.problems import ProblemLog
from runner.data.stored import CorpusStore
from runner.data.trec import TopicQrels, read_qrels, read_topics
from runner.errors import DataError, Problem, did_you_mean
from runner.protocols import Chunker
from runner.records import DataSet, Query
from runner.text.chunking import PLAIN

EXPECTED = "expected corpus.jsonl, queries.jsonl and qrels/*.tsv"


class BeirDataset:
    """Questions of the file that the split does not judge, or for which it has no relevant document, are no cases.
    A large corpus is read into `cache_dir` once and opened there; a `dry_run` keeps nothing, a `cold_start` reads
    nothing of it."""

    def __init__(
        self,
        *,
        path: str,
        split: str = "test",
        language: str | None = None,
        chunker: Chunker = PLAIN,
        strict: bool = False,
        cache_dir: str | None = None,
        cold_start: bool = False,
        dry_run: bool = False,
    ) -> None:
        self.path, self.split, self.language = path, split, language
        self.chunker, self.strict = chunker, strict
        self.store = CorpusStore(Path(cache_dir) if cache_dir else None, cold=cold_start, read_only=dry_run)

    def preflight(self) -> list[Problem]:
        problems = missing_folder(self.path, "dataset.path", DataError)
        if not problems:
            try:
                self._files()
            except DataError as error:
                key, _, message = str(error).partition(": ")
                problems = [Problem(key, message)]
        return problems

    def _files(self) -> tuple[str, str, str]:
        """Corpus, queries and qrels. Raises DataError for a missing file."""
        folder = open_folder(self.path, "dataset.path", DataError)
        corpus, queries = (_existing_file(folder / f"{name}.jsonl") for name in ("corpus", "queries"))
        for name, file in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
            if file is None:
                raise DataError(f"dataset.path: no {name} in {self.path}; {EXPECTED}")
        qrels = _existing_file(folder / "qrels" / f"{self.split}.tsv")
        if qrels is None:
            splits = sorted(file.name.partition(".")[0] for file in (folder / "qrels").glob("*.tsv*"))
            raise DataError(
                f"dataset.split: no qrels/{self.split}.tsv in {self.path}{did_you_mean(self.split, splits)}"
            )
        return str(corpus), str(queries), str(qrels)

    def load(self) -> DataSet:
        log = ProblemLog(strict=self.strict)
        corpus_file, queries_file, qrels_file = self._files()
        corpus = self.store.read([corpus_file], "dataset.path", log, self.chunker)
        qrels = read_qrels(qrels_file, "dataset.split", log)
        topics = read_topics(queries_file, "dataset.path", "text", log)
        queries = [
            (qrels[topic.id].line, Query(topic.id, topic.text, True, qrels[topic.id].grades, language=self.language))
            for topic in topics
            if topic.id in qrels and _is_answerable(qrels[topic.id])
        ]
        if not queries:
            raise DataError(f"dataset.split: no query of {queries_file} has a relevant document in {qrels_file}")
        missing = sorted(set(qrels) - {topic.id for topic in topics})
        if missing:
            log.warning(qrels_file, f"{len(missing)} judged queries are not in {queries_file}, such as '{missing[0]}'")
        return DataSet(corpus, check_gold(queries, corpus, qrels_file, log, "document"), log.problems)


def _is_answerable(judged: TopicQrels) -> bool:
    return any(grade > 0 for grade in judged.grades.values())


def _existing_file(path: Path) -> Path | None:
    names = [path, *(path.with_name(path.name + ending) for ending in PACKED)]
    return next((name for name in names if name.is_file()), None)
