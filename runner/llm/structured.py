"""A JSON object out of a model's reply, asked for again and repaired where the model needs it."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from runner.errors import ReplyError
from runner.llm.messages import ChatReply, ChatRequest, Message
from runner.text.language import detect_language

T = TypeVar("T")

IDENTICAL = 3  # attempts with the same request, before one that shows the model what it said
SHOWN = 2000  # characters of the unusable reply in the repair request

REPAIR = {
    "en": "Your reply could not be used: {reason}. Reply again with nothing but one JSON object of the form asked for.",
    "ko": "방금 응답은 사용할 수 없습니다: {reason}. 요청한 형식의 JSON 객체 하나만 다시 출력하세요.",
}


async def structured(
    ask: Callable[[ChatRequest], Awaitable[ChatReply]],
    request: ChatRequest,
    read: Callable[[Mapping[str, Any]], T],
) -> T:
    """What `read` makes of the last JSON object of the reply; it raises ValueError for what it cannot take.

    Such a reply, or none, brings the identical request again, up to twice, then one with the reply and what
    is wrong with it. A refusal or a reply that was cut off is final. Raises ReplyError.
    """
    said = reason = ""
    for attempt in range(IDENTICAL + 1):
        asked = replace(request, attempt=attempt)
        if attempt == IDENTICAL:
            asked = replace(asked, messages=_repairing(request, said, reason))
        reply = await ask(asked)
        _check_is_whole(reply, request.max_tokens)
        try:
            return read(last_object(reply.text))
        except ValueError as error:
            said, reason = reply.text, " ".join(str(error).split())
    raise ReplyError(f"no usable answer in {IDENTICAL + 1} replies: {reason}; the last was {_short(said)!r}")


def last_object(text: str) -> Mapping[str, Any]:
    """The last JSON object in a text that may hold thoughts, prose, code fences and other objects around it; its
    strings may hold line breaks, its numbers be NaN and infinite. Raises ValueError when there is none, or when it
    names something twice."""
    told = text.rpartition("</think>")[2]
    if not told.strip():
        raise ValueError("the reply is empty")
    found: Mapping[str, Any] | None = None
    broken, start = 0, BEGINNING.search(told)
    while start is not None and broken < BROKEN:
        try:
            found, end = DECODER.raw_decode(told, start.start())
        except json.JSONDecodeError as error:
            broken, end = broken + 1, max(error.pos, start.end() - 1)  # what came before belongs to something broken
        except RecursionError:
            raise ValueError("the reply is nested too deeply") from None
        start = BEGINNING.search(told, end)
    if found is None:
        raise ValueError("the reply holds no JSON object")
    if TWICE in found:
        raise ValueError(f"the reply says {found[TWICE]!r} twice")
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """With a key that is there twice under TWICE."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        found[TWICE] = next(key for key in keys if keys.count(key) > 1)
    return found


TWICE = "\0twice"
BEGINNING = re.compile(r'\{\s*["}]')
BROKEN = 1000  # objects that are none, after which nothing more is looked for
DECODER = json.JSONDecoder(object_pairs_hook=_object, strict=False)


def _check_is_whole(reply: ChatReply, max_tokens: int) -> None:
    if reply.refusal:
        raise ReplyError(f"the model refused: {_short(reply.refusal)}")
    if reply.finish_reason == "content_filter":
        raise ReplyError("the reply was withheld by the server's content filter")
    if reply.finish_reason == "length":
        raise ReplyError(f"the reply was cut off at max_tokens={max_tokens}: {_short(reply.text)!r}")


def _repairing(request: ChatRequest, said: str, reason: str) -> tuple[Message, ...]:
    language = detect_language(request.messages[0].text)
    wish = Message("user", REPAIR[language].format(reason=reason))
    return (*request.messages, Message("assistant", said[:SHOWN] or "-"), wish)


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= 120 else f"{plain[:119]}…"
