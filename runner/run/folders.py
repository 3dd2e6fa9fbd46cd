"""Finds or makes the folder of a run or sweep, and locks it while a command works in it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from runner.config.compose import Plan
from runner.errors import ConfigError, InputError, Problem
from runner.run.job import Outcome
from runner.system.locks import NoLocksError, check_locks, lock
from runner.system.metadata import read_json
from runner.system.writing import make_folder, relative_path, remove_half_written


@contextmanager
def run_folder(plan: Plan) -> Iterator[Path]:
    """The run or sweep folder, locked for this process."""
    out = plan.cells[0].cfg.out
    if out is not None:
        folder = relative_path(Path(out))
        _check_is_ours(folder, plan)
    else:
        folder = _unfinished_folder(plan) or _make_folder(plan)
    with lock_folder(folder):
        yield folder


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder for this process, and make it where it is missing. Raises InputError where another process holds
    it."""
    try:
        make_folder(folder)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise InputError(f"out: cannot write to {folder}: {error.strerror}") from None
    try:
        _lock_out(descriptor, folder)
        remove_half_written(folder)
        yield
    finally:
        os.close(descriptor)


def _lock_out(descriptor: int, folder: Path) -> None:
    try:
        lock(descriptor, "out", folder)
    except BlockingIOError:
        raise InputError(f"out: {folder} is in use by another run; wait for it or choose another folder") from None


def _unfinished_folder(plan: Plan) -> Path | None:
    """The newest default folder of the same command; None where it is in use or complete."""
    for folder in sorted(Path("outputs").glob(f"*-{_suffix(plan)}"), reverse=True)[:1]:
        state = read_json(folder / ("sweep.json" if plan.is_sweep else "run.json"))
        if state is not None and not (state.get("status") == "completed" and _is_whole(folder, plan)):
            return None if is_locked(folder) else folder
    return None


def _is_whole(folder: Path, plan: Plan) -> bool:
    outcomes = [Outcome.read(folder / name) for name in plan.folders]
    return not any(outcome and outcome.unfinished for outcome in outcomes)


def _make_folder(plan: Plan) -> Path:
    """Make a new folder; a second start in the same second gets the next number."""
    for number in count(1):
        start = time.strftime("%Y%m%d-%H%M%S") + ("" if number == 1 else f".{number}")
        folder = Path("outputs") / f"{start}-{_suffix(plan)}"
        try:
            make_folder(folder, exist_ok=False)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"out: cannot write to {folder}: {error.strerror}") from None
        return folder
    raise AssertionError("counting does not end")


def _suffix(plan: Plan) -> str:
    return f"{re.sub(r'[^0-9A-Za-z가-힣_]+', '-', plan.experiment)}-{plan.fingerprint[:8]}"


def is_locked(folder: Path) -> bool:
    """Whether another process holds the lock of a run or sweep folder; true also where that cannot be determined, and
    false where nobody can lock it.

    Nothing is written, and the check takes a shared lock, so that two processes that check at the same time do not take
    each other for a run.
    """
    try:
        descriptor = os.open(folder / ".lock", os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        lock(descriptor, "out", folder, shared=True)
    except BlockingIOError:
        return True
    except NoLocksError:
        return False
    finally:
        os.close(descriptor)
    return False


def _check_is_ours(folder: Path, plan: Plan) -> None:
    """Raises InputError unless the user's folder is new or holds an earlier attempt of the same command."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError([Problem("out", f"{folder} is a file; expected a folder")])
    run, sweep = read_json(folder / "run.json"), read_json(folder / "sweep.json")
    state = sweep if plan.is_sweep else run
    if (run if plan.is_sweep else sweep) is not None or (state and state.get("fingerprint") != plan.fingerprint):
        raise ConfigError([Problem("out", f"{folder} holds another run or sweep; choose another folder or remove it")])


def check_cache(folder: Path) -> None:
    """Raises InputError for a cache folder that cannot be made or written, or whose files cannot be locked."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_locks("cache_dir", folder)
    except OSError as error:
        raise InputError(f"cache_dir: cannot write to {folder}: {error.strerror}") from None
