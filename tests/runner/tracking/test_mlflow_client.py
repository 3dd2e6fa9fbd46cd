import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.errors import TrackingError
from runner.tracking.mlflow_client import configured_uri, download, reported, shown, sqlite_file


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
    with pytest.raises(TrackingError) as caught, reported("http://u:secret@h", "no upload", "try later"):
        raise RuntimeError("cannot reach http://u:secret@h\nbecause of the weather")
    assert str(caught.value) == (
        "no upload: MLflow at http://h failed (cannot reach http://h because of the weather); try later"
    )


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
