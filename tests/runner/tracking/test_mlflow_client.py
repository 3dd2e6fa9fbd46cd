import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from plugins.tracking.mlflow import MlflowTracking
from runner.config.compose import compose_cells
from runner.config.options import plain_config
from runner.errors import InputError, TrackingError
from runner.system.redaction import redact
from runner.tracking import mlflow_client
from runner.tracking.mlflow_client import (
    configured_uri,
    demand_store,
    download,
    redact_uri,
    reporting,
    sqlite_file,
    store_fault,
    with_password,
)
from runner.words.bilingual import in_language
from tests.run_folders import write_run
from tests.services.raw_server import http, saying


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
    assert redact_uri("https://user:secret@host:5000/x") == "https://host:5000/x"
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


@pytest.mark.parametrize(
    "uri", ["htp://localhost:5000", "sqlit:///runs.db", "nowhere", "file:./mlruns", "C:/runs", "://", ""]
)
def test_what_mlflow_keeps_no_runs_in(uri: str) -> None:
    expected = "is not an MLflow store; expected sqlite:///FILE, another database, or http://ADDRESS"
    assert store_fault(uri) == f"'{uri}' {expected}"


@pytest.mark.parametrize(
    "uri",
    ["http://x", "https://x/y", "sqlite:///a.db", "sqlite+pysqlite:///a.db", "postgresql+psycopg2://x/y", "mysql+pymysql://x",
     "mssql+pyodbc://x", "databricks", "databricks://me", "databricks-uc", "uc", "uc:me"],
)  # fmt: skip
def test_what_mlflow_knows(uri: str) -> None:
    assert store_fault(uri) == ""


def test_a_store_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store_fault("spare://x")
    (tmp_path / "spare-1.0.dist-info").mkdir()
    (tmp_path / "spare-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: spare\nVersion: 1.0\n")
    (tmp_path / "spare-1.0.dist-info" / "entry_points.txt").write_text("[mlflow.tracking_store]\nspare = spare:Store\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert store_fault("spare://x") == ""


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


def test_the_store_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run is told by itself comes first, then MLFLOW_TRACKING_URI, then the file beside it."""
    words = ["+experiment=retrieval_only", "retriever=keyword"]
    for own, there in (("", "sqlite:///mlflow.db"), ("http://127.0.0.1:5000", "http://127.0.0.1:5000")):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", own)
        for given, wanted in (([], there), (["tracking.uri=sqlite:///own.db"], "sqlite:///own.db")):
            (cell,) = compose_cells([*words, *given])[1]
            assert cell.cfg.tracking.uri == wanted
        assert configured_uri() == there
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert configured_uri() == "sqlite:///mlflow.db"


def test_a_password_in_the_variable_is_used_and_never_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:Open%20Sesame7@127.0.0.1:5000")
    (cell,) = compose_cells(["+experiment=retrieval_only", "retriever=keyword"])[1]
    assert cell.cfg.tracking.uri == "http://me:Open%20Sesame7@127.0.0.1:5000"
    kept = plain_config(cell.cfg)["tracking"]["uri"]
    assert kept == "http://127.0.0.1:5000"
    assert with_password(kept) == cell.cfg.tracking.uri
    assert with_password("http://127.0.0.1:5001") == "http://127.0.0.1:5001"
    assert [redact(text) for text in ("Open Sesame7", "see http://127.0.0.1:5000/#/")] == [
        "***", "see http://127.0.0.1:5000/#/",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            http(401, "You are not authenticated. Please see …"),
            "401: MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD need a user and a password that it knows",
        ),
        (http(403, "Permission denied"), "403: this user may not do that"),
        (
            http(503, '{"error_code": "TEMPORARILY_UNAVAILABLE", "message": "(psycopg.OperationalError) connection"}'),
            "it answers 503, as where its own database is away",
        ),
        (http(500, "<html>"), "it answers 500, as where its own database is away"),
    ],
)
async def test_what_a_server_answers_is_one_clear_line(
    answer: bytes, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "tester")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "Wrong-Secret-7")
    async with saying(answer) as server:
        tracking, folder = MlflowTracking(uri=server.url, figures=False), write_run(tmp_path)
        with pytest.raises(TrackingError) as caught:
            await asyncio.to_thread(tracking.upload, folder)
    message = str(caught.value)
    assert message == (
        f"{folder} was not uploaded: MLflow at {server.url} failed ({told}); "
        f"upload it later with: python -m runner track {folder}"
    )
    assert "Basic" in server.sent[0].headers["authorization"]
    korean = in_language(message, "ko")
    assert korean.startswith(f"업로드하지 못했습니다: {folder}. MLflow({server.url}), ")
    assert told not in korean


async def test_a_server_that_does_not_answer_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not again for each run of a sweep."""
    async with saying(b"", stalls=True) as server:
        tracking, folder = MlflowTracking(uri=server.url, figures=False, timeout_s=1), write_run(tmp_path)
        told = []
        for _ in range(2):
            with pytest.raises(TrackingError) as caught:
                await asyncio.to_thread(tracking.upload, folder)
            told.append(str(caught.value).partition(" failed ")[2].partition(";")[0])
            asked = server.connections
        assert told == ["(timed out)", "(it did not answer a moment ago and is not asked again yet)"]
        assert server.connections == asked
        monkeypatch.setattr(mlflow_client, "PAUSE_S", 0.0)
        monkeypatch.setattr(mlflow_client, "_silent_until", {})
        with pytest.raises(TrackingError, match="timed out"):
            await asyncio.to_thread(tracking.upload, folder)


def test_an_unknown_run_id(mlflow_store: str, tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=rf"^cannot fetch run {'0' * 32}: MLflow at .* failed \(.*not found"):
        download(mlflow_store, "0" * 32, tmp_path)
