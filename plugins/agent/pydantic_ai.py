"""A chat model decides which tools to call: an agent of pydantic-ai, whose requests go through the one door."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from pydantic import BaseModel, Field

from runner.domains.agent.messages import function_of, report_of, request_messages, response
from runner.domains.agent.toolbox import CallsSpentError, Toolbox
from runner.errors import EvaluationError, InputError, Problem, StopRunError, install_command
from runner.llm.fencing import Item, fence_fields
from runner.llm.messages import ChatReply, Function, Message
from runner.llm.metering import metering
from runner.llm.models import Models
from runner.llm.prompts import Prompt, prompt_by_name
from runner.llm.rehearsal import REHEARSED
from runner.llm.sampling import Sampling, SamplingSettings
from runner.protocols import Workspace
from runner.records import Corpus, Query, Stopped, ToolCall, Trajectory
from runner.system.metadata import version_of
from runner.text.language import Language, detect_language

if TYPE_CHECKING:
    from pydantic_ai import Agent, RunContext, Tool
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models.function import AgentInfo
    from pydantic_ai.tools import ToolDefinition

MORE_REQUESTS = 3  # than calls of tools, after which a run is ended: one that goes in circles
SPENT: Mapping[Language, str] = {
    "en": "No call is left. End now with finish, from the results so far.",
    "ko": "더 쓸 수 있는 호출이 없습니다. 지금까지의 결과로 판단하여 finish를 호출하고 끝내십시오.",
}
DESCRIPTIONS: Mapping[str, Mapping[Language, str]] = {
    "search_all": {
        "en": "Searches all documents, FAQ and guides. query: what to search for.",
        "ko": "FAQ와 가이드 전체를 검색합니다. query: 검색어.",
    },
    "search_by_metadata": {
        "en": "Searches the documents with these tags only; leave out those that do not matter. query: what to search "
        "for. doc_type: faq or guide. has_steps: with steps to follow. section: headings joined by ' > '. guide_type: "
        "how_to, troubleshooting, reference or concept.",
        "ko": "다음 태그가 붙은 문서만 검색합니다. 상관없는 태그는 빼십시오. query: 검색어. doc_type: faq 또는 guide. "
        "has_steps: 따라 할 절차가 있는지. section: ' > '로 이은 제목. guide_type: how_to, troubleshooting, reference, "
        "concept 가운데 하나.",
    },
    "get_section": {
        "en": "Brings the whole section that a result stands in. chunk_id: the id of the result.",
        "ko": "결과가 속한 섹션 전체를 가져옵니다. chunk_id: 결과의 id.",
    },
    "finish": {
        "en": "Ends the search with a verdict on what was found.",
        "ko": "찾은 내용에 대한 판단을 알리고 검색을 끝냅니다.",
    },
}


class Verdict(BaseModel):  # noqa: D101 - the model would read it
    sufficient: bool
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    missing: list[str] = []


class PydanticAiAgent:
    """The model calls tools freely, perhaps several in a turn; calls over the number that the toolbox allows are
    answered with the advice to end, and are hidden in the next turn. It ends with a verdict, which counts where the
    reranker only orders. A model that does not stop, or whose requests fail, is stopped with what was found until
    then. A plan assumes that it calls one tool.

    Needs the extra `agent`. `max_result_tokens`: of each result that the model sees. `prompt`: a file like
    runner/llm/prompts/agent.yaml; None: that one.
    """

    def __init__(
        self,
        *,
        models: Models,
        model: str = "openai:gpt-5-nano",
        max_result_tokens: Annotated[int, Field(ge=20)] = 150,
        prompt: str | None = None,
        **sampling: Unpack[SamplingSettings],
    ) -> None:
        self._models, self._model = models, models.model(model, "agent")
        self.sampling = Sampling(**sampling)
        self.max_result_tokens = max_result_tokens
        self._prompt = prompt

    @cached_property
    def prompt(self) -> Prompt:
        """Raises InputError when it is a file that cannot be used."""
        return prompt_by_name(self._prompt or "agent", ("agent",), "agent.prompt")

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Raises InputError where the package is missing."""
        _check_is_installed()
        return {**self._model.provenance, "prompt": self.prompt.digest, "pydantic_ai": version_of("pydantic-ai-slim")}

    @property
    def concurrency(self) -> int:
        return self._models.max_concurrency

    @property
    def sweep(self) -> str:
        return self._models.sweep

    def preflight(self) -> Sequence[Problem]:
        try:
            _check_is_installed()
        except InputError as error:
            return [Problem("agent", str(error))]
        return []

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        """Nothing to prepare: the model knows the corpus by its tools only."""

    def run(self, question: Query, toolbox: Toolbox) -> Trajectory:
        """Runs in a thread beside the event loop. If the model has searched for nothing, the question is searched for.
        Raises StopRunError and InputError."""
        _check_is_installed()
        run = _Run(self, question, toolbox)
        verdict = self._models.blocking(run.verdict())
        if not toolbox.calls:
            toolbox.search_all(question.text)
        if verdict is not None and (toolbox.assessment is None or toolbox.assessment.sufficient is None):
            toolbox.assess(**verdict.model_dump() | {"missing": tuple(verdict.missing)})
        return toolbox.finish(run.stop_reason(), **run.facts)

    async def chat(self, messages: tuple[Message, ...], functions: tuple[Function, ...]) -> ChatReply:
        """One request of the agent's model."""
        return await self._model.chat(self.sampling.request(messages, functions=functions))

    @property
    def is_rehearsed(self) -> bool:
        return self._model.is_rehearsed


class _Run:
    """The agent at work on one question."""

    def __init__(self, settings: PydanticAiAgent, question: Query, toolbox: Toolbox) -> None:
        self.settings, self.question, self.toolbox = settings, question, toolbox
        self.language = _language(question)
        self.requests = self.refused = 0
        self.error: str | None = None

    async def verdict(self) -> Verdict | None:
        """The final verdict of the model; None where it gives none."""
        from pydantic_ai import UsageLimits
        from pydantic_ai.exceptions import AgentRunError

        history: dict[str, Sequence[Item]] = {"history": self.question.history} if self.question.history else {}
        prompt = fence_fields({**history, "question": self.question.text}, self.language)
        limits = UsageLimits(request_limit=self.toolbox.max_calls + MORE_REQUESTS)
        try:
            run = await self._agent().run(prompt, usage_limits=limits, infer_name=False)
        except (InputError, StopRunError):
            raise
        except (AgentRunError, EvaluationError) as error:  # it went in circles, or said what cannot be used
            self.error = " ".join(str(error).split())
            return None
        return run.output if isinstance(run.output, Verdict) else None

    def stop_reason(self) -> Stopped:
        assessment = self.toolbox.assessment
        if assessment is not None and assessment.sufficient:
            return "sufficient"
        if self.toolbox.calls_left <= 0:
            return "calls_spent"
        return "nothing_new" if self.error is None else "failed"

    @property
    def facts(self) -> Mapping[str, Any]:
        found = {"requests": self.requests, "calls_refused": self.refused, "error": self.error}
        return {name: value for name, value in found.items() if value}

    def _agent(self) -> Agent[None, Verdict | str]:
        from pydantic_ai import Agent, ToolOutput
        from pydantic_ai.models.function import FunctionModel

        instructions = self.settings.prompt.system(self.language, max_calls=str(self.toolbox.max_calls))
        finish = ToolOutput(Verdict, name="finish", description=DESCRIPTIONS["finish"][self.language])
        return Agent(
            FunctionModel(self._ask, model_name="runner"),
            output_type=[finish, str],
            instructions=instructions,
            tools=self._tools(),
            retries=self.toolbox.max_calls,
        )

    async def _ask(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """One request, charged to the step that it decides on."""
        functions = tuple(map(function_of, (*info.function_tools, *info.output_tools)))
        self.requests += 1
        with metering() as meter:
            reply = await self.settings.chat(request_messages(messages, info.instructions), functions)
        spent = meter.total
        self.toolbox.note(input_tokens=spent.input_tokens, output_tokens=spent.output_tokens, cost_usd=spent.usd)
        return response(reply)

    # --- tools; several of one turn are called one after the other, in the order in which they were asked for ---

    def _tools(self) -> list[Tool[None]]:
        from pydantic_ai import Tool

        toolbox = self.toolbox

        def search_all(query: str) -> str:
            return self._result_of(lambda: toolbox.search_all(self._query(query)))

        def search_by_metadata(
            query: str,
            doc_type: str | None = None,
            has_steps: bool | None = None,
            section: str | None = None,
            guide_type: str | None = None,
        ) -> str:
            tags = {"doc_type": doc_type, "has_steps": has_steps, "section": section, "guide_type": guide_type}
            wanted = {name: value for name, value in tags.items() if value is not None}
            return self._result_of(lambda: toolbox.search_by_metadata(self._query(query), **wanted))

        def get_section(chunk_id: str) -> str:
            return self._result_of(lambda: toolbox.get_section(chunk_id))

        return [
            Tool(
                function,
                description=DESCRIPTIONS[function.__name__][self.language],
                prepare=self._definition,
                sequential=True,
            )
            for function in (search_all, search_by_metadata, get_section)
        ]

    async def _definition(self, context: RunContext[None], tool: ToolDefinition) -> ToolDefinition | None:
        return tool if self.toolbox.calls_left > 0 else None

    def _result_of(self, call: Callable[[], ToolCall]) -> str:
        try:
            tool_call = call()
        except CallsSpentError:
            self.refused += 1
            return SPENT[self.language]
        return report_of(tool_call, self.toolbox, self.language, self.settings.max_result_tokens)

    def _query(self, query: str) -> str:
        return self.question.text if query == REHEARSED and self.settings.is_rehearsed else query


def _language(question: Query) -> Language:
    known: dict[str | None, Language] = {"ko": "ko", "en": "en"}
    return known.get(question.language) or detect_language(question.text)


def _check_is_installed() -> None:
    try:
        import pydantic_ai  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"agent=pydantic_ai needs the package pydantic-ai-slim ({error}); install the extra: "
            f"{install_command('agent')}"
        ) from error
