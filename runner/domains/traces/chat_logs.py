"""Chat logs of agents that call tools, in the form of OpenAI's chat API or of Anthropic's Messages API, as reasoning
traces.

Each line of a log is one conversation: `{"messages": […]}`, with the answer to a request as `{"request": {"messages":
[…]}, "response": {"choices": […]}}` too, or `"response": {"content": […], "stop_reason": …}`. Beside them, or in
`metadata`, may stand `id`, `task_domain`, `success`, `confidence`, `rating`, `quality`,
`expected_tools` and `created` or `created_at`.

    the first message of a user        the objective
    text of the assistant              a thought; the last one, after which nothing is called, is the result
    a call of a tool                   a tool call
    what a tool returned               an observation, as is what a user says later
    what the assistant does next, when something it called has failed
                                       a recovery from an error, unless it only calls the same again

A conversation in which nothing happened but an answer has that answer as its one thought.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import orjson

from runner.data.jsonl import describe_value, read_jsonl
from runner.data.problems import ProblemLog
from runner.domains.traces.chat_messages import Call, FieldError, Message, messages_of
from runner.domains.traces.reading import expected_tools_of
from runner.domains.traces.records import Step, StepType, Trace
from runner.errors import DataError
from runner.metrics.tool_use import ToolUse
from runner.text.language import detect_language

KNOWN = ("task_domain", "success", "confidence", "rating", "quality", "expected_tools", "created_at")

# How an answer ends that is not whole: two words of OpenAI's API, three of Anthropic's.
CUT_OFF = ("length", "content_filter", "max_tokens", "refusal", "model_context_window_exceeded")


def read_chat_logs(path: str, log: ProblemLog, *, domain: str, confidence: float) -> Iterator[Trace]:
    """A trace for each usable conversation; the problems of the others are in `log`. `domain` and `confidence` are for
    conversations without their own; the names of values filled in so are in `metadata.assumed`. Success is None where
    it is not stated; the API itself states that an answer was truncated or refused. Raises DataError for a file that
    cannot be read."""
    line_of_id: dict[str, int] = {}
    for number, record in read_jsonl(path, "LOGS", log, DataError):
        try:
            trace, unread = _trace(record, number, domain, confidence)
            if trace.id in line_of_id:
                raise FieldError("id", f"'{trace.id}' is the id of line {line_of_id[trace.id]} too")
        except FieldError as error:
            log.error(path, error.message, number, error.field)
            continue
        line_of_id[trace.id] = number
        for field, kind in unread:
            log.warning(path, f"a part of type {kind} is left out: there is no text to read in it", number, field)
        yield trace


Unread = tuple[tuple[str, str], ...]


def _trace(record: Mapping[str, Any], number: int, domain: str, confidence: float) -> tuple[Trace, Unread]:
    messages, ended_well = _messages(record)
    places = [place for place, message in enumerate(messages) if message.role == "user" and message.text.strip()]
    if not places:
        raise FieldError("messages", "no message of a user says what is asked for")
    steps, answer = steps_of(messages[places[0] + 1 :])
    if not steps:
        raise FieldError("messages", "the assistant does nothing after the first message of the user")
    fields = known_fields(record)
    created, expected_tools = _creation_time(fields), fields.pop("expected_tools", None)
    assumed = [name for name in ("task_domain", "confidence") if name not in fields]
    ended = None if ended_well else False
    values: dict[str, Any] = {"task_domain": domain, "success": ended, "confidence": confidence, **fields}
    metadata = {
        **_mapping(record, "metadata"),
        **({"model": record["model"]} if "model" in record else {}),
        **({} if created is None else {"created_at": created.isoformat()}),
        **{name: value for name, value in values.items() if name != "confidence"},
        **({"assumed": assumed} if assumed else {}),
    }
    for name in ("created", "expected_tools"):
        metadata.pop(name, None)
    objective = messages[places[0]].text.strip()
    trace = Trace(
        _id(record, number),
        objective,
        values["task_domain"],
        steps,
        values["success"],
        values["confidence"],
        created,
        values.get("rating"),
        values.get("quality"),
        language=detect_language(objective),
        summary=answer,
        expected_tools=expected_tools,
        metadata=metadata,
    )
    return trace, tuple(part for message in messages for part in message.unread)


def steps_of(messages: Sequence[Message]) -> tuple[tuple[Step, ...], str]:
    """The steps after the objective, and the answer that ends the conversation, empty if none."""
    acting = [message for message in messages if message.role in ("user", "assistant", "tool")]
    answer = acting[-1].text.strip() if acting and acting[-1].role == "assistant" and not acting[-1].calls else ""
    steps: list[tuple[StepType, str, Call | None]] = []
    call_by_id: dict[str, Call] = {}
    failed: list[Call | None] = []
    for message in acting[:-1] if answer else acting:
        if message.role != "assistant":
            if message.role == "tool" and message.is_error:
                failed.append(call_by_id.get(message.call_id or ""))
            steps.append(("observation", message.text, None))
            continue
        steps += _acts(message, failed)
        call_by_id |= {call.id: call for call in message.calls}
        failed = []
    if answer and not steps:
        steps = [("thought", answer, None)]
    return tuple(_step(place, *step) for place, step in enumerate(steps)), answer


def _acts(message: Message, failed: Sequence[Call | None]) -> Iterator[tuple[StepType, str, Call | None]]:
    """The texts and calls of one message of an assistant. The first new one after a failure is the recovery."""
    before = {call.key for call in failed if call is not None}
    is_repeated = bool(message.calls) and all(call.key in before for call in message.calls)
    is_recovery = bool(failed) and not is_repeated
    if message.text.strip():
        yield "error_recovery" if is_recovery else "thought", message.text, None
        is_recovery = False
    for call in message.calls:
        recovers = is_recovery and call.key not in before
        yield "error_recovery" if recovers else "tool_call", "", call
        is_recovery = is_recovery and not recovers


def _step(place: int, type_: StepType, content: str, call: Call | None) -> Step:
    more = {"step_id": place, **({} if call is None else {"input": call.arguments})}
    return Step(type_, content, None if call is None else call.name, more)


# --- the content of a line ------------------------------------------------------------------------


def _messages(record: Mapping[str, Any]) -> tuple[list[Message], bool]:
    """All messages, and whether the last one is complete: not truncated, filtered or refused."""
    asked = _mapping(record, "request") if "request" in record else record
    listed = asked.get("messages")
    where = "messages" if asked is record else "request.messages"
    if not isinstance(listed, list) or not listed:
        raise FieldError(where, f"expected a list of messages, found {describe_value(listed)}")
    messages = [each for place, value in enumerate(listed) for each in messages_of(value, f"{where}[{place}]")]
    response = _mapping(record, "response") if "response" in record else record
    choices = response.get("choices")
    reason = None
    if choices is not None:
        where = "choices" if response is record else "response.choices"
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise FieldError(where, f"expected a list of objects, found {describe_value(choices)}")
        messages += messages_of(choices[0].get("message"), f"{where}[0].message")
        reason = choices[0].get("finish_reason")
    elif response is not record and isinstance(response.get("content"), list):  # an answer of Anthropic's API
        messages += messages_of({"role": "assistant", **response}, "response")
        reason = response.get("stop_reason")
    return messages, reason not in CUT_OFF and not messages[-1].refused


def known_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of KNOWN that a line states, checked. The metadata of stored completions are texts: `"true"`,
    `"0.8"`."""
    metadata = _mapping(record, "metadata")
    fields: dict[str, Any] = {}
    for name in KNOWN:
        for values, prefix in ((record, ""), (metadata, "metadata.")):
            value = values.get(name)
            if value is not None:
                fields[name] = _value(name, value, prefix + name)
                break
    if "created_at" not in fields and record.get("created", metadata.get("created")) is not None:
        fields["created_at"] = record.get("created", metadata.get("created"))
    return fields


def _value(name: str, value: Any, field: str) -> Any:
    if name == "success":
        flag = {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else value
        if not isinstance(flag, bool):
            raise FieldError(field, f"expected true or false, found {describe_value(value)}")
        return flag
    if name in ("confidence", "rating"):
        number = _number(value)
        if number is None or (name == "confidence" and not 0 <= number <= 1):
            expected = "a number from 0 to 1" if name == "confidence" else "a number"
            raise FieldError(field, f"expected {expected}, found {describe_value(value)}")
        return number
    if name == "expected_tools":
        return _expected_tools(value, field)
    if name in ("task_domain", "quality") and (not isinstance(value, str) or not value.strip()):
        raise FieldError(field, f"expected a text, found {describe_value(value)}")
    return value


def _expected_tools(value: Any, field: str) -> tuple[ToolUse, ...] | None:
    """`field` ends with the name of the list."""

    def wrong(name: str, expected: str, value: Any) -> None:
        place = field.removesuffix("expected_tools") + name
        raise FieldError(place, f"expected {expected}, found {describe_value(value)}")

    if isinstance(value, str):
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(value)
    return expected_tools_of(value, wrong)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def _creation_time(told: dict[str, Any]) -> datetime | None:
    """The time from seconds since 1970 or an ISO date; without a time zone, UTC."""
    value = told.pop("created_at", None)
    if value is None:
        return None
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        if not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        pass
    raise FieldError("created_at", f"expected a date (ISO 8601) or seconds since 1970, found {describe_value(value)}")


def _id(record: Mapping[str, Any], number: int) -> str:
    value = record.get("id")
    if value is None:
        return f"chat-{number:04d}"
    if not isinstance(value, str | int) or isinstance(value, bool) or not str(value).strip():
        raise FieldError("id", f"expected a text, found {describe_value(value)}")
    return str(value)


def _mapping(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FieldError(name, f"expected an object, found {describe_value(value)}")
    return value
