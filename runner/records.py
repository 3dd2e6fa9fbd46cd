"""The nouns that flow through a run, from data to results. Frozen but for rows, without behaviour beyond look-ups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeVar

Status = Literal["ok", "failed", "timeout"]


# --- what an agent did -----------------------------------------------------------------------------

Tool = Literal["search_all", "search_by_metadata", "get_section"]
NextAction = Literal["get_section", "search_again"]
Fallback = Literal["not_ready", "not_found", "best_effort"]
Stopped = Literal["sufficient", "calls_spent", "nothing_new", "failed"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """A reranker's judgement of the candidates so far. `ranked`: the ids of useful candidates, best first, without
    repeats. `sufficient`: whether they answer the question; None for a reranker that only orders. `confidence` 0..1."""

    ranked: tuple[str, ...]
    sufficient: bool | None = None
    confidence: float | None = None
    missing: tuple[str, ...] = ()
    next_action: NextAction | None = None
    refined_query: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call. `found`: ids of chunks that came back, best first; `assessment`: what a reranker makes of all
    candidates after it, or the order they have where none was asked. Tokens and cost are of the models asked
    for this step; `cost_usd` None: price unknown."""

    tool: Tool
    arguments: Mapping[str, Any]
    found: tuple[str, ...]
    assessment: Assessment
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The calls in order, why the agent stopped, and the message for the user. `fallback` None: an ordinary answer.
    `message`: the text in place of a generated answer (not_ready, not_found)."""

    calls: tuple[ToolCall, ...]
    stopped: Stopped
    fallback: Fallback | None = None
    message: str | None = None
    confidence: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def trajectory_record(trajectory: Trajectory) -> dict[str, Any]:
    """A trajectory as JSON, without default values; the assessment is merged into its call."""
    return {**_without_defaults(trajectory), "calls": [_without_defaults(call) for call in trajectory.calls]}


def trajectory_of(record: Mapping[str, Any]) -> Trajectory:
    """The trajectory that `trajectory_record` wrote."""
    return Trajectory(**{**record, "calls": tuple(map(_call_of, record["calls"]))})


def _call_of(record: Mapping[str, Any]) -> ToolCall:
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items()}
    assessment = {each.name: values.pop(each.name) for each in fields(Assessment) if each.name in values}
    return ToolCall(**values, assessment=Assessment(**assessment))


def _without_defaults(part: Trajectory | ToolCall | Assessment) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for attribute in fields(part):
        value = getattr(part, attribute.name)
        if isinstance(value, Assessment):
            values |= _without_defaults(value)
        elif value != attribute.default and (value or attribute.name != "facts"):
            values[attribute.name] = list(value) if isinstance(value, tuple) else value
    return values


# --- data -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Document:
    """One note, passage or page. `id` and `text` are NFC; `metadata` is whatever the source carried. With `line` of
    its file the text begins."""

    id: str
    text: str
    title: str = ""
    language: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    line: int = 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document: `text == document.text[start:end]`. `id` is `{document_id}#{n}`, n from 0."""

    id: str
    document_id: str
    text: str
    start: int
    end: int
    headings: tuple[str, ...] = ()


class Shelf(Protocol):
    """Look-ups of a corpus that is not held in memory (runner.data.stored)."""

    @property
    def document_by_id(self) -> Mapping[str, Document]:
        """Documents by id, in the order of the corpus."""

    @property
    def chunk_by_id(self) -> Mapping[str, Chunk]:
        """Chunks by id, in the order of the corpus."""

    @property
    def ids(self) -> Sequence[str]:
        """The ids of all chunks, in the order of the corpus."""

    @property
    def documents_fingerprint(self) -> str:
        """A hash over ids, titles and texts of the documents."""

    def documents_of(self, ids: Sequence[str]) -> list[str]:
        """Args:
            ids: of chunks.

        Returns:
            The documents of the chunks, in this order; an id that is of no chunk stands for itself.
        """

    def chunks_of(self, document_id: str) -> Sequence[Chunk]:
        """Args:
            document_id: any id.

        Returns:
            The chunks of the document in their order; none for an unknown one.
        """

    @property
    def place_by_id(self) -> Mapping[str, int]:
        """The place of each chunk."""

    def corpus(self) -> Corpus:
        """The corpus to look things up in."""


@dataclass(frozen=True)
class Corpus:
    """Documents in file order and their chunks, grouped by document in document order.

    `fingerprint` is a hash over every id, title, text, language and metadata and over the chunk boundaries. With a
    `shelf`, records are read from disk whenever they are asked for.
    """

    documents: Sequence[Document]
    chunks: Sequence[Chunk]
    fingerprint: str
    shelf: Shelf | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """With a shelf, a pickle says where the corpus is."""
        if self.shelf is None:
            return Corpus, (self.documents, self.chunks, self.fingerprint)
        return _on_shelf, (self.shelf,)

    @cached_property
    def document_by_id(self) -> Mapping[str, Document]:
        """Documents by id, in the order of the corpus."""
        if self.shelf is not None:
            return self.shelf.document_by_id
        return {document.id: document for document in self.documents}

    @cached_property
    def chunk_by_id(self) -> Mapping[str, Chunk]:
        """Chunks by id, in the order of the corpus."""
        return self.shelf.chunk_by_id if self.shelf is not None else {chunk.id: chunk for chunk in self.chunks}

    @cached_property
    def ids(self) -> Sequence[str]:
        """The ids of all chunks, in the order of the corpus."""
        return self.shelf.ids if self.shelf is not None else [chunk.id for chunk in self.chunks]

    @cached_property
    def place_by_id(self) -> Mapping[str, int]:
        """The place of each chunk in the corpus."""
        return self.shelf.place_by_id if self.shelf is not None else {id: place for place, id in enumerate(self.ids)}

    @cached_property
    def _chunks_by_document(self) -> Mapping[str, list[Chunk]]:
        by_document: dict[str, list[Chunk]] = {}
        for chunk in self.chunks:
            by_document.setdefault(chunk.document_id, []).append(chunk)
        return by_document

    def chunks_of(self, document_id: str) -> Sequence[Chunk]:
        """The chunks of a document in their order; none for an unknown one."""
        if self.shelf is not None:
            return self.shelf.chunks_of(document_id)
        return self._chunks_by_document.get(document_id, ())

    def documents_of(self, ids: Sequence[str]) -> list[str]:
        """The documents of chunk ids; a document id, or an id from elsewhere, stands for itself."""
        if self.shelf is not None:
            return self.shelf.documents_of(ids)
        chunks = self.chunk_by_id
        return [chunks[id].document_id if id in chunks else id for id in ids]

    def document_of(self, id: str) -> str:
        """The document of one id, as `documents_of` has it."""
        return self.documents_of((id,))[0]

    def text_of(self, id: str) -> str | None:
        """Text of a chunk or of a whole document; None when the corpus has neither."""
        chunk = self.chunk_by_id.get(id)
        if chunk is not None:
            return chunk.text
        document = self.document_by_id.get(id)
        return document.text if document is not None else None

    def title_of(self, id: str) -> str:
        """The title of a document, or of that of a chunk; empty for an unknown id."""
        document = self.document_by_id.get(self.document_of(id))
        return document.title if document is not None else ""


def _on_shelf(shelf: Shelf) -> Corpus:
    return shelf.corpus()


@dataclass(frozen=True, slots=True)
class Span:
    """The place of an answer: a character range in the text of a document, or the quoted text itself."""

    document_id: str
    start: int | None = None
    end: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """A piece of text handed to a generator or judge. `id` is a chunk or document id, or `context-N`."""

    id: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class GivenResults:
    """The results of another system for a query. None: the file does not give them. `latency_ms` and `cost_usd`: what
    the answer took and cost there."""

    ranking: tuple[tuple[str, float], ...] | None = None  # (id, score), best first
    contexts: tuple[Context, ...] | None = None
    answer: str | None = None
    latency_ms: float | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class NamedContext:
    """A context that a running system reports as a source of its answer. None: it does not report them."""

    id: str | None = None
    text: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class SystemReply:
    """The reply of a running system to a question. `contexts`: best first; None: it does not report its sources.
    `keys`: of the reply that it sent, for messages. `cut_off`: it says that its answer reached a limit; `thought`: what
    its model thought, which nobody judges."""

    answer: str
    contexts: tuple[NamedContext, ...] | None = None
    keys: tuple[str, ...] = ()
    cut_off: bool = False
    thought: str = ""

    def record(self) -> dict[str, Any]:
        """The reply as JSON values."""
        named = None if self.contexts is None else [[each.id, each.text, each.score] for each in self.contexts]
        seldom = {"cut_off": self.cut_off, "thought": self.thought}
        said = {"answer": self.answer, "contexts": named, "keys": list(self.keys)}
        return {**said, **{name: value for name, value in seldom.items() if value}}


def system_reply_of(record: Mapping[str, Any]) -> SystemReply:
    """The reply that `SystemReply.record` wrote."""
    named = record["contexts"]
    contexts = None if named is None else tuple(NamedContext(*each) for each in named)
    told = record.get("cut_off", False), record.get("thought", "")
    return SystemReply(record["answer"], contexts, tuple(record["keys"]), *told)


@dataclass(frozen=True, slots=True)
class Turn:
    """A message before the question."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """Something that code can tell of an answer (runner.metrics.checks): `type` without `not-`, which is `is_not`."""

    type: str
    value: Any = None
    threshold: float | None = None
    weight: float = 1.0
    is_not: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """One question with its labels. `relevance` maps gold document ids to grades (> 0 is relevant).
    `history` holds the turns before it, oldest first. `from_memory`: asked about what is remembered of a
    conversation (contexts of which the later ones are newer), not about documents. `remembered`: such contexts beside
    the documents; None outside of conversations. Questions of one `group` depend on each other."""

    id: str
    text: str
    answerable: bool
    relevance: Mapping[str, int]
    expected_chunks: tuple[str, ...] = ()
    expected_spans: tuple[Span, ...] = ()
    answers: tuple[str, ...] = ()
    language: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    given: GivenResults = GivenResults()
    history: tuple[Turn, ...] = ()
    from_memory: bool = False
    remembered: tuple[Context, ...] | None = None
    checks: tuple[Check, ...] = ()
    group: str | None = None

    @property
    def clusters(self) -> Mapping[str, str]:
        """What the question shares with others: the group that the data names, and the first relevant document."""
        document = next((id for id, grade in self.relevance.items() if grade > 0), None)
        shared = {"group": self.group, "document": document}
        return {field: value for field, value in shared.items() if value is not None}

    @property
    def is_answerability_known(self) -> bool:
        """Whether anything tells that the question has an answer. Of an answer in a log without references, gold and
        contexts nothing does, although its row is not marked as unanswerable."""
        given = self.given
        is_answer_alone = given.answer is not None and given.ranking is None and given.contexts is None
        has_labels = bool(self.answers or self.relevance or self.expected_chunks or self.expected_spans)
        return not self.answerable or has_labels or not is_answer_alone


@dataclass(frozen=True, slots=True)
class DataProblem:
    """Something wrong in a data file. An error skips its record, a warning does not."""

    severity: Literal["error", "warning"]
    path: str
    message: str
    line: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.field}: {self.message}" if self.field else f"{where}: {self.message}"


@dataclass(frozen=True, slots=True)
class DataSet:
    """A corpus, its queries in file order, and everything that was wrong with the files."""

    corpus: Corpus
    queries: Sequence[Query]
    problems: tuple[DataProblem, ...] = ()


# --- retrieval, generation, judging ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunks for one query, best first: score descending, ties by id descending (as bytes).

    `scores` are comparable within the ranking only; `relevance` is absolute, 0..1. The three tuples have the same
    length. `legs` holds the rankings that a fusion was made of, `trajectory` what an agent did to get there.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    relevance: tuple[float, ...]
    legs: Mapping[str, Ranking] = field(default_factory=dict)
    trajectory: Trajectory | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A generated answer. `refused`: it says that there is no answer; `citations` are 1-based numbers of the contexts
    that the text cites; `cut_off` tells that the model reached its max_tokens. `thought`: what the model thought, which
    is shown and judged by nobody. An empty text is no answer, and no refusal."""

    text: str
    refused: bool = False
    citations: tuple[int, ...] = ()
    cut_off: bool = False
    thought: str = ""

    @property
    def is_silent(self) -> bool:
        """Whether there is no answer at all."""
        return not self.text.strip()

    @property
    def has_claims(self) -> bool:
        """Whether it says something that can be judged."""
        return not (self.refused or self.is_silent)

    @property
    def lost_at(self) -> Literal["", "cut_off", "no_answer"]:
        """The stage at which the answer was lost, if it is not right; empty where it arrived in full."""
        return "cut_off" if self.cut_off else "no_answer" if self.is_silent else ""


KEPT_VOTES = "kept_votes"
CLAMPED = "clamped"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of a judge. `score` is 0..1, or None when the judge failed (`error` says why). `details` is JSON:
    claims with their verdicts, matched evidence and the like. CLAMPED in it holds scores that were outside of their
    range, by their place. Where some of several votes failed, KEPT_VOTES in it
    holds the others in full, so that the same command repeats only the failed ones."""

    score: float | None
    reasoning: str = ""
    error: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether the judgement has a score, and no vote is missing."""
        return self.score is not None and not self.error and KEPT_VOTES not in self.details


Judgements = Mapping[str, Judgement]


# --- evaluation -----------------------------------------------------------------------------------

CaseT = TypeVar("CaseT")


@dataclass(frozen=True, slots=True)
class CaseSet(Generic[CaseT]):
    """The validated cases of an evaluation; `identity` maps what was read (corpus, gold …) to hashes, `documents` those
    of a corpus that is not large to short digests."""

    cases: Sequence[CaseT]
    problems: tuple[DataProblem, ...] = ()
    identity: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Preparation:
    """The result of preparing: facts that depend on the data only, and those that depend on the clock."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    timing: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scores:
    """Metric values of one case.

    `values`: a number, or None where the metric does not apply or could not be scored.
    `unscored`: names that apply but were not scored (a failed judge, a failed case).
    `weights`: weights in the mean, where not 1. `labels`: categories that the summary counts.
    """

    values: Mapping[str, float | None]
    unscored: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Timing:
    """How long one stage took; None where it was not timed alone. Only live ones (no cache, first attempt) count in
    percentiles; a stored ranking is as live as it was in the run that made it. `ms`: of the exchange that brought
    the result, `repeated_ms`: with the attempts and pauses before it; None where the first attempt did."""

    ms: float | None
    live: bool = True
    repeated_ms: float | None = None


@dataclass(frozen=True, slots=True)
class RoleCost:
    """The cost of the models of one role for one case: its own requests, each once, whether a server or the cache
    answered. An embedded text counts as a request. `usd` is None where a price is unknown."""

    requests: int
    input_tokens: int
    output_tokens: int
    usd: float | None

    @property
    def nano_usd(self) -> int | None:
        """Cost in billionths of a dollar; None where a price is not known."""
        return None if self.usd is None else round(self.usd * 1e9)


@dataclass(frozen=True, slots=True)
class Row:
    """One case with its outcome: a line of per_item.jsonl. `cost`: by role of the models that it asked. `clusters`:
    what it shares with other cases, by field (runner.protocols.Clustered). Nobody changes it."""

    id: str
    status: Status
    metrics: Mapping[str, float | None]
    output: Any
    latency_ms: float | None
    language: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    unscored: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    timings: Mapping[str, Timing] = field(default_factory=dict)
    judgements: Judgements = field(default_factory=dict)
    error: str | None = None
    stage: str | None = None
    cost: Mapping[str, RoleCost] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)


def timings_of(row: Mapping[str, Any]) -> dict[str, Timing]:
    """The timings in a line of per_item.jsonl."""
    return {stage: Timing(**timing) for stage, timing in row["timings"].items()}


def answer_of(row: Mapping[str, Any]) -> Answer:
    """The answer in a line of per_item.jsonl."""
    kept = row["output"]
    citations, cut_off = tuple(kept.get("citations", ())), kept.get("cut_off", False)
    return Answer(kept["answer"], kept["declined"], citations, cut_off, kept.get("thought", ""))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % interval. `n` cases to which the metric applies, `n_scored` of them scored.

    `value_scored` is the mean over scored cases alone; it differs from `value` only where failed
    judgements count as zero.
    """

    value: float | None
    n: int
    n_scored: int
    ci_low: float | None
    ci_high: float | None
    value_scored: float | None = None
