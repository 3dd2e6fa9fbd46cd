"""One conversation with a generator that has a memory and perhaps documents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from runner.domains.memory.context import BuiltContext, ContextBuilder
from runner.domains.memory.copilot import Stands, answer_query, search_text
from runner.domains.memory.protocols import Memory, prepare
from runner.domains.memory.recall import tells_something
from runner.domains.memory.records import ChatTurn, SessionKey, SessionState
from runner.llm.models import Models
from runner.protocols import Generator, Judge, Prompting, Workspace
from runner.records import Answer, Context, DataProblem, Judgement, Query
from runner.retrieval.stage import Retrieval, RetrievalResult
from runner.system.threads import in_thread
from runner.text.citations import without_citations
from runner.text.language import Language, detect_language

CELL = "chat"  # name of the run in the ledger
RUBRIC = "memory"

Name = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class GeneratorInput:
    """Everything that a generator gets for one message. `retrieved`: None where no documents were searched.
    `searched`: the query of the search. `messages`: role and text of the prompt; empty where the generator calls no
    model."""

    query: Query
    context: BuiltContext
    retrieved: RetrievalResult | None = None
    searched: str = ""
    messages: tuple[tuple[str, str], ...] = ()

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The contexts in the order of citation numbers."""
        return self.context.contexts if self.retrieved is None else self.context.documents


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """An answer, and what the generator got for it."""

    answer: Answer
    prompt: GeneratorInput


class Talk:
    """`language`: of the program's messages; answers have the language of the question. Methods raise what the memory,
    the retrieval, the generator and the judge raise.

    Documents are searched for messages that ask something; with `follow_ups` the query includes the question that a
    message continues. `fallback`: whether a retriever's message in place of an answer is always used (`confidence`), or
    only where the memory has no answer either (`unanswered`)."""

    def __init__(
        self,
        *,
        generator: Generator,
        memory: Memory,
        judge: Judge,
        context: ContextBuilder,
        retrieval: Retrieval,
        follow_ups: bool = True,
        fallback: Stands = "unanswered",
        tenant: Name = "default",
        session: Name = "default",
        language: Language = "en",
    ) -> None:
        self.generator, self.memory, self.judge_, self.context = generator, memory, judge, context
        self.retrieval, self.follow_ups, self.fallback = retrieval, follow_ups, fallback
        self.key = SessionKey(tenant, session)
        self.language = language
        self.last: GeneratorInput | None = None
        self.problems: Sequence[DataProblem] = ()  # problems of document files
        self._failures = 0

    @asynccontextmanager
    async def open(self, models: Models | None, workspace: Workspace | None = None) -> AsyncIterator[None]:
        """`workspace`: the store of the memory and the index; not needed without documents for a memory that stores
        nothing."""
        async with AsyncExitStack() as stack:
            if models is not None:
                await stack.enter_async_context(models.open(CELL))
            await stack.enter_async_context(self.memory.open())
            if workspace is not None:
                await prepare(self.memory, workspace)
                self.problems = (await in_thread(self.retrieval.load)).problems
            if workspace is not None and self.has_documents:
                await self.retrieval.index(workspace)
                stack.push_async_callback(self.retrieval.close)
            yield

    @property
    def has_documents(self) -> bool:
        """Whether there are chunks to search."""
        return len(self.retrieval.corpus.chunks) > 0

    async def answer(self, text: str) -> ChatAnswer:
        """The answer to a message; `remember` adds it to the memory."""
        prompt = self.last = await self.prepare_message(text)
        if prompt.retrieved is None:
            return ChatAnswer(await self.generator.generate(prompt.query, prompt.contexts), prompt)
        answer, _ = await answer_query(
            prompt.query, prompt.retrieved, prompt.context, self.retrieval, self.generator, self.fallback
        )
        return ChatAnswer(answer, prompt)

    async def remember(self, text: str, answer: Answer) -> None:
        """Add a turn to the memory, without citations, whose numbers mean nothing later. The summary is updated in the
        background."""
        await self.memory.append(self.key, ChatTurn(text, without_citations(answer.text)), detect_language(text))

    async def prepare_message(self, text: str) -> GeneratorInput:
        """The prompt for a message: documents are searched, the generator is not called."""
        remembered = await self.memory.read(self.key, text)
        query = Query("chat", text, True, {}, language=detect_language(text), from_memory=True)
        if not self.has_documents or tells_something(text):
            context = self.context.build(remembered, text)
            messages = self._messages(query, context.contexts)
            return GeneratorInput(query, self.context.add_prompt(context, messages), messages=messages)
        searched = search_text(text, remembered) if self.follow_ups else text
        query = replace(query, from_memory=False)
        retrieved = await self.retrieval.look_up(replace(query, text=searched))
        context = self.context.build(remembered, text, documents=retrieved.contexts)
        query, retrieved = replace(query, remembered=context.contexts), replace(retrieved, contexts=context.documents)
        messages = self._messages(query, context.documents)
        return GeneratorInput(query, self.context.add_prompt(context, messages), retrieved, searched, messages)

    def _messages(self, query: Query, contexts: Sequence[Context]) -> tuple[tuple[str, str], ...]:
        return tuple(self.generator.messages(query, contexts)) if isinstance(self.generator, Prompting) else ()

    async def judgement(self, question: str) -> Judgement:
        """The judgement of the memory for a question, after pending updates."""
        await self.memory.update(self.key)
        context = self.context.build(await self.memory.read(self.key, question), question)
        fields: Mapping[str, Any] = {
            "question": question,
            "memory": context.memory_text,
            "entities": context.entities_text,
            "reference": [],
            "stale": [],
            "language": detect_language(question),
        }
        return await self.judge_.judge(RUBRIC, fields)

    async def state(self) -> SessionState:
        """The session in the store."""
        return await self.memory.inspect(self.key)

    async def forget(self) -> None:
        """Delete the session, and forget the last answer."""
        await self.memory.delete(self.key)
        self.last, self._failures = None, 0

    async def finish(self) -> None:
        """Wait for the running update."""
        await self.memory.update(self.key)

    def new_failures(self) -> int:
        """The number of failed updates since the last call."""
        before, self._failures = self._failures, self.memory.upkeep(self.key).failures
        return max(0, self._failures - before)
