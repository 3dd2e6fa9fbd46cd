"""The door to MLflow: imported late, without telemetry, and quick to give up on a server that is down."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

from runner.errors import InputError, TrackingError
from runner.system.redaction import redact, watch

COPIES = "mlruns"  # folder of what was uploaded, beside a database file
STORES = "sqlite:///FILE, another database, or http://ADDRESS"
SCHEMES, HOSTED = ("http", "https", "sqlite", "postgresql", "mysql", "mssql"), ("databricks", "databricks-uc", "uc")
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
TIMED_OUT, SILENT, PAUSE_S = "timed out", "it did not answer a moment ago and is not asked again yet", 30.0
AWAY = re.compile(
    r"Connection refused|timed out|Name or service not known|Temporary failure[^'\")]*|No route to host|"
    r"Network is unreachable|Connection reset by peer|Remote end closed connection|certificate verify failed[^'\")]*",
    re.I,
)
STATUS = re.compile(r"error code (\d{3})|\b(\d{3}) (?:Client|Server) Error|too many (\d{3}) error responses")
REFUSALS = {
    "401": "401: MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD need a user and a password that it knows",
    "403": "403: this user may not do that",
}
RESULTS = ("run.json", "summary.json", "sweep.json")

_silent_until: dict[str, float] = {}  # by place, on the clock of `time.monotonic`


def environment(timeout_s: int = 5) -> dict[str, str]:
    """The environment that MLflow needs before it is imported. `DO_NOT_TRACK=1` would have no effect."""
    return {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(timeout_s),
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
        "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "0",
        "MLFLOW_ALLOW_HTTP_REDIRECTS": "false",
        "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "GIT_PYTHON_REFRESH": "quiet",
    }


def connect(uri: str, timeout_s: int = 5) -> Any:
    """An MlflowClient on the store at `uri`; the first request may raise, this does not reach out. Raises
    InputError for what is no store."""
    demand_store(uri)
    os.environ.update(environment(timeout_s))
    for name in ("alembic", "mlflow"):
        logging.getLogger(name).setLevel(logging.WARNING)
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.WARNING)
    return MlflowClient(tracking_uri=with_password(uri))


def with_password(uri: str) -> str:
    """The URI with the user of MLFLOW_TRACKING_URI, where that is the same place; the files of a run name no user."""
    own = os.environ.get("MLFLOW_TRACKING_URI", "")
    return own if own and redact_uri(own) == uri else uri


def demand_store(uri: str) -> None:
    """Raises InputError for an unknown kind of store, for a folder, in which MLflow keeps no runs any more unless its
    own variable says so, and for a sqlite store that is no file, or not one of SQLite's: MLflow would try to open it
    for a minute."""
    if fault := store_fault(uri):
        raise InputError(fault)
    database = sqlite_file(uri)
    if database is not None and os.path.lexists(database):
        _demand_sqlite(database)


def store_fault(uri: str) -> str:
    """Why nothing that MLflow knows can be at this address, whatever is there; empty where something can."""
    scheme, colon, _ = uri.partition(":")
    kind = scheme.partition("+")[0] if colon or scheme in HOSTED else "file"
    is_folder = kind == "file" and os.environ.get("MLFLOW_ALLOW_FILE_STORE", "").lower() not in ("true", "1")
    if is_folder or not (kind in ("file", *SCHEMES, *HOSTED) or kind in _schemes_of_packages()):
        return f"'{redact_uri(uri)}' is not an MLflow store; expected {STORES}"
    database = sqlite_file(uri)
    if scheme == "sqlite" and (database is None or database.name == ":memory:"):
        return f"'{redact_uri(uri)}' names no file that would keep the runs; expected {STORES}"
    return ""


def _schemes_of_packages() -> frozenset[str]:
    """The URI schemes of stores that other installed packages add to MLflow."""
    return frozenset(entry.name for entry in entry_points(group="mlflow.tracking_store"))


def _demand_sqlite(database: Path) -> None:
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=rw", uri=True)) as store:
            store.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except UnicodeDecodeError:  # of a name, in what SQLite says of the damage
        raise InputError(f"{database} is not an SQLite database, or is damaged") from None
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in BUSY:
            raise InputError(f"{database} is not an SQLite database, or is damaged ({error})") from None


@contextmanager
def reporting(uri: str, failure: str, remedy: str) -> Iterator[None]:
    """Turn any error of MLflow into a TrackingError of one line. A server that did not answer is not asked again for
    half a minute: each run of a sweep would wait for it."""
    place = redact_uri(uri)
    try:
        if time.monotonic() < _silent_until.get(place, 0.0):
            raise TimeoutError(SILENT)
        yield
    except TrackingError:
        raise
    except Exception as error:
        reason = _reason(error)
        if reason == TIMED_OUT:
            _silent_until[place] = time.monotonic() + PAUSE_S
        raise TrackingError(f"{failure}: MLflow at {place} failed ({reason}); {remedy}") from error


def download(uri: str, run_id: str, folder: Path, names: Iterable[str] = RESULTS) -> None:
    """Fetch those of the files `names` that exist of the run or sweep uploaded as `run_id`; by default the files with
    its results. Raises TrackingError."""
    with reporting(uri, f"cannot fetch run {run_id}", "check the run id and --uri"):
        client = connect(uri)
        present = {item.path for item in client.list_artifacts(run_id)}
        for name in names:
            if name in present:
                client.download_artifacts(run_id, name, str(folder))


def sqlite_file(uri: str) -> Path | None:
    """The database file of a sqlite store; None for every other store."""
    match = re.match(r"sqlite:///([^?]+)", uri)
    return Path(match[1]) if match else None


def redact_uri(uri: str) -> str:
    """The URI without user and password."""
    return redact(uri)


def default_settings() -> dict[str, Any]:
    """conf/tracking/mlflow.yaml, with the store of MLFLOW_TRACKING_URI where that is set."""
    from omegaconf import OmegaConf

    watch()
    text = files("conf").joinpath("tracking", "mlflow.yaml").read_text(encoding="utf-8")
    settings: Any = OmegaConf.to_container(OmegaConf.create(text), resolve=True)
    return dict(settings)


def configured_uri() -> str:
    """The store that runs are tracked in by default."""
    return str(default_settings()["uri"])


def _reason(error: BaseException) -> str:
    """The innermost cause that says something, on one line."""
    text = " ".join(str(error).split())
    if away := AWAY.search(text):
        return away[0].lower()
    if found := STATUS.search(text):
        status = next(filter(None, found.groups()))
        if status in REFUSALS:
            return REFUSALS[status]
        if status >= "500":
            return f"it answers {status}, as where its own database is away"
    return redact_uri(text)[:300] or type(error).__name__
