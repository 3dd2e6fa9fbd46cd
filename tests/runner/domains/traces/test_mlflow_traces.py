"""In the form that MLflow 3 writes: attributes are texts of JSON, ids base64."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.data.problems import ProblemLog
from runner.domains.traces.mlflow_traces import is_mlflow, read_mlflow
from runner.domains.traces.records import Trace
from runner.metrics.tool_use import ToolUse


def span(name: str, kind: str, inputs: Any = None, outputs: Any = None, **others: Any) -> dict[str, Any]:
    attributes = {"mlflow.spanType": kind, "mlflow.spanInputs": inputs, "mlflow.spanOutputs": outputs}
    return {
        "span_id": f"{name}==",
        "parent_span_id": "agent==",
        "name": name,
        "start_time_unix_nano": 1,
        "status": {"code": "STATUS_CODE_OK", "message": ""},
        "attributes": {key: json.dumps(value) for key, value in attributes.items() if value is not None},
        **others,
    }


ROOT = span("agent", "AGENT", {"question": "How warm is it?"}, "21 degrees", parent_span_id=None)
ERROR = {"code": "STATUS_CODE_ERROR", "message": "ValueError: unknown city"}
FAILED = span("weather", "TOOL", {"city": "Pusan"}, start_time_unix_nano=2, status=ERROR)
CALLED = span("weather", "TOOL", {"city": "Busan"}, {"temp": 21}, start_time_unix_nano=3)
CHOICES = {"choices": [{"message": {"role": "assistant", "content": "21 degrees"}, "finish_reason": "stop"}]}
MODEL = span("chat", "CHAT_MODEL", {"messages": []}, CHOICES, start_time_unix_nano=4)


def feedback(name: str, value: Any, **others: Any) -> dict[str, Any]:
    return {"assessment_name": name, "feedback": {"value": value}, "valid": True, **others}


def expectation(value: Any) -> dict[str, Any]:
    serialized = {"serialization_format": "JSON_FORMAT", "value": json.dumps(value)}
    return {"assessment_name": "expected_tools", "expectation": {"serialized_value": serialized}, "valid": True}


def export(*spans: dict[str, Any], assessments: Any = (), **info: Any) -> dict[str, Any]:
    told = {"trace_id": "tr-1", "request_time": "2026-11-23T10:35:23.370Z", "state": "OK", **info}
    return {"info": {**told, "assessments": list(assessments)}, "data": {"spans": list(spans)}}


def read(path: Path, text: str) -> tuple[list[Trace], list[str]]:
    path.write_text(text, encoding="utf-8")
    assert is_mlflow(str(path))
    log = ProblemLog()
    traces = list(read_mlflow(str(path), log, domain="default", confidence=0.5))
    return traces, [str(problem).removeprefix(f"{path}") for problem in log.problems]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traces.json"


FULL = export(
    CALLED, FAILED, MODEL, ROOT, assessments=[feedback("correct", True), expectation(["weather"])], tags={"a": "b"}
)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(FULL, indent=2),
        json.dumps(FULL),
        json.dumps([FULL]),
        json.dumps({"trace_id": "tr-1", "trace": json.dumps(FULL), "state": "OK"}),
    ],
)
def test_spans_are_steps_in_the_order_in_which_they_began(path: Path, text: str) -> None:
    (trace,), problems = read(path, text)
    assert not problems
    assert [(step.type, step.tool, step.content, step.more.get("input")) for step in trace.steps] == [
        ("tool_call", "weather", "", {"city": "Pusan"}),
        ("observation", None, "ValueError: unknown city", None),
        ("error_recovery", "weather", "", {"city": "Busan"}),
        ("observation", None, '{"temp": 21}', None),
    ]
    assert (trace.id, trace.objective, trace.summary) == ("tr-1", "How warm is it?", "21 degrees")
    assert (trace.success, trace.expected_tools) == (True, (ToolUse("weather"),))
    assert trace.created_at is not None and trace.created_at.isoformat() == "2026-11-23T10:35:23.370000+00:00"
    assert trace.metadata["tags"] == {"a": "b"}


@pytest.mark.parametrize(
    ("assessments", "success", "n_left_out"),
    [
        ([], None, 0),  # the state OK says that nothing was raised
        ([feedback("correctness", "no")], False, 0),
        ([feedback("success", "yes"), feedback("correct", True)], True, 0),
        ([feedback("success", True), feedback("correct", False)], None, 1),
        ([feedback("tone", True)], None, 1),
        ([feedback("success", True, valid=False)], None, 1),
        ([feedback("success", 0.7)], None, 1),
    ],
)
def test_feedback_tells_success(path: Path, assessments: Any, success: bool | None, n_left_out: int) -> None:
    (trace,), problems = read(path, json.dumps(export(ROOT, CALLED, assessments=assessments)))
    assert trace.success is success
    assert len(problems) == n_left_out


def test_what_is_left_out_is_named_with_file_and_place(path: Path) -> None:
    parser, odd = span("split", "PARSER", "a", "b"), span("chat", "LLM", "a", [1])
    lines = [export(ROOT, CALLED), export(ROOT, parser, odd, assessments=[feedback("tone", "good")], trace_id="tr-2")]
    traces, problems = read(path, "\n".join(map(json.dumps, lines)))
    assert [trace.id for trace in traces] == ["tr-1", "tr-2"]
    assert problems == [
        ":2: data.spans[1]: a span of type PARSER is left out: 'split'",
        ":2: data.spans[2].attributes.mlflow.spanOutputs: what the model 'chat' returned is left out: "
        "expected a text, choices or content, found a list of 1",
        ":2: info.assessments[0]: the assessment 'tone' is left out: it tells neither success nor tools",
    ]


def test_calls_of_a_model_that_no_span_tells_are_kept(path: Path) -> None:
    calls = [
        {"id": str(place), "type": "function", "function": {"name": name, "arguments": "{}"}}
        for place, name in enumerate(("weather", "place"))
    ]
    message = {"role": "assistant", "content": "I look it up.", "tool_calls": calls}
    model = span("chat", "CHAT_MODEL", {}, {"choices": [{"message": message}]})
    (trace,), _ = read(path, json.dumps(export(ROOT, model, CALLED)))
    assert [(step.type, step.tool) for step in trace.steps] == [
        ("thought", None),
        ("tool_call", "place"),
        ("tool_call", "weather"),
        ("observation", None),
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (export(ROOT), None),
        (export(), "data.spans: expected a list of spans, found an empty list"),
        (export(CALLED, trace_id=3), "info.trace_id: expected a text, found number 3"),
        (export(span("agent", "AGENT")), "data.spans: no inputs of the root span say what is asked for"),
        (
            export(ROOT, assessments=[expectation([{"name": 3}])]),
            "info.assessments[0].expected_tools[0].name: expected the name of a tool, found number 3",
        ),
        (
            {"trace_id": "a", "trace": "{"},
            'trace: expected a trace as JSON, or its spans under `spans`, found text "{"',
        ),
        (export(ROOT, tags=[1]), "info.tags: expected an object, found a list of 1"),
        (export(ROOT, CALLED, trace_id="tr-0"), "info.trace_id: 'tr-0' is the id of an earlier trace too"),
    ],
)
def test_what_is_wrong_is_told_with_file_line_and_field(path: Path, wrong: Any, message: str | None) -> None:
    first = export(ROOT, CALLED, trace_id="tr-0")
    traces, problems = read(path, f"{json.dumps(first)}\n{json.dumps(wrong)}\n")
    assert len(traces) == (2 if message is None else 1)
    assert problems == ([] if message is None else [f":2: {message}"])


def test_chat_logs_are_none(path: Path) -> None:
    for text in ('{"messages": []}\n', "", "{not json", "[]", "3"):
        path.write_text(text, encoding="utf-8")
        assert not is_mlflow(str(path))


EXPORTS = Path(__file__).parent / "exports"


@pytest.mark.parametrize(
    "name", ["mlflow_2_14.jsonl", "mlflow_2_14_rows.jsonl", "mlflow_2_22.jsonl", "mlflow_2_22_rows.jsonl"]
)
def test_files_that_mlflow_2_wrote(path: Path, name: str) -> None:
    """Of one program: `Trace.to_json()`, and `search_traces().to_json(orient="records", lines=True)`."""
    (broken, whole), problems = read(path, (EXPORTS / name).read_text(encoding="utf-8"))
    assert problems == [":2: data.spans[2]: a span of type PARSER is left out: 'parse'"]
    assert [(step.type, step.tool, step.content, step.more.get("input")) for step in whole.steps] == [
        ("tool_call", "retrieve", "", {"q": "How warm is it in Busan?"}),
        ("observation", None, '[{"page_content": "doc", "metadata": {"doc_uri": "a"}}]', None),
        ("tool_call", "get_weather", "", {"city": "Pusan"}),
        ("observation", None, "ValueError: unknown city", None),
        ("error_recovery", "get_weather", "", {"city": "Busan"}),
        ("observation", None, '{"temp": 21}', None),
    ]
    assert (whole.objective, whole.summary, whole.success) == ("How warm is it in Busan?", "21 degrees", None)
    assert (broken.objective, broken.summary, broken.success) == ("부산은 몇 도야?", "", False)
    assert whole.created_at is not None and whole.created_at.date().isoformat() == "2026-11-23"
    assert whole.metadata["request_metadata"]["mlflow.trace_schema.version"] == "2"


def test_numbered_names_are_one_tool_only_where_mlflow_numbered_them(path: Path) -> None:
    autologged = [span("search_1", "TOOL", "a", "b"), span("search_2", "TOOL", "c", "d"), span("step_7", "TOOL", "e")]
    (trace,), _ = read(path, json.dumps(export(ROOT, *autologged)))
    assert [step.tool for step in trace.steps if step.tool] == ["search", "search", "step_7"]


def test_an_exception_is_no_success_unless_feedback_says_so(path: Path) -> None:
    feedback_of = {"tr-1": [], "tr-2": [feedback("correct", True)]}
    lines = [export(ROOT, CALLED, trace_id=id, assessments=told, state="ERROR") for id, told in feedback_of.items()]
    traces, _ = read(path, "\n".join(map(json.dumps, lines)))
    assert [trace.success for trace in traces] == [False, True]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"request_id": "a", "trace": "Trace(a)"}, 'found text "Trace(a)"'),
        ({"request_id": "a", "trace": None}, "found null"),
    ],
)
def test_a_row_of_mlflow_2_without_spans(path: Path, wrong: Any, message: str) -> None:
    assert read(path, json.dumps(wrong)) == (
        [],
        [f":1: trace: expected a trace as JSON, or its spans under `spans`, {message}"],
    )


def test_a_time_in_ms_that_is_none(path: Path) -> None:
    wrong = {"request_id": "a", "trace": "", "spans": [ROOT, CALLED], "timestamp_ms": {}}
    assert read(path, json.dumps(wrong))[1] == [
        ":1: info.timestamp_ms: expected a time in ISO 8601 or in ms since 1970, found an object"
    ]
