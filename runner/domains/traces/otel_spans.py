"""Spans of OpenTelemetry as reasoning traces, by the semantic conventions for generative AI (`gen_ai.*`), in today's
form and in that of messages as events, and as OpenInference, OpenLLMetry and pydantic-ai write them.

    the first message of a user        the objective; where no model tells any, the input of the outermost span
    a span of a model                  what it adds to the conversation: what was said before it, its thoughts, its
                                       calls of tools, its answer
    a span of a tool or a retrieval    the observation of a call; the call too, where no model tells it
    the last answer                    the result
    an evaluation named success, task_success, correct or correctness
                                       success; evaluations that disagree tell nothing

A trace had no success where its outermost span ended with an error, or where its last answer was cut off or filtered.
That it ended without either says nothing. The outermost span may have the attributes `task_domain`, `success`,
`confidence`, `rating`, `quality` and `expected_tools`. Spans of agents and workflows, and others that hold spans, only
hold them together; what else there is, is left out, counted and named.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from runner.data.problems import ProblemLog
from runner.domains.traces.chat_logs import CUT_OFF, known_fields, steps_of
from runner.domains.traces.chat_messages import (
    Call,
    FieldError,
    Message,
    decode_json,
    is_error_text,
    messages_of,
    of_blocks,
)
from runner.domains.traces.mlflow_traces import SUCCESS, verdict_of
from runner.domains.traces.otel_files import Omissions, Span, read_spans
from runner.domains.traces.records import Trace
from runner.text.language import detect_language

MODELS = ("chat", "text_completion", "generate_content", "completion", "LLM")
TOOLS = ("execute_tool", "retrieval", "tool", "TOOL", "RETRIEVER")
GROUPS = ("invoke_agent", "create_agent", "invoke_workflow", "plan", "workflow", "agent", "task", "AGENT", "CHAIN")
KINDS = ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "llm.request.type")

# Attributes that hold what was said or done, the name of today first.
INPUTS, OUTPUTS = ("gen_ai.input.messages", "pydantic_ai.all_messages"), ("gen_ai.output.messages",)
NAMES = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name", "gen_ai.data_source.id")
ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "gen_ai.retrieval.query.text",
    "input.value",
    "tool.parameters",
    "traceloop.entity.input",
)
RESULTS = (
    "gen_ai.tool.call.result",
    "tool_response",
    "gen_ai.retrieval.documents",
    "output.value",
    "traceloop.entity.output",
)
ASKED = ("input.value", "traceloop.entity.input")
ANSWERED = ("final_result", "output.value", "traceloop.entity.output")
LATEST_NS = 250_000_000_000 * 10**9  # in the year 9892
USAGE = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
}
FINISHED = ("gen_ai.response.finish_reasons", "llm.finish_reason", "gen_ai.completion.0.finish_reason")
EVENTS = ("events", "all_messages_events")  # lists of events as texts
FLAT = re.compile(r"(llm\.(?:input|output)_messages|gen_ai\.(?:prompt|completion)|retrieval\.documents)\.\d+\.")
SETTINGS = re.compile(  # how a model was called and what it cost; they tell no step
    r"gen_ai\.(?:request|response|usage|aggregated_usage|provider|system|system_instructions|agent|conversation|output\.type|openai|tool"
    r"|is_streaming|operation|evaluation|data_source|workflow)\b|llm\.(?!input_messages|output_messages)|server\."
    r"|error\.type|openinference\.|traceloop\.(?:span|workflow|association)|(?:in|out)put\.mime_type|session\.|user\."
    r"|metadata$|openai\.|exception\."
)
READ = {
    *INPUTS,
    *OUTPUTS,
    *NAMES,
    *ARGUMENTS,
    *RESULTS,
    *ANSWERED,
    *EVENTS,
    *KINDS,
    "gen_ai.prompt",
    "gen_ai.completion",
}
TOLD = {"task_domain", "success", "confidence", "rating", "quality", "expected_tools"}


def read_otel(path: str, log: ProblemLog, *, domain: str, confidence: float) -> Iterator[Trace]:
    """The traces in the order in which they begin in the file. `domain` and `confidence` are for traces without their
    own. Problems and omissions are in `log`. Raises DataError for a file that cannot be read."""
    left_out, unread = Omissions(), Counter[str]()
    for id, spans in read_spans(path, log, left_out).items():
        first = spans[0]
        for span in spans:
            unread.update(_unread(span) if span.parent else ())
        if not any(_kind(span) in ("model", "tool", "group") for span in spans):
            left_out.add("a trace without a span of an agent, a model or a tool is left out", first.line, first.place)
            continue
        try:
            yield _trace(id, spans, domain, confidence, left_out)
        except FieldError as error:
            log.error(path, error.message, first.line, f"{first.place}: {error.field}".removeprefix(": "))
    left_out.tell(path, log)
    if unread:
        names = ", ".join(f"{name} ({count})" for name, count in unread.most_common())
        log.warning(path, f"attributes of inner spans are left out, with how many spans have them: {names}")


def _unread(span: Span) -> Iterator[str]:
    """The attributes that describe neither a step nor how a model was called."""
    for name in span.attributes:
        if name not in READ and not FLAT.match(name) and not SETTINGS.match(name):
            yield name


def _trace(id: str, spans: Sequence[Span], domain: str, confidence: float, left_out: Omissions) -> Trace:
    """Raises FieldError."""
    spans = sorted(spans, key=lambda span: span.began_ns)
    ids = {span.id for span in spans}
    root = next((span for span in spans if span.parent not in ids), spans[0])
    groups = [span for span in spans if _kind(span) in ("group", None)]
    messages = _Conversation().of(spans, left_out)
    if not any(message.role == "assistant" for message in messages):
        messages = [
            message for span in groups for message in _messages_in(span, INPUTS) + _messages_in(span, OUTPUTS)
        ] + messages
    objective = _objective(messages, groups)
    if not objective:
        hint = "nothing tells what was asked for; instrumentations record messages only where that is turned on"
        raise FieldError("attributes", f"{hint} (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)")
    question = next(
        (message for message in messages if message.role == "user" and message.text.strip() == objective), None
    )
    messages = [message for message in messages if message is not question]
    answer = next(filter(None, (_answer(span) for span in groups)), "")
    if not messages or messages[-1].role != "assistant" or messages[-1].calls:
        messages += [Message("assistant", answer)] if answer else []
    steps, summary = steps_of(messages)
    if not steps:
        raise FieldError("attributes", "no span is a call of a tool or tells what a model said, and there is no answer")
    fields = known_fields({name: value for name, value in root.attributes.items() if name in TOLD})
    success = fields.get("success", _success(spans, root, left_out))
    began = datetime.fromtimestamp(root.began_ns / 1e9, UTC) if 0 < root.began_ns < LATEST_NS else None
    return Trace(
        id.removeprefix("0x"),
        objective,
        fields.get("task_domain", domain),
        steps,
        success,
        fields.get("confidence", confidence),
        began,
        fields.get("rating"),
        fields.get("quality"),
        language=detect_language(objective),
        summary=summary,
        expected_tools=fields.get("expected_tools"),
        metadata=_metadata(spans, root, began, [name for name in ("task_domain", "confidence") if name not in fields]),
    )


def _metadata(spans: Sequence[Span], root: Span, began: datetime | None, assumed: Sequence[str]) -> dict[str, Any]:
    models = dict.fromkeys(
        str(span.attributes[name])
        for span in spans
        for name in ("gen_ai.request.model", "llm.model_name")
        if name in span.attributes
    )
    n_tokens: Counter[str] = Counter()
    for span in spans:
        for name, others in USAGE.items():
            count = _first_value(span.attributes, others)
            n_tokens[name] += count if _kind(span) == "model" and isinstance(count, int) else 0
    attributes = {name: value for name, value in root.attributes.items() if name not in READ and not FLAT.match(name)}
    return {
        "name": root.name,
        "attributes": {name: value for name, value in attributes.items() if name not in TOLD},
        "resource": dict(root.resource),
        "models": list(models),
        "usage": dict(n_tokens),
        **({} if began is None else {"created_at": began.isoformat()}),
        "assumed": list(assumed),
    }


# --- what spans say -------------------------------------------------------------------------------


def _kind(span: Span) -> str | None:
    """`model`, `tool` or `group`; `other` for any other span of generative AI; None for the rest."""
    kinds = [str(span.attributes[name]) for name in KINDS if name in span.attributes]
    for kind, names in (("model", MODELS), ("tool", TOOLS), ("group", GROUPS)):
        if any(value in names for value in kinds):
            return kind
    return "other" if kinds else None


class _Conversation:
    """The messages of a trace, each once: a model is shown again what was said before."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._n_known: Counter[Any] = Counter()
        self._calls: dict[str, Call] = {}
        self._ran: set[str] = set()  # ids of calls that a span of a tool tells

    def of(self, spans: Sequence[Span], left_out: Omissions) -> list[Message]:
        """The messages of all spans, in the order in which they began."""
        by_id = {span.id: span for span in spans}
        parents = {span.parent for span in spans}
        for span in spans:
            kind = _kind(span)
            if kind in ("model", "tool") and not _is_told_above(span, kind, by_id):
                self._read(span, kind, left_out)
            elif kind == "other" or (kind is None and span.id not in parents and span.parent in by_id):
                what = span.attributes.get("gen_ai.operation.name") or span.attributes.get("openinference.span.kind")
                named = f"of {what}" if what else f"'{span.name}' that is none of an agent, a model or a tool"
                left_out.add(f"a span {named} is left out", span.line, span.place)
        return self._messages

    def _read(self, span: Span, kind: str, left_out: Omissions) -> None:
        if kind == "tool":
            self._add_use(span)
            return
        try:
            before, outputs = _model_messages(span)
        except FieldError as error:
            what = f"what a model was told and said is left out: {error.message}"
            left_out.add(what, span.line, f"{span.place}.{error.field}".removeprefix("."))
            return
        if not before and not outputs and not span.is_error:
            left_out.add("a span of a model holds no messages", span.line, span.place)
        n_seen: Counter[Any] = Counter()
        for message in before:
            key = _key(message)
            n_seen[key] += 1
            if message.role != "system" and n_seen[key] > self._n_known[key]:
                self._add(message, span, left_out)
        if not outputs and span.is_error:
            outputs = [Message("tool", _error_text(span), is_error=True)]
        for message in outputs:
            self._add(message, span, left_out)

    def _add(self, message: Message, span: Span, left_out: Omissions) -> None:
        self._messages.append(message)
        self._n_known[_key(message)] += 1
        self._calls |= {call.id or call.key: call for call in message.calls}
        for place, kind in message.unread:
            left_out.add(f"a part of type {kind} is left out", span.line, f"{span.place}.{place}".removeprefix("."))

    def _add_use(self, span: Span) -> None:
        """Add what a span of a tool records: the call, where no model's message has it, and the result."""
        attributes = span.attributes
        name = _tool_name(span)
        arguments = decode_json(_first_value(attributes, ARGUMENTS))
        id = str(attributes.get("gen_ai.tool.call.id") or attributes.get("tool_call.id") or "")
        if not id:
            told = (key for key, call in self._calls.items() if key not in self._ran and call.name == name)
            id = next(told, f"span {span.id}")
        self._ran.add(id)
        if id not in self._calls:
            call = self._calls[id] = Call(id, name, {} if arguments is None else arguments)
            self._messages.append(Message("assistant", "", (call,)))
            self._n_known["calls", (id,)] += 1
        result = _result(span)
        failed = span.is_error or "error.type" in attributes
        if (result or failed) and not self._n_known["result", id]:
            message = Message("tool", result, call_id=id, is_error=failed or is_error_text(result))
            self._messages.append(message)
            self._n_known[_key(message)] += 1


def _key(message: Message) -> Any:
    """A key that is equal where a later request repeats the message."""
    if message.role == "tool":
        return "result", message.call_id or message.text.strip()
    if message.calls:
        return "calls", tuple(call.id or call.key for call in message.calls)
    return message.role, message.text.strip()


def _is_told_above(span: Span, kind: str, by_id: Mapping[str, Span]) -> bool:
    """Whether a span around this one records the same call: a library and its client, both instrumented."""
    visited = {span.id}
    above = by_id.get(span.parent)
    while above is not None and above.id not in visited:
        if _kind(above) == kind == "model" and _holds_messages(above):
            return True
        if _kind(above) == kind == "tool" and _tool_name(above) == _tool_name(span):
            return True
        visited.add(above.id)
        above = by_id.get(above.parent)
    return False


def _holds_messages(span: Span) -> bool:
    return any(name in span.attributes for name in (*INPUTS, *OUTPUTS, *EVENTS)) or bool(
        any(FLAT.match(name) for name in span.attributes)
        or any(event.name.startswith("gen_ai.") for event in span.events)
    )


def _tool_name(span: Span) -> str:
    return str(_first_value(span.attributes, NAMES) or span.name.removeprefix("execute_tool "))


def _model_messages(span: Span) -> tuple[list[Message], list[Message]]:
    """The messages that a model was sent, and those that it returned. Raises FieldError."""
    before, outputs = _messages_in(span, INPUTS), _messages_in(span, OUTPUTS)
    for number, (name, values) in enumerate(_events(span)):
        shown, said = _of_event(name, values, f"events[{number}]")
        before += shown
        outputs += said
    for prefix, messages in (("input", before), ("output", outputs)):
        if not messages:
            messages += _flat_messages(span, f"llm.{prefix}_messages")
            messages += _flat_messages(span, "gen_ai.prompt" if prefix == "input" else "gen_ai.completion")
    return before, outputs


def _messages_in(span: Span, names: Sequence[str]) -> list[Message]:
    """Messages of roles and parts, from the first of these attributes that is there."""
    name = next((name for name in names if name in span.attributes), None)
    return [] if name is None else _of_parts(span.attributes[name], f"attributes.{name}")


def _of_parts(value: Any, field: str) -> list[Message]:
    value = decode_json(value)
    if not isinstance(value, list):
        raise FieldError(field, "expected a list of messages")
    messages: list[Message] = []
    for place, message in enumerate(value):
        where = f"{field}[{place}]"
        parts = message.get("parts") if isinstance(message, dict) else None
        if not isinstance(parts, list):
            messages += messages_of(message, where)
            continue
        role = str(message.get("role"))
        blocks = [_block(part) if isinstance(part, dict) else part for part in parts]
        messages += of_blocks("user" if role == "tool" else role, blocks, f"{where}.parts")
    return messages


def _block(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part of a message as a block of Anthropic's API, which has the same under other names."""
    kind, id = part.get("type"), str(part.get("id") or "")
    match kind:
        case "text":
            return {"type": "text", "text": part.get("content")}
        case "reasoning" | "thinking":
            return {"type": "thinking", "thinking": part.get("content")}
        case "tool_call" | "server_tool_call":
            arguments = part.get("arguments", part.get("server_tool_call"))
            return {"type": "tool_use", "id": id, "name": part.get("name"), "arguments": arguments}
        case "tool_call_response" | "server_tool_call_response":
            names = ("response", "result", "server_tool_call_response")
            return {"type": "tool_result", "tool_use_id": id, "content": _text(_first_value(part, names))}
    return part


def _events(span: Span) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The events of a span and of its log records, or those that an attribute lists as a text."""
    for event in span.events:
        yield event.name, event.values
    for name in EVENTS:
        listed = decode_json(span.attributes.get(name))
        for event in listed if isinstance(listed, list) else ():
            if isinstance(event, dict):
                yield str(event.get("event.name")), event


def _of_event(name: str, values: Mapping[str, Any], field: str) -> tuple[list[Message], list[Message]]:
    """The messages of an event: sent to a model, and returned by it."""
    if name == "gen_ai.client.inference.operation.details":
        shown = [_of_parts(values[key], f"{field}.{key}") if key in values else [] for key in (INPUTS[0], OUTPUTS[0])]
        return shown[0], shown[1]
    if name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
        listed = decode_json(values.get("gen_ai.prompt" if name.endswith("prompt") else "gen_ai.completion"))
        listed = listed if isinstance(listed, list) else [listed]
        messages = [each for value in listed for each in messages_of(value, field)]
        return (messages, []) if name.endswith("prompt") else ([], messages)
    role, is_message = name.removeprefix("gen_ai.").removesuffix(".message"), name.endswith(".message")
    if is_message and role in ("system", "user", "assistant", "tool"):
        call = {"tool_call_id": values["id"]} if role == "tool" and "id" in values else {}
        return list(messages_of({**_unpack(values), **call, "role": role}, field)), []
    if name == "gen_ai.choice":
        message = decode_json(values.get("message"))
        message = message if isinstance(message, dict) else {**_unpack(values), "content": message}
        return [], list(messages_of({**_unpack(message), "role": "assistant"}, f"{field}.message"))
    return [], []


def _unpack(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with calls of tools parsed, if they are written as a text."""
    calls = decode_json(values.get("tool_calls"))
    return {**values, **({"tool_calls": calls} if isinstance(calls, list) else {})}


def _flat_messages(span: Span, prefix: str) -> list[Message]:
    """Messages whose fields are attributes of their own: `llm.input_messages.0.message.content`."""
    messages: list[Message] = []
    for place, fields in _fields_by_number(span.attributes, prefix):
        inner = {name.removeprefix("message."): value for name, value in fields.items()}
        calls = []
        for _, call in _fields_by_number(inner, "tool_calls"):
            names = {name.removeprefix("tool_call.").removeprefix("function."): value for name, value in call.items()}
            function = {"name": names.get("name"), "arguments": names.get("arguments")}
            calls.append({"id": names.get("id"), "type": "function", "function": function})
        texts = [
            _first_value(part, ("message_content.text", "text")) for _, part in _fields_by_number(inner, "contents")
        ]
        content = inner.get("content") or "\n".join(str(text) for text in texts if text) or None
        default = "assistant" if prefix.endswith(("output_messages", "completion")) else "user"
        message = {"role": inner.get("role", default), "content": content, "tool_calls": calls}
        messages += messages_of(message | _pick(inner, "tool_call_id"), f"attributes.{prefix}.{place}")
    return messages


def _fields_by_number(attributes: Mapping[str, Any], prefix: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Fields by the number after `prefix`, in its order."""
    by_place: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        place, _, rest = name.removeprefix(f"{prefix}.").partition(".")
        if name.startswith(f"{prefix}.") and place.isdigit():
            by_place.setdefault(int(place), {})[rest] = value
    yield from sorted(by_place.items())


# --- what the whole trace says --------------------------------------------------------------------


def _objective(messages: Sequence[Message], groups: Sequence[Span]) -> str:
    for message in messages:
        if message.role == "user" and message.text.strip():
            return message.text.strip()
    for span in groups:
        if text := _text(decode_json(_first_value(span.attributes, ASKED))).strip():
            return text
    return ""


def _answer(span: Span) -> str:
    answers = [each.text.strip() for each in _messages_in(span, OUTPUTS) if each.role == "assistant"]
    return (answers[-1] if answers else "") or _text(_first_value(span.attributes, ANSWERED)).strip()


def _result(span: Span) -> str:
    """The result of a tool, or the error with which it ended."""
    result = _first_value(span.attributes, RESULTS)
    documents = [fields for _, fields in _fields_by_number(span.attributes, "retrieval.documents")]
    if result is None and documents:
        result = [{name.removeprefix("document."): value for name, value in fields.items()} for fields in documents]
    return _text(result) or _error_text(span)


def _error_text(span: Span) -> str:
    """The error with which a span ended."""
    raised = (event.values.get("exception.message") for event in span.events if event.name == "exception")
    return str(span.message or next(raised, None) or "")


def _success(spans: Sequence[Span], root: Span, left_out: Omissions) -> bool | None:
    verdicts: set[bool] = set()
    for span in spans:
        for name, values in _events(span):
            if name != "gen_ai.evaluation.result":
                continue
            name_of_evaluation = str(values.get("gen_ai.evaluation.name"))
            value = _first_value(values, ("gen_ai.evaluation.score.label", "gen_ai.evaluation.score.value"))
            verdict = verdict_of(value) if name_of_evaluation in SUCCESS else None
            if verdict is None:
                left_out.add(
                    f"the evaluation '{name_of_evaluation}' is left out: it does not tell success",
                    span.line,
                    span.place,
                )
            else:
                verdicts.add(verdict)
    if len(verdicts) > 1:
        left_out.add("the success of a trace is unknown: evaluations of it disagree", root.line, root.place)
        return None
    if verdicts:
        return verdicts.pop()
    models = [span for span in spans if _kind(span) == "model"]
    return False if root.is_error or (models and _is_cut_off(models[-1])) else None


def _is_cut_off(span: Span) -> bool:
    attributes = span.attributes
    reasons = decode_json(_first_value(attributes, FINISHED))
    finish_reasons = list(reasons) if isinstance(reasons, list) else [reasons]
    finish_reasons += [values.get("finish_reason") for name, values in _events(span) if name == "gen_ai.choice"]
    answered = decode_json(attributes.get(OUTPUTS[0]))
    finish_reasons += [each.get("finish_reason") for each in answered or () if isinstance(each, dict)]
    return any(reason in CUT_OFF for reason in finish_reasons if isinstance(reason, str))


def _first_value(values: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _pick(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {name: values[name]} if name in values else {}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
