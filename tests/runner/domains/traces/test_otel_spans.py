"""Files in exports/ are what instrumentations wrote of one program that asks for the weather, English and Korean."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.data.problems import ProblemLog
from runner.domains.traces.otel_files import is_otel
from runner.domains.traces.otel_spans import read_otel
from runner.domains.traces.records import Trace
from runner.metrics.tool_use import ToolUse

EXPORTS = Path(__file__).parent / "exports"


def read(path: Path) -> tuple[list[Trace], list[str]]:
    assert is_otel(str(path))
    log = ProblemLog()
    traces = list(read_otel(str(path), log, domain="default", confidence=0.5))
    return traces, [str(problem).removeprefix(f"{path}") for problem in log.problems]


def steps_of(trace: Trace) -> list[tuple[str, str | None, str, Any]]:
    return [(step.type, step.tool, step.content, step.more.get("input")) for step in trace.steps]


def span(name: str, attributes: Mapping[str, Any], parent: str | None = "root", **others: Any) -> dict[str, Any]:
    """As the SDK prints it; spans begin in the order of their numbers."""
    return {
        "name": name,
        "context": {"trace_id": "0x1", "span_id": name},
        "parent_id": parent,
        "start_time": others.pop("start_time", f"2026-11-23T10:00:0{others.pop('second', 1)}Z"),
        "status": {"status_code": "UNSET"},
        "attributes": dict(attributes),
        "events": [],
        **others,
    }


def said(role: str, *parts: Any) -> dict[str, Any]:
    return {
        "role": role,
        "parts": [{"type": "text", "content": part} if isinstance(part, str) else part for part in parts],
    }


def call(id: str, name: str = "weather", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": id, "name": name, "arguments": arguments}


ROOT = span("root", {"gen_ai.operation.name": "invoke_agent"}, None, second=0)
ASKED = said("user", "How warm is it?")


def chat(name: str, before: Any, answered: Any, second: int = 1, **others: Any) -> dict[str, Any]:
    messages = {"gen_ai.input.messages": json.dumps(before), "gen_ai.output.messages": json.dumps(answered)}
    attributes = {"gen_ai.operation.name": "chat", **messages, **others.pop("attributes", {})}
    return span(name, attributes, second=second, **others)


ANSWERING = chat("chat", [ASKED], [said("assistant", "21 degrees")])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "spans.jsonl"


def read_lines(path: Path, *spans: Any) -> tuple[list[Trace], list[str]]:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in spans), encoding="utf-8")
    return read(path)


# --- what instrumentations write ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        (
            "otel_events.jsonl",
            [
                ":2: resourceSpans[0].scopeSpans[0].spans[0]: a span 'get_weather' that is none of an agent, a model "
                "or a tool is left out (2 in this file; the first)"
            ],
        ),
        ("otel_messages.json", []),
        ("otel_openinference.jsonl", []),
        ("otel_openllmetry.json", []),
        ("otel_openllmetry_flat.jsonl", []),
    ],
)
def test_files_that_instrumentations_of_a_model_wrote(name: str, left_out: list[str]) -> None:
    (english, korean), problems = read(EXPORTS / name)
    assert problems == left_out
    assert steps_of(english) == [
        ("tool_call", "get_weather", "", {"city": "Because 2f7a46eb."}),
        ("observation", None, '{"temp": 21}', None),
    ]
    assert (english.objective, english.summary) == ("How warm is it in Busan?", "Answer 61fd0cc4 is in the sources.")
    assert (korean.objective, korean.summary) == ("부산은 몇 도야?", "Answer 48ca871a is in the sources.")
    assert (english.success, english.language, korean.language) == (None, "en", "ko")
    assert english.created_at is not None and english.created_at.date().isoformat() == "2026-11-23"
    assert english.metadata["models"] == ["gpt-4o-mini"]
    assert english.metadata["usage"] == {"input_tokens": 41, "output_tokens": 9}


@pytest.mark.parametrize("name", ["otel_pydantic_ai.jsonl", "otel_pydantic_ai_console.txt"])
def test_files_that_pydantic_ai_wrote(name: str) -> None:
    """The tool fails once, and the server of the third agent does not answer."""
    (failed_once, _, broken), problems = read(EXPORTS / name)
    assert steps_of(failed_once) == [
        ("tool_call", "get_weather", "", {"city": "Because 2f7a46eb."}),
        ("observation", None, "Error: unknown city", None),
    ]
    assert steps_of(broken) == [("observation", None, "ModelConnectionError: Connection error.", None)]
    assert (failed_once.success, broken.success, broken.objective, broken.summary) == (None, False, "Broken", "")
    names = "operation.cost (4), logfire.msg (2), pydantic_ai.tool.retry.cause (1), pydantic_ai.tool.retry.attempt (1)"
    what = ": attributes of inner spans are left out, with how many spans have them: "
    assert problems == [
        *([":1: a line that is no JSON is left out"] if name.endswith(".txt") else []),
        f"{what}{names}, pydantic_ai.tool.retry.max_retries (1)",
    ]


@pytest.mark.usefixtures("empty_folder")
def test_the_command_reads_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "traces.jsonl"
    assert main(["traces", str(EXPORTS / "otel_messages.json"), str(out)]) == 0
    told = capsys.readouterr()
    assert told.out == f"{out}: 2 traces, 4 steps\n"
    assert "2 of 2 traces do not state their success: they get no outcome and no score" in told.err
    where = [f"dataset.traces={out}", f"out={tmp_path / 'o'}", "tracking=none"]
    assert main(["+experiment=trace_quality", *where]) == 0


# --- conversations --------------------------------------------------------------------------------


def test_what_a_later_model_is_shown_again_is_told_once(path: Path) -> None:
    thinking = {"type": "reasoning", "content": "Look it up"}
    first, result = call("1", city="Pusan"), {"type": "tool_call_response", "id": "1", "response": "Error: no city"}
    again = [ASKED, said("assistant", first), said("tool", result)]  # the thought is not shown again
    (trace,), problems = read_lines(
        path,
        ROOT,
        chat("1", [ASKED], [said("assistant", thinking, first)]),
        chat("2", again, [said("assistant", "Once more.", call("2", city="Busan"))], 3),
        span(
            "tool",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.call.id": "2",
                "gen_ai.tool.name": "weather",
                "gen_ai.tool.call.result": {"temp": 21},
            },
            second=4,
        ),
        chat(
            "3",
            [
                *again,
                said("assistant", "Once more.", call("2", city="Busan")),
                said("tool", {"type": "tool_call_response", "id": "2", "response": {"temp": 21}}),
            ],
            [said("assistant", "21 degrees")],
            5,
        ),
    )
    assert not problems
    assert steps_of(trace) == [
        ("thought", None, "Look it up", None),
        ("tool_call", "weather", "", {"city": "Pusan"}),
        ("observation", None, "Error: no city", None),
        ("error_recovery", None, "Once more.", None),
        ("tool_call", "weather", "", {"city": "Busan"}),
        ("observation", None, '{"temp": 21}', None),
    ]
    assert trace.summary == "21 degrees"


def test_spans_of_tools_tell_calls_that_no_model_tells(path: Path) -> None:
    failed = {"name": "exception", "attributes": {"exception.message": "unknown city"}}
    (trace,), problems = read_lines(
        path,
        {
            **ROOT,
            "attributes": {"openinference.span.kind": "AGENT", "input.value": "How warm is it?", "output.value": "21"},
        },
        span(
            "find",
            {
                "openinference.span.kind": "RETRIEVER",
                "input.value": "warm",
                "retrieval.documents.0.document.id": "a",
                "retrieval.documents.0.document.content": "text",
            },
            second=1,
        ),
        span(
            "weather",
            {"openinference.span.kind": "TOOL", "input.value": '{"city": "Pusan"}'},
            second=2,
            status={"status_code": "ERROR"},
            events=[failed],
        ),
        span(
            "execute_tool weather",
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": {"city": "Busan"}},
            second=3,
        ),
    )
    assert not problems
    assert steps_of(trace) == [
        ("tool_call", "find", "", "warm"),
        ("observation", None, '[{"id": "a", "content": "text"}]', None),
        ("tool_call", "weather", "", {"city": "Pusan"}),
        ("observation", None, "unknown city", None),
        ("error_recovery", "weather", "", {"city": "Busan"}),
    ]
    assert (trace.objective, trace.summary, trace.success) == ("How warm is it?", "21", None)


def test_a_library_and_its_client_tell_the_same_call_once(path: Path) -> None:
    inner = {**ANSWERING, "name": "client", "context": {"trace_id": "0x1", "span_id": "client"}, "parent_id": "chat"}
    (trace,), problems = read_lines(path, ROOT, ANSWERING, inner)
    assert (steps_of(trace), problems) == ([("thought", None, "21 degrees", None)], [])


def test_messages_as_events_of_a_span(path: Path) -> None:
    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": "How warm is it?"}},
        {"name": "gen_ai.choice", "attributes": {"message": '{"content": "21"}', "finish_reason": "length"}},
    ]
    (trace,), problems = read_lines(path, ROOT, span("chat", {"gen_ai.operation.name": "chat"}, events=events))
    assert (trace.objective, trace.summary, trace.success, problems) == ("How warm is it?", "21", False, [])


def test_messages_in_an_event_of_details_and_in_the_oldest_events(path: Path) -> None:
    held = {"gen_ai.input.messages": [ASKED], "gen_ai.output.messages": [said("assistant", "21")]}
    details = {"name": "gen_ai.client.inference.operation.details", "attributes": held}
    oldest = [
        {"name": "gen_ai.content.prompt", "attributes": {"gen_ai.prompt": '[{"role": "user", "content": "Cold?"}]'}},
        {
            "name": "gen_ai.content.completion",
            "attributes": {"gen_ai.completion": '[{"role": "assistant", "content": "No"}]'},
        },
    ]
    chat_ = {"gen_ai.operation.name": "chat"}
    other = {**span("chat", chat_, None, events=oldest), "context": {"trace_id": "0x2", "span_id": "chat"}}
    traces, problems = read_lines(path, ROOT, span("chat", chat_, events=[details]), other)
    assert [(trace.id, trace.objective, trace.summary) for trace in traces] == [
        ("1", "How warm is it?", "21"),
        ("2", "Cold?", "No"),
    ]
    assert not problems


# --- success and what else is told ----------------------------------------------------------------


def evaluated(*values: Any, name: str = "correctness") -> list[dict[str, Any]]:
    return [
        {
            "name": "gen_ai.evaluation.result",
            "attributes": {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.label": value},
        }
        for value in values
    ]


@pytest.mark.parametrize(
    ("others", "success", "n_left_out"),
    [
        ({}, None, 0),
        ({"status": {"status_code": "OK"}}, None, 0),
        ({"status": {"status_code": "ERROR", "description": "TimeoutError"}}, False, 0),
        ({"events": evaluated("pass")}, True, 0),
        ({"events": evaluated("fail")}, False, 0),
        ({"events": evaluated("pass", "fail")}, None, 1),
        ({"events": evaluated("pass", name="tone")}, None, 1),
        ({"events": evaluated("rather")}, None, 1),
        ({"status": {"status_code": "ERROR"}, "events": evaluated("pass")}, True, 0),
    ],
)
def test_what_tells_success(path: Path, others: Any, success: bool | None, n_left_out: int) -> None:
    (trace,), problems = read_lines(path, {**ROOT, **others}, ANSWERING)
    assert (trace.success, len(problems)) == (success, n_left_out)


@pytest.mark.parametrize(("reason", "success"), [("stop", None), ("length", False), ("content_filter", False)])
def test_an_answer_that_was_cut_off_is_no_success(path: Path, reason: str, success: bool | None) -> None:
    told = chat("chat", [ASKED], [{**said("assistant", "21"), "finish_reason": reason}])
    assert read_lines(path, ROOT, told)[0][0].success is success
    listed = chat("chat", [ASKED], [said("assistant", "21")], attributes={"gen_ai.response.finish_reasons": [reason]})
    assert read_lines(path, ROOT, listed)[0][0].success is success


def test_the_outermost_span_may_tell_what_a_trace_is(path: Path) -> None:
    told = {
        "task_domain": "weather",
        "success": True,
        "confidence": 0.9,
        "rating": 4,
        "expected_tools": '[{"name": "weather", "arguments": {"city": "Busan"}}]',
        "team": "a",
    }
    (trace,), problems = read_lines(path, {**ROOT, "attributes": {**ROOT["attributes"], **told}}, ANSWERING)
    assert (trace.domain, trace.success, trace.confidence, trace.rating) == ("weather", True, 0.9, 4)
    assert trace.expected_tools == (ToolUse("weather", {"city": "Busan"}),)
    assert (trace.metadata["attributes"], trace.metadata["assumed"], problems) == ({"team": "a"}, [], [])


# --- what is left out or wrong --------------------------------------------------------------------


def test_what_is_left_out_is_counted_and_named(path: Path) -> None:
    image = {"type": "uri", "uri": "https://example.test/a.png"}
    http = {**span("GET /", {"http.method": "GET"}, None), "context": {"trace_id": "0x9", "span_id": "h"}}
    (trace,), problems = read_lines(
        path,
        ROOT,
        chat("chat", [said("user", "How warm is it?", image)], [said("assistant", "21")]),
        span("embed", {"gen_ai.operation.name": "embeddings", "vendor.tokens": 3}, second=2),
        span("POST", {}, second=3),
        {**span("POST", {}, second=4), "context": {"trace_id": "0x1", "span_id": "POST 2"}},
        http,
        {"other": 1},
        {"body": {"content": "x"}, "trace_id": "0x1", "span_id": "gone", "event_name": "gen_ai.user.message"},
    )
    assert trace.summary == "21"
    assert problems == [
        ":7: an object that is neither a span nor an export of spans is left out",
        ":8: a log record is left out: gen_ai.user.message",
        ":2: attributes.gen_ai.input.messages[0].parts[1]: a part of type uri is left out",
        ":3: a span of embeddings is left out",
        ":4: a span 'POST' that is none of an agent, a model or a tool is left out (2 in this file; the first)",
        ":6: a trace without a span of an agent, a model or a tool is left out",
        ": attributes of inner spans are left out, with how many spans have them: vendor.tokens (1)",
    ]


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        (
            [ROOT, span("chat", {"gen_ai.operation.name": "chat"})],
            ":1: attributes: nothing tells what was asked for; instrumentations record messages only where that is "
            "turned on (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)",
        ),
        (
            [{**ROOT, "attributes": {**ROOT["attributes"], "input.value": "How warm is it?"}}],
            ":1: attributes: no span is a call of a tool or tells what a model said, and there is no answer",
        ),
        (
            [{**ROOT, "attributes": {**ROOT["attributes"], "confidence": 3}}, ANSWERING],
            ":1: confidence: expected a number from 0 to 1, found number 3",
        ),
        (
            [{**ROOT, "attributes": {**ROOT["attributes"], "expected_tools": "[3]"}}, ANSWERING],
            ':1: expected_tools[0]: expected the name of a tool, or {"name", "arguments"}, found number 3',
        ),
        ([{**ROOT, "context": {"trace_id": ""}}], ":1: expected a span with the ids of its own and of its trace"),
    ],
)
def test_what_is_wrong_is_told_with_file_line_and_field(path: Path, spans: Any, message: str) -> None:
    traces, problems = read_lines(path, *spans)
    assert not traces and message in problems


def test_messages_of_another_form_are_left_out_with_their_place(path: Path) -> None:
    odd = span("chat", {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "3"}, second=2)
    (trace,), problems = read_lines(path, ROOT, ANSWERING, odd)
    assert trace.summary == "21 degrees"
    assert problems == [
        ":3: attributes.gen_ai.input.messages: what a model was told and said is left out: expected a list of messages"
    ]


def test_a_value_without_its_end_does_not_take_the_next_with_it(path: Path) -> None:
    path.write_text(f'printed\n{{"name": "cut\n{json.dumps(ROOT)}\n{json.dumps(ANSWERING, indent=4)}\n{{\n', "utf-8")
    (trace,), problems = read(path)
    assert trace.summary == "21 degrees"
    end = "expected a JSON object or list, with its end, not nested too deeply"
    assert problems == [f":2: {end}", f":22: {end}", ":1: a line that is no JSON is left out"]


@pytest.mark.parametrize(
    "text", ['{"messages": []}\n', "", "{not json", "[]", "3", '{"info": {}, "data": []}', "[" * 400]
)
def test_other_files_are_none(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    assert not is_otel(str(path))
