"""Against a real MLflow server with passwords on a real PostgreSQL: `make services`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from plugins.tracking.mlflow import MlflowTracking
from runner import report
from runner.errors import TrackingError
from runner.tracking import mlflow_client
from runner.tracking.mlflow_client import download
from tests.run_folders import write_run, write_sweep_folder
from tests.services import mlflow_server
from tests.services.mlflow_server import MlflowServer, serving_mlflow
from tests.services.postgres_server import MISSING, PostgresServer, serving_postgres

ACCESS = "(401: MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD need a user and a password that it knows)"


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    if not mlflow_server.is_installed():
        pytest.skip(mlflow_server.MISSING)
    with serving_postgres(needs_vector=False) as server:
        if server is None:
            pytest.skip(MISSING)
        yield server


@pytest.fixture(scope="module")
def server(database: PostgresServer) -> Iterator[MlflowServer]:
    with serving_mlflow(database, password_cache_s=60) as server:
        yield server


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No user, no password, and no memory of silent servers."""
    monkeypatch.setattr(mlflow_client, "_silent_until", {})
    for name in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)


def tracking(uri: str, **settings: Any) -> MlflowTracking:
    return MlflowTracking(uri=uri, figures=False, **{"timeout_s": 60, **settings})


def refused(uri: str, folder: Path, **settings: Any) -> str:
    with pytest.raises(TrackingError) as caught:
        tracking(uri, **settings).upload(folder)
    message = str(caught.value)
    assert message.startswith(f"{folder} was not uploaded: MLflow at {uri} failed (")
    assert message.endswith(f"); upload it later with: python -m runner track {folder}")
    assert "\n" not in message and mlflow_server.PASSWORD not in message
    return message


def test_who_asks_and_with_which_password(
    server: MlflowServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_run(tmp_path / "run", {"experiment": "with a password"})
    assert ACCESS in refused(server.url, folder)
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", mlflow_server.USER)
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "Wrong-Secret-7")
    assert ACCESS in refused(server.url, folder)
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", mlflow_server.PASSWORD)
    assert tracking(server.url).upload(folder) is not None
    monkeypatch.delenv("MLFLOW_TRACKING_PASSWORD")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.url_with_password)
    folder = write_run(tmp_path / "other", {"experiment": "with a password"})
    run_id = tracking(server.url).upload(folder)  # by what is kept of it, which has no password
    assert run_id is not None
    download(server.url, run_id, tmp_path)
    assert (tmp_path / "summary.json").read_bytes() == (folder / "summary.json").read_bytes()
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"s3cret" in path.read_bytes()]


def test_a_sweep_in_few_requests(server: MlflowServer, tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "swept", (3, 5, 10))
    report.write_sweep(folder)
    own = tracking(server.url_with_password, experiment="few requests")
    own.upload(folder / "0")  # makes the experiment
    before = server.requests()
    for cell in ("1", "2"):
        own.upload(folder / cell)
    asked = server.requests() - before
    assert asked <= 2 * 17
    assert own.upload_sweep(folder) is not None


def test_its_database_goes_and_comes_back(server: MlflowServer, database: PostgresServer, tmp_path: Path) -> None:
    folder, own = write_run(tmp_path, {"experiment": "away"}), tracking(server.url_with_password)
    run_id = own.upload(folder)
    database.stop()
    try:
        with pytest.raises(TrackingError, match=r"failed \(it answers 50\d, as where its own database is away\)"):
            own.upload(folder)
    finally:
        database.start()
    assert own.upload(folder) == run_id


def test_it_hangs_and_goes_on(server: MlflowServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, uri = write_run(tmp_path, {"experiment": "hangs"}), server.url_with_password
    server.signal(signal.SIGSTOP)
    try:
        with pytest.raises(TrackingError, match=r"failed \(timed out\)"):
            tracking(uri, timeout_s=1).upload(folder)
        with pytest.raises(TrackingError, match="is not asked again yet"):
            tracking(uri, timeout_s=1).upload(folder)
    finally:
        server.signal(signal.SIGCONT)
    monkeypatch.setattr(mlflow_client, "_silent_until", {})
    assert tracking(uri).upload(folder) is not None


def test_several_at_once_make_one_experiment_and_one_data_set(server: MlflowServer, tmp_path: Path) -> None:
    for attempt in range(3):
        name = f"at once {attempt}"
        folders = [
            write_run(tmp_path / name / str(n), {"experiment": name, "choices": {"dataset": name}}) for n in range(4)
        ]
        with ThreadPoolExecutor(len(folders)) as pool:
            ids = list(pool.map(tracking(server.url_with_password).upload, folders))
        assert len(set(ids)) == len(folders) and None not in ids
