"""Who is still there, whatever process that is: the number of a process is given again to another, and means
nothing in another container."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path

PREFIX = ".present-"


class Presence:
    """Lasts until it is closed or its process ends, however it ends. `folder`: None for this process alone."""

    def __init__(self, folder: Path | None) -> None:
        self.name = secrets.token_hex(8)
        self._path: Path | None = None
        if folder is not None:
            for left in folder.glob(f"{PREFIX}*"):
                is_present(folder, left.name.removeprefix(PREFIX))
            joining = folder / f".joining-{self.name}"
            self._descriptor = os.open(joining, os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            self._path = joining.rename(_path(folder, self.name))  # seen by others only with its lock

    def close(self) -> None:
        """Give the lock back and remove its file."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)


def is_present(folder: Path | None, name: str) -> bool:
    """Who is not leaves no file."""
    if folder is None:
        return True
    try:
        descriptor = os.open(_path(folder, name), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        _path(folder, name).unlink(missing_ok=True)
        return False
    finally:
        os.close(descriptor)


def _path(folder: Path, name: str) -> Path:
    return folder / f"{PREFIX}{name}"
