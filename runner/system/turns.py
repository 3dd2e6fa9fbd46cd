"""Turns of processes, also of other machines, at a file that they share.

Locks alone are not enough for SQLite on a network file system: a machine may answer a read from its own memory, with
what the file held before another machine wrote. NFS drops that when it gives a lock; file systems in user space (FUSE)
do not, and a database was damaged within seconds. Here each use of the file is a turn, which begins with forgetting.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runner.system.locks import lock, unlock

SUFFIX = ".lock"


class Turns:
    """Of the processes that use `path`; `setting` chose its folder. Turns are given in about the order in which they
    were asked for, without the pauses after which SQLite asks again."""

    def __init__(self, path: Path, setting: str = "cache_dir") -> None:
        self._path, self._setting = path, setting
        self._lock: int | None = None

    @contextmanager
    def take(self) -> Iterator[None]:
        """Nobody else uses the file while the body runs."""
        if self._lock is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._path.with_name(self._path.name + SUFFIX), os.O_RDWR | os.O_CREAT, 0o644)
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
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)  # which frees SQLite's locks, too: it has none between two turns
