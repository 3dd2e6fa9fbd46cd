"""Tells which processes are alive, by locked files: process ids are reused, and mean nothing in another container."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from runner.system.locks import lock

PREFIX = ".present-"


class Presence:
    """A process is present until it closes this object or ends, however it ends. `folder`: None for this process
    alone."""

    def __init__(self, folder: Path | None) -> None:
        self.name = secrets.token_hex(8)
        self._path: Path | None = None
        if folder is not None:
            for left in folder.glob(f"{PREFIX}*"):
                is_present(folder, left.name.removeprefix(PREFIX))
            joining = folder / f".joining-{self.name}"
            self._descriptor = os.open(joining, os.O_RDWR | os.O_CREAT, 0o644)
            lock(self._descriptor, "cache_dir", folder, waits=True)
            self._path = joining.rename(_path(folder, self.name))  # visible to others only once it is locked

    def close(self) -> None:
        """Give the lock back and remove its file."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)


def is_present(folder: Path | None, name: str) -> bool:
    """Whether the process of that name is alive; the file of a dead one is removed."""
    if folder is None:
        return True
    try:
        descriptor = os.open(_path(folder, name), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        lock(descriptor, "cache_dir", folder)
    except BlockingIOError:
        return True
    else:
        _path(folder, name).unlink(missing_ok=True)
        return False
    finally:
        os.close(descriptor)


def _path(folder: Path, name: str) -> Path:
    return folder / f"{PREFIX}{name}"
