import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from plugins.evaluation.trace_quality import TOOL_NAMES
from runner.cli import main
from runner.commands import traces
from runner.errors import DataError, InputError
from tests.small_data import write_jsonl

pytestmark = pytest.mark.usefixtures("empty_folder")

TALK = [{"role": "user", "content": "날씨는?"}, {"role": "assistant", "content": "맑습니다."}]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    told = {"id": "t", "messages": TALK, "task_domain": "code", "success": False, "confidence": 0.25}
    write_jsonl(tmp_path / "logs.jsonl", [told, {"messages": TALK}, {"messages": []}])
    return tmp_path / "logs.jsonl"


def test_traces_are_written_and_what_is_assumed_is_told(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = logs.parent / "traces.jsonl"
    assert main(["traces", str(logs), str(out), "--domain", "finance", "--confidence", "0.7"]) == 0
    told, assumed = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    assert told["metadata"] == {"task_domain": "code", "success": False, "language": "ko"}
    assert told["outcome"] == {"result_summary": "맑습니다.", "confidence": 0.25}
    assert assumed["metadata"]["task_domain"] == "finance" and assumed["outcome"]["confidence"] == 0.7
    said = capsys.readouterr()
    assert said.out == f"{out}: 2 traces, 2 steps\n"
    assert said.err.splitlines() == [
        f"skipped {logs}:3: messages: expected a list of messages, found an empty list",
        "1 of 2 conversations do not state their task_domain: finance is assumed (--domain)",
        "1 of 2 conversations do not state their confidence: 0.7 is assumed (--confidence)",
        "1 of 2 conversations do not state their success: they get no outcome and no score",
    ]


def test_what_is_written_is_scored(tmp_path: Path) -> None:
    def calling(id: str, name: str, text: str | None = None) -> dict[str, Any]:
        call = {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}
        return {"role": "assistant", "content": text, "tool_calls": [call]}

    talk = [
        {"role": "user", "content": "How warm is it?"},
        calling("1", "weather"),
        {"role": "tool", "tool_call_id": "1", "content": "Error: which city?"},
        calling("2", "place", "I look up the city first."),
        {"role": "tool", "tool_call_id": "2", "content": "Busan"},
        {"role": "assistant", "content": "21 degrees."},
    ]
    write_jsonl(tmp_path / "logs.jsonl", [{"messages": talk, "confidence": 0.8, "success": True}])
    assert main(["traces", str(tmp_path / "logs.jsonl"), str(tmp_path / "traces.jsonl")]) == 0
    where = [f"dataset.traces={tmp_path / 'traces.jsonl'}", f"out={tmp_path / 'o'}", "tracking=none"]
    assert main(["+experiment=trace_quality", *where]) == 0
    row = json.loads((tmp_path / "o" / "per_item.jsonl").read_text(encoding="utf-8"))
    # 3 types of 4, a recovery, 5 steps; 2 tools in 5 steps
    assert row["metrics"]["complexity"] == pytest.approx(3 / 4 * 0.5 + 0.3 + 5 / 20 * 0.2)
    assert row["metrics"]["diversity"] == 1.0
    assert row["metrics"]["score"] == pytest.approx(0.725 * 0.25 + 0.5 * 0.35 + 0.15 + 0.8 * 0.25)


def test_traces_are_written_with_the_scores_of_the_evaluation(tmp_path: Path) -> None:
    told = {"messages": TALK, "success": True, "confidence": 0.9, "task_domain": "finance"}
    write_jsonl(tmp_path / "logs.jsonl", [{"id": "known", **told}, {"id": "unknown", "messages": TALK}])
    out, again = tmp_path / "scored.jsonl", tmp_path / "again.jsonl"
    assert main(["traces", "score", str(tmp_path / "logs.jsonl"), f"out={out}"]) == 0
    # a single thought scores 0.1 by rule, whatever the weights
    assert {row["id"]: row["metadata"]["quality_score"] for row in _lines(out)} == {"known": 0.1, "unknown": None}
    steps = [{"type": "thought", "content": "a"}, {"type": "observation", "content": "b"}]
    write_jsonl(tmp_path / "traces.jsonl", [{**_lines(out)[0], "steps": steps, "own": 1}])
    assert main(["traces", "score", str(tmp_path / "traces.jsonl"), str(again), "profile=finance"]) == 0
    (row,) = _lines(again)
    # complexity 2/4 * .5 + 2/20 * .2, novelty .5, no tools, outcome .9; weights of finance
    assert row["metadata"]["quality_score"] == pytest.approx(0.27 * 0.2 + 0.5 * 0.25 + 0.9 * 0.45)
    assert row["own"] == 1


def test_traces_are_not_scored_over_a_sweep(logs: Path) -> None:
    with pytest.raises(InputError, match="expected one value of each option"):
        traces.main(["score", str(logs), str(logs.parent / "o.jsonl"), "profile=finance,code"])
    assert not (logs.parent / "o.jsonl").exists()


def test_a_trace_of_unknown_success_has_no_score_and_the_report_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_jsonl(tmp_path / "logs.jsonl", [{"messages": TALK}, {"messages": TALK, "success": True, "confidence": 0.9}])
    assert main(["traces", str(tmp_path / "logs.jsonl"), str(tmp_path / "traces.jsonl")]) == 0
    where = [f"dataset.traces={tmp_path / 'traces.jsonl'}", f"out={tmp_path / 'o'}", "tracking=none"]
    assert main(["+experiment=trace_quality", *where]) == 0
    unknown, known = _lines(tmp_path / "o" / "per_item.jsonl")
    assert (unknown["metrics"]["score"], unknown["metrics"]["outcome"]) == (None, None)
    assert unknown["metrics"]["complexity"] == known["metrics"]["complexity"] == pytest.approx(0.135)
    assert (known["metrics"]["score"], known["metrics"]["outcome"]) == (0.1, 0.9)
    summary = json.loads((tmp_path / "o" / "summary.json").read_text(encoding="utf-8"))
    assert summary["trace"]["unknown_success"] == 1
    assert summary["metrics"]["score"]["n"] == 1
    told = "Traces without a score: 1; their success is unknown"
    assert told in (tmp_path / "o" / "summary.md").read_text(encoding="utf-8")
    assert told in " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "success unknown" in (tmp_path / "o" / "report.html").read_text(encoding="utf-8")


def test_strict_writes_nothing(logs: Path) -> None:
    out = logs.parent / "traces.jsonl"
    with pytest.raises(DataError, match=r"1 error in the data files \(strict=true stops at them\):\n"):
        traces.main([str(logs), str(out), "--strict"])
    assert not out.exists()


def test_no_usable_conversation(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "logs.jsonl", [{"messages": 3}])
    with pytest.raises(DataError) as caught:
        traces.main([str(tmp_path / "logs.jsonl"), str(tmp_path / "out")])
    logs = tmp_path / "logs.jsonl"
    assert str(caught.value) == (
        f"{logs}: no conversation can be used; its lines have errors:\n"
        f"  {logs}:1: messages: expected a list of messages, found number 3"
    )


def test_a_file_that_is_there_is_not_written_over(logs: Path) -> None:
    with pytest.raises(InputError, match=rf"^OUT: {logs} exists; name another file, or remove it$"):
        traces.main([str(logs), str(logs)])


def test_a_folder_that_is_not_there(logs: Path) -> None:
    with pytest.raises(InputError, match=r"is not a folder that can be written to$"):
        traces.main([str(logs), str(logs.parent / "none" / "traces.jsonl")])


@pytest.mark.parametrize("value", ["2", "much", "nan"])
def test_a_confidence_is_a_share(logs: Path, value: str) -> None:
    with pytest.raises(InputError, match=f"expected a number from 0 to 1, found '{value}'"):
        traces.main([str(logs), "out", "--confidence", value])


def test_what_agents_of_a_run_did_is_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = tmp_path / "run", tmp_path / "traces.jsonl"
    words = ["retriever=agentic", "dataset=demo_ko", "tracking=none", "format=json", "sample=6"]
    assert main([*words, f"out={run}"]) == 0
    capsys.readouterr()
    assert main(["traces", str(run), str(out), "--domain", "customer_service"]) == 0
    assert (
        capsys.readouterr().err
        == "6 of 6 questions do not state their task_domain: customer_service is assumed (--domain)\n"
    )
    lost_at = {row["id"]: row["labels"]["lost_at"] for row in _lines(run / "per_item.jsonl")}
    assert {trace["id"]: trace["metadata"]["success"] for trace in _lines(out)} == {
        id: place == "none" for id, place in lost_at.items()
    }
    rows = [{**row, "labels": {}} for row in _lines(run / "per_item.jsonl")]
    write_jsonl(tmp_path / "unlabelled" / "per_item.jsonl", rows)
    assert main(["traces", str(tmp_path / "unlabelled"), str(tmp_path / "untold.jsonl")]) == 0
    told = "6 of 6 questions do not state their success: they get no outcome and no score"
    assert told in capsys.readouterr().err.splitlines()
    assert [trace["metadata"]["success"] for trace in _lines(tmp_path / "untold.jsonl")] == [None] * 6
    where = [f"dataset.traces={out}", f"out={tmp_path / 'o'}", "tracking=none", "format=json"]
    assert main(["+experiment=trace_quality", *where]) == 0
    scores = {row["id"]: row["output"]["profile"] for row in _lines(tmp_path / "o" / "per_item.jsonl")}
    assert scores == dict.fromkeys(lost_at, "customer_service")


def test_a_run_without_an_agent_has_no_traces(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "per_item.jsonl", [{"id": "q", "output": {"query": "?"}}])
    with pytest.raises(DataError) as caught:
        traces.main([str(tmp_path), str(tmp_path / "out.jsonl")])
    assert str(caught.value) == (
        f"{tmp_path}: no question can be used; its lines have errors:\n"
        f"  {tmp_path / 'per_item.jsonl'}:1: output.trajectory: no agent looked for an answer here"
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_expected_tools_reach_the_report_and_the_snapshot(
    tmp_path: Path,
) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Busan"}'}}
    talk = [
        TALK[0],
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "21"},
    ]
    expected = {"met": ["weather"], "missed": [{"name": "weather", "arguments": {"city": "Seoul"}}], "untold": None}
    conversations = [
        {"id": id, "messages": [*talk, TALK[1]], "success": True, "expected_tools": tools}
        for id, tools in expected.items()
    ]
    write_jsonl(tmp_path / "logs.jsonl", conversations)
    assert main(["traces", str(tmp_path / "logs.jsonl"), str(tmp_path / "traces.jsonl")]) == 0
    where = [f"dataset.traces={tmp_path / 'traces.jsonl'}", f"out={tmp_path / 'o'}", "tracking=none"]
    assert main(["+experiment=trace_quality", *where]) == 0
    summary = json.loads((tmp_path / "o" / "summary.json").read_text(encoding="utf-8"))
    assert {name: summary["metrics"][name]["value"] for name in TOOL_NAMES} == {
        "tool_match_strict": 0.5,
        "tool_match_unordered": 0.5,
        "tool_match_subset": 0.5,
        "tool_match_superset": 0.5,
        "redundant_calls": 0.0,
        "steps_over_reference": 0.0,
    }
    assert summary["metrics"]["tool_match_strict"]["n"] == 2
    assert "Tool Match, strict" in (tmp_path / "o" / "summary.md").read_text(encoding="utf-8")
    assert "tool_match_strict" in (tmp_path / "o" / "snapshot.json").read_text(encoding="utf-8")


def test_parts_that_are_left_out_are_told_and_many_of_them_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first five are named."""
    pictured = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "input_image"}]}
    write_jsonl(tmp_path / "logs.jsonl", [{"messages": [pictured, TALK[1]], "success": True}] * 7)
    logs, out = str(tmp_path / "logs.jsonl"), tmp_path / "traces.jsonl"
    assert main(["traces", logs, str(out)]) == 0
    left_out = [line for line in capsys.readouterr().err.splitlines() if "left out" in line or "more parts" in line]
    assert left_out == [
        *(
            f"{logs}:{line}: messages[0].content[1]: a part of type input_image is left out: there is no text to read "
            "in it"
            for line in range(1, 6)
        ),
        "and 2 more parts like these",
    ]
    assert len(out.read_text("utf-8").splitlines()) == 7


def test_damaged_gzip_is_named_by_its_file(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = logs.with_suffix(".jsonl.gz")
    for content in (gzip.compress(logs.read_bytes())[:40], b"\x1f\x8b\x08\x00 no gzip"):
        packed.write_bytes(content)
        assert main(["traces", str(packed), "out.jsonl"]) == 1
        assert capsys.readouterr().err == f"error: {packed}: its gzip data are damaged or cut off\n"
