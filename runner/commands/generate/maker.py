"""From a corpus to checked questions: the component behind `python -m runner generate`."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import Field

from runner.commands.generate import check
from runner.commands.generate.drafts import SCHEMA, Draft, drafts_of, messages, source
from runner.commands.generate.duplicates import duplicates
from runner.commands.generate.orders import MIN_WORDS, Difficulty, Order, QuestionType, Wish, orders, title_of
from runner.commands.generate.self_contained import refers_outside
from runner.data.corpus import build_corpus
from runner.data.documents import read_documents
from runner.data.files import expand
from runner.data.notes import read_notes
from runner.data.problems import ProblemLog
from runner.data.settings import CutterSettings, cutter_of
from runner.errors import ConfigError, CorpusError, EvaluationError, Problem, ReplyError, StopRunError
from runner.llm.messages import ChatRequest, Message
from runner.llm.model import Model
from runner.llm.models import Models
from runner.llm.rehearsal import ExpectedRequests, Rehearsal
from runner.llm.sampling import Sampling
from runner.records import Chunk, Corpus, DataProblem
from runner.run.progress import progress
from runner.text.chunking import Cutter
from runner.text.language import detect_language
from runner.text.passages import passages
from runner.text.tokens import by_script
from runner.words.wording import LANGUAGES, Wording, wording

T = TypeVar("T")
R = TypeVar("R")

CELL = "generate"
NEIGHBOURS = 4  # further chunks that are searched for an answer to an unanswerable question

# Why a question that was ordered was dropped, in the order of the checks.
REASONS = (
    "failed",
    "not_written",
    "other_language",
    "not_self_contained",
    "duplicate",
    "not_answered",
    "other_answer",
    "answered",
)


@dataclass
class Batch:
    """The questions of one command. `kept`: in the order of the corpus; `dropped`: counts by reason; `failures`: errors
    of requests."""

    corpus: Corpus
    chunker: Cutter
    orders: Sequence[Order]
    problems: Sequence[DataProblem]
    drafts: list[Draft] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def n_ordered(self) -> int:
        """The number of ordered questions."""
        return sum(len(order.slots) for order in self.orders)

    def keeps(self, reason: str) -> bool:
        """Whether a question is kept; counts the reason against it."""
        if reason:
            self.dropped[reason] += 1
        return not reason


class QuestionMaker:
    """Writes and checks questions; conf/generate.yaml explains the settings."""

    def __init__(
        self,
        *,
        models: Models,
        model: str,
        corpus: str | list[str],
        out: Annotated[str, Field(min_length=1)],
        questions_per_chunk: Annotated[int, Field(ge=1, le=10)],
        max_chunks_sample: Annotated[int, Field(ge=1, le=500)],
        question_type: Annotated[list[QuestionType], Field(min_length=1)],
        difficulty: Annotated[list[Difficulty], Field(min_length=1)],
        unanswerable_share: Annotated[float, Field(ge=0, le=1)],
        language: Literal["auto", "ko", "en"],
        temperature: Annotated[float, Field(ge=0, le=2)] | None,
        max_tokens: Annotated[int, Field(ge=1)],
        seed: Annotated[int, Field(ge=0, lt=2**32)],
        chunker: CutterSettings,
        strict: bool,
    ) -> None:
        self.models, self.model = models, _model(models, model)
        self.corpus, self.chunker, self.strict, self.out = corpus, chunker, strict, out
        self.sampling = Sampling(temperature=temperature, max_tokens=max_tokens, seed=seed)
        self.wish = Wish(
            per_chunk=questions_per_chunk,
            max_chunks=max_chunks_sample,
            types=question_type,
            difficulties=difficulty,
            share=unanswerable_share,
            language=None if language == "auto" else language,
            seed=seed,
        )

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings on which the questions depend."""
        wish = self.wish
        return {
            "questions_per_chunk": wish.per_chunk,
            "max_chunks_sample": wish.max_chunks,
            "question_type": list(wish.types),
            "difficulty": list(wish.difficulties),
            "unanswerable_share": wish.share,
            "language": wish.language or "auto",
            **asdict(self.sampling),
        }

    def plan_batch(self) -> Batch:
        """The orders of a batch; no question is written yet. Raises CorpusError for a corpus without anything to ask
        about."""
        log = ProblemLog(strict=self.strict)
        corpus, chunker = self._load(log)
        batch = Batch(corpus, chunker, orders(corpus, self.wish), log.problems)
        if not batch.orders:
            raise CorpusError(f"corpus: no chunk has {MIN_WORDS} words or more, so no question can be written")
        return batch

    async def make(self, batch: Batch, language: str = "en") -> Batch:
        """Write and check the questions of a batch. Raises errors that would stop all requests."""
        corpus, say = batch.corpus, wording(language, "outcomes")
        async with self.models.open(CELL):
            drafts = _sift(await self._write(batch, say), batch)
            neighbours = Neighbours(corpus) if any(not draft.slot.answerable for draft in drafts) else None
            label = say("generate.checking", n=len(drafts))
            checked = await self._for_each(
                label, drafts, self._checker(corpus, neighbours), batch, LANGUAGES[say.language]
            )
        reasons = ["failed" if reason is None else reason for reason in checked]
        batch.drafts = [draft for draft, reason in zip(drafts, reasons, strict=True) if batch.keeps(reason)]
        return batch

    def _load(self, log: ProblemLog) -> tuple[Corpus, Cutter]:
        path = self.corpus
        is_folder = isinstance(path, str) and expand(path).is_dir()
        chunker = cutter_of({"headings": is_folder, **self.chunker}, "chunker")
        if isinstance(path, str):
            documents = read_notes(path, "corpus", log) if is_folder else read_documents([path], "corpus", log)
        else:
            documents = read_documents(path, "corpus", log)
        return build_corpus(documents, chunker), chunker

    async def _write(self, batch: Batch, say: Wording) -> list[Draft]:
        """Write the drafts of all orders, and count missing ones."""

        async def write(order: Order) -> list[Draft]:
            request = self.request(messages(order), SCHEMA)
            return await self.model.ask_for_json(request, lambda reply: drafts_of(reply, order))

        label = say("generate.writing", n=len(batch.orders))
        drafts_by_order = await self._for_each(label, batch.orders, write, batch, LANGUAGES[say.language])
        for order, drafts in zip(batch.orders, drafts_by_order, strict=True):
            missing = len(order.slots) - len(drafts or ())
            batch.dropped += Counter({"failed" if drafts is None else "not_written": missing})
        return [draft for drafts in drafts_by_order for draft in drafts or ()]

    def _checker(self, corpus: Corpus, neighbours: Neighbours | None) -> Callable[[Draft], Awaitable[str]]:
        async def objection(draft: Draft) -> str:
            """The reason to drop a question; empty where there is none."""
            order = draft.order
            sources = [source(order.chunk, order.title)]
            if neighbours is not None and not draft.slot.answerable:
                near = neighbours.of(draft.question, order.chunk, NEIGHBOURS)
                sources += [source(chunk, title_of(corpus, chunk)) for chunk in near]
            request_messages = check.check_messages(draft.question, sources, order.language)
            finding = await self.model.ask_for_json(
                self.request(request_messages, check.CHECK_SCHEMA), check.finding_of
            )
            if not finding.stands_alone:
                return "not_self_contained"
            if not draft.slot.answerable:
                return "answered" if finding.answered else ""
            if not finding.answered:
                return "not_answered"
            return "" if await self._agree(draft, finding.answer) else "other_answer"

        return objection

    async def _agree(self, draft: Draft, answer: str) -> bool:
        if check.plainly_same(draft.answer, answer):
            return True
        messages = check.compare_messages(draft.question, draft.answer, answer, draft.order.language)
        return await self.model.ask_for_json(self.request(messages, check.COMPARE_SCHEMA), check.is_same_of)

    def request(self, messages: tuple[Message, ...], schema: Mapping[str, Any]) -> ChatRequest:
        """A request with the sampling of the question maker."""
        return self.sampling.request(messages, schema)

    async def _for_each(
        self, label: str, items: Sequence[T], ask: Callable[[T], Awaitable[R]], batch: Batch, say: Wording
    ) -> list[R | None]:
        """The result of `ask` for each item, None where its request failed. Raises errors that hold for all items."""
        results: list[R | None] = [None] * len(items)
        numbered = iter(enumerate(items))

        async def work() -> None:
            for place, item in numbered:
                try:
                    results[place] = await ask(item)
                except StopRunError:
                    raise
                except EvaluationError as error:
                    batch.failures.append(str(error))
                bar.advance(failed=results[place] is None)

        with progress(len(items), label, self.models.describe_spending, say) as bar:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(self.models.max_concurrency, len(items))):
                        group.create_task(work())
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None
        return results


def _model(models: Models, name: str) -> Model:
    try:
        return models.model(name, "testset")
    except ConfigError as error:
        keys = {"testset": "model"}
        raise ConfigError(
            [Problem(keys.get(problem.key, problem.key), problem.message) for problem in error.problems]
        ) from None


def _sift(drafts: Sequence[Draft], batch: Batch) -> list[Draft]:
    """The drafts without those that are unusable by their words alone."""
    standing = [draft for draft in drafts if batch.keeps(_flaw(draft))]
    repeats = duplicates([draft.question for draft in standing])
    return [
        draft for draft, repeated in zip(standing, repeats, strict=True) if batch.keeps("duplicate" if repeated else "")
    ]


def _flaw(draft: Draft) -> str:
    if detect_language(draft.question) != draft.order.language:
        return "other_language"
    return "not_self_contained" if refers_outside(draft.question) else ""


class Neighbours:
    """BM25 (Lucene's, k1 1.5, b 0.75) over the passages of a corpus."""

    def __init__(self, corpus: Corpus) -> None:
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.WARNING)
        self._chunks = corpus.chunks
        self._numbers: dict[str, int] = {}
        numbered = [
            [self._numbers.setdefault(term, len(self._numbers)) for term in by_script(text)]
            for text in passages(corpus)
        ]
        self._bm25 = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
        self._bm25.index((numbered, self._numbers), create_empty_token=False, show_progress=False)

    def of(self, question: str, beside: Chunk, count: int) -> list[Chunk]:
        """The nearest passages, best first, without `beside` and without passages that share no word with the question.
        Ties in corpus order."""
        term_ids = [self._numbers[term] for term in by_script(question) if term in self._numbers]
        if not term_ids:
            return []
        scores = self._bm25.get_scores_from_ids(term_ids)
        order = np.argsort(-scores, kind="stable")[: count + 1]
        neighbours = [self._chunks[place] for place in order if scores[place] > 0]
        return [chunk for chunk in neighbours if chunk.id != beside.id][:count]


REPLY_TOKENS = 120  # tokens of a question or a finding


async def expected_requests(maker: QuestionMaker, batch: Batch) -> ExpectedRequests:
    """The expected requests: one for each order and one check for each question. Comparisons of two answers and retries
    are not included; checks of questions that are dropped earlier are."""
    total = ExpectedRequests()
    per_order = REPLY_TOKENS * maker.wish.per_chunk
    for reply_tokens, requests in ((per_order, _writing(maker, batch)), (REPLY_TOKENS, _checking(maker, batch))):
        rehearsal = Rehearsal(reply_tokens=reply_tokens)
        with maker.models.rehearsing(rehearsal, CELL):
            for request in requests:
                with suppress(ReplyError):  # a rehearsal has no real replies
                    await maker.model.chat(request)
        for expected in rehearsal.expected.values():
            total.add(expected)
    return total


def _writing(maker: QuestionMaker, batch: Batch) -> Iterator[ChatRequest]:
    for order in batch.orders:
        yield maker.request(messages(order), SCHEMA)


def _checking(maker: QuestionMaker, batch: Batch) -> Iterator[ChatRequest]:
    """The requests that check questions, with a question of usual length and copies of the chunk in place of its
    neighbours."""
    for order in batch.orders:
        own = source(order.chunk, order.title)
        for slot in order.slots:
            sources = [own] * (1 if slot.answerable else 1 + NEIGHBOURS)
            messages = check.check_messages(f"{slot.number} {order.chunk.id} {'?' * 60}", sources, order.language)
            yield maker.request(messages, check.CHECK_SCHEMA)
