"""A question of a conversation that documents may answer: what is searched for, remembered, kept and counted of it."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from typing import Any, Literal

from runner.domains.memory.context import BuiltContext
from runner.domains.memory.probing import ProbeCase
from runner.domains.memory.protocols import Memory
from runner.domains.memory.recall import asked_words, tells_something
from runner.domains.memory.records import Conversation, MemoryContent
from runner.domains.memory.replay import Moment, Replay
from runner.errors import ComponentError, EvaluationError, RunnerError, StopRunError
from runner.protocols import Generator
from runner.records import Answer, Query, Timing, Turn
from runner.retrieval.stage import Retrieval, RetrievalResult
from runner.system.stopwatch import stopwatch
from runner.system.threads import gather_all
from runner.text.refusals import mark_refusal

EARLIER = 5  # turns before a question that a judge reads to understand it
TOGETHER = 16  # conversations that are said side by side
Stands = Literal["confidence", "unanswered"]  # when a retriever's message takes the place of an answer
Moments = Mapping[str, Moment | RunnerError | TimeoutError]
SHORT = 1  # a question with so many words to look for, or fewer, says too little alone
_POINTS_BACK = re.compile(
    # 그거, 그건, 이걸, 그 설정; 거기에서
    r"(?<![가-힣])(?:[그이]\s?(?:거|것|건|걸|게)(?:는|은|를|을|가|도|만|로|랑|보다)?(?![가-힣])|그\s+[가-힣]|거기)"
    r"|\b(?:it|its|them|those|these)\b"
    r"|\b(?:this|that|that one|there)(?=\s*(?:[?.!,]|$|(?:is|does|do|work|cost|mean|take|on|off|up|for|with|too)\b))"
    r"|\b(?:do|does|is|set|turn|change|stop|use|see|find)\s+(?:this|that)\b",
    re.IGNORECASE,
)
# remainders of 1월은 and OAuth는요
_PARTICLES = frozenset(["은", "는", "이", "가", "을", "를", "도", "만", "의", "에", "은요", "는요"])
_GOES_ON = re.compile(r"^\W*(?:and|what about|how about|그러면|그럼|그리고|그렇다면)(?![a-z가-힣])", re.IGNORECASE)


def query_of(case: ProbeCase, text: str) -> Query:
    """A probe as a query about notes: each note that it needs has grade 1. `text` is what is searched for."""
    probe = case.probe
    return Query(
        id=case.id,
        text=text,
        answerable=probe.answerable,
        relevance=dict.fromkeys(probe.notes, 1),
        answers=probe.answers,
        language=case.language,
        tags=case.tags,
    )


def is_about_memory(case: ProbeCase) -> bool:
    """Whether something is known of what a memory should hold, or hold no more."""
    return bool(case.probe.expected or case.probe.forbidden)


def recent_turns(moment: Moment) -> tuple[Turn, ...]:
    """The last turns before the question, whether or not the memory kept them."""
    earlier_turns = [
        Turn(*each) for turn in moment.turns[-EARLIER:] for each in (("user", turn.user), ("assistant", turn.assistant))
    ]
    return tuple(turn for turn in earlier_turns if turn.text)


def moment_record(moment: Moment, context: BuiltContext) -> dict[str, Any]:
    """The remembered texts, those shown to the generator, and the cost of the memory since the question before."""
    sections = [
        {name: value for name, value in asdict(section).items() if name != "text"}
        for section in context.sections
        if section.name != "question"
    ]
    return {
        "sections": sections,
        **sent_record(context),
        "memory": moment.remembered.memory,
        "entities": [asdict(entity) for entity in moment.remembered.entities],
        "remembered": context.contexts if moment.remembered.is_budgeted else [],
        "contexts": context.documents,
        "upkeep": asdict(moment.since),
    }


def sent_record(context: BuiltContext) -> dict[str, int]:
    """The tokens that a model gets; empty where none is asked."""
    return {} if context.sent_tokens is None else {"sent_tokens": context.sent_tokens}


def answer_record(answer: Answer) -> dict[str, Any]:
    """The part of an answer that the row of a case stores."""
    citations = {"citations": list(answer.citations)} if answer.citations else {}
    seldom = {"cut_off": answer.cut_off, "thought": answer.thought}
    return {
        "answer": answer.text,
        "declined": answer.refused,
        **citations,
        **{name: value for name, value in seldom.items() if value},
    }


def words_of(conversation: Conversation) -> list[Any]:
    """All that is said in a conversation, and by whom."""
    turns = [asdict(turn) for turn in conversation.turns]
    return [conversation.id, conversation.tenant, conversation.language, turns]


async def answer_query(
    query: Query,
    retrieved: RetrievalResult,
    context: BuiltContext,
    retrieval: Retrieval,
    generator: Generator,
    stands: Stands,
) -> tuple[Answer, Timing | None]:
    """Answer from memory and documents. A message of the retriever in place of an answer, or a refusal without a good
    hit, is the answer (without a timing: no model was called); with `unanswered` only where the generator finds no
    answer in the memory either."""
    message = retrieval.refusal(query, retrieved, generator)
    if message is not None and stands == "confidence":
        return message, None
    query = replace(query, remembered=context.contexts)
    with stopwatch() as watch:
        answer = await generator.generate(query, context.documents if message is None else ())
    answer = mark_refusal(answer, query.text)
    return (message if message is not None and answer.refused else answer), watch.timing


async def moments(memory: Memory, cases: Sequence[ProbeCase]) -> Moments:
    """The moments by id of the case; an error where the memory failed. Each conversation is replayed once, in a session
    that is deleted at the end. Raises StopRunError."""
    by_conversation: defaultdict[str, list[ProbeCase]] = defaultdict(list)
    for case in cases:
        by_conversation[case.conversation.id].append(case)
    moment_by_case: dict[str, Moment | RunnerError | TimeoutError] = {}
    room = asyncio.Semaphore(TOGETHER)
    await gather_all(_walk(memory, asked, moment_by_case, room) for asked in by_conversation.values())
    return moment_by_case


async def _walk(
    memory: Memory,
    cases: Sequence[ProbeCase],
    moments: dict[str, Moment | RunnerError | TimeoutError],
    room: asyncio.Semaphore,
) -> None:
    async with room, _replay(memory, cases) as replay:
        for case in sorted(cases, key=lambda case: case.probe.after_turn):
            try:
                moments[case.id] = await replay.at(case.probe)
            except StopRunError:
                raise
            except (EvaluationError, ComponentError, TimeoutError) as error:
                moments[case.id] = error


@asynccontextmanager
async def _replay(memory: Memory, cases: Sequence[ProbeCase]) -> AsyncIterator[Replay]:
    replay = Replay(memory, cases[0].conversation, [case.probe for case in cases])
    try:
        yield replay
    finally:
        with suppress(EvaluationError):  # a lost store has been reported before, and holds nothing
            await replay.forget()


def goes_on(question: str) -> bool:
    """Whether a question cannot be understood without those before it, as far as its words show."""
    if _POINTS_BACK.search(question) is not None or _GOES_ON.match(question) is not None:
        return True
    telling = {word.text for word in asked_words(question) if word.text not in _PARTICLES}
    return len(telling) <= SHORT


def search_text(question: str, remembered: MemoryContent) -> str:
    """The text to search for: the question, preceded by the one that it follows up, if the turns that are remembered
    verbatim hold one: the newest question that can be understood alone."""
    if not goes_on(question):
        return question
    origin = next((asked for asked in _questions(remembered) if not goes_on(asked)), None)
    return question if origin is None else f"{origin} {question}"


def _questions(remembered: MemoryContent) -> Iterator[str]:
    """What the user asked, the newest first."""
    for turn in reversed(remembered.recent):
        if turn.user.strip() and not tells_something(turn.user):
            yield turn.user
