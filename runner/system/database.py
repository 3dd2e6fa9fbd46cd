"""SQLite files that several processes write to at the same time."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import sys
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

from runner.errors import StopRunError
from runner.system.locks import lock, unlock
from runner.system.mounts import mount_of
from runner.system.writing import GOES_ON, os_error_text

T = TypeVar("T")

LOCK = ".lock"  # after the name of a file that several machines use
WAIT_S = 60.0  # for another process that writes
ROOM = 2**18  # bytes; with less free, a disk counts as full: SQLite's files beside a file grow by 32 KiB
# SQLite's codes for a file that is damaged, or that is no database; of a damaged head it says that statements which
# are always the same are wrong.
UNUSABLE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR})
# … and for one in a folder where nothing can be written.
UNWRITABLE = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})


class DamagedError(StopRunError):
    """A file is no database, or not one of this program."""


class Database:
    """One file with the tables of `schema` (in memory without a path), opened when it is first used, from any
    thread. What is committed survives the end of the process; a power cut may lose the last moments. Processes of
    several machines may use a file on a disk that they share, if its file system locks files.

    A file that is damaged, or has other tables, is renamed to `*.damaged` and a new one begun where it
    `is_replaceable`; else DamagedError is raised with `advice`. One that is `read_only` must be there, and may lie in
    a folder that is read-only, too; without tables, as while another process makes it, it holds no rows.
    `set_aside` is the renamed one.
    """

    def __init__(
        self,
        path: Path | None,
        schema: str,
        *,
        is_replaceable: bool = False,
        read_only: bool = False,
        advice: str = "",
    ) -> None:
        self.path, self._schema, self._advice = path, schema, advice
        self.set_aside: Path | None = None
        self._is_replaceable, self._read_only = is_replaceable, read_only
        self._connection: sqlite3.Connection | None = None
        self._stands_in = False  # the connection, for a file that has no tables yet: the next use looks again
        self._dropped: weakref.finalize[[], Database] | None = None  # closes the connection
        self._file: tuple[int, int] | None = None  # device and inode of what is open
        self._lock = threading.Lock()
        self._turns: _Turns | AbstractContextManager[None] | None = None

    def read(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """The result of `action`, which may be called twice. Raises StopRunError: no case can do without the
        database."""
        with self._lock, self._turn():
            try:
                return self._with_connection(action)
            except (sqlite3.Error, OSError) as error:
                raise self._error_for(error) from error
            finally:
                if self._connection is not None and self._connection.in_transaction:
                    self._connection.rollback()
                if self._stands_in:
                    self._close()

    def write(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """The same in one transaction, which begins when no other process writes."""

        def whole(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN IMMEDIATE")
            result = action(connection)
            connection.execute("COMMIT")
            return result

        return self.read(whole)

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._lock:
            self._close()
            if isinstance(self._turns, _Turns):
                self._turns.close()

    # --- inside -----------------------------------------------------------------------------------

    def _turn(self) -> AbstractContextManager[None]:
        """The use of a file that several machines may use."""
        if self._turns is None and self.path is not None and not self._read_only:
            self._turns = _Turns(self.path) if not mount_of(self.path).is_of_one_machine else nullcontext()
        return self._turns.take() if isinstance(self._turns, _Turns) else nullcontext()

    def _with_connection(self, action: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._attempt(action)
        except sqlite3.DatabaseError as error:
            if self.path is None or not self._is_replaceable or _code(error) not in UNUSABLE:
                raise
            self._set_aside(self.path)
        return self._attempt(action)

    def _attempt(self, action: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return action(self._ensure_open())
        except UnicodeDecodeError:  # of a name, in what SQLite says of the damage
            raise damage_error("database disk image is malformed: a name in it is no text") from None

    def _ensure_open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._file = _identity(self.path)
            if self.path is None:
                self._connection = _connect(":memory:", self._schema)
            elif self._read_only:
                connection = _connect_to_read(self.path, self._schema)
                self._stands_in = connection is None
                self._connection = connection or _connect(":memory:", self._schema)
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = _connect(self.path, self._schema)
            self._file = _identity(self.path)
            # One that is dropped unclosed, as where an error ends its owner, frees its file at once.
            self._dropped = weakref.finalize(self, self._connection.close)
            self._dropped.atexit = False
        return self._connection

    def _error_for(self, error: sqlite3.Error | OSError) -> StopRunError:
        if isinstance(error, sqlite3.Error) and self._is_full(_code(error)):
            error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if isinstance(error, OSError):
            return StopRunError(os_error_text(error, str(self.path)))
        if _code(error) in UNUSABLE:
            return DamagedError("; ".join(filter(None, [f"{self.path}: {error}", self._advice])))
        return StopRunError(f"{self.path}: {error}" + (f"; {GOES_ON}" if _code(error) == sqlite3.SQLITE_IOERR else ""))

    def _is_full(self, code: int) -> bool:
        """Whether the disk is full: SQLite reports an I/O error only, where the file shared by its readers cannot
        grow."""
        place = None if self.path is None else self.path.parent
        if code == sqlite3.SQLITE_IOERR and place is not None and place.exists():
            return shutil.disk_usage(place).free < ROOM
        return code == sqlite3.SQLITE_FULL

    def _set_aside(self, path: Path) -> None:
        """Unless another process has done so, and the file is a new one."""
        self._close()
        if _identity(path) == self._file:
            for suffix in ("-wal", "-shm", "-journal"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                self.set_aside = path.replace(path.with_suffix(".damaged"))

    def _close(self) -> None:
        if self._connection is not None and self._dropped is not None:
            self._dropped()
            self._connection = self._dropped = None


def _connect(address: Path | str, schema: str) -> sqlite3.Connection:
    """A connection that writes; the first one makes the tables."""
    connection = sqlite3.connect(address, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        if _version(connection) != _version_of(schema):
            _make_tables(connection, schema)
        _set_journal(connection, address)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_journal(connection: sqlite3.Connection, address: Path | str) -> None:
    """A write-ahead log, whose index is memory that processes share; where a file system may be seen by several
    machines, which share no memory, a rollback journal."""
    is_here = isinstance(address, str) or mount_of(address).is_of_one_machine
    connection.execute(f"PRAGMA journal_mode = {'WAL' if is_here else 'DELETE'}")
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if is_here else 'FULL'}")


def _connect_to_read(path: Path, schema: str) -> sqlite3.Connection | None:
    """A connection that reads; None where the file has no tables yet."""
    address = path.absolute().as_uri()
    try:
        return _connect_read_only(f"{address}?mode=ro", schema)
    except sqlite3.OperationalError as error:
        if _code(error) not in UNWRITABLE:
            raise
    return _connect_read_only(f"{address}?immutable=1", schema)


def _connect_read_only(address: str, schema: str) -> sqlite3.Connection | None:
    connection = sqlite3.connect(address, timeout=WAIT_S, isolation_level=None, check_same_thread=False, uri=True)
    try:
        connection.execute("BEGIN")  # version and tables at one moment, while another process may make them
        has_tables = not _is_empty(connection)
        if has_tables:
            _check_version(connection, schema)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    if not has_tables:
        connection.close()
    return connection if has_tables else None


def _make_tables(connection: sqlite3.Connection, schema: str) -> None:
    """In one transaction, unless another process has made them."""
    connection.execute("BEGIN IMMEDIATE")
    if _is_empty(connection):
        for statement in schema.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_version_of(schema)}")
    connection.execute("COMMIT")
    _check_version(connection, schema)


def _is_empty(connection: sqlite3.Connection) -> bool:
    n_tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    return bool(_version(connection) == n_tables == 0)


def _check_version(connection: sqlite3.Connection, schema: str) -> None:
    if _version(connection) != _version_of(schema):
        raise damage_error("a file of another program, or of another version of this one")


def damage_error(reason: str) -> sqlite3.DatabaseError:
    """The error that SQLite raises for a file that it cannot use."""
    error = sqlite3.DatabaseError(reason)
    error.sqlite_errorcode = sqlite3.SQLITE_FORMAT
    return error


def _version_of(schema: str) -> int:
    """The version that a file with these tables bears: the digest of its schema. 0 is that of an empty file."""
    return zlib.crc32(schema.encode()) & 0x7FFFFFFF


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _identity(path: Path | None) -> tuple[int, int] | None:
    try:
        status = None if path is None else path.stat()
    except OSError:
        return None
    return None if status is None else (status.st_dev, status.st_ino)


class _Turns:
    """Turns of the processes that use `path`, also of other machines; `setting` chose its folder. They are given in
    about the order in which they were asked for, without the pauses after which SQLite asks again.

    Locks alone are not enough for SQLite on a network file system: a machine may answer a read from its own memory,
    with what the file held before another machine wrote. NFS drops that when it gives a lock; file systems in user
    space (FUSE) do not, and a database was damaged within seconds. A turn begins with forgetting.
    """

    def __init__(self, path: Path, setting: str = "cache_dir") -> None:
        self._path, self._setting = path, setting
        self._lock: int | None = None

    @contextmanager
    def take(self) -> Iterator[None]:
        """Nobody else uses the file while the body runs."""
        if self._lock is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._path.with_name(self._path.name + LOCK), os.O_RDWR | os.O_CREAT, 0o644)
        lock(self._lock, self._setting, self._path.parent, waits=True)
        try:
            self._forget()
            yield
        finally:
            unlock(self._lock)

    def close(self) -> None:
        """After the last turn."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _forget(self) -> None:
        """Drop what this machine has kept: the size, since the answer to a change of the times tells it anew, and the
        contents."""
        with suppress(FileNotFoundError):
            os.utime(self._path)
            descriptor = os.open(self._path, os.O_RDWR)
            try:
                if sys.platform == "linux":
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)  # which frees SQLite's locks, too: it has none between two turns
