"""A real MLflow server on loopback, as somebody else would run it: on PostgreSQL, with users and passwords."""

from __future__ import annotations

import importlib.util
import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from tests.services.ports import free_port
from tests.services.postgres_server import PASSWORD as DATABASE_PASSWORD
from tests.services.postgres_server import USER as DATABASE_USER
from tests.services.postgres_server import PostgresServer

USER, PASSWORD = "tester", "Strong & s3cret/Key"
PATIENCE_S = 300.0
PACKAGES = ("flask_wtf", "psycopg")
MISSING = "an MLflow server with passwords on PostgreSQL needs the extra `services` (mlflow[auth], psycopg)"


def is_installed() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in PACKAGES)


@dataclass(frozen=True)
class MlflowServer:
    """`url` names neither user nor password; `log` has a line for each request."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url_with_password(self) -> str:
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{USER}:{quote(PASSWORD, safe='')}@{rest}"

    def requests(self) -> int:
        """How many it has answered."""
        return self.log.read_text(encoding="utf-8", errors="replace").count(' HTTP/1.1" ')

    def signal(self, number: int) -> None:
        """To all of its processes."""
        os.killpg(self.process.pid, number)

    @property
    def environment(self) -> dict[str, str]:
        """As MLflow's own clients take user and password."""
        return {"MLFLOW_TRACKING_USERNAME": USER, "MLFLOW_TRACKING_PASSWORD": PASSWORD}


@contextmanager
def serving_mlflow(postgres: PostgresServer, *, password_cache_s: int = 0) -> Iterator[MlflowServer]:
    """With one administrator, USER. `password_cache_s`: how long the server remembers that a password was right; 0,
    which is MLflow's default, computes a slow hash for every request."""
    port = free_port()
    database = postgres.url.replace("://", f"+psycopg://{DATABASE_USER}:{quote(DATABASE_PASSWORD, safe='')}@")
    with TemporaryDirectory(prefix="mlflow-") as name:
        folder = Path(name)
        settings = folder / "auth.ini"
        settings.write_text(
            "[mlflow]\ndefault_permission = READ\n"
            f"database_uri = sqlite:///{folder}/auth.db\n"
            f"admin_username = {USER}\nadmin_password = {PASSWORD}\n"
            f"auth_cache_ttl_seconds = {password_cache_s}\n",
            encoding="utf-8",
        )
        command = [sys.executable, "-m", "mlflow", "server", "--app-name", "basic-auth", "--workers", "1"]
        command += ["--host", "127.0.0.1", "--port", str(port), "--artifacts-destination", str(folder / "artifacts")]
        environment = {
            **os.environ,
            "MLFLOW_BACKEND_STORE_URI": database,
            "MLFLOW_AUTH_CONFIG_PATH": str(settings),
            "MLFLOW_FLASK_SERVER_SECRET_KEY": secrets.token_hex(16),
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        }
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        try:
            _wait(f"http://127.0.0.1:{port}/health", process, folder / "log")
            yield MlflowServer(f"http://127.0.0.1:{port}", process, folder / "log")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)  # its workers, too
            process.wait()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(url, timeout=5) as answer:
            if answer.status == 200:
                return
        assert process.poll() is None, log.read_text(encoding="utf-8", errors="replace")[-2000:]
        time.sleep(0.1)
    raise TimeoutError(log.read_text(encoding="utf-8", errors="replace")[-2000:])
