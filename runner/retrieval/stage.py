"""The retrieval stage that evaluations share: load, index, rank every query once, score the rankings."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import itemgetter
from typing import Annotated, Any

from pydantic import Field

from runner.data.identity import (
    document_digests,
    documents_identity,
    gold_digest,
    queries_identity,
)
from runner.errors import EvaluationError
from runner.llm.metering import charge
from runner.metrics import agent, diagnosis
from runner.metrics.agent import AgentSums, trajectory_labels, trajectory_values
from runner.metrics.metric import Metric
from runner.metrics.ranking import MEASURES, METRICS, Found, relevant_hits, values_at
from runner.protocols import Closing, Dataset, Generator, Reference, Retriever, TextTelling, Workspace, attribute_of
from runner.records import (
    Answer,
    CaseSet,
    Context,
    Corpus,
    DataSet,
    Preparation,
    Query,
    Ranking,
    Scores,
    SystemReply,
    Timing,
    trajectory_record,
)
from runner.retrieval.answerability import HITS, NO_TERMS, AnswerModel, answer_model, cover_by, terms_of
from runner.retrieval.naming import NamedContexts, Naming
from runner.retrieval.rankings import (
    Documents,
    RankedQuery,
    Rankings,
    Reading,
    Readings,
    documents,
    query_fingerprint,
    rank_all,
)
from runner.retrieval.searching import Searcher
from runner.system.shared import are_several, make_once, settings_of
from runner.system.shared_record import shared_record
from runner.system.store import fingerprint
from runner.system.threads import LoopCalls, in_thread
from runner.text.refusals import refusal_for

UNNAMED = re.compile(r"context-\d+")  # a context given as a text alone, of an unknown document
GATE = "retrieval_gate"  # prefix of metrics and labels: the decision of `min_score` where the answer decides
ValuesOf = Callable[[Sequence[float | None]], Sequence[float | None]]  # those of a row
TIMED_OUT = "the query was not answered within timeout_ms"


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The retrieval result of one query: chunks, their documents, and the k contexts. Nobody changes it."""

    ranking: Ranking
    documents: Documents
    contexts: tuple[Context, ...]
    timings: Mapping[str, Timing] = field(default_factory=dict)
    answer_score: float | None = None
    """What `min_score` is held against: how likely the best hits answer the query (runner.retrieval.answerability), or
    the relevance of the best one where the retriever has no model of that; None when nothing was found."""
    has_texts: bool = True
    """Whether it is known what stands in what was found: ids alone, without a corpus, do not tell."""
    is_known: bool = True
    """Whether it is known what was found: of another system perhaps the answer alone is."""
    named: NamedContexts | None = None
    """What a running system says that it answered from; None: the retriever found it."""
    reading: Reading | None = None
    """What was worked out of the ranking before, by this cell or another one of its sweep."""

    @property
    def message(self) -> str | None:
        """The agent's message in place of an answer."""
        return None if self.ranking.trajectory is None else self.ranking.trajectory.message


@dataclass(frozen=True, slots=True)
class _HashedData:
    """A data set, and hashes of its parts and of its documents."""

    data: DataSet
    identity: Mapping[str, str]
    digests: Mapping[str, str]


def _load(dataset: Dataset) -> _HashedData:
    data = dataset.load()
    identity = {"documents": documents_identity(data.corpus), **queries_identity(data.queries)}
    return _HashedData(data, identity, document_digests(data.corpus.documents))


class Retrieval:
    """Rankings go to depth max(k, cutoffs, 100), so that every k of a sweep shares them."""

    data_files = ("answerability.json",)

    def __init__(
        self,
        *,
        dataset: Dataset,
        retriever: Retriever,
        k: int,
        cutoffs: list[int],
        min_score: Annotated[float, Field(ge=0, le=1)],
        timeout_ms: int,
        warmup: int,
        seed: int,
    ) -> None:
        self.dataset, self.retriever = dataset, retriever
        self.k, self.cutoffs = k, sorted({k, *cutoffs})
        self.fixed, self.min_score = frozenset(cutoffs), min_score
        self.depth = max(*self.cutoffs, 100)
        self.timeout_ms, self.warmup, self.seed = timeout_ms, warmup, seed
        self.corpus = Corpus((), (), "")
        self.rankings: Rankings | None = None
        self._texts: Mapping[str, str] = {}
        self._readings: Readings | None = None
        self._legs: tuple[str, ...] = ()
        self._answer_model: AnswerModel | None = None
        self._terms = NO_TERMS
        self._names: dict[str, tuple[Sequence[str], ValuesOf]] = {}

    def load(self) -> CaseSet[Query]:
        """Read and hash the data, once for all cells of a sweep."""
        settings, load = settings_of(self.dataset), partial(_load, self.dataset)
        dataset = load() if settings is None else make_once("data", settings, load, portable=True)
        data, self.corpus = dataset.data, dataset.data.corpus
        identity = {
            **dataset.identity,
            "corpus": data.corpus.fingerprint,
            "models": fingerprint(attribute_of(self.retriever, "provenance")),
        }
        return CaseSet(data.queries, data.problems, identity, dataset.digests)

    async def prepare(self, cases: Sequence[Query], workspace: Workspace) -> Preparation:
        started = time.perf_counter()
        index = await self.index(workspace)
        indexed = time.perf_counter()
        try:
            async with LoopCalls() as loop:
                self.rankings = await in_thread(rank_all, self._searcher(loop), cases, workspace)
            self._texts = await in_thread(self._retriever_texts, self.rankings)
        finally:
            await self.close()
        self._readings = self._shared_readings(self.rankings, cases)
        ranked = next((entry for entry in self.rankings.values() if entry.error is None), None)
        self._legs = tuple(f"{leg}/" for leg in ranked.ranking.legs) if ranked is not None else ()
        is_agent = ranked is not None and ranked.ranking.trajectory is not None
        facts = {
            "index": {"n_documents": len(self.corpus.documents), "n_chunks": len(self.corpus.chunks), **index},
            "ranking_depth": self.depth,
            **({} if is_agent else {"min_score": self.min_score}),
        }
        timing = {
            "index_s": round(indexed - started, 3),
            "ranking_s": round(time.perf_counter() - indexed, 3),
            "rankings_reused": self.rankings.reused,
        }
        return Preparation(facts, timing)

    def _retriever_texts(self, rankings: Rankings) -> Mapping[str, str]:
        """Chunk id -> text of what becomes a context, where the retriever has texts of its own."""
        if not isinstance(self.retriever, TextTelling) or self.retriever.texts_of([]) is None:
            return {}
        ids = list(dict.fromkeys(id for entry in rankings.values() for id in entry.ranking.ids[: self.k]))
        return dict(zip(ids, self.retriever.texts_of(ids) or (), strict=True))

    def _shared_readings(self, rankings: Rankings, queries: Sequence[Query]) -> Readings | None:
        """The readings shared with other cells; None for a single run, and for rankings that are not stored."""
        if not are_several() or rankings.errors:
            return None
        model = attribute_of(self.retriever, "answer_model")
        depends = query_fingerprint(queries, True), self.corpus.fingerprint, model, rankings.identity, bool(self._texts)
        return make_once("readings", depends, Readings)

    def describe(self) -> Preparation:
        """The report facts where a running system answers, and nothing is indexed or ranked here."""
        counts = {"n_documents": len(self.corpus.documents), "n_chunks": len(self.corpus.chunks)}
        return Preparation({"index": counts} if self.corpus.documents else {})

    def of_reply(self, query: Query, reply: SystemReply) -> RetrievalResult:
        """The contexts that a running system reports; it may have answered from all of them."""
        contexts = self._naming.of(query, reply)
        reply_documents = documents(contexts.ranking, self.corpus)
        return RetrievalResult(
            contexts.ranking,
            reply_documents,
            contexts.contexts,
            has_texts=contexts.has_texts,
            is_known=contexts.is_ranked,
            named=contexts,
        )

    @cached_property
    def _naming(self) -> Naming:
        return Naming(self.corpus)

    async def index(self, workspace: Workspace) -> Mapping[str, Any]:
        """Prepare everything that a search needs, after `load`. Returns the retriever's facts about its index."""
        facts = await in_thread(self.retriever.index, self.corpus, workspace)
        self._answer_model = answer_model(self.retriever)
        if self._answer_model is not None:
            self._terms = await in_thread(terms_of, self.corpus, workspace)
        return facts

    async def close(self) -> None:
        """Close connections and files of the retriever; a later search opens them again."""
        if isinstance(self.retriever, Closing):
            await in_thread(self.retriever.close)

    def _searcher(self, loop: LoopCalls) -> Searcher:
        return Searcher(
            self.retriever,
            self.corpus,
            depth=self.depth,
            timeout_ms=self.timeout_ms,
            seed=self.seed,
            warmup=self.warmup,
            loop=loop,
        )

    async def look_up(self, query: Query) -> RetrievalResult:
        """Search for a query that is not part of the data set; its ranking is not stored. Raises what
        `charged_result` raises."""
        async with LoopCalls() as loop:
            ((_, entry),) = await in_thread(lambda: list(self._searcher(loop).search_all([query])))
        return self._result(query, self._read(query, RankedQuery(entry.ranking, entry.latency_ms, entry.error)))

    def charged_result(self, query: Query) -> RetrievalResult:
        """The result of a query; charges the case for the cost of its ranking. Raises TimeoutError or EvaluationError
        where the query could not be ranked."""
        reading = self._reading(query)
        charge(reading.entry.cost)
        return self._result(query, reading)

    def result_of(self, query: Query) -> RetrievalResult:
        """As `charged_result`, without a charge, for another look at the result."""
        return self._result(query, self._reading(query))

    def _reading(self, query: Query) -> Reading:
        """The ranking of a query. If it could not be ranked, its cost is charged and the error raised."""
        if self.rankings is None:
            raise RuntimeError("prepare() comes before charged_result()")
        known = None if self._readings is None else self._readings.get(query.id)
        if known is not None:
            return known
        reading = self._read(query, self.rankings[query.id])
        if self._readings is not None:
            self._readings.keep(query.id, reading)
        return reading

    def _read(self, query: Query, entry: RankedQuery) -> Reading:
        if entry.error is not None:
            charge(entry.cost)
            raise TimeoutError(TIMED_OUT) if entry.error == "timeout" else EvaluationError(entry.error)
        of_documents = documents(entry.ranking, self.corpus)
        return Reading(entry, of_documents, self._answer_score(query, entry.ranking, of_documents))

    def _result(self, query: Query, reading: Reading) -> RetrievalResult:
        entry, ranking = reading.entry, reading.entry.ranking
        timings = {"retrieval": Timing(entry.latency_ms, live=entry.latency_ms is not None)}
        contexts = self._contexts(query, reading)
        is_known = bool(ranking.ids) or not attribute_of(self.retriever, "foreign_ids") or not _is_answer_alone(query)
        has_texts = is_known and (bool(contexts) or not ranking.ids or query.given.contexts is not None)
        return RetrievalResult(
            ranking,
            reading.documents,
            contexts,
            timings,
            reading.answer_score,
            has_texts,
            is_known,
            reading=reading,
        )

    def ranking_values(self, query: Query) -> Mapping[str, float | None]:
        """The ranking metrics of a query, also where its case failed; empty where the query was not ranked."""
        if self.rankings is None:
            return {}
        try:
            values = self.scores(query, self.result_of(query)).values
        except (TimeoutError, EvaluationError):  # its row has the error
            return {}
        return {name: value for name, value in values.items() if not name.startswith("unanswerable_")}

    def _answer_score(self, query: Query, ranking: Ranking, retrieved: Documents) -> float | None:
        if not ranking.ids:
            return None
        hits = [self.corpus.chunk_by_id[id] for id in ranking.ids[:HITS] if id in self.corpus.chunk_by_id]
        if self._answer_model is None or not hits:
            return retrieved.relevance[0]
        return self._answer_model.score(cover_by(hits, query.text, self.corpus, self._terms))

    def _contexts(self, query: Query, reading: Reading) -> tuple[Context, ...]:
        given = query.given.contexts
        if given is not None and not self._is_reference:
            return given[: self.k]
        contexts = reading.contexts
        contexts += [self._context(id) for id in reading.entry.ranking.ids[len(contexts) : self.k]]
        return tuple([context for context in contexts[: self.k] if context is not None])

    def _context(self, id: str) -> Context | None:
        text = self._texts.get(id) or self.corpus.text_of(id)
        return None if text is None else Context(id, text, self.corpus.title_of(id))

    @cached_property
    def _is_reference(self) -> bool:
        return isinstance(self.retriever, Reference)

    def gives_up(self, result: RetrievalResult) -> bool:
        """Whether retrieval alone declares the query unanswerable: its best hit is not relevant enough, or an agent
        gave a message in place of an answer."""
        if result.ranking.trajectory is not None:
            return result.message is not None
        return diagnosis.predicted_unanswerable(result.answer_score, self.min_score)

    def refusal(self, query: Query, retrieved: RetrievalResult, generator: Generator) -> Answer | None:
        """The answer where the generator is not called: an agent's message, or a fixed sentence where the best hit is
        below the generator's `refuse_below`; None where the generator must be called."""
        if retrieved.message is not None:
            return Answer(retrieved.message, refused=True)
        least = attribute_of(generator, "refuse_below")
        if least is None or not diagnosis.predicted_unanswerable(retrieved.answer_score, least):
            return None
        return Answer(refusal_for(query), refused=True)

    def scores(self, query: Query, retrieved: RetrievalResult, *, declined: bool | None = None) -> Scores:
        """Ranking metrics at k and at the cutoffs (those of chunks and of legs with a prefix), whether the query was
        rightly declared unanswerable, and what an agent did for it.

        `declined`: whether the delivered answer says that there is none. It alone decides then, and the decision of
        `min_score` is counted beside it. None: no answer is delivered, and retrieval decides.
        """
        values = self._of_ranking(query, retrieved) if retrieved.is_known else {}
        weights, labels = dict[str, float](), dict[str, str]()
        if query.is_answerability_known:
            label = diagnosis.answerability(
                self.gives_up(retrieved) if declined is None else declined, query.answerable
            )
            values |= diagnosis.unanswerable_values(label)
            weights, labels = {**diagnosis.unanswerable_weights(label)}, {"answerability": str(label)}
        is_searched = retrieved.is_known and retrieved.named is None
        if declined is not None and retrieved.ranking.trajectory is None and is_searched:
            gate = diagnosis.answerability(self.gives_up(retrieved), query.answerable)
            values |= diagnosis.unanswerable_values(gate, GATE)
            weights |= diagnosis.unanswerable_weights(gate, GATE)
            labels[GATE] = gate
        if (trajectory := retrieved.ranking.trajectory) is not None:
            gold = {id for id, grade in query.relevance.items() if grade > 0}
            values |= trajectory_values(trajectory, gold, self.corpus.document_of)
            labels |= trajectory_labels(trajectory)
        return Scores(values, weights=weights, labels=labels)

    def _has_chunks(self, result: RetrievalResult) -> bool:
        """Whether chunks are known; a running system may name documents only."""
        return result.named is None or any(map(self.corpus.chunk_by_id.__contains__, result.ranking.ids))

    def _of_ranking(self, query: Query, result: RetrievalResult) -> dict[str, float | None]:
        known_hits = {} if result.reading is None else result.reading.found
        values = self._at_cutoffs("", result.documents.ids, query.relevance, known_hits)
        if (chunks := relevant_chunks(query, self.corpus)) and self._has_chunks(result):
            values |= self._at_cutoffs("chunk/", result.ranking.ids, chunks, known_hits)
        for leg, ranking in result.ranking.legs.items():
            values |= self._at_cutoffs(f"{leg}/", documents(ranking, self.corpus).ids, query.relevance, known_hits)
        return values

    def lost_at(
        self,
        query: Query,
        retrieved: RetrievalResult,
        *,
        declined: bool | None = None,
        right: bool | None = None,
    ) -> str:
        """The stage at which a question failed (runner.metrics.diagnosis); `declined` and `right` describe its
        answer."""
        if declined is None and retrieved.message is not None:
            declined = True
        gold = {id for id, grade in query.relevance.items() if grade > 0}
        known_ids = self.corpus.document_by_id
        is_open = not gold or not retrieved.is_known  # it is unknown whether retrieval failed
        if is_open and query.answerable:
            return _unexplained_stage(declined, right)
        return diagnosis.lost_at(
            answerable=query.answerable,
            gold_in_corpus=is_open or not self.corpus.documents or any(id in known_ids for id in gold),
            gold_rank=1 if is_open else self._gold_rank(retrieved, gold, is_answered=declined is not None),
            k=self.k,
            refused=self.gives_up(retrieved) if declined is None and not query.answerable else declined,
            right=right,
        )

    def _gold_rank(self, result: RetrievalResult, gold: Set[str], *, is_answered: bool) -> int | None:
        """The rank of the first gold document; for an answered question, among the contexts that the generator saw."""
        gold_rank = next((rank for rank, id in enumerate(result.documents.ids, start=1) if id in gold), None)
        if gold_rank is not None and is_answered and result.has_texts:
            named = [context.id for context in result.contexts if not UNNAMED.fullmatch(context.id)]
            if named or not result.contexts:
                seen = any(self.corpus.document_of(id) in gold for id in named)
                return min(gold_rank, self.k) if seen else max(gold_rank, self.k + 1)
        return gold_rank

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Sums over what agents did for all questions, for summary.json."""
        return AgentSums(self.k).over(rows)

    @property
    def metrics(self) -> Sequence[Metric]:
        """The metrics of `scores`."""
        return (*METRICS, *agent.METRICS, *diagnosis.METRICS, *diagnosis.GATE_METRICS)

    def names(self, query: Query) -> tuple[str, ...]:
        """Names of the metrics that apply to a query, scored or not."""
        if not query.answerable:
            return ("unanswerable_recall", "unanswerable_f1")
        if not any(grade > 0 for grade in query.relevance.values()):
            return ()
        prefixes = ["", *(["chunk/"] if relevant_chunks(query, self.corpus) else []), *self._legs]
        return tuple(name for prefix in prefixes for name in self._at_cutoffs(prefix, (), {"gold": 1}, {}))

    def _at_cutoffs(
        self,
        prefix: str,
        ids: Sequence[str],
        relevance: Mapping[str, int],
        hits_by_prefix: MutableMapping[str, Found],
    ) -> dict[str, float | None]:
        """Values by their names in rows. The relevant documents, which do not depend on k, are added to
        `hits_by_prefix`."""
        if prefix not in hits_by_prefix:
            depth = self.cutoffs[-1] if self._readings is None else self.depth
            hits_by_prefix[prefix] = relevant_hits(ids, relevance, depth)
        names, values_of = self._row_names(prefix)
        return dict(zip(names, values_of(values_at(hits_by_prefix[prefix], tuple(self.cutoffs))), strict=True))

    def _row_names(self, prefix: str) -> tuple[Sequence[str], ValuesOf]:
        """The names in a row, cutoff by cutoff, k first, and what chooses their values."""
        if prefix not in self._names:
            rows = []
            for place, cutoff in enumerate(self.cutoffs):
                for number, measure in enumerate((measure.name for measure in MEASURES), place * len(MEASURES)):
                    at_k = f"{prefix}mrr" if measure == "mrr" else f"{prefix}{measure}_at_k"
                    rows += [(number, at_k)] if cutoff == self.k else []
                    rows += [(number, f"{prefix}{measure}_at_{cutoff}")] if cutoff in self.fixed else []
            self._names[prefix] = [name for _, name in rows], itemgetter(*(number for number, _ in rows))
        return self._names[prefix]


def _is_answer_alone(query: Query) -> bool:
    given = query.given
    return given.answer is not None and given.ranking is None and given.contexts is None


def _unexplained_stage(declined: bool | None, right: bool | None) -> str:
    """The stage of an answerable question whose retrieved or gold documents are unknown."""
    if right or (right is None and not declined):
        return "none"
    return "refused_unexplained" if declined else "wrong_unexplained"


def relevant_chunks(query: Query, corpus: Corpus) -> dict[str, int]:
    """Chunks labelled relevant, by id or by a span that overlaps at least half of the chunk or of the span."""
    relevant = dict.fromkeys(query.expected_chunks, 1)
    for span in query.expected_spans:
        document = corpus.document_by_id.get(span.document_id)
        if document is None:
            continue
        start, end = span.start, span.end
        if start is None or end is None:
            start = document.text.find(span.text or "\0")
            end = start + len(span.text or "")
        if 0 <= start < end:
            relevant |= dict.fromkeys(_chunks_in_span(corpus, span.document_id, start, end), 1)
    return relevant


def _chunks_in_span(corpus: Corpus, document_id: str, start: int, end: int) -> list[str]:
    chunks = corpus.chunks_of(document_id)
    return [chunk.id for chunk in chunks if overlap((chunk.start, chunk.end), (start, end))]


def overlap(first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Whether two spans (start, end) of a document share at least half of the shorter one."""
    shared = min(first[1], second[1]) - max(first[0], second[0])
    return 2 * shared >= min(first[1] - first[0], second[1] - second[0])


def record_of(
    query: Query, retrieved: RetrievalResult, corpus: Corpus, k: int, more: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    """The part of a row that comes from retrieval: the question with the turns before it, its gold documents with their
    ranks, the best max(k, 10) hits, the trajectory of an agent, and the places of gold chunks that are labelled by id,
    so that they can be found in a corpus that is chunked differently. `more` entries depend on the query alone. Nobody
    changes the record: cells of a sweep share it."""
    reading, depth = retrieved.reading, max(k, 10)
    if reading is None or reading.documents is not retrieved.documents:
        return {**_record(query, retrieved, corpus, depth), **(more or {})}
    n_known, record, its_more = reading.record or (0, {}, None)
    n_known = n_known if its_more == more else 0  # of another evaluation or data set
    if n_known != depth:
        if not n_known:
            record = {**_record(query, retrieved, corpus, depth), **(more or {})}
        hits = (
            [*record["retrieved"], *_hits(retrieved, corpus, range(n_known, depth))] if n_known else record["retrieved"]
        )
        record = shared_record({**record, "retrieved": hits[:depth]})
        reading.record = depth, record, more
    return record


def _record(query: Query, retrieved: RetrievalResult, corpus: Corpus, depth: int) -> dict[str, Any]:
    history = [{"role": turn.role, "text": turn.text} for turn in query.history]
    trajectory = retrieved.ranking.trajectory
    return {
        **({"history": history} if history else {}),
        **({"chunk_gold": _chunk_gold(query, retrieved, corpus)} if query.expected_chunks else {}),
        "query": query.text,
        "answerable": query.answerable,
        "expected": list(query.relevance),
        "gold": gold_digest(query),
        **_gold_ranks(query, retrieved),
        **({"answer_score": retrieved.answer_score} if trajectory is None else {}),
        "retrieved": _hits(retrieved, corpus, range(depth)),
        **({} if trajectory is None else {"trajectory": trajectory_record(trajectory)}),
    }


def _chunk_gold(query: Query, retrieved: RetrievalResult, corpus: Corpus) -> dict[str, Any]:
    """`labels`: the place of each labelled chunk, [document, start, end], null for an unknown chunk; `spans`: chunks
    that are relevant by a span; `chunks`: the places of all chunks of these documents, with the rank of those in the
    ranking."""
    by_span = relevant_chunks(replace(query, expected_chunks=()), corpus)
    documents = {id.rpartition("#")[0] for id in (*query.expected_chunks, *by_span)}
    places = {
        chunk.id: [chunk.document_id, chunk.start, chunk.end]
        for document in sorted(documents)
        for chunk in corpus.chunks_of(document)
    }
    ranks = {id: rank for rank, id in enumerate(retrieved.ranking.ids, start=1)}
    return {
        "labels": {id: places.get(id) for id in query.expected_chunks},
        "spans": list(by_span),
        "chunks": {id: [*place, ranks.get(id)] for id, place in places.items()},
    }


def _gold_ranks(query: Query, retrieved: RetrievalResult) -> dict[str, Any]:
    """`gold_ranks`: the rank of each gold document, null where the ranking lacks it; `ranked`: number of documents in
    the ranking. Empty where the retrieved documents are unknown."""
    gold = [id for id, grade in query.relevance.items() if grade > 0]
    if not gold or not retrieved.is_known:
        return {}
    ranks = {id: rank for rank, id in enumerate(retrieved.documents.ids, start=1)}
    return {"gold_ranks": {id: ranks.get(id) for id in gold}, "ranked": len(ranks)}


def _hits(result: RetrievalResult, corpus: Corpus, places: range) -> list[dict[str, Any]]:
    """The documents at these places in the form of a row."""
    best = result.documents
    return [
        {
            "id": best.ids[place],
            "chunk": best.chunks[place],
            "title": corpus.title_of(best.ids[place]),
            "score": best.scores[place],
            "relevance": best.relevance[place],
        }
        for place in places[: max(0, len(best.ids) - places.start)]
    ]
