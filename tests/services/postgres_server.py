"""A real PostgreSQL with pgvector on loopback, with a password, as somebody else would run it."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.services.ports import free_port

USER, PASSWORD, VARIABLE = "runner", "맞는 열쇠 s3cret", "TEST_POSTGRES_PASSWORD"
MISSING = "no PostgreSQL with pgvector is installed (postgresql and postgresql-NN-pgvector, or the package pgserver)"


def programs(*, needs_vector: bool = True) -> Path | None:
    """The folder with initdb and postgres of an installation that has pgvector, where that is needed."""
    wheel = importlib.util.find_spec("pgserver")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if wheel is not None and wheel.origin is not None:
        folders.append(Path(wheel.origin).parent / "pginstall" / "bin")
    return next((folder for folder in folders if not needs_vector or _has_vector(folder)), None)


def _has_vector(folder: Path) -> bool:
    own = subprocess.run([folder / "pg_config", "--sharedir"], capture_output=True, text=True, check=False)
    places = [Path(own.stdout.strip()), folder.parent / "share" / "postgresql"]
    return any((place / "extension" / "vector.control").is_file() for place in places)


@dataclass
class PostgresServer:
    """`url` names neither user nor password, which is in the environment variable VARIABLE."""

    folder: Path
    programs: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql://127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        (self.folder / "password").write_text(PASSWORD, encoding="utf-8")
        words = ["-D", "data", "-U", USER, "--auth=scram-sha-256", "--pwfile=password", "-E", "UTF8", "--no-locale"]
        self._run("initdb", *words, "--no-sync")

    def start(self) -> None:
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -c fsync=off"
        self._run("pg_ctl", "-D", "data", "-w", "-o", settings, "-l", "log", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *words: str) -> None:
        """The server refuses to be root."""
        user = "nobody" if os.geteuid() == 0 else None
        subprocess.run(
            [self.programs / program, *words], cwd=self.folder, user=user, check=True, stdout=subprocess.DEVNULL
        )


@contextmanager
def serving_postgres(*, needs_vector: bool = True) -> Iterator[PostgresServer | None]:
    """None where no PostgreSQL is installed, with pgvector where that is needed."""
    folder = programs(needs_vector=needs_vector)
    if folder is None:
        yield None
        return
    with TemporaryDirectory(prefix="postgres-") as scratch:
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(scratch, nobody.pw_uid, nobody.pw_gid)
        server = PostgresServer(Path(scratch), folder, free_port())
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
            shutil.rmtree(Path(scratch) / "data", ignore_errors=True)
