"""Spans of OpenTelemetry from files, with the traces that they belong to.

{"resourceSpans": […]}      OTLP/JSON, as the collector's file exporter and OTLP over HTTP write it: one object a
                            line or one for the whole file, ids in hex or in base64
{"resourceLogs": […]}       log records of the same form, which may stand in the same file: what they tell of a span
                            becomes an event of it
{"name", "context", …}      a span as the console exporter of the SDK prints it, one a line or indented, also
                            between lines of other output; `{"data": […]}` and lists of such spans
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from runner.data.files import is_deep, open_file
from runner.data.jsonl import describe_value
from runner.data.problems import ProblemLog
from runner.errors import DataError

_EXPORTS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
LOOKED_AT = 200  # lines of other output before the first value of a file


@dataclass(frozen=True, slots=True)
class Event:
    """`values`: the body of a log record together with the attributes."""

    name: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """`began_ns`: since 1970. `line` and `place`: its position in its file."""

    id: str
    trace_id: str
    parent: str
    name: str
    began_ns: int
    is_error: bool
    message: str
    attributes: Mapping[str, Any]
    events: list[Event]
    resource: Mapping[str, Any]
    line: int
    place: str


@dataclass(slots=True)
class Omissions:
    """Parts of a file that are left out: counted by kind, and reported by the first place of each."""

    _firsts: dict[str, tuple[int, str]] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)

    def add(self, what: str, line: int, place: str) -> None:
        """Count something that is left out; the first place of it is kept."""
        self._firsts.setdefault(what, (line, place))
        self._counts[what] += 1

    def tell(self, path: str, log: ProblemLog) -> None:
        """Log one warning for each kind of part that was left out."""
        for what, (line, place) in self._firsts.items():
            count = self._counts[what]
            log.warning(path, what if count == 1 else f"{what} ({count} in this file; the first)", line, place or None)


def is_otel(path: str) -> bool:
    """Whether the first JSON value of the file holds spans or log records of OpenTelemetry. Raises DataError for a file
    that cannot be read."""
    for _, value in _values(path, ProblemLog(), Omissions(), LOOKED_AT):
        return _is_export(value)
    return False


def read_spans(path: str, log: ProblemLog, left_out: Omissions) -> dict[str, list[Span]]:
    """The spans by trace, in the order of the file. Problems are in `log`, parts that belong to no trace in `left_out`.
    Raises DataError for a file that cannot be read."""
    traces: dict[str, list[Span]] = {}
    events: list[tuple[str, Event, int, str]] = []
    for line, value in _values(path, log, left_out):
        if not _is_export(value):
            left_out.add("an object that is neither a span nor an export of spans is left out", line, "")
            continue
        for place, record, resource in _records(value):
            if not isinstance(record, dict):
                log.error(path, f"expected an object, found {describe_value(record)}", line, place)
            elif _is_log(record):
                events.append((str(_of(record, "spanId", "span_id") or ""), _event(record), line, place))
            elif not (span := _span(record, resource, line, place)).id or not span.trace_id:
                log.error(path, "expected a span with the ids of its own and of its trace", line, place)
            else:
                traces.setdefault(span.trace_id, []).append(span)
    by_id = {_plain_id(span.id): span for spans in traces.values() for span in spans}
    for span_id, event, line, place in events:
        if (owner := by_id.get(_plain_id(span_id))) is not None and event.name:
            owner.events.append(event)
        else:
            left_out.add(f"a log record is left out: {event.name or 'it has no event name'}", line, place)
    return traces


def _values(
    path: str, log: ProblemLog, left_out: Omissions, first_lines: int | None = None
) -> Iterator[tuple[int, Any]]:
    """The JSON objects and lists of a file, each with the line on which it begins: one a line, or from an opening
    bracket to the closing one that is indented alike. With `first_lines`, nothing that begins after them."""
    with open_file(path, "LOGS", DataError) as file:
        begun, start, indent = b"", 0, b""
        for number, line in enumerate(file, 1):
            bare = line.lstrip()
            before, is_opening = line[: len(line) - len(bare)], bare[:1] in (b"{", b"[")
            if begun and is_opening and len(before) <= len(indent):  # the value before has no end
                yield from _decode(begun, path, start, log)
                begun = b""
            if begun:
                begun += line
                if len(before) <= len(indent) and bare[:1] in (b"}", b"]"):
                    yield from _decode(begun, path, start, log)
                    begun = b""
            elif (value := _json(line)) is not None:
                yield number, value
            elif is_opening:
                begun, start, indent = line, number, before
            elif bare:
                left_out.add("a line that is no JSON is left out", number, "")
            if first_lines is not None and number >= first_lines and not begun:
                return
        if begun:
            yield from _decode(begun, path, start, log)


def _decode(text: bytes, path: str, line: int, log: ProblemLog) -> Iterator[tuple[int, Any]]:
    value = _json(text.strip().rstrip(b","))
    if value is None:
        log.error(path, "expected a JSON object or list, with its end, not nested too deeply", line)
    else:
        yield line, value


def _json(text: bytes) -> Any:
    """An object or a list; None where it is neither, or too deep to be written again."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict | list) and not is_deep(value) else None


def _is_export(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and _is_export(value[0])
    if not isinstance(value, dict):
        return False
    return (
        any(isinstance(value.get(name), list) for name in _EXPORTS)
        or (isinstance(value.get("context"), dict) and "trace_id" in value["context"])
        or {"body", "trace_id", "span_id"} <= set(value)
        or ("info" not in value and isinstance(value.get("data"), list) and _is_export(value["data"]))
    )


def _records(value: Any, place: str = "") -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Spans and log records: place in the value, record, attributes of its resource."""
    if isinstance(value, list) or (isinstance(value, dict) and isinstance(value.get("data"), list)):
        inner, name = (value, place) if isinstance(value, list) else (value["data"], f"{place}data")
        for number, each in enumerate(inner):
            yield from _records(each, f"{name}[{number}].")
    elif isinstance(value, dict) and any(name in value for name in _EXPORTS):
        yield from _exported_records(value, place)
    else:
        resource = value.get("resource") if isinstance(value, dict) else None
        held = resource.get("attributes") if isinstance(resource, dict) else None
        yield place.rstrip("."), value, _attributes(held)


def _exported_records(value: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """resourceSpans[0].scopeSpans[0].spans[0], and the same of logs."""
    for outer in (name for name in _EXPORTS if name in value):
        for number, group in enumerate(_list(value[outer])):
            resource = _attributes(_dict(_dict(group).get("resource")).get("attributes"))
            for middle, scopes in _dict(group).items():
                for scope_number, scope in enumerate(_list(scopes)):
                    for inner in ("spans", "logRecords", "log_records"):
                        for last, record in enumerate(_list(_dict(scope).get(inner))):
                            where = f"{outer}[{number}].{middle}[{scope_number}].{inner}[{last}]"
                            yield f"{place}{where}", record, resource


def _is_log(record: Mapping[str, Any]) -> bool:
    return "body" in record and "name" not in record


def _event(record: Mapping[str, Any]) -> Event:
    """An event of a span, or of a log record."""
    attributes, body = _attributes(record.get("attributes")), _any(record.get("body"))
    name = _of(record, "eventName", "event_name", "name") or attributes.get("event.name") or ""
    values = {**attributes, **(body if isinstance(body, dict) else {} if body is None else {"body": body})}
    return Event(str(name), values)


def _span(record: Mapping[str, Any], resource: Mapping[str, Any], line: int, place: str) -> Span:
    context, status = _dict(record.get("context")), record.get("status")
    outcome = status if isinstance(status, dict) else {"code": record.get("status_code", status)}
    code = _of(outcome, "code", "status_code")
    return Span(
        id=str(_of(record, "spanId", "span_id") or context.get("span_id") or ""),
        trace_id=str(_of(record, "traceId", "trace_id") or context.get("trace_id") or ""),
        parent=str(_of(record, "parentSpanId", "parent_span_id", "parent_id") or ""),
        name=str(record.get("name") or ""),
        began_ns=_moment_ns(_of(record, "startTimeUnixNano", "start_time_unix_nano", "start_time")),
        is_error=code == 2 or "ERROR" in str(code).upper(),
        message=str(_of(outcome, "message", "description") or record.get("status_message") or ""),
        attributes=_attributes(record.get("attributes")),
        events=[_event(event) for event in _list(record.get("events")) if isinstance(event, dict)],
        resource=resource,
        line=line,
        place=place,
    )


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes from an object, or from OTLP's list of keys and values."""
    if isinstance(value, dict):
        return value
    return {str(entry.get("key")): _any(entry.get("value")) for entry in _list(value) if isinstance(entry, dict)}


def _any(value: Any) -> Any:
    """The value within OTLP's AnyValue; any other value as it is."""
    if not isinstance(value, dict) or len(value) != 1:
        return None if value == {} else value
    ((kind, inner),) = value.items()
    match kind.replace("_", "").lower():
        case "stringvalue" | "boolvalue" | "doublevalue" | "bytesvalue":
            return inner
        case "intvalue":
            return int(inner) if str(inner).lstrip("-").isdigit() else inner
        case "arrayvalue":
            return [_any(each) for each in _list(_dict(inner).get("values"))]
        case "kvlistvalue":
            return _attributes(_dict(inner).get("values") or [])
    return value


def _moment_ns(value: Any) -> int:
    if isinstance(value, str) and not value.isdigit():
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return 0
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000_000) * 1000
    return int(value) if isinstance(value, int | str) and not isinstance(value, bool) else 0


def _plain_id(id: str) -> str:
    """The id without the 0x that the SDK prints."""
    return id.removeprefix("0x")


def _of(record: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that is there."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []
