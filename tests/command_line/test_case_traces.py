"""Cases of a run as traces of MLflow, with what its models were asked."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.llm.calls import FILE, read_calls
from tests.command_line.result_files import rows
from tests.services.models_faults import Faults
from tests.services.models_server import ModelsServer
from tests.small_data import small_data


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path) -> list[str]:
    asked = ["judge=openai", "judge.model=local:small", "judge.health=false"]
    asked += ["generator=openai", "generator.model=local:large", f"provider.local.base_url={server.url}"]
    return ["+experiment=full_rag", *small_data(tmp_path), "format=json", *asked, "retriever=keyword"]


def tracked(store: str, *more: str) -> list[str]:
    experiment = f"traced {Path.cwd()}"
    return [f"tracking.uri={store}", "tracking.figures=false", f"tracking.experiment='{experiment}'", *more]


def traces(store: str, folder: str = "o") -> dict[str, Any]:
    """By case, those that are linked to the run."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=store)
    marker = json.loads(Path(folder, ".mlflow_run.json").read_text())
    linked = client.search_traces(locations=[marker["experiment_id"]], run_id=marker["run_id"], max_results=500)
    everywhere = client.search_traces(locations=[marker["experiment_id"]], max_results=500)
    assert len(linked) == len(everywhere)
    by_case = {trace.info.tags["case"]: trace for trace in linked}
    assert len(by_case) == len(linked)
    return by_case


def shape(trace: Any) -> Counter[tuple[str, str, str | None]]:
    names = {span.span_id: span.name for span in trace.data.spans}
    return Counter((span.span_type, span.name, names.get(span.parent_id)) for span in trace.data.spans)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("server", marks=pytest.mark.slow)])
def test_a_case_is_a_trace_of_what_was_asked_of_it(words: list[str], kind: str, request: pytest.FixtureRequest) -> None:
    store = request.getfixturevalue("mlflow_store" if kind == "sqlite" else "mlflow_server")
    assert main([*words, *tracked(store, "tracking.traces=100", "tracking.timeout_s=20"), "out=o"]) == 0
    found, own = traces(store), rows("o")
    assert found.keys() == own.keys()
    trace, row = found["q1"], own["q1"]
    assert shape(trace) == {
        ("CHAIN", "q1", None): 1,
        ("RETRIEVER", "retrieval", "q1"): 1,
        ("CHAT_MODEL", "generator", "q1"): 1,
        **{("EVALUATOR", rubric, "q1"): 1 for rubric in row["judgements"]},
        **{("CHAT_MODEL", "judge", rubric): 1 for rubric in row["judgements"]},
    }
    by_name = {span.name: span for span in trace.data.spans}
    root = by_name["q1"]
    assert root.inputs == {"question": row["output"]["query"]}
    assert (root.outputs["answer"], root.outputs["right"]) == (row["output"]["answer"], row["metrics"]["right"])
    assert root.outputs["scores"]["faithfulness"] == row["metrics"]["faithfulness"]
    assert [doc["page_content"] for doc in by_name["retrieval"].outputs] == [
        context["text"] for context in row["output"]["contexts"]
    ]
    judgement = row["judgements"]["faithfulness"]
    assert by_name["faithfulness"].outputs == {"score": judgement["score"], "reason": judgement["reasoning"]}
    calls = [call for call in read_calls(Path("o", FILE)) if call["case"] == "q1"]
    (generated,) = (call for call in calls if call["role"] == "generator")
    span = by_name["generator"]
    assert span.inputs == generated["request"]
    assert span.outputs["choices"][0]["message"]["content"] == generated["reply"]["text"]
    assert (span.start_time_ns // 10**6, span.attributes["ms"]) == (generated["at"], generated["ms"])
    assert (span.end_time_ns - span.start_time_ns) / 1e6 == pytest.approx(generated["ms"], abs=0.01)
    assessments = {each.name: each for each in trace.info.assessments}
    assert {name: each.value for name, each in assessments.items()} == {
        "right": row["metrics"]["right"],
        **{rubric: judged["score"] for rubric, judged in row["judgements"].items()},
    }
    by_model = assessments["faithfulness"]
    assert (by_model.rationale, by_model.source.source_type, by_model.source.source_id) == (
        judgement["reasoning"],
        "LLM_JUDGE",
        "local:small",
    )
    assert span.attributes["mlflow.llm.model"] == "local:large"
    for name in ("input_tokens", "output_tokens"):
        assert trace.info.token_usage[name] == sum(call[name] for call in calls)
    assert all(root.start_time_ns <= each.start_time_ns <= each.end_time_ns <= root.end_time_ns
               for each in trace.data.spans)  # fmt: skip
    assert (trace.info.state, trace.info.tags["right"]) == ("OK", f"{row['metrics']['right']:g}")
    assert trace.info.request_preview == row["output"]["query"]
    if kind == "sqlite":
        _are_kept_by_later_uploads(store, found)


def _are_kept_by_later_uploads(store: str, first: dict[str, Any]) -> None:
    """An upload again makes no trace again; a run that params replace takes its traces along."""
    assert main(["track", "o"]) == 0
    second = traces(store)
    assert {case: trace.info.trace_id for case, trace in first.items()} == {
        case: trace.info.trace_id for case, trace in second.items()
    }
    assert {case: shape(trace) for case, trace in first.items()} == {case: shape(second[case]) for case in second}
    assert [trace.info.token_usage for trace in first.values()] == [second[case].info.token_usage for case in first]
    head, run = json.loads(Path("o/run.json").read_text()), json.loads(Path("o/.mlflow_run.json").read_text())["run_id"]
    head["config"]["min_score"] = 0.123
    Path("o/run.json").write_text(json.dumps(head))
    assert main(["track", "o"]) == 0
    assert json.loads(Path("o/.mlflow_run.json").read_text())["run_id"] != run
    assert {trace.info.trace_id for trace in traces(store).values()} == {
        trace.info.trace_id for trace in first.values()
    }


def test_there_are_none_by_default_and_track_makes_those_of_failing_cases_first(
    words: list[str], mlflow_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*words, *tracked(mlflow_store), "out=o"])
    assert traces(mlflow_store) == {}
    own = rows("o")
    failing = {
        case
        for case, row in own.items()
        if row["status"] != "ok" or row["labels"].get("lost_at", "none") != "none" or row["metrics"].get("right") == 0
    }
    assert failing and failing != own.keys()
    few = None
    for count in (1, 1, len(failing), len(own)):
        assert main(["track", "o", "--traces", str(count)]) == 0
        found = traces(mlflow_store).keys()
        assert len(found) == count
        assert found <= failing or failing <= found
        assert few is None or few <= found  # those that are there stay
        few = found
    capsys.readouterr()
    assert main(["track", "o", "--traces", "many"]) == 1
    assert "--traces: expected a whole number of at least 0" in capsys.readouterr().err
    Path("o", FILE).write_bytes(b"no zstd at all")
    assert main(["track", "o", "--traces", "1"]) == 1
    assert f"o/{FILE} is damaged (no calls of a case begin at byte 0)" in capsys.readouterr().err


def test_what_a_model_refused_is_an_error_of_its_span(
    words: list[str], server: ModelsServer, mlflow_store: str
) -> None:
    server.faults = Faults(server_error=1.0, in_a_row=99)
    main([*words, *tracked(mlflow_store, "tracking.traces=1"), "case_timeout_ms=4000", "sample=2", "out=o"])
    (trace,) = traces(mlflow_store).values()
    (span,) = (span for span in trace.data.spans if span.name == "generator")
    assert (span.status.status_code, trace.info.state) == ("ERROR", "ERROR")
    (call,) = (call for call in read_calls(Path("o", FILE)) if call["case"] == trace.info.tags["case"])
    assert span.status.description == call["error"]


def test_a_run_without_calls_has_traces_of_what_is_known(tmp_path: Path, mlflow_store: str) -> None:
    words = ["+experiment=full_rag", *small_data(tmp_path), "retriever=keyword", "format=json", "out=o"]
    assert main([*words, *tracked(mlflow_store, "tracking.traces=2"), "sample=2"]) == 0
    for trace in traces(mlflow_store).values():
        kinds = Counter(span.span_type for span in trace.data.spans)
        assert kinds["CHAIN"] == kinds["RETRIEVER"] == 1 and kinds["EVALUATOR"] and not kinds["CHAT_MODEL"]


def test_a_store_that_is_down_is_a_warning(
    words: list[str], closed_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    down = tracked(f"http://127.0.0.1:{closed_port}", "tracking.traces=5")
    began = time.monotonic()
    assert main([*words, *down, "sample=1", "out=o"]) == 0
    assert time.monotonic() - began < 60
    assert "o was not uploaded: MLflow at http://127.0.0.1:" in capsys.readouterr().err


def test_a_wrong_number_is_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "tracking.traces=-1", "out=x"]) == 1
    assert "tracking.traces" in capsys.readouterr().err
