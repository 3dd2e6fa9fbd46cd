"""Converts messages between pydantic-ai and runner.llm, and renders the results of tool calls for the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runner.domains.agent.candidate import Candidate
from runner.domains.agent.toolbox import Toolbox
from runner.domains.memory.shortening import shorten_text
from runner.llm.fencing import Item, fence_fields
from runner.llm.messages import ChatReply, Function, FunctionCall, Message
from runner.llm.tokens import count_tokens
from runner.records import Assessment, Context, ToolCall
from runner.text.language import Language
from runner.text.reply import split_thought

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.tools import ToolDefinition


def function_of(tool: ToolDefinition) -> Function:
    """A tool as a function of a model request."""
    return Function(tool.name, tool.description or "", tool.parameters_json_schema)


def request_messages(messages: Sequence[ModelMessage], instructions: str | None) -> tuple[Message, ...]:
    """The messages of a request: instructions first, one message for each result of a tool."""
    messages_sent = [Message("system", instructions)] if instructions else []
    for message in messages:
        if message.kind == "response":
            calls = tuple(FunctionCall(call.tool_call_id, call.tool_name, _json(call)) for call in message.tool_calls)
            messages_sent.append(Message("assistant", message.text or "", calls))
        else:
            messages_sent.extend(map(_message, message.parts))
    return tuple(messages_sent)


def response(reply: ChatReply) -> ModelResponse:
    """The response of a reply, without what the model thought; a refusal counts as text."""
    from pydantic_ai import ModelResponse, RequestUsage, TextPart, ToolCallPart

    text = split_thought(reply.text)[0] or reply.refusal or ""
    calls = [ToolCallPart(call.name, call.arguments, tool_call_id=call.id) for call in reply.calls]
    usage = RequestUsage(input_tokens=reply.usage.input_tokens, output_tokens=reply.usage.output_tokens)
    return ModelResponse([*([TextPart(text)] if text else []), *calls], usage=usage)


def _json(call: Any) -> str:
    """The arguments as the model wrote them."""
    return call.args if isinstance(call.args, str) else str(call.args_as_json_str())


def _message(part: Any) -> Message:
    """The message of a question, a tool result, or a complaint about a reply."""
    text = part.model_response_str() if part.part_kind == "tool-return" else str(part.content)
    if (call_id := getattr(part, "tool_call_id", None)) is not None:
        return Message("tool", text, call_id=call_id)
    return Message("system" if part.part_kind == "system-prompt" else "user", text)


SHOWN = 10  # results


def report_of(call: ToolCall, toolbox: Toolbox, language: Language, max_tokens: int) -> str:
    """The text of a tool result, fenced, since it contains untrusted text: the best results so far, each cut to
    `max_tokens`, their assessment, and the number of remaining calls."""
    results = [_context_of(candidate, max_tokens) for candidate in toolbox.candidates[:SHOWN]]
    assessment = _assessment(call.assessment)
    parts: dict[str, str | Sequence[Item]] = {
        **({"error": call.error} if call.error else {}),
        "results": results,
        **({"assessment": assessment} if assessment else {}),
        "calls_left": str(toolbox.calls_left),
    }
    return fence_fields(parts, language)


def _assessment(assessment: Assessment) -> str:
    """The assessment in words; empty where the reranker only orders."""
    if assessment.sufficient is None:
        return ""
    lines = [f"sufficient: {str(assessment.sufficient).lower()}"]
    if assessment.confidence is not None:
        lines.append(f"confidence: {assessment.confidence:.2f}")
    if assessment.missing:
        lines.append(f"missing: {'; '.join(assessment.missing)}")
    if assessment.next_action is not None:
        lines.append(f"advice: {assessment.next_action}")
    if assessment.refined_query is not None:
        lines.append(f"refined_query: {assessment.refined_query}")
    return "\n".join(lines)


def _context_of(candidate: Candidate, max_tokens: int) -> Context:
    tags = candidate.metadata
    kind = f"[{tags['doc_type']}]" if tags.get("doc_type") else ""
    where = " > ".join(filter(None, (candidate.title, tags.get("section"))))
    text = shorten_text(candidate.text, max_tokens, count_tokens)
    return Context(candidate.id, text, " ".join(filter(None, (kind, where, f"(id: {candidate.id})"))))
