"""SQLite files that several processes write to, and that heal: a damaged or foreign file is set aside."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from runner.errors import EvaluationError

T = TypeVar("T")

WAIT_S = 60.0  # for another process that writes
# SQLite's codes for a file that is another database, a damaged one, or none at all.
UNUSABLE = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})


class Database:
    """One file with the tables of `schema` (in memory without a path), opened when it is first used, from any
    thread. Each statement commits by itself unless `use` begins a transaction.

    What is committed survives the end of the process; a power cut may lose the last moments. A file that
    cannot be read as such is renamed to `*.damaged` and a new one begun.
    """

    def __init__(self, path: Path | None, schema: str) -> None:
        self.path, self._schema = path, schema
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def use(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """What `action` returns. It may be called twice. Raises EvaluationError."""
        with self._lock:
            try:
                try:
                    return action(self._opened())
                except sqlite3.DatabaseError as error:
                    if self.path is None or getattr(error, "sqlite_errorcode", 0) & 0xFF not in UNUSABLE:
                        raise
                self._close()
                _set_aside(self.path)
                return action(self._opened())
            except sqlite3.Error as error:
                raise EvaluationError(f"{self.path}: {error}") from error

    def close(self) -> None:
        with self._lock:
            self._close()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _open(self.path, self._schema)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _open(path: Path | None, schema: str) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path or ":memory:", timeout=WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(schema)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_aside(path: Path) -> None:
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with suppress(FileNotFoundError):  # another process did
        path.replace(path.with_suffix(".damaged"))
