"""Folders that are made once for all workers of pytest-xdist."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first worker of pytest-xdist makes, and all others read."""
    root = factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / name).exists():
            unfinished = root / f"{name} unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)  # of a worker that was killed
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(root / name)
    return root / name
