"""The rankings of all queries: computed once, stored on disk, shared by all cells that differ only in k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import gt
from pathlib import Path
from typing import Any

from runner import __version__
from runner.data.identity import gold_digest
from runner.llm.metering import by_role
from runner.metrics.ranking import Found
from runner.protocols import Reference, Workspace, attribute_of
from runner.records import Context, Corpus, Query, Ranking, RoleCost
from runner.retrieval.ranking_files import FORMAT, RankingFiles, RankingWriter
from runner.retrieval.searching import Searcher
from runner.system.shared import case_ids, shared_of
from runner.system.store import fingerprint, fingerprint_of_each
from runner.system.writing import replacing

HITS_KEPT = 1_000_000  # hits that a sweep keeps in memory for its cells, about 60 bytes each


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """The ranking of one query (empty where `error` says why there is none).

    `error` is "timeout" for a query over its deadline. `latency_ms`: set where a live search was timed alone, in this
    run or the one that made the rankings. `cost`: of the models, by role, in whichever run.
    """

    ranking: Ranking
    latency_ms: float | None
    error: str | None
    cost: Mapping[str, RoleCost] = field(default_factory=dict)


class Rankings(Mapping[str, RankedQuery]):
    """Query id -> RankedQuery, in the order of the queries; entries are read on access.

    `reused`: the rankings were read from disk, and latencies are those of the run that made them. `errors`: query id ->
    error.
    """

    def __init__(
        self, query_ids: Sequence[str], files: RankingFiles, errors: Mapping[str, str], *, reused: bool
    ) -> None:
        self._places = {query_id: place for place, query_id in enumerate(query_ids)}
        self._files = files
        self.errors = errors
        self.reused = reused
        self.identity = files.identity

    @property
    def latencies_ms(self) -> list[float]:
        """The latencies of live searches that were timed alone, in the order of the queries."""
        return self._files.latencies_ms()

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __getitem__(self, query_id: str) -> RankedQuery:
        place = self._places[query_id]
        error = self.errors.get(query_id)
        return RankedQuery(self._files.ranking(place), self._files.latency_ms(place), error, self._files.cost(place))


@dataclass(slots=True)
class Reading:
    """Results of one ranking that do not depend on k, computed on demand: `found` are the relevant documents by prefix,
    `record` for the row, `contexts` by place (None: without a text)."""

    entry: RankedQuery
    documents: Documents
    answer_score: float | None
    found: dict[str, Found] = field(default_factory=dict)
    record: tuple[int, Mapping[str, Any], Mapping[str, Any] | None] | None = None  # its hits, itself, what was added
    contexts: list[Context | None] = field(default_factory=list)


class Readings:
    """The readings that the cells of a sweep share, by query id, for the first queries up to a limit."""

    def __init__(self, room: int = HITS_KEPT) -> None:
        self._room = room
        self._by_id: dict[str, Reading] = {}

    def get(self, query_id: str) -> Reading | None:
        """The reading of a query; None where it is not kept."""
        return self._by_id.get(query_id)

    def keep(self, query_id: str, reading: Reading) -> None:
        """Keep a reading for the next cells."""
        ranking = reading.entry.ranking
        self._room -= len(ranking.ids) + sum(len(leg.ids) for leg in ranking.legs.values()) + len(reading.documents.ids)
        if self._room >= 0:
            self._by_id[query_id] = reading


def rank_all(searcher: Searcher, queries: Sequence[Query], workspace: Workspace) -> Rankings:
    """Rank every query, or read the rankings of an earlier run. The retriever must be indexed.

    A query that fails or takes too long has an error, and rankings with errors are not stored. The key consists of the
    corpus, the retriever, the queries and the depth, so cells that differ in k alone rank once. Where model requests
    must be sent again (`sweep` of the retriever), only rankings of this sweep are read, and later runs read those.
    """
    retriever = searcher.retriever
    key = {
        "runner": __version__,
        "format": FORMAT,
        "corpus": searcher.corpus.fingerprint,
        "retriever": workspace.identity(retriever),
        "provenance": attribute_of(retriever, "provenance"),
        "queries": query_fingerprint(queries, isinstance(retriever, Reference)),
        "depth": searcher.depth,
    }
    asked_anew = str(attribute_of(retriever, "sweep"))
    mark = Path("rankings", f"{fingerprint(key)[:32]}.sweep")
    if sweep := asked_anew or _text_of(workspace.stored_root / mark):
        key["sweep"] = sweep
    query_ids = case_ids(queries)
    is_built = []

    def build(folder: Path) -> None:
        with RankingWriter(folder, len(queries)) as writer:
            errors = _search(searcher, queries, writer)
        if errors:
            raise _IncompleteError(Rankings(query_ids, RankingFiles(folder), errors, reused=False))
        is_built.append(folder)

    try:
        folder = workspace.folder("rankings", key, build)
    except _IncompleteError as incomplete:
        return incomplete.rankings
    if asked_anew:
        _keep_mark(workspace.root / mark, asked_anew)
    return Rankings(query_ids, RankingFiles(folder), {}, reused=not is_built)


def _keep_mark(path: Path, sweep: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as scratch:
        scratch.write_text(sweep, encoding="utf-8")


def _text_of(path: Path) -> str:
    """The text of a file; empty where the file is missing."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _search(searcher: Searcher, queries: Sequence[Query], writer: RankingWriter) -> dict[str, str]:
    """Search all queries and return the errors by query id."""
    from threadpoolctl import threadpool_limits

    errors = {}
    with threadpool_limits(limits=1):
        for place, result in searcher.search_all(queries):
            writer.add(place, result.ranking, result.latency_ms, by_role(result.asked))
            if result.error is not None:
                errors[queries[place].id] = result.error
    return errors


class _IncompleteError(Exception):
    """Some query has no ranking: do not store the folder."""

    def __init__(self, rankings: Rankings) -> None:
        self.rankings = rankings


def query_fingerprint(queries: Sequence[Query], labels: bool) -> str:
    """A hash over everything of the queries that a retriever may read, in order."""
    return shared_of("seen", queries, labels, lambda: fingerprint_of_each(_visible_fields(queries, labels)))


def _visible_fields(queries: Sequence[Query], labels: bool) -> Iterator[list[Any]]:
    return (
        [
            query.id,
            query.text,
            [[turn.role, turn.text] for turn in query.history],
            [query.language, query.difficulty, *query.tags],
            None if query.given.ranking is None else [[name, repr(score)] for name, score in query.given.ranking],
            None if query.given.contexts is None else [context.id for context in query.given.contexts],
            *([gold_digest(query)] if labels else []),
        ]
        for query in queries
    )


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents, best first: score descending, ties by document id descending (as bytes).

    A document has the rank of its best chunk: `chunks`, `scores` and `relevance` are those of that chunk.
    """

    ids: tuple[str, ...]
    chunks: tuple[str, ...]
    scores: tuple[float, ...]
    relevance: tuple[float, ...]


def documents(ranking: Ranking, corpus: Corpus) -> Documents:
    """Turn a ranking of chunks into one of documents. An id that is no chunk of the corpus is taken as a document."""
    best: dict[str, int] = {}
    scores, relevance = ranking.scores, ranking.relevance
    for place, document_id in enumerate(corpus.documents_of(ranking.ids)):
        if document_id not in best:
            best[document_id] = place
    ids, places = list(best), list(best.values())
    best_scores = [scores[place] for place in places]
    if not all(map(gt, best_scores, best_scores[1:])):  # ties, which document ids break
        ordered = sorted(best.items(), key=lambda item: (scores[item[1]], item[0]), reverse=True)
        ids, places = [id for id, _ in ordered], [place for _, place in ordered]
        best_scores = [scores[place] for place in places]
    if len(places) == len(ranking.ids) and places == list(range(len(places))):
        return Documents(tuple(ids), ranking.ids, scores, relevance)
    return Documents(
        ids=tuple(ids),
        chunks=tuple([ranking.ids[place] for place in places]),
        scores=tuple(best_scores),
        relevance=tuple([relevance[place] for place in places]),
    )
