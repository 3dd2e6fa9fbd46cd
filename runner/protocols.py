"""The protocols of components. A component is any class with the methods of its protocol; do not inherit from these
classes.

`__init__` of a component takes keyword-only arguments of YAML types (or other components), does no
I/O, and is the schema of its YAML file. It may use `Annotated[int, Field(ge=1)]` for ranges.

OPTIONAL lists the attributes that a component may offer besides the methods of its protocol, each with an example. The
program reads them by `attribute_of`, and warns of attributes with similar names.

Results of components are checked (runner.config.result_checks): a result that breaks the protocol, and any exception
but a RunnerError, becomes an error that names the component.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from runner.errors import Problem
from runner.metrics.metric import Metric
from runner.records import (
    Answer,
    CaseSet,
    Context,
    Corpus,
    DataSet,
    Judgement,
    Judgements,
    Preparation,
    Query,
    Ranking,
    Scores,
    SystemReply,
    Timing,
)
from runner.text.chunking import Cutter, Passage


@runtime_checkable
class Preflight(Protocol):
    """A component with requirements that can be checked before a run starts: a file, a key.

    class FileDataset:
        def preflight(self) -> Sequence[Problem]:
            return [] if self.path.exists() else [Problem("dataset.path", f"no file {self.path}")]
    """

    def preflight(self) -> Sequence[Problem]:
        """The problems, such as a missing key. Called for every run of a sweep, on the machine that starts it; must not
        use the network or read whole files.

        Returns:
            Every problem, under the key of the setting that causes it; empty where nothing is missing.
        """


@runtime_checkable
class Versioned(Protocol):
    """A component whose results depend on more than its settings: the version of a library, the address of a server.
    When it changes, stored rankings, judgements and answers of the component are not used any more.

        class BertEmbedder:
            @property
            def provenance(self) -> Mapping[str, Any]:
                return {"sentence-transformers": version("sentence-transformers"), "server": self.base_url}
    """

    @property
    def provenance(self) -> Mapping[str, Any]:
        """JSON values."""


@runtime_checkable
class OutsideIdentity(Protocol):
    """A component whose settings do not affect results, such as prices: it is no part of any identity.

    class PriceList:
        not_in_identity = True
    """

    not_in_identity: bool


@runtime_checkable
class Implied(Protocol):
    """A choice that equals the behaviour before its group existed. Components that take it have the same identity as
    without it, so that older stored results stay valid.

        class FaissStore:
            is_implied = True
    """

    @property
    def is_implied(self) -> bool:
        """True for such a choice."""


@runtime_checkable
class Idling(Protocol):
    """A component that takes components without using them, so that it can be swept together with others of its group.

    class NoMemory:
        idle = ("store", "summariser")

        def __init__(self, *, store: MemoryStore, summariser: Summariser) -> None: ...
    """

    @property
    def idle(self) -> Sequence[str]:
        """The names of the unused arguments."""


@runtime_checkable
class Baseline(Protocol):
    """A generator, judge or summariser with simple rules, which reports mark as a baseline.

    class FirstSentence:
        baseline = True
    """

    baseline: bool


@runtime_checkable
class Reading(Protocol):
    """A judge that reads only some languages (two-letter codes); one without the attribute reads all.

    class WordJudge:
        languages = ("en", "ko")
    """

    languages: tuple[str, ...]


@runtime_checkable
class Limited(Protocol):
    """A judge that knows only some rubrics; one without the attribute gets any rubric.

    class WordJudge:
        rubrics = ("faithfulness", "answer_relevancy")
    """

    @property
    def rubrics(self) -> Collection[str]:
        """Names of rubrics."""


def can_judge(judge: object, rubric: str) -> bool:
    """Whether a judge knows a rubric; True where the judge does not list its rubrics."""
    known = attribute_of(judge, "rubrics")
    return known is None or rubric in known


@runtime_checkable
class Caching(Protocol):
    """A retriever or suggester that may call a model, perhaps a paid one, and caches the replies.

    class ModelRetriever:
        caches = True  # False where nothing is remembered, so that every search is live and free
    """

    @property
    def caches(self) -> bool:
        """Whether replies are cached."""


@runtime_checkable
class Concurrent(Protocol):
    """A component that waits for a model or a server, with several questions or uploads in flight, each in its own
    thread.

    class AskingReranker:
        concurrency = 8  # without it, questions go one after the other
    """

    @property
    def concurrency(self) -> int:
        """The number of questions or uploads in flight, from 1."""


@runtime_checkable
class Incidental(Protocol):
    """A component with settings that do not affect results: they are no part of its identity, and a run with other
    values can be resumed.

    class ServerSystem:
        incidental = ("timeout_ms", "max_concurrency")
    """

    incidental: Sequence[str]


class Refreshed(Protocol):
    """A component whose model replies go into stored rankings: with cache=refresh each sweep requests them once.

    class AskingAgent:
        sweep = "20260101-1" # the name of the sweep (`Models.sweep`); "" where stored rankings may be used
    """

    @property
    def sweep(self) -> str:
        """A part of the key of stored rankings."""


class MadeOfData(Protocol):
    """A component whose results depend on files beside its module: prompts, lists of words, weights.

        class PoliteJudge:
            data_files = ("prompts", "greetings.txt")

    The files count like its code (runner.system.sources): when one changes, the same command builds, ranks and judges
    again. List also modules that are imported by a computed name; other code is found automatically.
    """

    data_files: Sequence[str]
    """Files, or folders with all that is in them, relative to the folder of the module. Each must be there."""


class Workspace(Protocol):
    """A store for what is expensive to build. The program provides it; this example is for tests of a component.

    class Folders:
        cold = False

        def __init__(self, root: Path) -> None:
            self.root = self.stored_root = root

        def identity(self, component: object) -> str:
            return type(component).__name__

        def folder(self, kind: str, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
            path = self.root / kind / fingerprint(key)
            if not path.exists():
                path.mkdir(parents=True)
                build(path)
            return path
    """

    @property
    def root(self) -> Path:
        """The root folder; a component may keep a database here that grows while it is used."""

    @property
    def stored_root(self) -> Path:
        """The folder from which such a database is read: `root`, except in a rehearsal, whose `root` is a folder that
        no run reads."""

    @property
    def cold(self) -> bool:
        """True where nothing that earlier runs stored may be read."""

    def identity(self, component: object) -> str:
        """The identity of a component.

        Args:
            component: a component of this run.

        Returns:
            A hash over its settings and its source (runner.system.sources), its own components included.
        """

    def folder(self, kind: str, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        """A folder that is built once for all processes.

        Args:
            kind: what it holds, such as `index`: the name of a folder below `root`.
            key: JSON values on which the content depends.
            build: fills the empty folder that it gets; called where the folder is missing, damaged, foreign or built
                by other code.

        Returns:
            The folder. Its files must not be changed later.
        """


class Dataset(Protocol):
    """Documents, and questions about them.

    class Faq:
        def __init__(self, *, path: str, chunker: Chunker) -> None:
            self.path, self.chunker = path, chunker

        def load(self) -> DataSet:
            entries = json.loads(Path(self.path).read_text(encoding="utf-8"))
            documents = [Document(entry["id"], entry["answer"]) for entry in entries]
            queries = [Query(entry["id"], entry["question"], True, {entry["id"]: 1}) for entry in entries]
            return DataSet(build_corpus(documents, self.chunker), queries)
    """

    def load(self) -> DataSet:
        """Read and check the data.

        Returns:
            The corpus, its queries, and problems of the files.

        Raises:
            DataError: the queries cannot be used.
            CorpusError: the documents cannot be used.
        """


class Chunker(Protocol):
    r"""Splits documents into the chunks that are indexed.

    class Lines:
        def passages(self, text: str) -> Sequence[Passage]:
            return [Passage(found.start(), found.end(), ()) for found in re.finditer(r"\S.*", text)]
    """

    def passages(self, text: str) -> Sequence[Passage]:
        """Split one text.

        Args:
            text: a document.

        Returns:
            The passages in the order of the text; none for a blank text.
        """


@runtime_checkable
class Cutting(Protocol):
    """A chunker that cuts by the rules of this program. Its passages are kept for later runs.

    class Paragraphs:
        @property
        def cutter(self) -> Cutter:
            return Cutter(max_chars=600)

        def passages(self, text: str) -> Sequence[Passage]:
            return self.cutter.passages(text)
    """

    @property
    def cutter(self) -> Cutter:
        """The object that cuts texts, with nothing added by `passages`."""


class Tokenizer(Protocol):
    """Splits texts into the tokens that a keyword index counts.

    class Words:
        def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
            return [text.lower().split() for text in texts]
    """

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Args:
            texts: queries or chunks, in any language.

        Returns:
            The tokens of each text in its order, repeats included; an empty list for a text without any.
        """


class Embedder(Protocol):
    """Turns texts into vectors.

    class Letters:
        def prepare(self, texts: Sequence[str], workspace: Workspace) -> None:
            self.letters = sorted(set("".join(texts)))

        def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
            counts = np.array([[text.count(letter) for letter in self.letters] for text in texts], dtype=np.float32)
            return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)
    """

    def prepare(self, texts: Sequence[str], workspace: Workspace) -> None:
        """Fit on the texts of a corpus, or open a store for them. Called once before `embed`.

        Args:
            texts: all passages, in the order of the corpus.
            workspace: where indexes and stored vectors are kept.
        """

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        """Turn texts into vectors.

        Args:
            texts: any number of texts.
            kind: whether they are queries or passages of the corpus, which some models embed differently.

        Returns:
            float32 [n_texts, dim], rows L2-normalised; a row of zeros for a text without features.
        """


@runtime_checkable
class CachedEmbedder(Embedder, Protocol):
    """An embedder that calls a model, perhaps a paid one, and caches the vectors.

    class ServerEmbedder:
        def is_cached(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[bool]:
            return [(kind, text) in self.vectors for text in texts]

        def warm_up(self) -> None:
            self.client.connect()
    """

    def is_cached(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[bool]:
        """Args:
            texts: any number of texts.
            kind: as for `embed`.

        Returns:
            For each text, whether its vector is cached.
        """

    def warm_up(self) -> None:
        """Load what the first text would load. Must cost nothing and cache nothing."""


@runtime_checkable
class Vectorless(Protocol):
    """An embedder that may have no vectors; nothing is compared by vectors then.

    class NoEmbedder:
        has_vectors = False
    """

    @property
    def has_vectors(self) -> bool:
        """False where `embed` returns vectors of length 0."""


@runtime_checkable
class Fitted(Protocol):
    """An embedder that is fitted on the texts passed to `prepare`, so all texts must be known before the first is
    embedded.

    class TopicEmbedder:
        is_fitted = True
    """

    @property
    def is_fitted(self) -> bool:
        """True where the vectors of a text depend on the other texts."""


@runtime_checkable
class Weighed(Protocol):
    """An embedder, or a retriever with vectors, that knows the weight of a keyword leg beside it.

    class ServerEmbedder:
        keyword_weight = 0.3
    """

    @property
    def keyword_weight(self) -> float | None:
        """0..1: the share of the keyword leg in a convex fusion; None where it is unknown."""


@runtime_checkable
class Rehearsing(Protocol):
    """An embedder or agent that can count model requests without sending them.

    class ServerEmbedder:
        @property
        def is_rehearsed(self) -> bool:
            return self.model.is_rehearsed
    """

    @property
    def is_rehearsed(self) -> bool:
        """True while vectors may be made up, of any length."""


class Retriever(Protocol):
    """Finds the chunks for a query.

    class SharedWords:
        def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
            self.chunks = {chunk.id: set(chunk.text.split()) for chunk in corpus.chunks}
            return {"kind": "shared words"}

        def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
            return [self.rank(set(query.text.split()), depth) for query in queries]

        def rank(self, words: set[str], depth: int) -> Ranking:
            shares = {id: len(words & held) / len(words) for id, held in self.chunks.items() if words & held}
            best = sorted(shares, key=lambda id: (shares[id], id), reverse=True)[:depth]
            scores = tuple(shares[id] for id in best)
            return Ranking(tuple(best), scores, relevance=scores)
    """

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        """Build the index of a corpus, or load it.

        Args:
            corpus: documents and chunks.
            workspace: where the index is kept.

        Returns:
            Facts for the report (kind, size_bytes, dim …).
        """

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Rank the chunks for each query.

        Args:
            queries: any number of queries.
            depth: how many chunks to return for each, from 1.

        Returns:
            For each query the `depth` best chunks (fewer where fewer match), without repeats, by descending score.
            Another order is an error. Ties are sorted as in trec_eval, by id descending.
        """


@runtime_checkable
class CachedRetriever(Retriever, Protocol):
    """A retriever that may call a model, perhaps a paid one, and cache the replies.

    class ServerRetriever:
        caches = True

        def is_cached(self, queries: Sequence[Query]) -> list[bool]:
            return [query.text in self.replies for query in queries]

        def warm_up(self) -> None:
            self.client.connect()
    """

    @property
    def caches(self) -> bool:
        """False where nothing is cached, so that every search is live and free."""

    def is_cached(self, queries: Sequence[Query]) -> list[bool]:
        """Args:
            queries: any number of queries.

        Returns:
            For each query, whether its replies are cached, so that its latency says nothing.
        """

    def warm_up(self) -> None:
        """Load what the first search would load. Must cost nothing and cache nothing."""


@runtime_checkable
class RemoteRetriever(Retriever, Protocol):
    """A retriever that may wait for a server. The event loop of a run awaits it, with `concurrency` (Concurrent)
    batches of queries at once; one without the attribute is searched in a thread.

    class ServerRetriever:
        is_remote = True
        concurrency = 4

        async def search_async(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
            return [ranking_of(hits) for hits in await self.client.search([query.text for query in queries], depth)]
    """

    @property
    def is_remote(self) -> bool:
        """False where no server is asked; `search` is called then."""

    async def search_async(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Rank the chunks for each query. Cancelled where it is late, and where the run is interrupted; it then leaves
        no request behind.

        Args:
            queries: any number of queries. Without any it connects, for the clock to start afterwards.
            depth: how many chunks to return for each, from 1.

        Returns:
            What `search` returns.
        """


@runtime_checkable
class Closing(Protocol):
    """A retriever that keeps connections or files open after `index`. A later search opens them again.

    class ServerRetriever:
        def close(self) -> None:
            self.client.close()
    """

    def close(self) -> None:
        """Called after all queries of a run were ranked."""


@runtime_checkable
class TextTelling(Protocol):
    """A retriever whose hits have texts of their own, which contexts then hold in place of those of the corpus.

    class ServerRetriever:
        def texts_of(self, ids: Sequence[str]) -> list[str] | None:
            return self.client.texts(ids)
    """

    def texts_of(self, ids: Sequence[str]) -> list[str] | None:
        """The texts of chunks. Called once a run, with all ids that become contexts, before `close`.

        Args:
            ids: of chunks.

        Returns:
            The texts in the order of the ids; None where the texts of the corpus are used.
        """


@runtime_checkable
class Reference(Protocol):
    """A retriever that serves as a reference for systems. It may read the labels, its runs are marked, and recorded
    contexts of a question do not replace its results.

        class Oracle:
            reference = "gold" # its name in reports
    """

    @property
    def reference(self) -> str:
        """The name of the reference in reports."""


@runtime_checkable
class Foreign(Protocol):
    """A retriever that may return ids that the corpus does not have.

    class GivenRanking:
        foreign_ids = True
    """

    @property
    def foreign_ids(self) -> bool:
        """True where ids outside of the corpus are allowed."""


@runtime_checkable
class AnswerScored(Protocol):
    """A retriever whose best hits get an answer score from their text (runner.retrieval.answerability), which is
    compared with `min_score`. Without it, `min_score` is compared with the relevance of the best hit.

    class ServerRetriever:
        answer_model = "semantic" # keyword | semantic | hybrid: the model fitted on such a retriever
    """

    @property
    def answer_model(self) -> str | None:
        """keyword, semantic or hybrid; None for the relevance of the best hit."""


class Generator(Protocol):
    """Answers a question from chunks.

    class FirstSentence:
        async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
            if not contexts:
                return Answer("I do not know.", refused=True)
            return Answer(f"{contexts[0].text.split('. ')[0]} [1]", citations=(1,))
    """

    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        """Answer a question.

        Args:
            query: the question, with its language and the turns before it.
            contexts: the k best chunks, best first; they are cited by their numbers, from 1.

        Returns:
            The answer, its citations, and whether it refuses.

        Raises:
            EvaluationError: this question cannot be answered, but others may.
            StopRunError, InputError: no question can be answered.
        """


@runtime_checkable
class Declining(Protocol):
    """A generator that is not called where retrieval finds too little: the evaluation declines with a fixed sentence in
    the language of the question. `refuse_below`: the score of the best hit (0..1) below which it does; None: never.

    class ServerGenerator:
        def __init__(self, *, refuse_below: float | None = None) -> None:
            self.refuse_below = refuse_below
    """

    refuse_below: float | None


@runtime_checkable
class Logged(Protocol):
    """A generator whose answers were given before the run: what it takes to repeat them says nothing of their latency
    and cost, which are those of the log (`GivenResults`).

    class GivenAnswers:
        is_logged = True
    """

    is_logged: bool


class System(Protocol):
    """A running system that answers questions in place of the retriever and the generator of the configuration.
    `repeats`: how often each question is asked.

        class LocalSystem:
            repeats = 1

            async def ask(self, query: Query, repeat: int = 0) -> SystemReply:
                said = await self.client.ask(query.text)
                return SystemReply(said.text, tuple(NamedContext(id=id) for id in said.sources))

            @asynccontextmanager
            async def open(self) -> AsyncIterator[None]:
                async with self.client:
                    yield
    """

    repeats: int

    async def ask(self, query: Query, repeat: int = 0) -> SystemReply:
        """Answer a question.

        Args:
            query: the question, with its language and the turns before it.
            repeat: which of the repeats this is, from 0.

        Returns:
            The answer, and the contexts where the system names them.

        Raises:
            EvaluationError: this question cannot be answered, but others may.
            StopRunError, InputError: no question can be answered.
        """

    def open(self) -> AbstractAsyncContextManager[None]:
        """A context that is entered before the first question and left after the last one."""


@runtime_checkable
class Within(Protocol):
    """The system that stands for the retriever and the generator of the configuration.

    class NoSystem:
        is_within = True
    """

    @property
    def is_within(self) -> bool:
        """True where `ask` is never called."""


@runtime_checkable
class Prompting(Protocol):
    """A generator that calls a model and can show the messages that it would send.

    class ServerGenerator:
        def messages(self, query: Query, contexts: Sequence[Context]) -> Sequence[tuple[str, str]]:
            return [("system", self.rules), ("user", self.prompt(query, contexts))]
    """

    def messages(self, query: Query, contexts: Sequence[Context]) -> Sequence[tuple[str, str]]:
        """Args:
            query: the question.
            contexts: as for `generate`.

        Returns:
            (role, text) of the messages that `generate` would send, in order.
        """


class Judge(Protocol):
    """Scores answers. `on_failure`: whether a failed judgement counts as 0 ("zero") or not at all ("exclude").

    class Length:
        on_failure = "zero"

        async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
            n_words = len(fields["answer"].split())
            return Judgement(1.0 if n_words <= 50 else 0.0, f"The answer has {n_words} words.")
    """

    on_failure: Literal["zero", "exclude"]

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        """Judge a case by a rubric.

        Rubrics and fields: `faithfulness` (question, answer, contexts: Sequence[Context]), `answer_relevancy`
        (question, answer), `answer_correctness` (question, answer, references: Sequence[str], of which any one is
        enough), `context_precision` and `context_recall` (question, references, contexts); all with language
        (ko, en, or None to be told from the question) and, in a conversation, history (Sequence[Turn] before the
        question). Others: runner/llm/rubrics.

        Args:
            rubric: its name.
            fields: what the rubric reads, by name.

        Returns:
            A judgement with a score of 0..1 and a reason; with an error where judging this case fails.

        Raises:
            StopRunError, InputError: no case can be judged.
        """


@runtime_checkable
class HealthChecked(Protocol):
    """A judge that also judges control items, whose right judgement is known (runner.llm.health).

    class ServerJudge:
        def __init__(self, *, health: bool = True) -> None:
            self.health = health
    """

    @property
    def health(self) -> bool:
        """Whether it judges control items."""


@runtime_checkable
class Completing(Protocol):
    """A judge with several votes or models that can repeat single failed votes (runner.llm.votes). Judgements of other
    judges are never completed.

    class PanelJudge:
        async def complete(self, rubric: str, fields: Mapping[str, Any], earlier: Judgement) -> Judgement:
            kept = kept_votes(earlier)
    """

    async def complete(self, rubric: str, fields: Mapping[str, Any], earlier: Judgement) -> Judgement:
        """Repeat the failed votes of an earlier judgement.

        Args:
            rubric: its name.
            fields: as for `judge`.
            earlier: a judgement of this judge in which votes failed.

        Returns:
            What `judge` would have returned with these votes.
        """


@runtime_checkable
class Learning(Protocol):
    """A judge that can judge by criteria that it is given, besides its own rubrics.

    class ServerJudge:
        def learn(self, rubrics: Mapping[str, Criteria]) -> None:
            self.learned = {**self.learned, **rubrics}
    """

    def learn(self, rubrics: Mapping[str, Any]) -> None:
        """Add rubrics. From then on `judge` accepts their names, and `provenance` has their digests among its
        `rubrics`.

        Args:
            rubrics: a runner.llm.criteria.Criteria by name.
        """


CaseT = TypeVar("CaseT")
OutputT = TypeVar("OutputT", bound="Output")


class Case(Protocol):
    """The attributes of a case that the engine needs.

    @dataclass(frozen=True)
    class Email:
        id: str
        text: str
        language: str | None = None
        difficulty: str | None = None
        tags: tuple[str, ...] = ()
    """

    @property
    def id(self) -> str:
        """Unique among the cases of a run."""

    @property
    def language(self) -> str | None:
        """A two-letter code; None where it is unknown."""

    @property
    def difficulty(self) -> str | None:
        """The slice of the case in reports; None for none."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Any number of further slices."""


class Clustered(Protocol):
    """Optional for a case: what it shares with others, so that they are not independent of each other.

    @dataclass(frozen=True)
    class Reply:
        id: str
        thread: str

        @property
        def clusters(self) -> Mapping[str, str]:
            return {"conversation": self.thread}
    """

    @property
    def clusters(self) -> Mapping[str, str]:
        """Field -> value that other cases may have as well. `cluster=auto` takes the first of group, conversation and
        document that there is, `cluster=FIELD` that field."""


class Evaluation(Protocol[CaseT, OutputT]):
    """Defines what happens to one case; the engine does everything else.

    class Tone:
        def __init__(self, *, dataset: Emails, generator: Generator, judge: Judge) -> None:
            self.dataset, self.generator, self.judge_ = dataset, generator, judge

        def load(self) -> CaseSet[Email]:
            return CaseSet(self.dataset.emails(), identity={"emails": fingerprint(self.dataset.path)})

        async def prepare(self, cases: Sequence[Email], workspace: Workspace) -> Preparation:
            return Preparation({"emails": len(cases)})

        async def run(self, case: Email) -> ToneOutput:
            return ToneOutput((await self.generator.generate(Query(case.id, case.text), ())).text)

        async def judge(self, case: Email, output: ToneOutput) -> Judgements:
            return {"tone": await self.judge_.judge("tone", {"answer": output.answer})}

        def score(self, case: Email, output: ToneOutput | None, judgements: Judgements) -> Scores:
            if output is None:
                return Scores({}, unscored=("tone",))
            return Scores({"tone": judgements["tone"].score})
    """

    def load(self) -> CaseSet[CaseT]:
        """Read and check all cases.

        Returns:
            The cases in the order of the data, problems of the files, and the identity of what scores depend on.

        Raises:
            DataError, CorpusError: the data cannot be used.
        """

    async def prepare(self, cases: Sequence[CaseT], workspace: Workspace) -> Preparation:
        """Prepare what cases share: indexes, rankings of all queries. Called once, before the first `run`.

        Args:
            cases: those of this pass.
            workspace: where indexes and rankings are kept.

        Returns:
            Facts for the report.
        """

    async def run(self, case: CaseT) -> OutputT:
        """Run a case in the system under test. An exception makes a failed case.

        Args:
            case: one case.

        Returns:
            What the system did; it is judged and scored next.
        """

    async def judge(self, case: CaseT, output: OutputT) -> Judgements:
        """Judge the output of a case.

        Args:
            case: one case.
            output: what `run` returned.

        Returns:
            Judgements by rubric; empty where nothing is judged.
        """

    def score(self, case: CaseT, output: OutputT | None, judgements: Judgements) -> Scores:
        """Compute the metric values of a case; a pure function.

        Args:
            case: one case.
            output: what `run` returned; None for a failed case.
            judgements: what `judge` returned.

        Returns:
            The values by metric. Of a failed case all metrics that would apply are `unscored`.
        """


@runtime_checkable
class Measuring(Protocol):
    """An evaluation that declares its metrics. An undeclared metric is shown without a grade, and gets no verdicts.

    class Tone:
        metrics = (
            Metric(
                name="toxicity",
                better="lower",
                label={"en": "Toxicity", "ko": "유해성"},
                meaning={"en": "Share of insulting words.", "ko": "모욕적인 단어의 비율"},
                main=True,
            ),
        )
    """

    @property
    def metrics(self) -> Sequence[Metric]:
        """The metrics, each once, in the order of reports."""


@runtime_checkable
class JudgeChecking(Protocol):
    """An evaluation that checks whether its judge can be trusted.

    class Tone:
        async def check_judge(self) -> Mapping[str, Any]:
            items = (ControlItem("kind", {"answer": "With pleasure."}, "pass"), ...)
            return {"judge_health": await check_health(self.judge_, [Controls("tone", items)])}
    """

    async def check_judge(self) -> Mapping[str, Any]:
        """Check the judge. Called once a run, after `prepare`; may send model requests.

        Returns:
            Facts for the report.
        """


@runtime_checkable
class Rejudging(Protocol):
    """An evaluation that can add missing judgements to a case of an earlier command without running the case again.
    Cases of other evaluations are run again, with the stored replies of models.

        class Tone:
            async def restore(self, case: Query, row: Mapping[str, Any]) -> ToneOutput | None:
                return ToneOutput(row["output"]["answer"]) if row["output"] else None

            async def judge_missing(self, case: Query, output: ToneOutput, judgements: MutableMapping) -> None:
                if "tone" not in judgements:
                    judgements["tone"] = await self.judge_.judge("tone", {"answer": output.answer})
    """

    async def restore(self, case: Any, row: Mapping[str, Any]) -> Any | None:
        """Rebuild the output of a case that an earlier command ran.

        Args:
            case: one case.
            row: its row of per_item.jsonl.

        Returns:
            What `run` returned then; None where the row does not hold enough, and the case must be run again.
        """

    async def judge_missing(self, case: Any, output: Any, judgements: MutableMapping[str, Judgement]) -> None:
        """Add missing judgements, each as soon as it is there, and complete those with failed votes (`judge_missing` of
        runner.llm.votes does both).

        Args:
            case: one case.
            output: what `restore` returned.
            judgements: those that exist, by rubric; new ones are added here.
        """


@runtime_checkable
class Opening(Protocol):
    """An evaluation that keeps something open, from before `prepare` until after the last case.

    class Chat:
        @asynccontextmanager
        async def open(self) -> AsyncIterator[None]:
            async with self.store.open():
                yield
    """

    def open(self) -> AbstractAsyncContextManager[None]:
        """A context that is entered once a run, before `prepare`, and left after the last case."""


@runtime_checkable
class Summing(Protocol):
    """An evaluation with further numbers over all cases, besides means and counts.

    class Tone:
        def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
            return {"longest_answer": max(len(row["output"]["answer"]) for row in rows)}
    """

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Sum up all cases.

        Args:
            rows: of per_item.jsonl, in case order; may be read once only.

        Returns:
            Further entries of summary.json. `timing` may hold further stages of `latency` only.
        """


@runtime_checkable
class Projecting(Protocol):
    """An evaluation that can project the monthly cost from the requests of a user (runner.llm.projection).

    class Chat:
        def __init__(self, *, projection: Projection) -> None:
            self.projection = projection
    """

    @property
    def projection(self) -> Any:
        """A runner.llm.projection.Projection, or None."""


@runtime_checkable
class Separable(Protocol):
    """An evaluation in which what a case asks of models does not depend on the cases before it. The cost of a run of
    many cases is then estimated from a sample of them.

    class Tone:
        is_separable = True
    """

    is_separable: bool


@runtime_checkable
class Calling(Protocol):
    """An evaluation that says how many requests to models its method needs at least for a case, as a measure beside
    the planned number.

    class AnsweredAndJudged:
        calls_per_case = 3  # an answer, two judgements
    """

    calls_per_case: int


class Scorer(Protocol):
    """A choice of `metric`: computes further values of a case. `metrics` holds their records (Measuring).

    class Length:
        metrics = (
            Metric(name="length", better="neither", label={"en": "Length", "ko": "길이"}, range=(0, math.inf)),
        )

        def score(self, case: Query, output: RagOutput, judgements: Judgements) -> Scores:
            return Scores({"length": len(output.answer.text)})
    """

    def score(self, case: Any, output: Any, judgements: Judgements) -> Scores:
        """Compute the values of a case; a pure function. Not called for a failed case, where all metrics of the choice
        are unscored.

        Args:
            case: a case of the evaluation.
            output: what its `run` returned.
            judgements: by rubric, with those of this choice.

        Returns:
            The values by metric.
        """


@runtime_checkable
class Named(Protocol):
    """A choice of `metric` whose metric has the name of the choice: that of `metric.tone` is `tone`.

    class Rubric:
        def set_name(self, name: str) -> None:
            self.name = name
    """

    def set_name(self, name: str) -> None:
        """Called once, before anything else.

        Args:
            name: that of the choice, such as `tone` of `metric.tone`.
        """


@runtime_checkable
class Offering(Protocol):
    """A choice of `metric` that stands for metrics of the evaluation itself. Without further `metrics` its `score` is
    not called.

    class Offered:
        offered_metrics = ("recall", "mrr")
    """

    @property
    def offered_metrics(self) -> Sequence[str]:
        """The names of metrics of the evaluation."""


@runtime_checkable
class Asking(Protocol):
    """A choice of `metric` that uses the judge of the evaluation.

    class Tone:
        rubrics = {"tone": Criteria(...)}
        controls = (Controls("tone", (ControlItem("kind", {"answer": "With pleasure."}, "pass"), ...)),)

        def judge_fields(self, shown: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
            return {"tone": {"answer": shown["answer"]}}
    """

    @property
    def rubrics(self) -> Mapping[str, Any]:
        """The rubrics for the judge (runner.llm.criteria.Criteria), by name. The scores are metrics of these names."""

    @property
    def controls(self) -> Sequence[Any]:
        """The control items of its rubrics (runner.llm.health.Controls); may be empty."""

    def judge_fields(self, shown: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
        """The fields for the judge.

        Args:
            shown: the fields that the evaluation shows of a case.

        Returns:
            Rubric -> fields; without rubrics that do not apply to the case.
        """


@runtime_checkable
class CaseChecking(Protocol):
    """A choice of `metric=` whose judgement is that of the checks of a case alone, by which `right` is decided, too.

    class Checks:
        is_of_cases = True
    """

    @property
    def is_of_cases(self) -> bool:
        """False where checks of the whole set are mixed in."""


@runtime_checkable
class SelfJudging(Protocol):
    """A choice of `metric` that judges a case itself, without the judge.

    class Length:
        async def judge_case(self, case: Query, shown: Mapping[str, Any]) -> Mapping[str, Judgement]:
            return {"length": Judgement(min(1.0, 100 / len(shown["answer"])), f"{len(shown['answer'])} characters")}
    """

    async def judge_case(self, case: Any, shown: Mapping[str, Any]) -> Mapping[str, Judgement]:
        """Judge a case.

        Args:
            case: a case of the evaluation.
            shown: the fields of rubrics, and `citations`, `documents` (ids, by the number of a context), `latency_ms`
                and `cost_usd` of the case so far.

        Returns:
            Metric -> judgement; empty where none applies.
        """


@runtime_checkable
class Preparing(Protocol):
    """A choice of `metric` that builds or opens something before the first case.

    class Similar:
        def prepare(self, cases: Sequence[Query], workspace: Workspace) -> None:
            self.embedder.prepare([case.text for case in cases], workspace)
    """

    def prepare(self, cases: Sequence[Any], workspace: Workspace) -> None:
        """Called once a run, in a thread of its own.

        Args:
            cases: those of the pass.
            workspace: where expensive results are kept.
        """


class Tracking(Protocol):
    """Stores finished runs for comparison. Reads folders of runs and sweeps, never a run in flight.

    class Archive:
        def __init__(self, *, folder: str) -> None:
            self.folder = Path(folder)

        def prepare(self) -> None:
            self.folder.mkdir(parents=True, exist_ok=True)

        def upload(self, folder: Path) -> str | None:
            return shutil.make_archive(str(self.folder / folder.name), "zip", folder)

        def upload_sweep(self, folder: Path) -> str | None:
            return None
    """

    def prepare(self) -> None:
        """Create what several uploading processes would otherwise race to create. Called once, in the
        parent process, before the first upload. All three methods raise TrackingError."""

    def upload(self, folder: Path) -> str | None:
        """Upload a run folder, or update what was uploaded from it before.

        Args:
            folder: of a finished run.

        Returns:
            The id of the run in the store; None where it has no ids.

        Raises:
            TrackingError: the store cannot be reached, or refuses.
        """

    def upload_sweep(self, folder: Path) -> str | None:
        """Upload the summary of a sweep folder; its runs go through `upload`, which raises the same.

        Args:
            folder: of a finished sweep.

        Returns:
            The id of the sweep; None where the store has no ids.
        """


class Output(Protocol):
    """The result of `run`: the times of its stages, and its part of the row (JSON).

    @dataclass(frozen=True)
    class ToneOutput:
        answer: str
        timings: Mapping[str, Timing] = field(default_factory=dict)

        def record(self) -> Mapping[str, Any]:
            return {"answer": self.answer}
    """

    @property
    def timings(self) -> Mapping[str, Timing]:
        """The time of each stage, without waiting in queues and without cached results. Their sum is the latency of the
        case. Without stages the whole `run` is timed; name all stages or none."""

    def record(self) -> Mapping[str, Any]:
        """Returns:
        The part of the row of the case, as JSON values.
        """


# --- what a component may offer ---------------------------------------------------------------------

# Optional attributes of every component.
ANY = (
    *(Preflight, Versioned, OutsideIdentity, Implied, Idling, Baseline, Caching, Concurrent, Refreshed, MadeOfData),
    Incidental,
)
OPTIONAL: Mapping[type, tuple[type, ...]] = {  # by protocol; other modules with protocols have one, too
    Retriever: (CachedRetriever, RemoteRetriever, Reference, Foreign, AnswerScored, Weighed, TextTelling, Closing),
    Chunker: (Cutting,),
    Embedder: (CachedEmbedder, Vectorless, Rehearsing, Fitted, Weighed),
    Generator: (Declining, Prompting, Logged),
    System: (Within,),
    Judge: (Completing, HealthChecked, Limited, Reading, Learning),
    Scorer: (Measuring, Named, Offering, Asking, SelfJudging, CaseChecking, Preparing),
    Case: (Clustered,),
    Evaluation: (Measuring, JudgeChecking, Opening, Rejudging, Summing, Projecting, Separable, Calling),
}


def optional_of(role: type) -> tuple[type, ...]:
    """The optional attributes of a protocol, from the OPTIONAL of its module."""
    listed = getattr(sys.modules.get(role.__module__), "OPTIONAL", {})
    return tuple(listed.get(role, ())) if isinstance(listed, Mapping) else ()


# Default of a missing optional attribute.
ABSENT: Mapping[str, Any] = {
    "provenance": {},
    "clusters": {},
    "not_in_identity": False,
    "is_implied": False,
    "idle": (),
    "incidental": (),
    "is_within": False,
    "is_remote": False,
    "filters": False,
    "tells": False,
    "ranks_words": False,
    "baseline": False,
    "caches": False,
    "concurrency": 1,
    "has_vectors": True,
    "cutter": None,
    "is_rehearsed": False,
    "is_fitted": False,
    "keyword_weight": None,
    "foreign_ids": False,
    "health": False,
    "languages": None,
    "rubrics": None,
    "projection": None,
    "is_separable": False,
    "calls_per_case": None,
    "refuse_below": None,
    "is_logged": False,
    "is_of_cases": False,
    "answer_model": None,
    "sweep": "",
}


def attribute_of(component: object, name: str) -> Any:
    """An optional attribute of a component.

    Args:
        component: any component.
        name: an attribute of ABSENT.

    Returns:
        Its value, or the default of ABSENT where the component has none.

    Raises:
        KeyError: ABSENT has no such name.
    """
    absent = ABSENT[name]
    return getattr(component, name, absent)
