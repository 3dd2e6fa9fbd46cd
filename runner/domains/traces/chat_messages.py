"""One message of a chat log in the form of OpenAI's chat API."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from runner.data.jsonl import described

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
        """The same for the same call."""
        return f"{self.name} {json.dumps(self.arguments, sort_keys=True)}"


@dataclass(frozen=True, slots=True)
class Message:
    """`role` is that of today: `tool` for `function`. `call_id`: which call a tool answers."""

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    is_error: bool = False
    refused: bool = False


def message_of(value: Any, field: str) -> Message:
    """Raises FieldError."""
    if not isinstance(value, dict):
        raise FieldError(field, f"expected an object, found {described(value)}")
    role = value.get("role")
    if role not in ROLES:
        raise FieldError(f"{field}.role", f"expected one of {', '.join(ROLES)}, found {described(role)}")
    text = _text(value.get("content"), f"{field}.content")
    if role in ("tool", "function"):
        name = value.get("tool_call_id") or value.get("name")
        return Message("tool", text, call_id=None if name is None else str(name), is_error=_is_error(value, text))
    refusal = _text(value.get("refusal"), f"{field}.refusal") if role == "assistant" else ""
    calls = _calls(value, field) if role == "assistant" else ()
    return Message(role, text or refusal, calls, refused=bool(refusal))


def _text(content: Any, field: str) -> str:
    """A text, or the texts among the parts of a message; pictures and sounds are left out."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise FieldError(field, f"expected a text or a list of parts, found {described(content)}")
    texts = []
    for place, part in enumerate(content):
        if not isinstance(part, dict):
            raise FieldError(f"{field}[{place}]", f"expected an object, found {described(part)}")
        said = part.get("text", part.get("refusal"))
        texts += [said] if isinstance(said, str) else []
    return "\n".join(texts)


def _calls(value: Mapping[str, Any], field: str) -> tuple[Call, ...]:
    listed = value.get("tool_calls") or []
    if not isinstance(listed, list):
        raise FieldError(f"{field}.tool_calls", f"expected a list, found {described(listed)}")
    calls = [_call(call, f"{field}.tool_calls[{place}]") for place, call in enumerate(listed)]
    old = value.get("function_call")
    if old:  # the form before tool_calls: its result names the function
        call = _function(old, f"{field}.function_call")
        calls.append(Call(call.name, call.name, call.arguments))
    return tuple(calls)


def _call(value: Any, field: str) -> Call:
    if not isinstance(value, dict):
        raise FieldError(field, f"expected an object, found {described(value)}")
    kind = "custom" if value.get("type") == "custom" else "function"
    call = _function(value.get(kind), f"{field}.{kind}")
    return Call(str(value.get("id") or ""), call.name, call.arguments)


def _function(value: Any, field: str) -> Call:
    if not isinstance(value, dict):
        raise FieldError(field, f"expected an object, found {described(value)}")
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        raise FieldError(f"{field}.name", f"expected the name of a tool, found {described(name)}")
    arguments = value.get("arguments", value.get("input"))
    if isinstance(arguments, str):
        with suppress(orjson.JSONDecodeError):  # models write broken JSON too
            arguments = orjson.loads(arguments) if arguments.strip() else {}
    return Call("", name, {} if arguments is None else arguments)


def _is_error(value: Mapping[str, Any], text: str) -> bool:
    """Whether a tool says that it failed."""
    if isinstance(value.get("is_error"), bool):
        return bool(value["is_error"])
    try:
        result = orjson.loads(text)
    except orjson.JSONDecodeError:
        return bool(_FAILED.match(text))
    if not isinstance(result, dict):
        return isinstance(result, str) and bool(_FAILED.match(result))
    failed = str(result.get("status")).lower() in ("error", "failed", "failure")
    return bool(result.get("error") or result.get("is_error") is True or result.get("success") is False or failed)
