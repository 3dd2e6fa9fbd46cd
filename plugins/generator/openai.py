"""Answers by a chat model of any OpenAI-compatible server, from the contexts and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Unpack

from pydantic import Field

from runner.errors import ReplyError
from runner.llm.fencing import Item, fence_fields
from runner.llm.messages import ChatReply, ChatRequest, Message
from runner.llm.models import Models
from runner.llm.prompts import Prompt, prompt_by_name
from runner.llm.sampling import Sampling, SamplingSettings
from runner.llm.structured import ONLY_THOUGHT
from runner.records import Answer, Context, Query
from runner.text.citations import citations
from runner.text.language import Language, detect_language
from runner.text.refusals import REFUSAL, is_refusal, refusal_for

ATTEMPTS = 3  # the same request, while the reply is empty or breaks off
PROMPTS = ("answer", "memory", "copilot")  # that may be asked for by name


class OpenaiGenerator:
    """Numbered contexts, what was said before or is remembered of it, and the question reach the model as fenced data
    in one user message.

    The answer is the text of the reply without what the model thought. It counts as refused when it opens as a
    refusal, or when the server says that the model refused. Without any context it refuses, in the language of the
    question, without asking, unless the question is one of a conversation. An answer that reaches `max_tokens` is kept
    and marked, one that reaches it while the model thinks is empty. `prompt`: a name, or a file; None: `memory` for
    questions of a conversation, `copilot` for those that documents may answer, too, `answer` for others.
    `refuse_below`: see runner.protocols.Declining.
    """

    def __init__(
        self,
        *,
        models: Models,
        model: str = "openai:gpt-4o-mini",
        prompt: str | None = None,
        refuse_below: Annotated[float, Field(ge=0, le=1)] | None = None,
        **sampling: Unpack[SamplingSettings],
    ) -> None:
        self.model = models.model(model, "generator")
        self.sampling = Sampling(**sampling)
        self.prompt = prompt
        self.refuse_below = refuse_below
        self._prompts: dict[str, Prompt] = {}

    def prompt_for(self, query: Query) -> Prompt:
        """Raises InputError when it is a file that cannot be used."""
        usual = "memory" if query.from_memory else "answer" if query.remembered is None else "copilot"
        return self._prompt(self.prompt or usual)

    def _prompt(self, name: str) -> Prompt:
        if name not in self._prompts:
            self._prompts[name] = prompt_by_name(name, PROMPTS, "generator.prompt")
        return self._prompts[name]

    @property
    def provenance(self) -> Mapping[str, Any]:
        names = (self.prompt,) if self.prompt else PROMPTS
        return {**self.model.provenance, "prompt": "+".join(self._prompt(name).digest for name in names)}

    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        """Raises ReplyError when the reply has no text, and the errors of `Model.chat`."""
        if not contexts and not query.from_memory and not query.remembered:
            return Answer(refusal_for(query), refused=True)
        request = self.request(query, contexts)
        reply = await self.model.make_or_reuse(request, lambda: self._reply(request, query.text), lambda reply: True)
        if reply.refusal:
            return Answer(reply.refusal, refused=True)
        answer = reply.read(query.text)
        text = answer.answer
        refused = is_refusal(text, query.text)
        return Answer(text, refused, citations(text), cut_off=answer.cut_off, thought=answer.thought)

    def request(self, query: Query, contexts: Sequence[Context]) -> ChatRequest:
        """The request that answers a query from contexts, which are fenced as data."""
        language = _language(query)
        before: dict[str, Sequence[Item]] = {"history": query.history} if query.history else {}
        if query.remembered is not None:
            before["memory"] = query.remembered
        messages = (
            Message("system", self.prompt_for(query).system(language, refusal=REFUSAL[language])),
            Message("user", fence_fields({**before, "contexts": contexts, "question": query.text}, language)),
        )
        return self.sampling.request(messages)

    def messages(self, query: Query, contexts: Sequence[Context]) -> Sequence[tuple[str, str]]:
        return [(message.role, message.text) for message in self.request(query, contexts).messages]

    async def _reply(self, request: ChatRequest, question: str) -> ChatReply:
        """A reply with an answer, with a refusal, or one that reached its limit. A reply that breaks off before its
        limit, or whose thought does not end, is repeated; the last attempt is kept."""
        with self.model.series() as ask:
            for attempt in range(ATTEMPTS):
                reply = await ask(replace(request, attempt=attempt))
                said, is_last = reply.read(question), attempt + 1 == ATTEMPTS
                if reply.refusal or reply.used_limit or (said.answer and not reply.broke_off):
                    return reply
                if is_last and not said.error and (reply.text.strip() or reply.broke_off):
                    return reply
                if reply.finish_reason == "content_filter":
                    raise ReplyError("the answer was withheld by the server's content filter")
            if said.error:
                raise ReplyError(f"an error came in place of the answer {ATTEMPTS} times: {said.error}")
            raise ReplyError(f"the answer was empty {ATTEMPTS} times{_why_empty(reply)}")


def _why_empty(reply: ChatReply) -> str:
    if reply.calls:
        return f", for the model called functions that nobody offered ({', '.join(call.name for call in reply.calls)})"
    return f", {ONLY_THOUGHT}" if reply.thought else ""


def _language(query: Query) -> Language:
    told: dict[str | None, Language] = {"ko": "ko", "en": "en"}
    return told.get(query.language) or detect_language(query.text)
