"""One message of a chat log, in the form of OpenAI's chat API or of Anthropic's Messages API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from runner.data.files import is_deep
from runner.data.jsonl import describe_value

ROLES = ("system", "developer", "user", "assistant", "tool", "function")

# What tools return when they fail, at the start of their text.
_FAILED = re.compile(
    r"\s*\W{0,3}(?:(?:error|failed|failure|fatal|exception|traceback)\b|[\w.]*(?:Error|Exception):|(?:오류|에러|실패|예외))",
    re.IGNORECASE,
)


class FieldError(ValueError):
    """`field` of a line is not what it should be."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message = field, message


@dataclass(frozen=True, slots=True)
class Call:
    """`arguments`: the object that they are, or the text that a model wrote in its place."""

    id: str
    name: str
    arguments: Any

    @property
    def key(self) -> str:
        """A key that is equal for equal calls."""
        return f"{self.name} {json.dumps(self.arguments, sort_keys=True)}"


@dataclass(frozen=True, slots=True)
class Message:
    """`role` is that of today: `tool` for `function`. `call_id`: which call a tool answers. `unread`: (field, type) of
    the parts that hold nothing which can be read, such as pictures."""

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    is_error: bool = False
    refused: bool = False
    unread: tuple[tuple[str, str], ...] = ()


def messages_of(value: Any, field: str) -> Sequence[Message]:
    """One message, or what a message of several Anthropic blocks amounts to: what the assistant thinks, says and calls
    at once is one, each result of a tool is one of its own. Raises FieldError."""
    content = value.get("content") if isinstance(value, dict) else None
    if isinstance(content, list) and any(isinstance(block, dict) and _is_block(block) for block in content):
        if value.get("role") not in ("user", "assistant"):
            raise FieldError(f"{field}.role", f"expected user or assistant, found {describe_value(value.get('role'))}")
        return of_blocks(value["role"], content, f"{field}.content")
    return [message_of(value, field)]


def message_of(value: Any, field: str) -> Message:
    """Raises FieldError."""
    if not isinstance(value, dict):
        raise FieldError(field, f"expected an object, found {describe_value(value)}")
    role = value.get("role")
    if role not in ROLES:
        raise FieldError(f"{field}.role", f"expected one of {', '.join(ROLES)}, found {describe_value(role)}")
    text = _text(value.get("content"), f"{field}.content")
    if role in ("tool", "function"):
        name = value.get("tool_call_id") or value.get("name")
        call_id, unread = None if name is None else str(name), _unread(value.get("content"), f"{field}.content")
        return Message("tool", text, call_id=call_id, is_error=_is_error(value, text), unread=unread)
    refusal = _text(value.get("refusal"), f"{field}.refusal") if role == "assistant" else ""
    calls = _calls(value, field) if role == "assistant" else ()
    unread = _unread(value.get("content"), f"{field}.content")
    return Message(role, text or refusal, calls, refused=bool(refusal), unread=unread)


def _text(content: Any, field: str) -> str:
    """A text, or the texts among the parts of a message; `_unread` names the others."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise FieldError(field, f"expected a text or a list of parts, found {describe_value(content)}")
    texts = []
    for place, part in enumerate(content):
        if not isinstance(part, dict):
            raise FieldError(f"{field}[{place}]", f"expected an object, found {describe_value(part)}")
        said = part.get("text", part.get("refusal"))
        texts += [said] if isinstance(said, str) else []
    return "\n".join(texts)


def _unread(content: Any, field: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(content, list):
        return ()
    return tuple(
        (f"{field}[{place}]", str(part.get("type", "a part without a type")))
        for place, part in enumerate(content)
        if not isinstance(part.get("text", part.get("refusal")), str)
    )


# --- blocks of Anthropic's Messages API -----------------------------------------------------------

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_THINKING = ("thinking", "redacted_thinking")


def _is_block(block: Mapping[str, Any]) -> bool:
    """Whether only Anthropic's API has blocks of this type."""
    return block.get("type") in (*_CALLS, *_THINKING) or _is_result(block)


def _is_result(block: Mapping[str, Any]) -> bool:
    """tool_result, web_search_tool_result, mcp_tool_result …"""
    return str(block.get("type")).endswith("tool_result")


def of_blocks(role: str, blocks: Sequence[Any], field: str) -> Sequence[Message]:
    """Messages of one turn: what is said and called at once, and each result of a tool. Raises FieldError."""
    messages: list[Message] = []
    beside: list[Mapping[str, Any]] = []  # blocks between two results
    first = 0
    for place, block in enumerate(blocks):
        if not isinstance(block, dict):
            raise FieldError(f"{field}[{place}]", f"expected an object, found {describe_value(block)}")
        if not _is_result(block):
            beside.append(block)
            continue
        messages += _between_results(role, beside, field, first)
        messages.append(_result(block, f"{field}[{place}]"))
        beside, first = [], place + 1
    return [*messages, *_between_results(role, beside, field, first)]


def _result(block: Mapping[str, Any], field: str) -> Message:
    content, call_id = block.get("content"), block.get("tool_use_id")
    unread: tuple[tuple[str, str], ...] = ()
    if not isinstance(call_id, str):
        raise FieldError(f"{field}.tool_use_id", f"expected the id of a call, found {describe_value(call_id)}")
    if isinstance(content, dict):  # a result or an error of a tool of the server
        text = json.dumps(content, ensure_ascii=False)
        is_error = str(content.get("type")).endswith("_error")
    elif block.get("type") not in ("tool_result", "mcp_tool_result") and isinstance(content, list):
        text, is_error = json.dumps(content, ensure_ascii=False), False
    else:
        text, unread = _text(content, f"{field}.content"), _unread(content, f"{field}.content")
        is_error = _is_error(block, text)
    return Message("tool", text, call_id=call_id, is_error=is_error, unread=unread)


def _between_results(role: str, blocks: Sequence[Mapping[str, Any]], field: str, first: int) -> Iterator[Message]:
    """The thoughts, texts and calls between two results. Thoughts before an answer are a message of their own, so that
    they are no part of it."""
    thoughts, texts, calls, unread = [], [], [], []
    for place, block in enumerate(blocks, first):
        where, kind = f"{field}[{place}]", block.get("type")
        if kind in _CALLS:
            call = _function(block, where)
            calls.append(Call(str(block.get("id") or ""), call.name, call.arguments))
        elif kind == "thinking" and isinstance(block.get("thinking"), str):
            thoughts.append(block["thinking"])
        elif kind == "text" and isinstance(block.get("text"), str):
            texts.append(block["text"])
        else:
            unread.append((where, str(block.get("type", "a block without a type"))))
    thought, text = "\n".join(filter(str.strip, thoughts)), "\n".join(filter(str.strip, texts))
    if thought and not calls:
        yield Message(role, thought)
        thought = ""
    if text or thought or calls or unread:
        yield Message(role, "\n".join(filter(None, (thought, text))), tuple(calls), unread=tuple(unread))


# --- calls of OpenAI's chat API -------------------------------------------------------------------


def _calls(value: Mapping[str, Any], field: str) -> tuple[Call, ...]:
    listed = value.get("tool_calls") or []
    if not isinstance(listed, list):
        raise FieldError(f"{field}.tool_calls", f"expected a list, found {describe_value(listed)}")
    calls = [_call(call, f"{field}.tool_calls[{place}]") for place, call in enumerate(listed)]
    old = value.get("function_call")
    if old:  # the form before tool_calls: its result names the function
        call = _function(old, f"{field}.function_call")
        calls.append(Call(call.name, call.name, call.arguments))
    return tuple(calls)


def _call(value: Any, field: str) -> Call:
    if not isinstance(value, dict):
        raise FieldError(field, f"expected an object, found {describe_value(value)}")
    kind = "custom" if value.get("type") == "custom" else "function"
    call = _function(value.get(kind), f"{field}.{kind}")
    return Call(str(value.get("id") or ""), call.name, call.arguments)


def _function(value: Any, field: str) -> Call:
    if not isinstance(value, dict):
        raise FieldError(field, f"expected an object, found {describe_value(value)}")
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        raise FieldError(f"{field}.name", f"expected the name of a tool, found {describe_value(name)}")
    arguments = value.get("arguments", value.get("input"))
    if isinstance(arguments, str):  # models write broken JSON too
        arguments = decode_json(arguments) if arguments.strip() else {}
    return Call("", name, {} if arguments is None else arguments)


def decode_json(value: Any) -> Any:
    """A text of JSON as what it holds; any other value, and what is too deep to be written again, as it is."""
    if not isinstance(value, str):
        return value
    try:
        decoded = orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
    return value if is_deep(decoded) else decoded


def _is_error(value: Mapping[str, Any], text: str) -> bool:
    """Whether a tool says that it failed."""
    if isinstance(value.get("is_error"), bool):
        return bool(value["is_error"])
    return is_error_text(text)


def is_error_text(text: str) -> bool:
    """Whether what a tool returned reads as an error."""
    try:
        result = orjson.loads(text)
    except orjson.JSONDecodeError:
        return bool(_FAILED.match(text))
    if not isinstance(result, dict):
        return isinstance(result, str) and bool(_FAILED.match(result))
    failed = str(result.get("status")).lower() in ("error", "failed", "failure")
    return bool(result.get("error") or result.get("is_error") is True or result.get("success") is False or failed)
