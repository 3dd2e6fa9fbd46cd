"""Reads the responses of servers, and converts replies to what the cache stores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.llm.messages import ChatReply, FunctionCall, Usage
from runner.llm.verdict import ToldError
from runner.text.reply import text_of_parts, thought_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COUNTS = ("prompt_tokens", "completion_tokens")
MOST = 10**9  # tokens of one exchange; a database can hold sums of such numbers


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """float64 [dim] for each text; all have the same length if the server works correctly. `sent_by`: the model name in
    the response."""

    rows: Sequence[NDArray[np.float64]]
    sent_by: str = ""


def chat_reply(body: Mapping[str, Any]) -> tuple[ChatReply, Usage | None]:
    """Read a chat completion. Raises KeyError, TypeError, ValueError and the like for another body."""
    _raise_error(body, "choices")
    choice = _first_choice(body.get("choices"))
    _raise_error(choice, "message" if choice.get("finish_reason") != "error" else "")
    message = _mapping(choice.get("message"), "choices.0.message")
    text, refusal, reason = message.get("content") or "", message.get("refusal"), choice.get("finish_reason")
    if isinstance(text, list):
        text = text_of_parts(_mapping(part, "a part of the content") for part in text)
    if not isinstance(text, str) or not isinstance(refusal, str | None) or not isinstance(reason, str | None):
        raise ValueError(f"expected a text, got {str(message)[:80]!r}")
    usage = _usage(body.get("usage"), "completion_tokens")
    calls = tuple(map(_call, message.get("tool_calls") or ()))
    return ChatReply(text, reason, refusal, Usage(), calls, thought=thought_in(body)), usage


def _first_choice(choices: Any) -> Mapping[str, Any]:
    if not isinstance(choices, list) or not choices:
        raise ValueError(f"choices: expected a list of one, got {str(choices)[:80]!r}")
    return _mapping(choices[0], "choices.0")


def _mapping(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{place}: expected an object, got {str(value)[:80]!r}")
    return value


def _raise_error(reply: Mapping[str, Any], key: str) -> None:
    """Some servers report an error with status 200."""
    if key not in reply and "error" in reply:
        raise ToldError(reply["error"])


def _call(entry: Mapping[str, Any]) -> FunctionCall:
    """Some servers send the arguments as an object."""
    name, arguments = entry["function"]["name"], entry["function"].get("arguments") or "{}"
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    if not isinstance(name, str) or not isinstance(entry["id"], str):
        raise ValueError(f"expected a call, got {str(entry)[:80]!r}")
    return FunctionCall(entry["id"], name, arguments)


def vectors_of(body: Mapping[str, Any], n_texts: int) -> tuple[Vectors, Usage | None]:
    """The vectors in the order of the texts, not yet checked for NaN. Raises KeyError, TypeError, ValueError and the
    like for another body."""
    import numpy as np

    _raise_error(body, "data")
    rows = {int(item.get("index", -1)): item["embedding"] for item in body["data"]}
    if len(body["data"]) != n_texts or set(rows) != set(range(n_texts)):
        raise ValueError(f"expected a vector for each index from 0 to {n_texts - 1}, got {len(body['data'])}")
    vectors = [np.asarray(rows[number], dtype=np.float64) for number in range(n_texts)]
    if any(vector.ndim != 1 for vector in vectors):
        raise ValueError(f"expected lists of numbers, got {str(rows[0])[:80]!r}")
    name = body.get("model")
    return Vectors(vectors, name if isinstance(name, str) else ""), _usage(body.get("usage"))


def reply_to_json(reply: ChatReply, usage: Usage) -> dict[str, Any]:
    """JSON values from which `reply_from_json` makes the reply again."""
    calls = [[call.id, call.name, call.arguments] for call in reply.calls]
    return {
        **({"calls": calls} if calls else {}),
        **({"thought": reply.thought} if reply.thought else {}),
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "refusal": reply.refusal,
        "usage": [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens],
    }


def reply_from_json(reply: Mapping[str, Any]) -> ChatReply:
    """The stored reply, with 0 attempts, since no request was sent for it. Raises KeyError or TypeError for other
    values."""
    calls = tuple(FunctionCall(*call) for call in reply.get("calls", ()))
    fields = reply["text"], reply["finish_reason"], reply["refusal"]
    return ChatReply(*fields, Usage(*reply["usage"]), calls, attempts=0, thought=reply.get("thought", ""))


def _usage(usage: Any, answer: str | None = None) -> Usage | None:
    """The server's token counts; None where it sent none. `answer` is the key of the answer's tokens."""
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else usage.get("prompt_cache_hit_tokens", 0)
    n_input, n_output = _count(usage.get("prompt_tokens")), _count(usage.get(answer) if answer else 0)
    if n_input is None or n_output is None:
        return None
    if answer:  # some servers count reasoning tokens in the total only; they cost as much as the answer
        n_output = max(n_output, (_count(usage.get("total_tokens")) or 0) - n_input)
    return Usage(n_input, n_output, min(n_input, _count(cached) or 0))


def miscounts(said: Mapping[str, Any]) -> str:
    """The implausible token counts of a response, in words; empty if none."""
    usage = said.get("usage")
    if not isinstance(usage, Mapping):
        return ""
    wrong = [name for name in COUNTS if usage.get(name) is not None and _count(usage[name]) is None]
    return ", ".join(f"{name}={str(usage[name])[:40]}" for name in wrong)


def _count(value: Any) -> int | None:
    """A plausible token count, also where it is sent as a float; else None."""
    if type(value) is int and 0 <= value <= MOST:  # as nearly all are
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
        return None
    return int(value) if value == int(value) else None
