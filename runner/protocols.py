"""What a component must offer, and what it may. A component is any class that fits; nothing here is inherited from.

`__init__` of a component takes keyword-only arguments of YAML types (or other components), does no
I/O, and is the schema of its YAML file. It may use `Annotated[int, Field(ge=1)]` for ranges.

What a component may offer besides the methods of its protocol stands in OPTIONAL, each with an example. The program
reads such an attribute by `offered`, and warns of an attribute whose name comes close to one of them.

What comes out of a component is checked (runner.config.doors): an answer of another form than its protocol has is an
error that names it, as is whatever it raises that is no RunnerError.
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
from runner.text.chunking import Passage


@runtime_checkable
class Preflight(Protocol):
    """A component that needs something which can be looked for before any run starts: a file, a key.

    class FileDataset:
        def preflight(self) -> Sequence[Problem]:
            return [] if self.path.exists() else [Problem("dataset.path", f"no file {self.path}")]
    """

    def preflight(self) -> Sequence[Problem]:
        """Everything that is missing, by the key of the setting that asks for it. Asks no network and reads
        no file to its end: it is called for every run of a sweep, on the machine that starts it."""


@runtime_checkable
class Versioned(Protocol):
    """A component whose results depend on more than its settings: the version of a library, the address of a server.
    Where it changes, what was ranked, judged and answered with it is made again.

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
    """A component whose settings change no result, such as prices: it is no part of any identity.

    class PriceList:
        not_in_identity = True
    """

    not_in_identity: bool


@runtime_checkable
class Implied(Protocol):
    """A choice that is what its place was before it could be chosen: what takes it has the identity that it has
    without it, so that what was stored and measured then stands.

        class FaissStore:
            is_implied = True
    """

    @property
    def is_implied(self) -> bool:
        """True where it is no part of any identity."""


@runtime_checkable
class Idling(Protocol):
    """A component that takes components which it does not use, so that its sisters can be swept with it.

    class NoMemory:
        idle = ("store", "summariser")

        def __init__(self, *, store: MemoryStore, summariser: Summariser) -> None: ...
    """

    @property
    def idle(self) -> Sequence[str]:
        """Names of arguments."""


@runtime_checkable
class Baseline(Protocol):
    """A generator, judge or summariser that works by simple rules and is there to be beaten: reports say so.

    class FirstSentence:
        baseline = True
    """

    baseline: bool


@runtime_checkable
class Reading(Protocol):
    """A judge that reads some languages only, as codes of two letters; a model reads them all.

    class WordJudge:
        languages = ("en", "ko")
    """

    languages: tuple[str, ...]


@runtime_checkable
class Limited(Protocol):
    """A judge that knows some rubrics only, by name; one without the attribute is asked by any.

    class WordJudge:
        rubrics = ("faithfulness", "answer_relevancy")
    """

    @property
    def rubrics(self) -> Collection[str]:
        """Names of rubrics."""


def can_judge(judge: object, rubric: str) -> bool:
    """Whether a judge knows a rubric, as far as it says which it knows."""
    known = offered(judge, "rubrics")
    return known is None or rubric in known


@runtime_checkable
class Caching(Protocol):
    """A retriever or suggester that may ask a model, perhaps a paid one, and remembers what it said.

    class ModelRetriever:
        caches = True  # False where nothing is remembered, so that every search is live and free
    """

    @property
    def caches(self) -> bool:
        """Whether replies are remembered."""


@runtime_checkable
class Concurrent(Protocol):
    """A component that asks a model, with several questions under way at once, each in a thread of its own.

    class AskingReranker:
        concurrency = 8  # without it, questions go one after the other
    """

    @property
    def concurrency(self) -> int:
        """How many questions may be under way at once, from 1."""


@runtime_checkable
class Incidental(Protocol):
    """A component with settings that decide how something is done, not what comes out: they are no part of its
    identity, and what was done with others is gone on with.

    class ServerSystem:
        incidental = ("timeout_ms", "max_concurrency")
    """

    incidental: Sequence[str]


class Refreshed(Protocol):
    """A component whose part in stored rankings is replies of models: cache=refresh asks for them once in each sweep.

    class AskingAgent:
        sweep = "20260101-1"  # the name of the sweep (`Models.sweep`); "" where what is stored will do
    """

    @property
    def sweep(self) -> str:
        """A part of the key under which rankings are stored."""


class MadeOfData(Protocol):
    """A component whose results depend on files that lie beside its module: prompts, lists of words, weights.

        class PoliteJudge:
            data_files = ("prompts", "greetings.txt")

    They count like its code (runner.system.sources): when one changes, what was built, ranked and judged with it is
    made again by the same command. Code needs no such list, but for modules whose names are put together
    while the program runs.
    """

    data_files: Sequence[str]
    """Files, or folders with all that is in them, relative to the folder of the module. Each must be there."""


class Workspace(Protocol):
    """Where components keep what is expensive to build. The program makes it; this one is for tests of a component.

    class Folders:
        cold = False

        def __init__(self, root: Path) -> None:
            self.root = self.stored = root

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
        """The folder of all of it; a store that grows while it is used keeps a database of its own here."""

    @property
    def stored(self) -> Path:
        """Where a store of its own reads what earlier runs have stored: `root`, but in a rehearsal, which writes to a
        folder that no run reads."""

    @property
    def cold(self) -> bool:
        """True when nothing stored by an earlier run may be read."""

    def identity(self, component: object) -> str:
        """Hash over the settings of a component and what it is made of (runner.system.sources), its own components
        included."""

    def folder(self, kind: str, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        """The folder of this kind with this key (JSON values); `build(path)` fills it when it is
        missing, damaged, foreign or built by other code, once for all processes. Its files must not be changed
        later."""


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
        """Raises DataError for unusable queries and CorpusError for unusable documents."""


class Chunker(Protocol):
    r"""Cuts documents into the chunks that are indexed.

    class Lines:
        def passages(self, text: str) -> Sequence[Passage]:
            return [Passage(found.start(), found.end(), ()) for found in re.finditer(r"\S.*", text)]
    """

    def passages(self, text: str) -> Sequence[Passage]:
        """Stretches of a text, in its order; none for a blank one."""


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
        """Fit on, or open a store for, the texts of a corpus. Called once before `embed`."""

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        """float32 [n_texts, dim], rows L2-normalised (a row of zeros where a text has no features)."""


@runtime_checkable
class CachedEmbedder(Embedder, Protocol):
    """An embedder that asks a model, perhaps a paid one, and remembers what it said.

    class ServerEmbedder:
        def is_cached(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[bool]:
            return [(kind, text) in self.vectors for text in texts]

        def warm_up(self) -> None:
            self.client.connect()
    """

    def is_cached(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[bool]:
        """Which texts would be answered from memory."""

    def warm_up(self) -> None:
        """Load what a first text would load. Pays nothing and remembers nothing."""


@runtime_checkable
class Vectorless(Protocol):
    """An embedder that may have no vectors to give; nothing is compared by it then.

    class NoEmbedder:
        has_vectors = False
    """

    @property
    def has_vectors(self) -> bool:
        """False where `embed` gives vectors of length 0."""


@runtime_checkable
class Fitted(Protocol):
    """An embedder that is fitted on the texts which it is prepared with, so that all are known before the first is
    embedded.

    class TopicEmbedder:
        is_fitted = True
    """

    @property
    def is_fitted(self) -> bool:
        """True where the vectors of a text depend on the other texts."""


@runtime_checkable
class Weighed(Protocol):
    """An embedder, or a retriever by its vectors, that knows how much a keyword leg should count beside it.

    class ServerEmbedder:
        keyword_weight = 0.3
    """

    @property
    def keyword_weight(self) -> float | None:
        """0..1: the share of the keyword leg in a convex fusion; None where that is not known."""


@runtime_checkable
class Rehearsing(Protocol):
    """An embedder or agent that counts what a run would ask of models.

    class ServerEmbedder:
        @property
        def is_rehearsed(self) -> bool:
            return self.model.is_rehearsed
    """

    @property
    def is_rehearsed(self) -> bool:
        """True while some of the vectors are made up, of any length."""


class Retriever(Protocol):
    """Finds the chunks for a query.

    class SharedWords:
        def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
            self.chunks = {chunk.id: set(chunk.text.split()) for chunk in corpus.chunks}
            return {"kind": "shared words"}

        def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
            return [self.ranked(set(query.text.split()), depth) for query in queries]

        def ranked(self, words: set[str], depth: int) -> Ranking:
            shares = {id: len(words & held) / len(words) for id, held in self.chunks.items() if words & held}
            best = sorted(shares, key=lambda id: (shares[id], id), reverse=True)[:depth]
            scores = tuple(shares[id] for id in best)
            return Ranking(tuple(best), scores, relevance=scores)
    """

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        """Build or load the index. Returns facts for the report (kind, size_bytes, dim …)."""

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """The `depth` best chunks for each query (fewer when fewer match), score descending: another order is an
        error. Ties are put into the order of trec_eval, by id descending. No chunk twice."""


@runtime_checkable
class CachedRetriever(Retriever, Protocol):
    """A retriever that may ask a model, perhaps a paid one, and remember what it said.

    class ServerRetriever:
        caches = True

        def is_cached(self, queries: Sequence[Query]) -> list[bool]:
            return [query.text in self.replies for query in queries]

        def warm_up(self) -> None:
            self.client.connect()
    """

    @property
    def caches(self) -> bool:
        """False where nothing is remembered, so that every search is live and free."""

    def is_cached(self, queries: Sequence[Query]) -> list[bool]:
        """Which queries would be answered from memory, so that their latency means nothing."""

    def warm_up(self) -> None:
        """Load what a first search would load. Pays nothing and remembers nothing."""


@runtime_checkable
class Closing(Protocol):
    """A retriever that holds connections or files open from `index` on. What is searched later opens them again.

    class ServerRetriever:
        def close(self) -> None:
            self.client.close()
    """

    def close(self) -> None:
        """Called when all queries of a run are ranked."""


@runtime_checkable
class Reference(Protocol):
    """A retriever that is no system but what systems are held against. It may look at the labels, its runs are
    marked, and no contexts that came with a question take the place of what it found.

        class Oracle:
            reference = "gold"  # the name by which reports call it
    """

    @property
    def reference(self) -> str:
        """The name by which reports call it."""


@runtime_checkable
class Foreign(Protocol):
    """A retriever that may return ids which the corpus does not have.

    class GivenRanking:
        foreign_ids = True
    """

    @property
    def foreign_ids(self) -> bool:
        """True where an id that the corpus does not have is no error."""


@runtime_checkable
class AnswerScored(Protocol):
    """A retriever whose best hits are scored by their text for how likely they answer the question
    (runner.retrieval.answerability), which is what `min_score` is held against then. Without it, that is the relevance
    of the best hit.

    class ServerRetriever:
        answer_model = "semantic"  # keyword | semantic | hybrid: the model that was fitted on such a retriever
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
        """Args:
            query: the question, with its language and the turns before it.
            contexts: the k best chunks, best first; they are cited by their numbers, from 1.

        Raises:
            EvaluationError: this question cannot be answered, the next one perhaps can.
            StopRunError, InputError: no question can.
        """


@runtime_checkable
class Declining(Protocol):
    """A generator that is not asked where retrieval finds too little: the evaluation declines for it, with a fixed
    sentence in the language of the question. Below which score of the best hit (0..1); None: it is always asked.

    class ServerGenerator:
        def __init__(self, *, refuse_below: float | None = None) -> None:
            self.refuse_below = refuse_below
    """

    refuse_below: float | None


class System(Protocol):
    """A system that runs somewhere and is asked as a user asks it, instead of the retriever and the generator of the
    configuration. `repeats`: how often it is asked each question.

        class LocalSystem:
            repeats = 1

            async def ask(self, query: Query, repeat: int = 0) -> SystemReply:
                said = await self.client.ask(query.text)
                return SystemReply(said.text, tuple(NamedContext(id=id) for id in said.sources))

            @asynccontextmanager
            async def opened(self) -> AsyncIterator[None]:
                async with self.client:
                    yield
    """

    repeats: int

    async def ask(self, query: Query, repeat: int = 0) -> SystemReply:
        """`repeat`, from 0, tells apart answers to one question. Raises StopRunError and InputError for what holds for
        every question, EvaluationError for this one."""

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Around all that is asked."""


@runtime_checkable
class Within(Protocol):
    """A system that is the retriever and the generator of the configuration.

    class NoSystem:
        is_within = True
    """

    @property
    def is_within(self) -> bool:
        """True where `ask` is never called."""


@runtime_checkable
class Prompting(Protocol):
    """A generator that asks a model, and can show what it would send.

    class ServerGenerator:
        def messages(self, query: Query, contexts: Sequence[Context]) -> Sequence[tuple[str, str]]:
            return [("system", self.rules), ("user", self.prompt(query, contexts))]
    """

    def messages(self, query: Query, contexts: Sequence[Context]) -> Sequence[tuple[str, str]]:
        """Role and text of each, in the order in which they are sent."""


class Judge(Protocol):
    """Scores what a system said. `on_failure`: whether a judgement that failed counts as 0 or not at all.

    class Length:
        on_failure = "zero"

        async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
            n_words = len(fields["answer"].split())
            return Judgement(1.0 if n_words <= 50 else 0.0, f"The answer has {n_words} words.")
    """

    on_failure: Literal["zero", "exclude"]

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        """What cannot be judged is a Judgement with an error. Raises StopRunError and InputError for what
        holds for every case.

        Rubrics and fields: `faithfulness` (question, answer, contexts: Sequence[Context]), `answer_relevancy`
        (question, answer), `answer_correctness` (question, answer, references: Sequence[str], of which any one is
        enough), `context_precision` and `context_recall` (question, references, contexts); all with language
        (ko, en, or None to be told from the question) and, in a conversation, history (Sequence[Turn] before the
        question). Others: runner/llm/rubrics.
        """


@runtime_checkable
class HealthChecked(Protocol):
    """A judge that judges control items beside the cases, whose right answers are known (runner.llm.health).

    class ServerJudge:
        def __init__(self, *, health: bool = True) -> None:
            self.health = health
    """

    @property
    def health(self) -> bool:
        """Whether it judges control items, too."""


@runtime_checkable
class Completing(Protocol):
    """A judge that asks several times, or several models, and can ask again for single votes that failed
    (runner.llm.votes). Of other judges a judgement with a failed vote is what it is.

    class PanelJudge:
        async def complete(self, rubric: str, fields: Mapping[str, Any], earlier: Judgement) -> Judgement:
            kept = kept_votes(earlier)
    """

    async def complete(self, rubric: str, fields: Mapping[str, Any], earlier: Judgement) -> Judgement:
        """What `judge` would have returned, had the votes of `earlier` that failed been asked for just now."""


@runtime_checkable
class Learning(Protocol):
    """A judge that judges by criteria which it is handed, beside the rubrics that it knows. Others judge by rules of
    their own.

    class ServerJudge:
        def learn(self, rubrics: Mapping[str, Criteria]) -> None:
            self.learned = {**self.learned, **rubrics}
    """

    def learn(self, rubrics: Mapping[str, Any]) -> None:
        """By name; each is a runner.llm.criteria.Criteria. From now on `judge` is asked by these names, too, and
        `provenance` has their digests among its `rubrics`."""


CaseT = TypeVar("CaseT")
OutputT = TypeVar("OutputT", bound="Output")


class Case(Protocol):
    """What the engine needs to know of a case.

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
        """A code of two letters; None where it is not known."""

    @property
    def difficulty(self) -> str | None:
        """The slice of reports that the case belongs to; None for none."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Further slices, any number of them."""


class Evaluation(Protocol[CaseT, OutputT]):
    """What happens to one case. The engine owns everything else.

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
        """Read and check all cases. Raises DataError or CorpusError for data that cannot be used."""

    async def prepare(self, cases: Sequence[CaseT], workspace: Workspace) -> Preparation:
        """Everything that is shared by cases: indexes, rankings of all queries."""

    async def run(self, case: CaseT) -> OutputT:
        """Have the system under test do the case. What it raises makes the case one that failed."""

    async def judge(self, case: CaseT, output: OutputT) -> Judgements:
        """By rubric; empty where nothing is judged."""

    def score(self, case: CaseT, output: OutputT | None, judgements: Judgements) -> Scores:
        """Pure. `output` is None for a case that failed: all names that would apply are `unscored`."""


@runtime_checkable
class Measuring(Protocol):
    """An evaluation that says what its metrics are. One that does not declare a metric of its cases has it shown
    without a grade, and nothing is called better or worse by it.

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
        """Each metric once, in the order in which reports show them."""


@runtime_checkable
class JudgeChecking(Protocol):
    """An evaluation that finds out whether its judge can be trusted.

    class Tone:
        async def check_judge(self) -> Mapping[str, Any]:
            items = (ControlItem("kind", {"answer": "With pleasure."}, "pass"), ...)
            return {"judge_health": await check_health(self.judge_, [Controls("tone", items)])}
    """

    async def check_judge(self) -> Mapping[str, Any]:
        """Facts for the report. Called once for each run, after `prepare`; it may cost requests to models."""


@runtime_checkable
class Rejudging(Protocol):
    """An evaluation that judges a case which was run in an earlier command without running it again, and asks only for
    the judgements that are missing. Cases of other evaluations are run again, with the stored replies of models.

        class Tone:
            async def restored(self, case: Query, row: Mapping[str, Any]) -> ToneOutput | None:
                return ToneOutput(row["output"]["answer"]) if row["output"] else None

            async def judge_missing(self, case: Query, output: ToneOutput, judgements: MutableMapping) -> None:
                if "tone" not in judgements:
                    judgements["tone"] = await self.judge_.judge("tone", {"answer": output.answer})
    """

    async def restored(self, case: Any, row: Mapping[str, Any]) -> Any | None:
        """What `run` had returned when this row of per_item.jsonl was written; None where the row does not tell, so
        that the case is run again."""

    async def judge_missing(self, case: Any, output: Any, judgements: MutableMapping[str, Judgement]) -> None:
        """Add the judgements that are not there, each as it comes, and complete those that are not whole
        (`judge_missing` of runner.llm.votes does both)."""


@runtime_checkable
class Opened(Protocol):
    """An evaluation that holds something open, from before `prepare` until after the last case.

    class Chat:
        @asynccontextmanager
        async def opened(self) -> AsyncIterator[None]:
            async with self.store.opened():
                yield
    """

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Entered once a run."""


@runtime_checkable
class Summing(Protocol):
    """An evaluation with more to tell of all its cases together than means and counts.

    class Tone:
        def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
            return {"longest_answer": max(len(row["output"]["answer"]) for row in rows)}
    """

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """More for summary.json, from the rows of per_item.jsonl in case order. `timing` holds nothing but more
        stages of `latency`."""


@runtime_checkable
class Projecting(Protocol):
    """An evaluation that knows how many requests a user causes, for the cost of a month (runner.llm.projection).

    class Chat:
        def __init__(self, *, projection: Projection) -> None:
            self.projection = projection
    """

    @property
    def projection(self) -> Any:
        """A runner.llm.projection.Projection, or None."""


class Scorer(Protocol):
    """A choice of `metric`: what is worked out of a case beside what its evaluation knows of it. Its records stand in
    `metrics` (Measuring).

        class Length:
            metrics = (
                Metric(name="length", better="neither", label={"en": "Length", "ko": "길이"}, range=(0, math.inf)),
            )

            def score(self, case: Query, output: RagOutput, judgements: Judgements) -> Scores:
                return Scores({"length": len(output.answer.text)})
    """

    def score(self, case: Any, output: Any, judgements: Judgements) -> Scores:
        """Pure. `case` and `output` are those of the evaluation. A case that failed is not asked about: all metrics
        of the choice are unscored then."""


@runtime_checkable
class Named(Protocol):
    """A choice of `metric` whose metric is called as the choice is: `metric.tone` is `tone`.

    class Rubric:
        def named(self, name: str) -> None:
            self.name = name
    """

    def named(self, name: str) -> None:
        """Called once, before anything else."""


@runtime_checkable
class Offering(Protocol):
    """A choice of `metric` that stands for metrics of the evaluation itself. One that declares no `metrics` beside them
    is not asked to score.

    class Offered:
        offered = ("recall", "mrr")
    """

    @property
    def offered(self) -> Sequence[str]:
        """Names of metrics of the evaluation."""


@runtime_checkable
class Asking(Protocol):
    """A choice of `metric` that asks the judge of the evaluation.

    class Tone:
        rubrics = {"tone": Criteria(...)}
        controls = (Controls("tone", (ControlItem("kind", {"answer": "With pleasure."}, "pass"), ...)),)

        def asked(self, shown: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
            return {"tone": {"answer": shown["answer"]}}
    """

    @property
    def rubrics(self) -> Mapping[str, Any]:
        """What the judge learns (runner.llm.criteria.Criteria), by name. The scores are metrics of these names."""

    @property
    def controls(self) -> Sequence[Any]:
        """Of its rubrics (runner.llm.health.Controls); none where there are none."""

    def asked(self, shown: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
        """Rubric -> the fields that the judge is to see, out of what the evaluation shows of a case; without those
        that do not apply to it."""


@runtime_checkable
class SelfJudging(Protocol):
    """A choice of `metric` that judges a case by itself, beside the judge.

    class Length:
        async def judged(self, case: Query, shown: Mapping[str, Any]) -> Mapping[str, Judgement]:
            return {"length": Judgement(min(1.0, 100 / len(shown["answer"])), f"{len(shown['answer'])} characters")}
    """

    async def judged(self, case: Any, shown: Mapping[str, Any]) -> Mapping[str, Judgement]:
        """By the names of its metrics; nothing where none applies. `shown`: what rubrics may see, and `citations`,
        `documents` (ids, by the number of a context), `latency_ms` and `cost_usd` of the case so far."""


@runtime_checkable
class Prepared(Protocol):
    """A choice of `metric` that builds or opens something before the first case.

    class Similar:
        def prepare(self, cases: Sequence[Query], workspace: Workspace) -> None:
            self.embedder.prepare([case.text for case in cases], workspace)
    """

    def prepare(self, cases: Sequence[Any], workspace: Workspace) -> None:
        """Called once a run, in a thread of its own."""


class Tracking(Protocol):
    """Where finished runs are kept for comparison. Reads run and sweep folders, never a run in flight.

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
        """Upload one run folder, or update what was uploaded from it before. Returns the id there."""

    def upload_sweep(self, folder: Path) -> str | None:
        """Upload the summary of a sweep folder (its runs go through `upload`). Returns the id there."""


class Output(Protocol):
    """What `run` returns: how long its stages took, and what the row keeps of it (JSON).

    @dataclass(frozen=True)
    class ToneOutput:
        answer: str
        timings: Mapping[str, Timing] = field(default_factory=dict)

        def record(self) -> Mapping[str, Any]:
            return {"answer": self.answer}
    """

    @property
    def timings(self) -> Mapping[str, Timing]:
        """By stage, each by itself: what stood in line or came from a cache is no part of it. Their sum is the
        latency of the case. Without any, the run as a whole is timed; name all stages or none."""

    def record(self) -> Mapping[str, Any]:
        """JSON values: what the row of the case keeps of it."""


# --- what a component may offer ---------------------------------------------------------------------

# Of every component.
ANY = (
    *(Preflight, Versioned, OutsideIdentity, Implied, Idling, Baseline, Caching, Concurrent, Refreshed, MadeOfData),
    Incidental,
)
OPTIONAL: Mapping[type, tuple[type, ...]] = {  # by its protocol; a module with protocols of its own has one, too
    Retriever: (CachedRetriever, Reference, Foreign, AnswerScored, Weighed, Closing),
    Embedder: (CachedEmbedder, Vectorless, Rehearsing, Fitted, Weighed),
    Generator: (Declining, Prompting),
    System: (Within,),
    Judge: (Completing, HealthChecked, Limited, Reading, Learning),
    Scorer: (Measuring, Named, Offering, Asking, SelfJudging, Prepared),
    Evaluation: (Measuring, JudgeChecking, Opened, Rejudging, Summing, Projecting),
}


def optional_of(role: type) -> tuple[type, ...]:
    """Of a component with this protocol, by the OPTIONAL of the module that the protocol stands in."""
    listed = getattr(sys.modules.get(role.__module__), "OPTIONAL", {})
    return tuple(listed.get(role, ())) if isinstance(listed, Mapping) else ()


# What holds of a component that does not have the attribute.
ABSENT: Mapping[str, Any] = {
    "provenance": {},
    "not_in_identity": False,
    "is_implied": False,
    "idle": (),
    "incidental": (),
    "is_within": False,
    "baseline": False,
    "caches": False,
    "concurrency": 1,
    "has_vectors": True,
    "is_rehearsed": False,
    "is_fitted": False,
    "keyword_weight": None,
    "foreign_ids": False,
    "health": False,
    "languages": None,
    "rubrics": None,
    "projection": None,
    "refuse_below": None,
    "answer_model": None,
    "sweep": "",
}


def offered(component: object, name: str) -> Any:
    """An optional attribute of a component, or what holds where it has none. Raises KeyError for a name that is not
    in ABSENT."""
    absent = ABSENT[name]
    return getattr(component, name, absent)
