"""Traces of MLflow 2 and 3 as reasoning traces: `Trace.to_json()` in a file of its own, one a line, or rows of
`mlflow.search_traces()` in JSON Lines, which hold the trace as a text under `trace` (3.x) or its spans under `spans`
(2.x).

    inputs of the root span            the objective
    a span of type TOOL or RETRIEVER   a tool call (or a recovery from an error) and an observation
    CHAT_MODEL, LLM                    a thought, and the calls in it that no TOOL span tells
    outputs of the root span           the result
    feedback success, task_success, correct or correctness
                                       success; feedback that disagrees tells nothing
    expectation expected_tools         the expected tools

That a trace ended without an exception (`state`, in 2.x `status`) says nothing of success. One that ended with an
exception had none, unless feedback says so. Spans that hold others only hold them together; any other span, and any
other assessment, is left out with a warning.

MLflow 2 numbers spans of one name (`search_1`, `search_2`): the tool is `search`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import orjson

from runner.data.files import is_deep, open_file
from runner.data.jsonl import describe_value, read_json, read_jsonl
from runner.data.problems import ProblemLog
from runner.domains.traces.chat_logs import steps_of
from runner.domains.traces.chat_messages import Call, FieldError, Message, messages_of
from runner.domains.traces.reading import expected_tools_of
from runner.domains.traces.records import Trace
from runner.errors import DataError
from runner.metrics.tool_use import ToolUse
from runner.text.language import detect_language

SUCCESS = ("success", "task_success", "correct", "correctness")
TOOLS, MODELS = ("TOOL", "RETRIEVER"), ("CHAT_MODEL", "LLM")
INFO = ("state", "status", "trace_metadata", "request_metadata", "tags")  # of it, what is kept
IDS = ("trace_id", "request_id")  # of MLflow 3, of MLflow 2
ASKED = ("question", "query", "input", "prompt", "request")  # inputs that hold the question

_YES, _NO = ("yes", "true", "pass", "passed", "1", "1.0"), ("no", "false", "fail", "failed", "0", "0.0")
_NUMBERED = re.compile(r"_\d+$")

Span = Mapping[str, Any]
LeftOut = list[tuple[str, str]]  # field, what is left out


def is_mlflow(path: str) -> bool:
    """Whether the first JSON value of the file is a trace of MLflow, or a row that holds one. Raises DataError for a
    file that cannot be read."""
    first = _first_line(path)
    return _is_export(_single_value(path) if first is None else first)


def read_mlflow(path: str, log: ProblemLog, *, domain: str, confidence: float) -> Iterator[Trace]:
    """The traces in file order. `domain` and `confidence` are for traces without their own (the tag `task_domain`).
    Problems and omissions are in `log`. Raises DataError for a file that cannot be read."""
    line_of_id: dict[str, int | None] = {}
    for number, record in _records(path, log):
        left_out: LeftOut = []
        try:
            trace = _trace(_export(record), domain, confidence, left_out)
            if trace.id in line_of_id:
                raise FieldError("info.trace_id", f"'{trace.id}' is the id of an earlier trace too")
        except FieldError as error:
            log.error(path, error.message, number, error.field)
            continue
        line_of_id[trace.id] = number
        for field, what in left_out:
            log.warning(path, what, number, field)
        yield trace


def _records(path: str, log: ProblemLog) -> Iterator[tuple[int | None, Mapping[str, Any]]]:
    if isinstance(_first_line(path), dict):
        yield from read_jsonl(path, "LOGS", log, DataError)
        return
    value = read_json(path, "LOGS", log, DataError)
    for place, record in enumerate(value if isinstance(value, list) else [value]):
        if isinstance(record, dict):
            yield None, record
        else:
            log.error(path, f"expected an object, found {describe_value(record)}", None, f"[{place}]")


def _first_line(path: str) -> Any:
    """The JSON value of the first line; None where the value continues in the next one."""
    with open_file(path, "LOGS", DataError) as file:
        return _decode(next((line for line in file if line.strip()), b""))


def _single_value(path: str) -> Any:
    """The file as one JSON value; None where it is not one."""
    with open_file(path, "LOGS", DataError) as file:
        return _decode(file.read())


def _is_export(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and _is_export(value[0])
    if not isinstance(value, dict):
        return False
    return {"info", "data"} <= set(value) or ("trace" in value and any(name in value for name in IDS))


def _export(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """`info` and `data` of a trace. What rows of MLflow 2 hold under `trace` is no JSON: their columns tell both."""
    value = record.get("trace", record)
    value = _decode(value) if isinstance(value, str) else value
    if isinstance(value, dict):
        return value
    if isinstance(record.get("spans"), list):
        return {"info": record, "data": record}
    expected = "expected a trace as JSON, or its spans under `spans`"
    raise FieldError("trace", f"{expected}, found {describe_value(record.get('trace'))}")


def _trace(export: Mapping[str, Any], domain: str, confidence: float, left_out: LeftOut) -> Trace:
    info, spans = _object(export, "info", "info"), _spans(export)
    id = next((info[name] for name in IDS if info.get(name)), None)
    if not isinstance(id, str):
        raise FieldError("info.trace_id", f"expected a text, found {describe_value(id)}")
    root = next((span for span in spans if not span.get("parent_id") and not span.get("parent_span_id")), spans[0])
    objective, answer = _question_of(_attribute(root, "spanInputs")), _answer(_attribute(root, "spanOutputs"))
    if not objective:
        raise FieldError("data.spans", "no inputs of the root span say what is asked for")
    messages = _messages(spans, root, left_out)
    if messages and answer and messages[-1].role == "assistant" and messages[-1].text.strip() == answer:
        messages.pop()
    steps, summary = steps_of([*messages, *([Message("assistant", answer)] if answer else [])])
    if not steps:
        raise FieldError("data.spans", "no span is a call of a tool or of a model, and there is no answer")
    domain_told = (_object(info, "tags", "info.tags") if info.get("tags") else {}).get("task_domain")
    success, expected_tools = _read_assessments(info, left_out)
    if success is None and "ERROR" in str(info.get("state", info.get("status"))).upper():
        success = False
    created = _creation_time(info)
    metadata = {
        **{name: info[name] for name in INFO if name in info},
        **({} if created is None else {"created_at": created.isoformat()}),
        "assumed": [*([] if domain_told else ["task_domain"]), "confidence"],
    }
    return Trace(
        id,
        objective,
        str(domain_told or domain),
        steps,
        success,
        confidence,
        created,
        language=detect_language(objective),
        summary=summary,
        expected_tools=expected_tools,
        metadata=metadata,
    )


def _messages(spans: Sequence[Span], root: Span, left_out: LeftOut) -> list[Message]:
    """The messages of the spans, in the order in which they began."""
    names = _tool_names(spans)
    tools = set(names.values())
    parents = {str(span.get("parent_span_id") or span.get("parent_id") or "") for span in spans}
    messages: list[Message] = []
    for place, span in sorted(enumerate(spans), key=lambda each: _start_ns(each[1])):
        field, kind = f"data.spans[{place}]", _type(span)
        if kind in TOOLS:
            messages += _messages_of(span, names[place])
        elif kind in MODELS:
            messages += _model_messages(span, field, tools, left_out)
        elif span is not root and _span_id(span) not in parents:
            left_out.append((field, f"a span of type {kind} is left out: '{span.get('name')}'"))
    return messages


def _tool_names(spans: Sequence[Span]) -> dict[int, str]:
    """The tool names by place of a span, without the number that MLflow 2 appends to repeated names."""
    names = {place: str(span.get("name")) for place, span in enumerate(spans) if _type(span) in TOOLS}
    known_names = set(names.values())
    for place, name in names.items():
        base, function = _NUMBERED.sub("", name), _attribute(spans[place], "spanFunctionName")
        if function == base or (function is None and {f"{base}_1", f"{base}_2"} <= known_names):
            names[place] = base
    return names


def _messages_of(span: Span, name: str) -> Sequence[Message]:
    status = span.get("status")
    status = status if isinstance(status, dict) else {"code": status, "message": ""}
    is_error = "ERROR" in str(status.get("code") or status.get("status_code") or span.get("status_code")).upper()
    outputs = _attribute(span, "spanOutputs")
    text = _text(outputs) if outputs is not None else str(status.get("message") or span.get("status_message") or "")
    arguments = _attribute(span, "spanInputs")
    call = Call(_span_id(span), name, {} if arguments is None else arguments)
    return Message("assistant", "", (call,)), Message("tool", text, call_id=call.id, is_error=is_error)


def _model_messages(span: Span, field: str, tools: set[str], left_out: LeftOut) -> Sequence[Message]:
    outputs = _attribute(span, "spanOutputs")
    try:
        messages = _answer_messages(outputs, f"{field}.attributes.mlflow.spanOutputs")
    except FieldError as error:
        left_out.append((error.field, f"what the model '{span.get('name')}' returned is left out: {error.message}"))
        return ()
    left_out += [
        (where, f"a part of type {kind} is left out") for message in messages for where, kind in message.unread
    ]
    without_tools = [
        Message(each.role, each.text, tuple(call for call in each.calls if call.name not in tools)) for each in messages
    ]
    return [message for message in without_tools if message.text.strip() or message.calls]


def _answer_messages(outputs: Any, field: str) -> Sequence[Message]:
    """Messages of an answer in OpenAI's or Anthropic's form, or of a text. Raises FieldError."""
    if isinstance(outputs, str):
        return [Message("assistant", outputs)]
    if isinstance(outputs, dict) and isinstance(outputs.get("choices"), list) and outputs["choices"]:
        choice = outputs["choices"][0]
        return messages_of(choice.get("message") if isinstance(choice, dict) else choice, f"{field}.choices[0].message")
    if isinstance(outputs, dict) and "content" in outputs:
        return messages_of({**outputs, "role": "assistant"}, field)
    raise FieldError(field, f"expected a text, choices or content, found {describe_value(outputs)}")


def _question_of(inputs: Any) -> str:
    if not isinstance(inputs, dict) or not inputs:
        return _text(inputs or None).strip()
    if isinstance(inputs.get("messages"), list):
        with suppress(FieldError):
            messages = [message for value in inputs["messages"] for message in messages_of(value, "messages")]
            return next(
                (message.text.strip() for message in messages if message.role == "user" and message.text.strip()), ""
            )
    values = [inputs[name] for name in ASKED if isinstance(inputs.get(name), str)]
    return str(values[0]).strip() if values else _text(next(iter(inputs.values())) if len(inputs) == 1 else inputs)


def _answer(outputs: Any) -> str:
    with suppress(FieldError):
        return "\n".join(message.text for message in _answer_messages(outputs, "outputs")).strip()
    return _text(outputs).strip()


def _read_assessments(info: Mapping[str, Any], left_out: LeftOut) -> tuple[bool | None, tuple[ToolUse, ...] | None]:
    """Success and expected tools; None for what no assessment states. Raises FieldError."""
    verdicts: set[bool] = set()
    expected: tuple[ToolUse, ...] | None = None
    assessments = info.get("assessments") or []
    if not isinstance(assessments, list):
        raise FieldError("info.assessments", f"expected a list, found {describe_value(assessments)}")
    for place, assessment in enumerate(assessments):
        field = f"info.assessments[{place}]"
        if not isinstance(assessment, dict):
            raise FieldError(field, f"expected an object, found {describe_value(assessment)}")
        name, feedback = str(assessment.get("assessment_name")), assessment.get("feedback")
        verdict = verdict_of(feedback.get("value")) if isinstance(feedback, dict) else None
        if assessment.get("valid") is False:
            left_out.append((field, f"the assessment '{name}' is left out: it is not valid any more"))
        elif name == "expected_tools" and isinstance(assessment.get("expectation"), dict):
            expected = _read_expected_tools(assessment["expectation"], field)
        elif name in SUCCESS and verdict is not None:
            verdicts.add(verdict)
        else:
            left_out.append((field, f"the assessment '{name}' is left out: it tells neither success nor tools"))
    if len(verdicts) > 1:
        left_out.append(("info.assessments", "the success is unknown: feedback about it disagrees"))
    return (verdicts.pop() if len(verdicts) == 1 else None), expected


def verdict_of(value: Any) -> bool | None:
    """The verdict of feedback; None where it is neither yes nor no."""
    text = str(value).strip().lower()
    return True if text in _YES else False if text in _NO else None


def _read_expected_tools(expectation: Mapping[str, Any], field: str) -> tuple[ToolUse, ...] | None:
    serialized = expectation.get("serialized_value")
    value = serialized.get("value") if isinstance(serialized, dict) else expectation.get("value")
    value = _decode(value) if isinstance(value, str) else value

    def wrong(name: str, expected: str, value: Any) -> None:
        raise FieldError(f"{field}.{name}", f"expected {expected}, found {describe_value(value)}")

    return expected_tools_of(value, wrong)


def _creation_time(info: Mapping[str, Any]) -> datetime | None:
    name = "request_time" if info.get("request_time") is not None else "timestamp_ms"
    value = info.get(name)
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else datetime.fromtimestamp(value / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        expected = "expected a time in ISO 8601 or in ms since 1970"
        raise FieldError(f"info.{name}", f"{expected}, found {describe_value(value)}") from None


def _spans(export: Mapping[str, Any]) -> Sequence[Span]:
    spans = _object(export, "data", "data").get("spans")
    if not isinstance(spans, list) or not spans or not all(isinstance(span, dict) for span in spans):
        raise FieldError("data.spans", f"expected a list of spans, found {describe_value(spans)}")
    return spans


def _object(value: Mapping[str, Any], name: str, field: str) -> Mapping[str, Any]:
    inner = value.get(name)
    if not isinstance(inner, dict):
        raise FieldError(field, f"expected an object, found {describe_value(inner)}")
    return inner


def _attribute(span: Span, name: str) -> Any:
    """The value of an attribute `mlflow.NAME`, which is JSON in a text."""
    attributes = span.get("attributes")
    value = attributes.get(f"mlflow.{name}") if isinstance(attributes, dict) else None
    decoded = _decode(value) if isinstance(value, str) else None
    return value if decoded is None and value != "null" else decoded


def _type(span: Span) -> str:
    return str(_attribute(span, "spanType") or "UNKNOWN")


def _span_id(span: Span) -> str:
    context = span.get("context")
    return str(span.get("span_id") or (context.get("span_id") if isinstance(context, dict) else ""))


def _start_ns(span: Span) -> int:
    value = span.get("start_time_unix_nano", span.get("start_time"))
    try:
        return int(value or 0)
    except (TypeError, ValueError):
        return 0


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _decode(text: str | bytes) -> Any:
    """The value of a JSON text; None where it is no JSON, or too deep to be written again."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return None if is_deep(value) else value
