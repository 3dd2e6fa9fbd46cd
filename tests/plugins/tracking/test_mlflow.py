"""Against a real MLflow store on sqlite, and against a port where no server listens."""

import base64
import json
import os
import subprocess
import sys
import threading
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from plugins.tracking.mlflow import MlflowTracking, _alone, _name, _shorten
from runner import report
from runner.errors import InputError, TrackingError
from runner.metrics.metric import Catalogue
from runner.tracking.entry import run_entry
from runner.tracking.metrics import numbers_of
from runner.tracking.mlflow_views import state
from tests.model_runs import MODELS_RUN, MODELS_SUMMARY
from tests.run_folders import ROWS, estimate, merged, row, write_run, write_sweep_folder


@pytest.fixture
def client(mlflow_store: str) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=mlflow_store)


def uploaded(uri: str, folder: Path, **settings: Any) -> str:
    run_id = MlflowTracking(uri=uri, **{"figures": False, **settings}).upload(folder)
    assert run_id is not None
    return run_id


def artifacts(client: Any, run_id: str, path: str | None = None) -> list[str]:
    return sorted(item.path for item in client.list_artifacts(run_id, path))


def table(client: Any, run_id: str, name: str) -> Any:
    """A frame of a table, as MLflow reads it back, with a client of its own."""
    import mlflow

    mlflow.set_tracking_uri(client.tracking_uri)
    try:
        return client.load_table(client.get_run(run_id).info.experiment_id, f"{name}.json", [run_id])
    finally:
        os.environ.pop("MLFLOW_TRACKING_URI", None)  # which MLflow sets


def test_a_run(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "실행 1", {"experiment": "한글 실험"})
    report.write(folder)
    run = client.get_run(uploaded(mlflow_store, folder, figures=True, slices=["language"]))
    assert (run.info.run_name, run.info.status) == (
        "k=5 · demo · 0102-030405",
        "FINISHED",
    )
    assert (run.info.start_time, run.info.end_time) == (1767323045000, 1767323055000)
    assert client.get_experiment(run.info.experiment_id).name == "한글 실험"
    assert run.data.params["k"] == "5"
    assert (
        run.data.metrics == run_entry(folder, slices=["language"]).metrics
        and run.data.metrics["leg/keyword/recall_at_k"] == 0.75
    )
    assert run.data.tags["baselines"] == "generator=extractive, judge=lexical"
    assert run.data.tags["mlflow.note.content"].startswith("Baselines without a language model")
    assert run.data.tags["mlflow.source.git.commit"] == "0123456789abcdef0123456789abcdef01234567"
    (dataset,) = run.inputs.dataset_inputs
    assert (dataset.dataset.name, dataset.tags[0].value) == ("demo", "eval")
    assert artifacts(client, run.info.run_id) == [
        "cases.json", "errors.jsonl", "figures", "metrics.json", "per_item.jsonl", "report.html", "run.json",
        "summary.json", "summary.md",
    ]  # fmt: skip
    assert artifacts(client, run.info.run_id, "figures") == [
        "figures/latency.png", "figures/metrics_at_cutoffs.png", "figures/metrics_by_tag.png",
    ]  # fmt: skip


def test_tables_that_mlflow_shows_by_itself(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    """The same ones after a second upload, where mlflow.log_table would append the rows."""
    folder = write_run(tmp_path, {"experiment": "tables"}, rows=[*ROWS, row("q-8", output={"query": "What is q-1?"})])
    run_id = uploaded(mlflow_store, folder, slices=["language"])
    assert uploaded(mlflow_store, folder, slices=["language"]) == run_id
    tables = json.loads(client.get_run(run_id).data.tags["mlflow.loggedArtifacts"])
    assert tables == [{"path": "cases.json", "type": "table"}, {"path": "metrics.json", "type": "table"}]
    cases = table(client, run_id, "cases")
    assert list(cases.columns) == [
        "question", "answer", "recall_at_k", "faithfulness", "answer_relevancy", "lost_at", "retrieved", "id",
    ]  # fmt: skip
    assert [row["id"] for _, row in cases.iterrows()] == ["q-2", "q-4", "q-5", "q-6|x", "q-7", "q-1", "q-3", "q-8"]
    assert {row["id"]: row["question"] for _, row in cases.iterrows() if row["question"].startswith("What is q-1")} == {
        "q-1": "What is q-1? (q-1)", "q-8": "What is q-1? (q-8)",
    }  # fmt: skip
    first, ended = cases.iloc[5], cases.iloc[4]
    assert (first["answer"], first["retrieved"]) == ("It is q-1. [1]", "doc-1, doc-2")
    assert ended["answer"] == "timeout: the case did not end before its deadline"
    numbers = table(client, run_id, "metrics").set_index("metric")
    assert list(numbers.loc["recall_at_k"]) == [0.85, 0.8, 0.9, 8, 8]
    assert numbers.loc["slice/language/ko/recall_at_k"]["value"] == 0.85
    assert numbers.loc["leg/keyword/recall_at_k"]["value"] == 0.75


def test_of_many_cases_every_run_shows_the_same(mlflow_store: str, tmp_path: Path) -> None:
    """A store shows tables whole."""
    shown = []
    for name, order in (("a", range(1500)), ("b", range(1499, -1, -1))):
        folder = write_run(tmp_path / name, {"experiment": "many"}, rows=[row(f"q-{n:04}") for n in order])
        (table, _) = run_entry(folder).tables
        shown.append([cells[-1] for cells in table.rows])
    assert len(shown[0]) == 1000 and shown[0] == shown[1] == sorted(shown[0])


def test_an_experiment_opens_with_chosen_columns(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "sweep-8", (3, 5), "ko")
    tracking = MlflowTracking(uri=mlflow_store, experiment="viewed", figures=False)
    run_id = tracking.upload(folder / "0")
    experiment = client.get_experiment_by_name("viewed")
    here = f"#/experiments/{experiment.experiment_id}/runs?workflowType=machine_learning"
    assert experiment.tags["mlflow.note.content"] == (
        f"평가 실행. 비교하기: [표]({here}&viewStateShareKey=main) · "
        f"[차트]({here}&compareRunsMode=CHART&viewStateShareKey=main) · "
        f"[답변 나란히 보기]({here}&compareRunsMode=ARTIFACT&viewStateShareKey=main)"
    )
    view = unpacked(experiment.tags["mlflow.sharedViewState.main"])
    assert view["selectedColumns"][:3] == ["params.`k`", "metrics.`recall_at_k`", "metrics.`ndcg_at_k`"]
    assert view["selectedColumns"][-2:] == ["attributes.`Dataset`", "tags.`sweep_id`"]
    assert len(view["selectedColumns"]) == 10
    client.set_experiment_tag(experiment.experiment_id, "mlflow.note.content", "Ours.")
    other = write_run(tmp_path / "other", {"experiment": "viewed"})
    tracking.upload(other)
    tags = client.get_experiment_by_name("viewed").tags
    assert tags["mlflow.note.content"] == "Ours."
    assert unpacked(tags["mlflow.sharedViewState.main"]) == view  # k is still a column
    (point,) = client.get_metric_history(run_id, "recall_at_k")
    assert (point.step, point.value) == (3, 0.3)
    (point,) = client.get_metric_history(json.loads((other / ".mlflow_run.json").read_text())["run_id"], "recall_at_k")
    assert point.step == 5  # k, outside a sweep too


@pytest.mark.parametrize(
    "damaged", ["deflate;", "deflate;AAAA", '{"selectedColumns": []}', f"deflate;{'eJyrBQAAgwCD'}"]
)
def test_a_view_of_somebody_else_is_replaced(damaged: str) -> None:
    view = state(["right"], ["k"], damaged)
    assert view is not None and unpacked(view)["selectedColumns"][:2] == ["params.`k`", "metrics.`right`"]


def test_metrics_are_plotted_against_a_number_that_a_sweep_varied() -> None:
    """By the name of the setting, as the step is k; later runs keep the charts."""
    first = state(["right", "mrr"], ["chars"], None, ["chars"])
    later = state(["right"], ["k"], first)
    assert first is not None and later is not None
    for view, metrics in ((first, ["right", "mrr"]), (later, ["right"])):
        charts = unpacked(view)["compareRunCharts"]
        assert [(chart["xaxis"]["key"], chart["yaxis"]["key"]) for chart in charts if chart["type"] == "SCATTER"] == [
            ("chars", metric) for metric in metrics
        ]
        assert [chart["metricKey"] for chart in charts if chart["type"] == "BAR"] == metrics


def test_view_folds_groups_behind_the_headline() -> None:
    first = state(["right"], [], None, groups=["time", "leg/keyword"])
    later = state(["right"], [], first, groups=["cost"])
    assert later is not None
    sections = unpacked(later)["compareRunSections"]
    assert [(each["name"], each["display"]) for each in sections] == [
        ("Model metrics", True), ("cost", False), ("leg/keyword", False), ("time", False),
    ]  # fmt: skip


def unpacked(view: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(view.removeprefix("deflate;"))))


def test_metrics_that_nobody_declared_stand_for_a_run_where_no_others_do() -> None:
    metrics = {f"own_{number}": estimate(number / 10, 8) for number in range(10)}
    numbers = numbers_of({"metrics": metrics}, (), Catalogue([]))
    assert {each.name: each.value for each in numbers.headline} == {f"own_{n}": n / 10 for n in range(8)}
    assert [each.name for each in numbers.rest] == ["own/own_8", "own/own_9"]


def test_a_model_stands_for_what_was_measured(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    folder = write_run(tmp_path, {"experiment": "models of runs", "choices": {"retriever": "a/b"}})
    run = client.get_run(uploaded(mlflow_store, folder))
    (output,) = run.outputs.model_outputs
    model = client.get_logged_model(output.model_id)
    assert (model.name, model.status.name, model.params["k"]) == ("a-b-extractive", "READY", "5")
    assert {(each.key, each.value, each.dataset_name) for each in model.metrics} >= {("recall_at_k", 0.85, "demo")}
    assert [each.model_id for each in client.get_run(uploaded(mlflow_store, folder)).outputs.model_outputs] == [
        output.model_id
    ]
    write_run(tmp_path, {"experiment": "models of runs", "choices": {"retriever": "other"}})
    uploaded(mlflow_store, folder)
    (left,) = client.search_logged_models([run.info.experiment_id])
    assert left.name == "other-extractive"


def test_a_run_that_asked_models(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    run = merged(MODELS_RUN, {"experiment": "models", "status": "partial"})
    first = uploaded(mlflow_store, write_run(tmp_path, run, MODELS_SUMMARY))
    data = client.get_run(first).data
    assert (data.params["generator_model"], data.params["judge_model"]) == ("openai:gpt-4o", "openai:gpt-4o-mini")
    assert not any("OPENAI_API_KEY" in value for value in data.params.values())
    assert (data.metrics["cost/requests_live"], data.metrics["cost/saved_usd"]) == (1124, 0.041)
    assert (data.metrics["judge/injection_rate"], data.metrics["judge/alpha"]) == (pytest.approx(5 / 6), 0.7125)
    goes_on = merged(run, {"status": "completed", "config": {"budget": {"usd": 2.0}}})
    assert uploaded(mlflow_store, write_run(tmp_path, goes_on, MODELS_SUMMARY)) == first


def test_uploading_again_updates(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    folder = write_run(tmp_path, {"status": "partial", "experiment": "again"})
    first = uploaded(mlflow_store, folder)
    assert client.get_run(first).info.status == "KILLED"
    later = {"updated_at": "2026-01-02T04:00:00Z", "experiment": "again"}
    write_run(tmp_path, later, {"metrics": {"recall_at_k": estimate(0.9, 8)}})
    assert uploaded(mlflow_store, folder) == first
    run = client.get_run(first)
    assert (run.info.status, run.data.tags["status"]) == ("FINISHED", "completed")
    assert [point.value for point in client.get_metric_history(first, "recall_at_k")] == [0.85, 0.9]
    assert [point.value for point in client.get_metric_history(first, "mrr")] == [0.72]  # no curve of equal points
    assert len(client.search_runs([run.info.experiment_id])) == 1


def test_a_verdict_goes_with_its_comparison(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    folder, tracking = write_run(tmp_path), MlflowTracking(uri=mlflow_store, figures=False)
    record = {"verdict": "worse", "baseline": {"label": "old", "id": "run-0"}, "gate": {"fired": True, "rules": []}}
    (folder / "compare.json").write_text(json.dumps(record), encoding="utf-8")
    tags = client.get_run(tracking.upload(folder)).data.tags
    assert {name: tags[name] for name in ("verdict", "baseline", "regression", "baseline_run")} == {
        "verdict": "worse", "baseline": "old", "regression": "fired", "baseline_run": "run-0",
    }  # fmt: skip
    (folder / "compare.json").unlink()
    tags = client.get_run(tracking.upload(folder)).data.tags
    assert tags["status"] == "completed" and not {"verdict", "baseline", "regression", "baseline_run"} & tags.keys()


def test_changed_params_replace_the_run(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    first = uploaded(mlflow_store, write_run(tmp_path, {"experiment": "replaced"}))
    second = uploaded(mlflow_store, write_run(tmp_path, {"experiment": "replaced", "config": {"min_score": 0.5}}))
    assert client.get_run(first).info.lifecycle_stage == "deleted"
    assert client.get_run(second).data.params["min_score"] == "0.5"


@pytest.mark.parametrize("marker", ["", "{}", '{"uri": "sqlite:///elsewhere.db", "experiment_id": "1", "run_id": "x"}'])
def test_a_marker_of_another_store_or_a_damaged_one_is_ignored(
    mlflow_store: str, client: Any, tmp_path: Path, marker: str
) -> None:
    folder = write_run(tmp_path)
    (folder / ".mlflow_run.json").write_text(marker, encoding="utf-8")
    run_id = uploaded(mlflow_store, folder)
    assert client.get_run(run_id).info.lifecycle_stage == "active"
    assert json.loads((folder / ".mlflow_run.json").read_text(encoding="utf-8"))["run_id"] == run_id


def test_a_deleted_run_is_uploaded_anew(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    first = uploaded(mlflow_store, write_run(tmp_path))
    client.delete_run(first)
    assert uploaded(mlflow_store, tmp_path) != first
    assert client.get_run(first).info.lifecycle_stage == "deleted"


def test_a_deleted_experiment_comes_back(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    first = uploaded(mlflow_store, write_run(tmp_path, {"experiment": "deleted"}))
    experiment_id = client.get_run(first).info.experiment_id
    client.delete_experiment(experiment_id)
    assert client.get_run(uploaded(mlflow_store, tmp_path)).info.experiment_id == experiment_id
    assert client.get_experiment(experiment_id).lifecycle_stage == "active"


def test_a_failed_run(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    metrics = {name: estimate(None, 8, 0) for name in ("recall_at_k", "mrr")}
    run = {"status": "failed", "error_message": "boom", "git": None, "identity": {"corpus": "x"}}
    found = client.get_run(uploaded(mlflow_store, write_run(tmp_path, run, {"metrics": metrics})))
    assert (found.info.status, found.data.tags["error_message"]) == ("FAILED", "boom")
    assert "recall_at_k" not in found.data.metrics


def test_a_run_that_failed_before_it_had_results(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    folder = write_run(tmp_path, {"status": "failed"}, rows=[])
    (folder / "summary.json").unlink()
    found = client.get_run(uploaded(mlflow_store, folder, figures=True))
    assert (found.info.status, found.data.metrics) == ("FAILED", {})


def test_many_and_long_params_and_odd_names(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    many = {f"option_{number}": number for number in range(250)}
    config = {"wide": many, "prompt": "가" * 7000, "odd=name": 1, "이름": "값"}
    sliced = {"language": {"a/b|c=d": {"mrr": estimate(0.5, 1)}}}
    folder = write_run(tmp_path, {"config": config}, {"slices": sliced})
    run_id = uploaded(mlflow_store, folder, slices=["language"])
    data = client.get_run(run_id).data
    assert data.params["wide.option_249"] == "249"
    assert len(data.params["prompt"]) <= 6000
    assert data.params["prompt"].endswith("… (7000 characters; the files of the run hold all of them)")
    assert data.params["이름"] == "값"
    assert [name for name in data.params if name.startswith("odd")] == [_name("odd=name")]
    assert data.metrics[_name("slice/language/a_b|c=d/mrr")] == 0.5


def test_a_sweep(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "sweep-7", (3, 5))
    report.write_sweep(folder)
    tracking = MlflowTracking(uri=mlflow_store, experiment="sweeps")
    for cell in ("0", "1"):
        tracking.upload(folder / cell)
    summary_id = tracking.upload_sweep(folder)
    assert tracking.upload_sweep(folder) == summary_id
    experiment = client.get_experiment_by_name("sweeps")
    runs = client.search_runs([experiment.experiment_id], "tags.sweep_id = 'sweep-7'")
    assert sorted((run.info.run_name, run.data.tags["sweep_role"]) for run in runs) == [
        ("k=3 · demo · sweep-7", "cell"),
        ("k=5 · demo · sweep-7", "cell"),
        ("summary of k=3,5 · sweep-7", "summary"),
    ]
    assert not any("mlflow.parentRunId" in run.data.tags for run in runs)
    assert {run.data.params["k"]: run.data.metrics["recall_at_k"] for run in runs if run.data.metrics} == {
        "3": 0.3,
        "5": 0.5,
    }
    assert artifacts(client, str(summary_id)) == [
        "cells.csv", "figures", "report.html", "summary.json", "summary.md", "sweep.json",
    ]  # fmt: skip
    note = client.get_run(summary_id).data.tags["mlflow.note.content"]
    assert note.startswith("Runs of this sweep: [table](#/experiments/") and "tags.sweep_id+%3D+%27sweep-7%27" in note
    assert artifacts(client, str(summary_id), "figures") == ["figures/metrics_against_k.png"]
    drawn = MlflowTracking(uri=mlflow_store, experiment="sweeps", figures=True)
    by_figures = [bool(artifacts(client, str(each.upload(folder / "0")), "figures")) for each in (tracking, drawn)]
    assert by_figures == [False, True]  # charts of a cell are drawn on request: each costs more than its upload


def test_a_name_is_no_longer_than_every_database_takes(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    """PostgreSQL refuses more than 250 characters; SQLite takes any number."""
    folder = write_sweep_folder(tmp_path / "long", range(1, 120))
    report.write_sweep(folder)
    run = client.get_run(MlflowTracking(uri=mlflow_store, experiment="long", figures=False).upload_sweep(folder))
    assert run.info.run_name == run.data.tags["mlflow.runName"]
    assert run.info.run_name.startswith("summary of k=1,2,3,4,") and len(run.info.run_name) == 250


def test_files_are_kept_beside_the_database(mlflow_store: str, client: Any, tmp_path: Path) -> None:
    run = client.get_run(uploaded(mlflow_store, write_run(tmp_path, {"experiment": "a b/c"})))
    database = Path(mlflow_store.removeprefix("sqlite:///"))
    assert Path(run.info.artifact_uri) == database.parent / "mlruns" / "a-b-c" / run.info.run_id / "artifacts"
    assert (database.parent / "mlruns" / ".gitignore").read_text(encoding="utf-8") == "*\n"


@pytest.mark.parametrize("n", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_several_processes_upload_at_once(n: int, mlflow_store: str, client: Any, tmp_path: Path) -> None:
    """This one and others, which begin when all have imported MLflow, without its telemetry."""
    own, *folders = [write_run(tmp_path / str(number), {"experiment": f"{n} at once"}) for number in range(n)]
    code = (
        "import sys; from pathlib import Path; from plugins.tracking.mlflow import MlflowTracking;"
        "from runner.tracking.mlflow_client import connect; connect(sys.argv[1]);"
        "from mlflow.telemetry.utils import is_telemetry_disabled;"
        "print(is_telemetry_disabled(), flush=True); sys.stdin.readline();"
        "MlflowTracking(uri=sys.argv[1], figures=False).upload(Path(sys.argv[2]))"
    )
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    commands = [[sys.executable, "-c", code, mlflow_store, str(folder)] for folder in folders]
    quiet = {"MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "CI", "PYTEST_CURRENT_TEST"}
    pipes["env"] = {name: value for name, value in os.environ.items() if name not in quiet}
    processes = [subprocess.Popen(command, text=True, **pipes) for command in commands]
    assert [process.stdout.readline() for process in processes if process.stdout] == ["True\n"] * (n - 1)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    MlflowTracking(uri=mlflow_store, figures=False).upload(own)
    assert [process.communicate()[1] for process in processes] == [""] * (n - 1)
    experiment = client.get_experiment_by_name(f"{n} at once")
    assert len(client.search_runs([experiment.experiment_id])) == n


def test_the_tables_of_a_new_database_are_made_by_one_at_a_time(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/new/mlflow.db"
    entered = threading.Event()

    def second() -> None:
        with _alone(uri):
            entered.set()

    other = threading.Thread(target=second)
    with _alone(uri):
        other.start()
        assert not entered.wait(0.2)
    other.join()
    assert entered.is_set()


def test_a_server_that_is_down(closed_port: int, tmp_path: Path) -> None:
    uri = f"http://user:secret@127.0.0.1:{closed_port}"
    tracking = MlflowTracking(uri=uri, timeout_s=1)
    folder = write_run(tmp_path / "a b")
    down = f"MLflow at http://127.0.0.1:{closed_port} failed (connection refused)"
    with pytest.raises(TrackingError) as caught:
        tracking.prepare()
    assert str(caught.value) == (
        f"tracking is not ready: {down}; results stay in the run folder; upload them later with: "
        "python -m runner track RUN_DIR"
    )
    with pytest.raises(TrackingError) as caught:
        tracking.upload(folder)
    assert str(caught.value) == (
        f"{folder} was not uploaded: {down}; upload it later with: python -m runner track '{folder}'"
    )
    assert not (folder / ".mlflow_run.json").exists()


@pytest.mark.parametrize("uri", ["file:./mlruns", "nonsense://x"])
def test_a_store_that_mlflow_does_not_know(uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TrackingError, match=r"^tracking is not ready: MLflow at .* failed \(.+\); results stay"):
        MlflowTracking(uri=uri).prepare()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else(mlflow_store: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a run folder: no run\.json in it"):
        MlflowTracking(uri=mlflow_store).upload(tmp_path)
    with pytest.raises(InputError, match=r"not a sweep folder: no sweep\.json in it"):
        MlflowTracking(uri=mlflow_store).upload_sweep(tmp_path)


def test_names_that_mlflow_takes_stay_and_others_stay_apart() -> None:
    for name in ("leg/keyword/recall_at_k", "slice/tag/결제/mrr"):
        assert _name(name) == name
    changed = [_name(name) for name in ("a=b", "/a", "a//b", "a/", "a|b", ".", "a/../b", "x" * 300)]
    assert len(set(changed)) == len(changed)
    for name in changed:
        assert len(name) <= 250 and "=" not in name and PurePosixPath(name).as_posix() == name and name[0] != "/"


def test_text_is_cut_with_a_word_about_it() -> None:
    assert _shorten("x" * 80, 80) == "x" * 80
    cut = _shorten("x" * 81, 80)
    assert len(cut) == 80
    assert cut.endswith("… (81 characters; the files of the run hold all of them)")
