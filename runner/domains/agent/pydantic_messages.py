"""Between pydantic-ai's messages and those of the one door to models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runner.llm.messages import ChatReply, Function, FunctionCall, Message

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.tools import ToolDefinition


def function_of(tool: ToolDefinition) -> Function:
    return Function(tool.name, tool.description or "", tool.parameters_json_schema)


def sent(messages: Sequence[ModelMessage], instructions: str | None) -> tuple[Message, ...]:
    """As they are sent: instructions first, one message for each result of a tool."""
    found = [Message("system", instructions)] if instructions else []
    for message in messages:
        if message.kind == "response":
            calls = tuple(FunctionCall(call.tool_call_id, call.tool_name, _json(call)) for call in message.tool_calls)
            found.append(Message("assistant", message.text or "", calls))
        else:
            found.extend(map(_message, message.parts))
    return tuple(found)


def response(reply: ChatReply) -> ModelResponse:
    """A refusal counts as what the model says."""
    from pydantic_ai import ModelResponse, RequestUsage, TextPart, ToolCallPart

    text = reply.text or reply.refusal or ""
    calls = [ToolCallPart(call.name, call.arguments, tool_call_id=call.id) for call in reply.calls]
    usage = RequestUsage(input_tokens=reply.usage.input_tokens, output_tokens=reply.usage.output_tokens)
    return ModelResponse([*([TextPart(text)] if text else []), *calls], usage=usage)


def _json(call: Any) -> str:
    """The arguments as the model wrote them."""
    return call.args if isinstance(call.args, str) else str(call.args_as_json_str())


def _message(part: Any) -> Message:
    """A question, what came of a call, or what was wrong with a reply."""
    text = part.model_response_str() if part.part_kind == "tool-return" else str(part.content)
    if (call_id := getattr(part, "tool_call_id", None)) is not None:
        return Message("tool", text, call_id=call_id)
    return Message("system" if part.part_kind == "system-prompt" else "user", text)
