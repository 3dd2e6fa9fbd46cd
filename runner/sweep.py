"""From override arguments to finished folders: validate every job, choose the folder, launch, gather.

Hydra launches the jobs, in this process or, with another launcher, in others. A job leaves its outcome
in its folder; the parent reads them all, because a launcher may lose a failure of a worker.
"""

from __future__ import annotations

import fcntl
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from runner import terminal
from runner.arguments import single_quoted
from runner.compose import Cell
from runner.errors import ConfigError, InputError, Problem
from runner.job import INTERRUPTED, Job
from runner.metadata import SCHEMA, now, read_json, write_json
from runner.run import execute, tracking_failure
from runner.store import fingerprint

GRAVITY = (INTERRUPTED, 3, 2, 1, 5, 4, 0)
OUTCOME = ".outcome.json"


@dataclass(frozen=True)
class Plan:
    """All cells of one command, validated."""

    cells: Sequence[Cell]
    overrides: Sequence[str]
    is_sweep: bool
    experiment: str

    @property
    def flags(self) -> list[str]:
        return ["--multirun"] if self.is_sweep else []

    @property
    def fingerprint(self) -> str:
        prints = [cell.fingerprint for cell in self.cells]
        return fingerprint(prints) if self.is_sweep else prints[0]


def launch(plan: Plan) -> int:
    """Run all cells. Returns the gravest exit code."""
    _check_cache(Path(plan.cells[0].cfg.cache_dir))
    with _folder(plan) as folder:
        _prepare(plan, folder)
        _prepare_tracking(plan.cells[0].cfg)
        try:
            hydra_main([f"out={single_quoted(str(folder))}", *plan.overrides, *plan.flags])
        except KeyboardInterrupt:
            terminal.note(f"stopped; the same command goes on where it stopped ({folder})")
            return _gather(plan, folder, INTERRUPTED)
        except Exception as error:  # a launcher that lost its workers; what they left tells which
            terminal.fail(f"the launcher failed: {type(error).__name__}: {error}")
        return _gather(plan, folder, 0)


def task(cfg: DictConfig) -> None:
    """What Hydra runs for each job, here or in a worker process."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    many = hydra.mode == RunMode.MULTIRUN
    sweep = read_json(folder.parent / "sweep.json") if many else None
    choices = {str(key): str(value) for key, value in hydra.runtime.choices.items() if "hydra" not in str(key)}
    label = f"[{int(hydra.job.num) + 1}/{len(sweep['cells'])}] " if sweep else ""
    job = Job(cfg, folder, list(hydra.overrides.task), choices, sweep["id"] if sweep else None, label)
    code = INTERRUPTED
    try:
        code = execute(job)
    finally:
        with suppress(OSError):  # without an outcome the run counts as failed
            write_json(folder / OUTCOME, {"exit_code": code})


# --- the folder -----------------------------------------------------------------------------------


@contextmanager
def _folder(plan: Plan) -> Iterator[Path]:
    """The run or sweep folder, locked for this process."""
    out = plan.cells[0].cfg.out
    if out is not None:
        folder = Path(out)
        _check_is_ours(folder, plan)
    else:
        folder = _unfinished(plan) or _new(plan)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise InputError(f"out: cannot write to {folder}: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InputError(f"out: {folder} is in use by another run; wait for it or choose another folder") from None
    try:
        yield folder
    finally:
        os.close(descriptor)


def _unfinished(plan: Plan) -> Path | None:
    """The newest default folder of the same command that is not done and not in use."""
    for folder in sorted(Path("outputs").glob(f"*-{_suffix(plan)}"), reverse=True)[:1]:
        state = read_json(folder / ("sweep.json" if plan.is_sweep else "run.json"))
        if state is not None and state.get("status") != "completed" and not _locked(folder):
            return folder
    return None


def _new(plan: Plan) -> Path:
    """A folder that this process has made; a second start in the same second gets the next number."""
    for number in count(1):
        start = time.strftime("%Y%m%d-%H%M%S") + ("" if number == 1 else f".{number}")
        folder = Path("outputs") / f"{start}-{_suffix(plan)}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"out: cannot write to {folder}: {error.strerror}") from None
        return folder
    raise AssertionError("counting does not end")


def _suffix(plan: Plan) -> str:
    return f"{re.sub(r'[^0-9A-Za-z가-힣_]+', '-', plan.experiment)}-{plan.fingerprint[:8]}"


def _locked(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _check_is_ours(folder: Path, plan: Plan) -> None:
    """A folder given by the user is new, or holds an earlier attempt at the very same thing."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError([Problem("out", f"{folder} is a file; expected a folder")])
    run, sweep = read_json(folder / "run.json"), read_json(folder / "sweep.json")
    state = sweep if plan.is_sweep else run
    if (run if plan.is_sweep else sweep) is not None or (state and state.get("fingerprint") != plan.fingerprint):
        raise ConfigError([Problem("out", f"{folder} holds another run or sweep; choose another folder or remove it")])


def _check_cache(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"cache_dir: cannot write to {folder}: {error.strerror}") from None


# --- before and after -----------------------------------------------------------------------------


def _prepare(plan: Plan, folder: Path) -> None:
    """Every cell starts as pending, so that a stale outcome cannot pass for a new one."""
    before = read_json(folder / "sweep.json") or {}
    names = [str(number) for number in range(len(plan.cells))] if plan.is_sweep else ["."]
    for name in names:
        try:
            (folder / name).mkdir(exist_ok=True)
            write_json(folder / name / OUTCOME, {"exit_code": None})
        except OSError as error:
            raise InputError(f"out: cannot write to {folder / name}: {error.strerror}") from None
    if plan.is_sweep:
        cells = [
            {"folder": name, "overrides": cell.swept, "status": "pending", "exit_code": None, "error_message": None}
            for name, cell in zip(names, plan.cells, strict=True)
        ]
        head = {"schema": SCHEMA, "id": folder.name, "experiment": plan.experiment, "status": "running"}
        dates = {"created_at": before.get("created_at") or now(), "updated_at": now()}
        write_json(folder / "sweep.json", {**head, "fingerprint": plan.fingerprint, **dates, "cells": cells})


def _prepare_tracking(cfg: DictConfig) -> None:
    """Once, in the parent: several processes that create one store would race."""
    from runner.components import build

    try:
        build(cfg.tracking).root.prepare()
    except Exception as error:
        terminal.note(f"warning: {tracking_failure(error, Path('RUN_DIR'))}")


def hydra_main(arguments: Sequence[str]) -> int:
    """What Hydra makes of a command line. Its exit code for wrong usage is 1, as everywhere here."""
    import hydra
    from hydra.errors import HydraException

    before = sys.argv
    sys.argv = ["runner", *arguments]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # raise what went wrong instead of printing it with a traceback
    try:
        hydra.main(version_base="1.3", config_path="pkg://conf", config_name="config")(task)()
    except SystemExit as ended:
        return 1 if ended.code else 0
    except (HydraException, ValueError) as error:
        raise InputError(" ".join(str(error).split())) from None
    finally:
        sys.argv = before
    return 0


def _gather(plan: Plan, folder: Path, code: int) -> int:
    """The gravest exit code over all cells; a cell that left no outcome has failed."""
    if not plan.is_sweep:
        return max(code, _exit_code(folder))
    state = read_json(folder / "sweep.json") or {}
    codes = [code]
    for cell in state["cells"]:
        run = read_json(folder / cell["folder"] / "run.json") or {}
        left = (read_json(folder / cell["folder"] / OUTCOME) or {}).get("exit_code")
        cell["exit_code"] = _exit_code(folder / cell["folder"])
        cell["status"] = run.get("status", "failed") if left is not None else "pending"
        cell["error_message"] = run.get("error_message") if left is not None else "did not run to its end"
        codes.append(cell["exit_code"])
    gravest = min(codes, key=GRAVITY.index)
    state["status"] = "completed" if gravest in (0, 4, 5) else "partial"
    write_json(folder / "sweep.json", {**state, "updated_at": now()})
    _close_sweep(plan, folder, state["cells"])
    return gravest


def _exit_code(folder: Path) -> int:
    code = (read_json(folder / OUTCOME) or {}).get("exit_code")
    return code if isinstance(code, int) and code in GRAVITY else 3


def _close_sweep(plan: Plan, folder: Path, cells: Sequence[Mapping[str, Any]]) -> None:
    from runner import report
    from runner.components import build

    report.write_sweep(folder)
    terminal.show(*report.sweep_panels(folder))
    for cell in cells:
        if cell["exit_code"]:
            overrides = " ".join(cell["overrides"])
            terminal.fail(f"run {cell['folder']} ({overrides}): {cell['error_message'] or cell['status']}")
    try:
        build(plan.cells[0].cfg.tracking).root.upload_sweep(folder)
    except Exception as error:
        terminal.note(f"warning: {tracking_failure(error, folder)}")
    terminal.note(f"sweep in {folder}")
