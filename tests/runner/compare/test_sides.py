"""References to earlier runs: what they find, and what is said when they find nothing."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from plugins.tracking.mlflow import MlflowTracking
from runner import report
from runner.compare.sides import Finder
from runner.errors import DataError, InputError, TrackingError
from tests.comparison_runs import graded, run_folder
from tests.run_folders import write_sweep_folder

ROWS = [graded("a", 1.0), graded("b", 0.5)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def finder(tmp_path: Path) -> Finder:
    return Finder(tmp_path / "downloads", uri=f"sqlite:///{tmp_path}/none.db")


def test_a_file_and_a_folder(finder: Finder) -> None:
    run_folder(Path("실행 1"), ROWS)
    by_file, by_folder = finder.open("실행 1/snapshot.json"), finder.open("실행 1")
    assert by_file.snapshot.run["id"] == by_folder.snapshot.run["id"] == "실행 1"
    assert by_file.rows({"a"}) == {}
    assert by_folder.rows({"a", "x"})["a"]["output"]["query"] == "What is a?"
    assert (by_file.label, by_folder.label) == ("실행 1/snapshot.json", "실행 1")


def test_a_record_has_a_snapshot_and_no_rows(finder: Finder) -> None:
    record = Path("experiments/k-sweep")
    record.mkdir(parents=True)
    (run_folder(Path("run"), ROWS) / "snapshot.json").rename(record / "snapshot.json")
    side = finder.open("experiments/k-sweep")
    assert (list(side.snapshot.cases.ids), side.folder) == (["a", "b"], None)


def test_a_run_that_is_older_than_snapshots(finder: Finder) -> None:
    (run_folder(Path("run"), ROWS) / "snapshot.json").unlink()
    assert finder.open("run").snapshot.cases.values["mrr"].tolist() == [1.0, 0.5]
    assert not Path("run/snapshot.json").exists()


def test_a_damaged_snapshot_is_not_worked_around(finder: Finder) -> None:
    path = run_folder(Path("run"), ROWS) / "snapshot.json"
    path.write_bytes(path.read_bytes()[:99])
    with pytest.raises(DataError, match=r"^run/snapshot\.json: damaged or cut off"):
        finder.open("run")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("nowhere", "'nowhere' is no run: expected a snapshot.json, a run folder, experiments/NAME, an MLflow run id"),
        ("outputs/20260101-fulrag", "'outputs/20260101-fulrag' is no run: .*did you mean 'outputs/20260101-full_rag'"),
        ("empty", "'empty' holds neither snapshot.json nor run.json, so it is no run folder; expected a snapshot.json"),
        ("sweep", "'sweep' is a sweep; name one of its runs: sweep/0 (k=3), sweep/1 (k=5)"),
        ("running", "running: the run has no results (running: it did not finish)"),
        ("nothing", "nothing: the run has no finished case, so there is nothing to compare with"),
        ("latest:nobody", "no completed run of the experiment 'nobody' in ./outputs or MLflow"),
    ],
)
def test_what_is_no_run(finder: Finder, reference: str, message: str) -> None:
    Path("empty").mkdir()
    Path("outputs/20260101-full_rag").mkdir(parents=True)
    write_sweep_folder(Path("sweep"))
    run_folder(Path("nothing"), [])
    running = run_folder(Path("running"), ROWS, {"status": "running"})
    (running / "snapshot.json").unlink()
    (running / "summary.json").unlink()
    pattern = re.escape(message).replace(r"\.\*", ".*")
    with pytest.raises(InputError, match=rf"^{pattern}"):
        finder.open(reference)


def test_a_run_is_no_baseline_of_itself(tmp_path: Path) -> None:
    run_folder(Path("x"), ROWS)
    with pytest.raises(InputError, match=r"^'x' is the folder of this run itself$"):
        Finder(tmp_path, own_folder=tmp_path / "x").find("./x")


# --- the latest -----------------------------------------------------------------------------------


def at(second: int) -> dict[str, Any]:
    return {"created_at": f"2026-01-01T00:00:{second:02d}Z", "updated_at": f"2026-01-01T00:01:{second:02d}Z"}


def test_the_latest_completed_run_here(tmp_path: Path) -> None:
    run_folder(Path("outputs/a"), ROWS, at(1))
    run_folder(Path("outputs/sweep/0"), ROWS, at(3))
    run_folder(Path("outputs/b"), ROWS, {**at(4), "status": "partial"})
    run_folder(Path("outputs/c"), ROWS, {**at(5), "experiment": "other"})
    run_folder(Path("outputs/d"), ROWS, {**at(6), "config": {"case": "a"}})
    run_folder(Path("outputs/own"), ROWS, at(7))
    run_folder(Path("outputs/own-sweep/1"), ROWS, at(8))
    uri = f"sqlite:///{tmp_path}/none.db"
    assert Finder(tmp_path, uri, own_folder=Path("outputs/own-sweep")).find("latest:full_rag").label == "outputs/own"
    run_folder(Path("outputs/own-sweep/1"), ROWS, at(0))
    found = Finder(tmp_path, uri, own_folder=Path("outputs/own")).find("latest:full_rag")
    assert (found.path, found.label) == (Path("outputs/sweep/0"), "outputs/sweep/0")
    with pytest.raises(InputError, match=r"experiment 'full_rog'.*; \./outputs has runs of full_rag, other$"):
        Finder(tmp_path, uri).find("latest:full_rog")


def test_from_mlflow(mlflow_store: str, tmp_path: Path) -> None:
    name = f"comparison {tmp_path.name}"
    tracking = MlflowTracking(uri=mlflow_store, figures=False)
    earlier = tracking.upload(run_folder(Path("earlier"), ROWS, {**at(1), "experiment": name}))
    tracking.upload(run_folder(Path("failed"), ROWS, {**at(9), "experiment": name, "status": "failed"}))
    latest = tracking.upload(run_folder(Path("latest"), [graded("a", 0.25)], {**at(5), "experiment": name}))
    finder = Finder(tmp_path / "downloads", mlflow_store)
    by_id = finder.open(str(earlier))
    assert (by_id.snapshot.run["id"], by_id.label) == ("earlier", f"MLflow run {earlier}")
    assert by_id.rows({"a"})["a"]["id"] == "a"
    assert finder.open(f"latest:{name}").label == f"MLflow run {latest}"
    run_folder(Path("outputs/newer"), ROWS, {**at(6), "experiment": name})
    assert finder.open(f"latest:{name}").label == "outputs/newer"


def test_the_latest_is_never_the_run_that_is_compared(mlflow_store: str, tmp_path: Path) -> None:
    """Not in MLflow either, where it stands when it is compared later, or when the same command is given again."""
    name = f"comparison {tmp_path.name}"
    tracking = MlflowTracking(uri=mlflow_store, figures=False)
    earlier = tracking.upload(run_folder(Path("earlier"), ROWS, {**at(1), "experiment": name}))
    tracking.upload(run_folder(Path("sweep/0"), ROWS, {**at(5), "experiment": name}))
    by_folder = Finder(tmp_path / "downloads", mlflow_store, own_folder=Path("sweep"))
    run = by_folder.open("sweep/0").snapshot.run
    for finder in (by_folder, Finder(tmp_path / "downloads", mlflow_store, candidates=[run])):
        assert finder.find(f"latest:{name}").label == f"MLflow run {earlier}"
    run_folder(Path("outputs/copy"), ROWS, {**at(5), "experiment": name})
    found = Finder(tmp_path / "downloads", mlflow_store, candidates=[run]).find(f"latest:{name}")
    assert found.label == f"MLflow run {earlier}"


def test_a_run_of_somebody_else_in_mlflow(mlflow_store: str, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=mlflow_store)
    run = client.create_run(client.create_experiment(f"foreign {tmp_path.name}")).info.run_id
    with pytest.raises(
        InputError, match=rf"^the MLflow run {run} holds neither snapshot\.json nor run\.json: not a run of"
    ):
        Finder(tmp_path, mlflow_store).open(run)
    with pytest.raises(TrackingError, match=r"^cannot fetch run 0{32}: .*check the run id and --uri$"):
        Finder(tmp_path, mlflow_store).open("0" * 32)


def test_the_summary_of_a_sweep_in_mlflow(mlflow_store: str, tmp_path: Path) -> None:
    folder = write_sweep_folder(Path("sweep"))
    report.write_sweep(folder)
    run_id = MlflowTracking(uri=mlflow_store, figures=False).upload_sweep(folder)
    with pytest.raises(InputError, match=rf"^the MLflow run {run_id} is the summary of a sweep; name one of its runs$"):
        Finder(tmp_path, mlflow_store).open(str(run_id))


def test_a_server_that_is_down(closed_port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finder = Finder(tmp_path, f"http://127.0.0.1:{closed_port}")
    with pytest.raises(TrackingError, match=r"^cannot look for the latest run of 'full_rag': MLflow at .*; name a run"):
        finder.find("latest:full_rag")
    run_folder(Path("outputs/a"), ROWS)
    assert finder.find("latest:full_rag").label == "outputs/a"
    assert "the latest run in ./outputs is taken" in capsys.readouterr().err


def test_a_damaged_run_is_not_the_latest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, began in (("good", "2026-01-01T00:00:00Z"), ("odd", "yesterday"), ("none", None)):
        folder = run_folder(Path("outputs") / name, [graded("a", 1.0)])
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        (folder / "run.json").write_text(
            json.dumps({**run, "status": "completed", "created_at": began}), encoding="utf-8"
        )
    experiment = run["experiment"]
    assert Finder(tmp_path, f"sqlite:///{tmp_path}/none.db").find(f"latest:{experiment}").label == "outputs/good"


def test_a_sweep_whose_list_of_runs_was_edited(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('{"cells": [{"folder": "0"}]}', encoding="utf-8")
    with pytest.raises(InputError, match=r"its files are damaged or were edited \(KeyError: 'overrides'\)"):
        Finder(tmp_path).find(str(tmp_path))
