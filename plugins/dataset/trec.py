"""Topics and relevance judgements in TREC formats over a corpus in JSON Lines."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from runner.data.files import missing_files
from runner.data.gold import check_gold
from runner.data.problems import ProblemLog
from runner.data.stored import CorpusStore
from runner.data.trec import Topic, TopicQrels, read_qrels, read_topics
from runner.errors import CorpusError, DataError, Problem
from runner.protocols import Chunker
from runner.records import DataSet, Query
from runner.text.chunking import PLAIN

NAMED = 3  # topics named in a warning


class TrecDataset:
    """`unjudged` says what becomes of topics without a relevant document. A large corpus is read into `cache_dir` once
    and opened there; a `dry_run` keeps nothing, a `cold_start` reads nothing of it."""

    def __init__(
        self,
        *,
        corpus: str | list[str],
        topics: str,
        qrels: str,
        topic_field: str = "title",
        unjudged: Literal["skip", "unanswerable"] = "skip",
        language: str | None = None,
        chunker: Chunker = PLAIN,
        strict: bool = False,
        cache_dir: str | None = None,
        cold_start: bool = False,
        dry_run: bool = False,
    ) -> None:
        self.corpus = [corpus] if isinstance(corpus, str) else corpus
        self.topics = topics
        self.qrels = qrels
        self.topic_field = topic_field
        self.unjudged = unjudged
        self.language = language
        self.chunker = chunker
        self.strict = strict
        self.store = CorpusStore(Path(cache_dir) if cache_dir else None, cold=cold_start, read_only=dry_run)

    def preflight(self) -> list[Problem]:
        corpus = missing_files(self.corpus, "dataset.corpus", CorpusError)
        topics = missing_files([self.topics], "dataset.topics", DataError)
        return [*corpus, *topics, *missing_files([self.qrels], "dataset.qrels", DataError)]

    def load(self) -> DataSet:
        log = ProblemLog(strict=self.strict)
        corpus = self.store.read(self.corpus, "dataset.corpus", log, self.chunker)
        topics = read_topics(self.topics, "dataset.topics", self.topic_field, log)
        judged = read_qrels(self.qrels, "dataset.qrels", log)
        queries = self._queries(topics, judged, log)
        lines = {topic: judgements.line for topic, judgements in judged.items()}
        checked = check_gold(((lines.get(query.id), query) for query in queries), corpus, self.qrels, log, "document")
        return DataSet(corpus, checked, log.problems)

    def _queries(self, topics: list[Topic], qrels: dict[str, TopicQrels], log: ProblemLog) -> list[Query]:
        queries = [self._query(topic, qrels.get(topic.id)) for topic in topics]
        unjudged = [query.id for query in queries if not query.answerable]
        asked = {query.id for query in queries}
        unknown = [topic for topic in qrels if topic not in asked]
        if unknown:
            log.warning(self.qrels, f"judgements for topics that are not in {self.topics}: {_first_topics(unknown)}")
        if unjudged and self.unjudged == "skip":
            hint = "dataset.unjudged=unanswerable keeps them as unanswerable"
            log.warning(self.topics, f"skipped topics without a relevant document: {_first_topics(unjudged)}; {hint}")
            queries = [query for query in queries if query.answerable]
        if not queries:
            raise DataError(f"dataset.qrels: no topic of {self.topics} has a relevant document in {self.qrels}")
        return queries

    def _query(self, topic: Topic, judged: TopicQrels | None) -> Query:
        grades = judged.grades if judged is not None else {}
        answerable = any(grade > 0 for grade in grades.values())
        return Query(topic.id, topic.text, answerable, grades if answerable else {}, language=self.language)


def _first_topics(topics: list[str]) -> str:
    more = f" and {len(topics) - NAMED} more" if len(topics) > NAMED else ""
    return ", ".join(f"'{topic}'" for topic in topics[:NAMED]) + more
