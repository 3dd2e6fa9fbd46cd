import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from runner.errors import InputError, TrackingError
from runner.tracking.mlflow_client import configured_uri, demand_store, download, reporting, shown, sqlite_file


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("sqlite:///mlflow.db", "mlflow.db"),
        ("sqlite:////data/실험 1/mlflow.db", "/data/실험 1/mlflow.db"),
        ("sqlite:///a.db?timeout=3", "a.db"),
        ("http://127.0.0.1:5000", None),
        ("postgresql://db/mlflow", None),
    ],
)
def test_the_file_of_a_sqlite_store(uri: str, path: str | None) -> None:
    assert sqlite_file(uri) == (None if path is None else Path(path))


def test_credentials_are_never_shown() -> None:
    assert shown("https://user:secret@host:5000/x") == "https://host:5000/x"
    with pytest.raises(TrackingError) as caught, reporting("http://u:secret@h", "no upload", "try later"):
        raise RuntimeError("cannot reach http://u:secret@h\nbecause of the weather")
    assert str(caught.value) == (
        "no upload: MLflow at http://h failed (cannot reach http://h because of the weather); try later"
    )


@pytest.mark.parametrize("uri", ["sqlite://", "sqlite:", "sqlite:///:memory:", "sqlite:///"])
def test_memory_keeps_no_runs(uri: str) -> None:
    with pytest.raises(InputError) as caught:
        demand_store(uri)
    assert str(caught.value) == (
        f"'{uri}' names no file that would keep the runs; expected sqlite:///FILE, another database, or http://ADDRESS"
    )


def test_a_place_where_no_database_can_be(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for name in (".", "loop"):
        with pytest.raises(InputError, match=r"is not an SQLite database, or is damaged \(unable to open database"):
            demand_store(f"sqlite:///{tmp_path}/{name}")


def test_a_store_that_somebody_writes_to_is_one(mlflow_store: str) -> None:
    demand_store(mlflow_store)
    database = sqlite_file(mlflow_store)
    assert database is not None
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        demand_store(mlflow_store)


def test_the_store_of_the_configuration() -> None:
    assert configured_uri() == "sqlite:///mlflow.db"


def test_an_unknown_run_id(mlflow_store: str, tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=rf"^cannot fetch run {'0' * 32}: MLflow at .* failed \(.*not found"):
        download(mlflow_store, "0" * 32, tmp_path)


def test_telemetry_is_off_when_mlflow_is_imported() -> None:
    code = (
        "from runner.tracking.mlflow_client import connect; connect('http://127.0.0.1:9');"
        "from mlflow.telemetry.utils import is_telemetry_disabled; print(is_telemetry_disabled())"
    )
    quiet = {"MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "CI", "PYTEST_CURRENT_TEST"}
    environment = {name: value for name, value in os.environ.items() if name not in quiet}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
