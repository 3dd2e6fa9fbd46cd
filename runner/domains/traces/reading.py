"""Reasoning traces from JSON Lines, one trace a line, in the JSON-LD form of KnowledgePulse.

    @type               ReasoningTrace, where it stands
    id                  text, once in all files
    metadata            task_domain (default "default"), and where known
        success         true or false; without it the trace has no outcome and no score
        created_at      ISO 8601; without an offset it is UTC
        rating          the grade that somebody gave it: a number, more is better
        quality         how good it was meant to be, in data made for that (good, mediocre, bad)
        language        ko or en
    task                {"objective": text}
    steps               list of at least one
        type            thought, tool_call, observation or error_recovery
        content         text
        input           the arguments, on a call of a tool
        tool            {"name": text}, on a step of any type
    outcome             {"confidence": 0..1}, and `result_summary`
    expected_tools      the calls that it should have made, in order: names of tools, or {"name", "arguments"}

Other fields are kept as they are. An error leaves out its trace.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeGuard, get_args

from runner.data.documents import is_new
from runner.data.fields import Fields, clean
from runner.data.files import LINE_BYTES, open_file
from runner.data.jsonl import describe_value, parsed_line, placed_jsonl
from runner.data.problems import ProblemLog, list_problems, why_empty
from runner.domains.traces.records import Step, StepType, Trace
from runner.errors import DataError
from runner.metrics.tool_use import ToolUse
from runner.system.spool import Lazy

TYPE = "ReasoningTrace"
DEFAULT_DOMAIN = "default"
TYPES = get_args(StepType)

TRACE = frozenset({"@context", "@type", "id", "metadata", "task", "steps", "outcome", "expected_tools"})
METADATA = frozenset({"task_domain", "success", "created_at", "rating", "quality", "language"})
STEP = frozenset({"type", "content", "tool"})
TASK, TOOL, OUTCOME = frozenset({"objective"}), frozenset({"name"}), frozenset({"confidence", "result_summary"})


def placed_traces(paths: Sequence[str], key: str, log: ProblemLog) -> Iterator[tuple[int, int, Trace]]:
    """The traces in file order, each after the number of its file, from 0, and the byte at which its line begins.
    Raises DataError when a file cannot be read or holds no usable trace."""
    first_lines: dict[str, str] = {}
    if not paths:
        raise DataError(f"{key}: expected at least one file, found an empty list")
    for number, path in enumerate(paths):
        before = len(first_lines)
        for line, offset, data in placed_jsonl(path, key, log, DataError):
            fields = Fields(data, path, line, log)
            trace = read_trace(fields)
            if trace is not None and is_new(fields, trace.id, first_lines):
                yield number, offset, trace
        log.stop_if_strict()
        if len(first_lines) == before:
            raise DataError(f"{key}: no traces in {path}{why_empty(log, path)}")


def trace_of(data: Mapping[str, Any]) -> Trace:
    """A trace from an object in memory. Raises DataError with all its errors."""
    if not isinstance(data, Mapping):
        raise DataError(f"this is not a trace: expected an object, found {describe_value(data)}")
    log = ProblemLog()
    trace = read_trace(Fields(data, "trace", None, log))
    if trace is None:
        raise DataError(f"this is not a trace:\n{list_problems(log.errors)}")
    return trace


def read_trace(fields: Fields) -> Trace | None:
    """A trace; None, with the reasons in the log, where it has an error."""
    fields.warn_of_misspellings(TRACE)
    if fields.data.get("@type", TYPE) != TYPE:
        fields.wrong("@type", f'"{TYPE}"', fields.data["@type"])
    metadata, task, outcome = fields.object("metadata"), fields.object("task"), fields.object("outcome")
    if fields.failed:
        return None
    metadata.warn_of_misspellings(METADATA)
    more = _others(fields, TRACE)
    for name, others in (("task", _others(task, TASK)), ("outcome", _others(outcome, OUTCOME))):
        if others:
            more[name] = others
    trace = Trace(
        id=fields.required_text("id"),
        objective=task.required_text("objective"),
        domain=metadata.text("task_domain") or DEFAULT_DOMAIN,
        steps=_steps(fields),
        success=None if metadata.data.get("success") is None else metadata.flag("success"),
        confidence=_confidence(outcome),
        created_at=_moment(metadata),
        rating=_number(metadata, "rating"),
        quality=metadata.text("quality"),
        language=metadata.text("language"),
        summary=outcome.text("result_summary") or "",
        expected_tools=expected_tools_of(fields.data.get("expected_tools"), fields.wrong),
        metadata=metadata.data,
        more=more,
    )
    return None if fields.failed or metadata.failed or task.failed or outcome.failed else trace


def expected_tools_of(value: Any, wrong: Callable[[str, str, Any], None]) -> tuple[ToolUse, ...] | None:
    """Names, or names with arguments; None where there is no list. `wrong` is called with the field, what was expected
    and the value found."""
    if value is None:
        return None
    if not isinstance(value, list):
        wrong("expected_tools", "a list of tools", value)
        return None
    return tuple(_expected_tool(each, f"expected_tools[{place}]", wrong) for place, each in enumerate(value))


def _expected_tool(value: Any, field: str, wrong: Callable[[str, str, Any], None]) -> ToolUse:
    if isinstance(value, str) and value.strip():
        return ToolUse(clean(value))
    if not isinstance(value, dict):
        wrong(field, 'the name of a tool, or {"name", "arguments"}', value)
        return ToolUse("")
    name, arguments = value.get("name"), value.get("arguments")
    if not isinstance(name, str) or not name.strip():
        wrong(f"{field}.name", "the name of a tool", name)
        name = ""
    if arguments is not None and not isinstance(arguments, dict):
        wrong(f"{field}.arguments", "an object", arguments)
    if unknown := set(value) - {"name", "arguments"}:
        wrong(f"{field}.{min(unknown)}", "name and arguments only", value[min(unknown)])
    return ToolUse(clean(name), arguments)


def _steps(fields: Fields) -> tuple[Step, ...]:
    steps = tuple(map(_step, fields.objects("steps")))
    if not steps and not fields.failed:
        fields.wrong("steps", "at least one step", fields.data.get("steps"))
    return steps


def _step(fields: Fields) -> Step:
    kind = fields.data.get("type")
    if kind not in TYPES:
        fields.wrong("type", f"one of {', '.join(TYPES)}", kind)
    tool, more = None, _others(fields, STEP)
    if fields.data.get("tool") is not None:
        tool, others = _tool(fields)
        if others:
            more["tool"] = others
    return Step(kind or TYPES[0], fields.text("content") or "", tool, more)


def _tool(fields: Fields) -> tuple[str, dict[str, Any]]:
    """The name of a tool, and the other fields of its entry."""
    if not isinstance(fields.data["tool"], dict):
        fields.wrong("tool", "an object", fields.data["tool"])
        return "", {}
    tool = fields.object("tool")
    name = tool.required_text("name")
    fields.failed |= tool.failed
    return name, _others(tool, TOOL)


def _confidence(fields: Fields) -> float:
    value = fields.data.get("confidence")
    if _is_number(value) and 0 <= value <= 1:
        return float(value)
    fields.wrong("confidence", "a number from 0 to 1", value)
    return 0.0


def _number(fields: Fields, name: str) -> float | None:
    value = fields.data.get(name)
    if _is_number(value):
        return float(value)
    if value is not None:
        fields.wrong(name, "a number", value)
    return None


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _moment(fields: Fields) -> datetime | None:
    text = fields.text("created_at")
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        fields.wrong("created_at", "a time in ISO 8601 (2026-11-03T09:30:00Z)", text)
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _others(fields: Fields, known_keys: frozenset[str]) -> dict[str, Any]:
    if fields.data.keys() <= known_keys:
        return {}
    return {name: value for name, value in fields.data.items() if name not in known_keys}


class StoredTraces(Lazy[Trace]):
    """All usable traces of some files, in file order. Only the place of a trace in its file (12 bytes) is in memory; a
    trace is read on access, which raises DataError where the file holds no usable trace there any more."""

    def __init__(
        self, paths: Sequence[str], key: str, log: ProblemLog, look: Callable[[Trace], None] = lambda _: None
    ) -> None:
        """Reads and checks everything once, and lets `look` see it. Raises DataError as `placed_traces` does."""
        self._paths, self._key = list(paths), key
        self._files, self._offsets = array("I"), array("Q")
        for file, offset, trace in placed_traces(self._paths, key, log):
            self._files.append(file)
            self._offsets.append(offset)
            look(trace)

    def __len__(self) -> int:
        return len(self._files)

    def record(self, place: int) -> Trace:
        path = self._paths[self._files[place]]
        with open_file(path, self._key, DataError, LINE_BYTES) as file:
            file.seek(self._offsets[place])
            return self._read(file.readline(), path)

    def __iter__(self) -> Iterator[Trace]:
        """Iterate without opening a file for every trace."""
        place = 0
        for number, path in enumerate(self._paths):
            with open_file(path, self._key, DataError) as file:
                while place < len(self) and self._files[place] == number:
                    file.seek(self._offsets[place])
                    yield self._read(file.readline(), path)
                    place += 1

    def _read(self, line: bytes, path: str) -> Trace:
        log = ProblemLog()
        data = parsed_line(line, path, 0, log)
        trace = None if data is None else read_trace(Fields(data, path, None, log))
        if trace is None:
            raise DataError(f"{self._key}: {path} has changed while it was in use; the same command starts over")
        return trace
