"""A JSON object out of a model's reply, asked for again and repaired where the model needs it."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from runner.errors import EvaluationError, ReplyError, StopRunError
from runner.llm.loose_json import OutsideRangeError, integer, replace_surrogates
from runner.llm.messages import ChatReply, ChatRequest, Message
from runner.text.language import detect_language
from runner.text.reply import split_thought

T = TypeVar("T")

Ask = Callable[[ChatRequest], Awaitable[ChatReply]]

IDENTICAL = 3  # attempts with the same request, before one that shows the model its reply
REASON = 500  # characters of an error, which may quote the whole reply
SHOWN = 2000  # characters of the unusable reply in the repair request

ONLY_THOUGHT = (
    "for the server sent all of it as the model's reasoning (reasoning_content): raise max_tokens, or turn thinking "
    "off by a parameter in provider.NAME.add"
)
REPAIR = {
    "en": "Your reply could not be used: {reason}. Reply again with nothing but one JSON object of the form asked for.",
    "ko": "방금 응답은 사용할 수 없습니다: {reason}. 요청한 형식의 JSON 객체 하나만 다시 출력하세요.",
}


async def ask_for_json(
    ask: Ask,
    request: ChatRequest,
    read: Callable[[Mapping[str, Any]], T],
    read_clamped: Callable[[Mapping[str, Any]], T] | None = None,
) -> T:
    """Ask for a JSON object, and return it as `read` converts it; `read` raises ValueError for an object that it cannot
    use.

    After such a reply, or one without an object, the identical request is sent again, up to twice, then one with the
    reply and its fault. A score outside of its range (OutsideRangeError) is asked for once more, with the reply and its
    fault; what is still outside is what `read_clamped` makes of it, if there is one. After the first reply that may
    have used all its tokens, the request is sent with twice as many. A refusal is final, and so is a second truncated
    reply. Raises ReplyError.
    """
    last_text, reason, max_tokens = "", "", request.max_tokens
    outside: Mapping[str, Any] | None = None
    for attempt in range(IDENTICAL + 1):
        attempted = replace(request, attempt=attempt) if attempt != request.attempt else request
        if attempt == IDENTICAL or outside is not None:
            attempted = replace(attempted, messages=_repair_messages(request, last_text, reason))
        reply = await _checked_reply(ask, attempted)
        if reply.used_limit and request.max_tokens == max_tokens and reply.limit is not None:
            request = replace(request, max_tokens=2 * max_tokens)
            reply = await _longer(ask, replace(attempted, max_tokens=2 * max_tokens), reply)
        try:
            found = _object_of(reply)
            return read(found)
        except OutsideRangeError as error:
            if read_clamped is not None and outside is not None:
                return read_clamped(found)
            last_text, reason = reply.text, " ".join(str(error).split())[:REASON]
            outside = None if read_clamped is None else found
        except ValueError as error:
            last_text, reason = reply.text, " ".join(str(error).split())[:REASON]
    if read_clamped is not None and outside is not None:
        return read_clamped(outside)
    raise ReplyError(f"no usable answer in {IDENTICAL + 1} replies: {reason}; the last was {_excerpt(last_text)!r}")


async def _checked_reply(ask: Ask, request: ChatRequest) -> ChatReply:
    """Raises ReplyError where the model or its server gives none."""
    reply = await ask(request)
    if reply.refusal:
        raise ReplyError(f"the model refused: {_excerpt(reply.refusal)}")
    if reply.finish_reason == "content_filter":
        raise ReplyError("the reply was withheld by the server's content filter")
    return reply


async def _longer(ask: Ask, request: ChatRequest, broken: ChatReply) -> ChatReply:
    """The reply to a request that allows more tokens than `broken` used."""
    try:
        return await _checked_reply(ask, request)
    except (StopRunError, ReplyError):
        raise
    except EvaluationError as error:  # of a model that cannot make so many
        raise EvaluationError(f"{_cut_off(broken)}; asked with max_tokens={request.max_tokens}: {error}") from error


def _object_of(reply: ChatReply) -> Mapping[str, Any]:
    """The JSON object of a reply. Raises ValueError for a reply without one or a truncated one, ReplyError for one that
    needs more tokens."""
    if reply.used_limit:
        raise ReplyError(_cut_off(reply))
    if reply.broke_off:
        raise ValueError(f"the reply broke off after {reply.usage.output_tokens} of {reply.limit} tokens")
    if reply.thought and not reply.text.strip():
        raise ValueError(f"the reply is empty, {ONLY_THOUGHT}")
    return last_object(reply.text)


def _cut_off(reply: ChatReply) -> str:
    limit = "a limit of the server" if reply.limit is None else f"max_tokens={reply.limit}"
    return f"the reply was cut off at {limit}: {_excerpt(reply.text)!r}"


def last_object(text: str) -> Mapping[str, Any]:
    """The last JSON object in a text that may hold thoughts, prose, code fences and other objects around it; its
    strings may hold line breaks, its numbers be NaN and infinite. Raises ValueError when there is none, or when it
    names something twice."""
    answer, _ = split_thought(text.strip())
    if not answer:
        raise ValueError("the reply is empty")
    last: Mapping[str, Any] | None = None
    broken, start = 0, BEGINNING.search(answer)
    while start is not None and broken < BROKEN:
        try:
            last, end = DECODER.raw_decode(answer, start.start())
        except json.JSONDecodeError as error:
            broken, end = broken + 1, max(error.pos, start.end() - 1)  # what came before belongs to something broken
        except RecursionError:
            raise ValueError("the reply is nested too deeply") from None
        start = BEGINNING.search(answer, end)
    if last is None:
        raise ValueError("the reply holds no JSON object")
    if TWICE in last:
        raise ValueError(f"the reply says {last[TWICE]!r} twice")
    complete: Mapping[str, Any] = replace_surrogates(last)
    return complete


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; a repeated key is stored under TWICE."""
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        members[TWICE] = next(key for key in keys if keys.count(key) > 1)
    return members


TWICE = "\0twice"
BEGINNING = re.compile(r'\{\s*["}]')
BROKEN = 1000  # invalid objects, after which the search ends
DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=integer, strict=False)


def _repair_messages(request: ChatRequest, reply: str, reason: str) -> tuple[Message, ...]:
    language = detect_language(request.messages[0].text)
    wish = Message("user", REPAIR[language].format(reason=reason))
    return (*request.messages, Message("assistant", reply[:SHOWN] or "-"), wish)


def _excerpt(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= 120 else f"{plain[:119]}…"
