"""Locks on files that hold between processes (flock), and what is said where a file system has none."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

from runner.errors import InputError
from runner.system.mounts import mount_of


class NoLocksError(InputError):
    """The file system does not lock files: processes could not notice that another one writes."""


def lock(descriptor: int, setting: str, place: Path, *, shared: bool = False, waits: bool = False) -> None:
    """Lock an open file for this process until the descriptor is closed.

    Raises:
        BlockingIOError: another process holds the lock; never with `waits`.
        NoLocksError: the file system of `place`, which `setting` chose, refuses locks.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, kind if waits else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        raise NoLocksError(_refusal(setting, place, error)) from None


def unlock(descriptor: int) -> None:
    """Give a lock back and keep the file open."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def check_locks(setting: str, folder: Path) -> None:
    """Raises NoLocksError where files in the folder can be locked neither as this program nor as SQLite does it, and
    OSError where no file can be made there. One after the other: on network file systems the two exclude each
    other."""
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            lock(file.fileno(), setting, folder)
            unlock(file.fileno())
            fcntl.lockf(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise NoLocksError(_refusal(setting, folder, error)) from None


def check_locks_of_machines(setting: str, folder: Path) -> None:
    """Raises NoLocksError where a lock on a file in the folder, which need not be there yet, holds between the
    processes of one machine only."""
    mount = mount_of(folder)
    if mount.hides_locks:
        raise NoLocksError(
            f"{setting}: machines do not see each other's locks on the file system of {folder} ({mount.kind}); choose "
            "a folder on another one, or have it mounted with locks"
        )


def _refusal(setting: str, place: Path, error: OSError) -> str:
    reason = os.strerror(error.errno) if error.errno else str(error)
    return (
        f"{setting}: the file system of {place} does not lock files ({reason}); choose a folder on another one, or "
        "have it mounted with locks"
    )
