"""From validated cells to finished folders: launch them, in one pass or in waves, and gather what came of them.

Hydra launches the jobs, in this process or, with another launcher, in others. A job leaves its outcome
in its folder; the parent reads them all, because a launcher may lose a failure of a worker.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from runner import terminal, waves
from runner.arguments import single_quoted
from runner.comparing import look_up
from runner.comparison.chosen import chosen_baseline
from runner.components import build
from runner.compose import Plan, initialized
from runner.cost import agree_on_cost
from runner.engine import INTERRUPTED
from runner.errors import InputError, RunnerError
from runner.folders import check_cache, run_folder
from runner.frozen import UNFOLDED, unfold
from runner.job import OUTCOME, Job, Outcome
from runner.llm import ledger
from runner.metadata import SCHEMA, now, read_json, write_json
from runner.preflight import preflight
from runner.report.wording import LANGUAGES, Wording
from runner.run import execute, tracking_failure
from runner.waves import Wave
from runner.writing import from_here, in_words

UNMET = "evaluation.require: "  # the same command would find the same again
SPENT = re.compile(r"\bbudget\.(usd|tokens|requests)=\S+ is spent")  # that of minutes begins anew with a command
GRAVITY = (INTERRUPTED.exit_code, 3, 2, 1, 5, 4, 0)


def launch(plan: Plan) -> int:
    """Run all cells. Returns the gravest exit code."""
    return launched(plan)[1]


def launched(plan: Plan) -> tuple[Path, int]:
    """The folder of the run or sweep, and the gravest exit code."""
    preflight(plan.runs)
    check_cache(Path(plan.cells[0].cfg.cache_dir))
    baseline = look_up(plan.cells)
    agree_on_cost(plan.runs)
    with run_folder(plan) as folder:
        _begin_ledger(plan, folder)
        _prepare(plan, folder)
        baseline.leave(folder)
        _prepare_tracking(plan.cells[0].cfg)
        return folder, _gather(plan, folder, _serve(plan, folder))


def task(cfg: DictConfig) -> None:
    """What Hydra runs for each job, here or in a worker process."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    hydra = HydraConfig.get()
    folder = from_here(Path(hydra.runtime.output_dir))
    many = hydra.mode == RunMode.MULTIRUN
    sweep = read_json(folder.parent / "sweep.json") if many else None
    choices = {str(key): str(value) for key, value in hydra.runtime.choices.items() if "hydra" not in str(key)}
    label = _label(folder.name, sweep, LANGUAGES[cfg.report.language]) if sweep else ""
    wave, before = waves.current(folder.parent) if sweep else Wave(), Outcome.read(folder)
    if before is not None and before.status == "failed":  # in an earlier wave
        return
    overrides = list(hydra.overrides.task)
    job = Job(
        cfg,
        folder,
        overrides,
        choices,
        sweep["id"] if sweep else None,
        label,
        wave,
        before,
        _config_folders(hydra.searchpath),
    )
    outcome = Outcome("partial", INTERRUPTED.exit_code, INTERRUPTED.message)
    try:
        outcome = execute(job)
    finally:
        _leave(replace(outcome, wave=wave.number), folder)
    if outcome.exit_code == INTERRUPTED.exit_code and not wave.is_closing:
        raise KeyboardInterrupt


def _leave(outcome: Outcome, folder: Path) -> None:
    """A run without an outcome did not run to its end, for all that its parent knows."""
    try:
        outcome.write(folder)
    except OSError as error:
        terminal.fail(in_words(error, folder))


def _label(name: str, sweep: Mapping[str, Any], say: Wording) -> str:
    """What a run is called in the terminal."""
    is_cell = name.isdecimal()
    called = f"{int(name) + 1}/{len(sweep['cells'])}" if is_cell else say("progress.reference", name=name)
    return f"[{called}] "


# --- the passes -----------------------------------------------------------------------------------


def _serve(plan: Plan, folder: Path) -> int:
    """Wave after wave. When a run stops early no further wave starts, and what is there is summed up.
    Returns 130 when interrupted."""
    code = 0
    for wave in waves.waves_of(plan.runs, folder):
        code = _pass(plan, folder, wave)
        if wave.sums_up:
            break
        reason = INTERRUPTED.message if code else _why_it_ends(plan, folder, wave)
        if reason is not None:
            return max(code, _pass(plan, folder, Wave(wave.number, reason)))
    return code


def _pass(plan: Plan, folder: Path, wave: Wave) -> int:
    if plan.is_sweep:
        waves.begin(wave, folder)
    try:
        for overrides in _commands(plan):
            _launch(plan, folder, overrides)
    except KeyboardInterrupt:
        terminal.note(_say(plan)("progress.interrupted", folder=folder))
        return INTERRUPTED.exit_code
    return 0


def _commands(plan: Plan) -> Iterator[list[str]]:
    """What Hydra is to be told: all cells at once, then each reference, which is in no grid with them."""
    yield list(plan.overrides)
    for name, cell in plan.references.items():
        yield [*cell.overrides, f"hydra.sweep.subdir={name}"]


def _launch(plan: Plan, folder: Path, overrides: Sequence[str]) -> None:
    """In Hydra's own main function the configuration would be composed once more, to learn the mode."""
    from hydra.core.global_hydra import GlobalHydra

    from runner.composed import Composed

    mode = "MULTIRUN" if plan.is_sweep else "RUN"
    words = [f"out={single_quoted(str(folder))}", *overrides, f"hydra.mode={mode}"]
    try:
        with initialized(None if plan.frozen is None else folder / UNFOLDED):
            hydra: Any = GlobalHydra.instance().hydra
            if plan.frozen is None:  # else the places of its files have changed
                hydra.config_loader = Composed(hydra.config_loader, plan.runs)
            start = hydra.multirun if plan.is_sweep else hydra.run
            start(config_name="config", task_function=task, overrides=words)
    except OSError as error:
        terminal.fail(in_words(error, folder))
    except Exception as error:  # a launcher that lost its workers; what they left tells which
        terminal.fail(f"the launcher failed: {type(error).__name__}: {error}")


def _why_it_ends(plan: Plan, folder: Path, wave: Wave) -> str | None:
    """The first reason for which a run did not get to the end of its part in this wave. A run that failed by
    itself, as with data that cannot be read, is out, and the others go on."""
    for name in _names(plan):
        outcome = Outcome.read(folder / name)
        if outcome is None or (outcome.wave != wave.number and outcome.status != "failed"):
            return f"run {name} did not run to its end"
        if outcome.status == "partial":
            return f"run {name}: {outcome.error_message}"
    return None


# --- before and after -----------------------------------------------------------------------------


def _config_folders(places: Sequence[str]) -> list[str]:
    """Folders of YAML that somebody wrote, as seen from where the command was given."""
    return [str(from_here(Path(place.removeprefix("file://")))) for place in places if place.startswith("file://")]


def _names(plan: Plan) -> list[str]:
    """Of the folders, in the order of plan.runs."""
    return [*map(str, range(len(plan.cells))), *plan.references] if plan.is_sweep else ["."]


def _prepare(plan: Plan, folder: Path) -> None:
    """Every cell starts without an outcome, so that a stale one cannot pass for a new one."""
    before = read_json(folder / "sweep.json") or {}
    for name in _names(plan):
        try:
            (folder / name).mkdir(exist_ok=True)
            write_json(folder / name / OUTCOME, {})
        except OSError as error:
            raise InputError(f"out: cannot write to {folder / name}: {error.strerror}") from None
    if plan.frozen is not None:
        unfold(plan.frozen, folder / UNFOLDED)
    if plan.is_sweep:
        pending = {"status": "pending", "exit_code": None, "error_message": None}
        runs = [
            {"folder": name, "overrides": cell.swept, **pending}
            for name, cell in zip(_names(plan), plan.runs, strict=True)
        ]
        parts = {"cells": runs[: len(plan.cells)]}
        parts |= {"references": runs[len(plan.cells) :]} if plan.references else {}
        head = {"schema": SCHEMA, "id": folder.name, "experiment": plan.experiment, "status": "running"}
        dates = {"created_at": before.get("created_at") or now(), "updated_at": now()}
        write_json(folder / "sweep.json", {**head, "fingerprint": plan.fingerprint, **dates, **parts})


def _begin_ledger(plan: Plan, folder: Path) -> None:
    if (aside := ledger.begin(folder, plan.cells[0].cfg.budget)) is not None:
        terminal.note(f"note: {folder / ledger.FILE} was damaged, and is now {aside}; what it counted is not shown")


def _prepare_tracking(cfg: DictConfig) -> None:
    """Once, in the parent: several processes that create one store would race."""
    try:
        build(cfg.tracking).root.prepare()
    except Exception as error:
        terminal.note(f"warning: {tracking_failure(error, Path('RUN_DIR'))}")


def _gather(plan: Plan, folder: Path, code: int) -> int:
    """The gravest exit code over all cells; a cell that left no outcome has failed."""
    outcomes = [_final(folder / name) for name in _names(plan)]
    gravest = min([code, *(3 if outcome is None else outcome.exit_code for outcome in outcomes)], key=GRAVITY.index)
    if plan.is_sweep:
        state = read_json(folder / "sweep.json") or {}
        runs = [*state["cells"], *state.get("references", ())]
        for cell, outcome in zip(runs, outcomes, strict=True):
            found = outcome or Outcome("pending", 3, "did not run to its end")
            cell |= {"status": found.status, "exit_code": found.exit_code, "error_message": found.error_message}
        state["status"] = "completed" if gravest in (0, 4, 5) else "partial"
        write_json(folder / "sweep.json", {**state, "updated_at": now()})
        told = {cell["folder"] for cell, outcome in zip(runs, outcomes, strict=True) if outcome and outcome.told}
        _close_sweep(plan, folder, runs, told)
    if code == 0:
        _say_how_to_go_on(outcomes, folder, _say(plan))
    return gravest


def _say(plan: Plan) -> Wording:
    return LANGUAGES[plan.cells[0].cfg.report.language]


def _say_how_to_go_on(outcomes: Sequence[Outcome | None], folder: Path, say: Wording) -> None:
    """A run that was stopped or has failed goes on; one whose input is wrong would end in the same way."""
    if any(outcome is None or outcome.status == "partial" for outcome in outcomes):
        line = say("progress.stopped", folder=folder)
    elif any(outcome and outcome.exit_code == 3 and UNMET not in str(outcome.error_message) for outcome in outcomes):
        line = say("progress.not_all", folder=folder)
    else:
        return
    reasons = " ".join(outcome.error_message or "" for outcome in outcomes if outcome is not None)
    terminal.note(say("progress.raise_budget", line=line) if SPENT.search(reasons) else line)


def _final(folder: Path) -> Outcome | None:
    """None for a run that was not summed up by this command."""
    outcome = Outcome.read(folder)
    return None if outcome is None or outcome.status == "running" else outcome


def _close_sweep(plan: Plan, folder: Path, cells: Sequence[Mapping[str, Any]], told: Collection[str]) -> None:
    """`told`: folders of runs whose error was told when it came."""
    from runner import report

    report.write_sweep(folder, _compared(plan, folder, cells))
    terminal.show(*report.sweep_panels(folder, errors=False))
    say, names = _say(plan), []
    for cell in cells:
        if cell["exit_code"]:
            names.append(say("progress.run", folder=cell["folder"], overrides=" ".join(cell["overrides"])))
            if cell["folder"] not in told:
                terminal.fail(f"{names[-1]}: {cell['error_message'] or cell['status']}")
    if names:
        terminal.fail(say("progress.errors", count=len(names), total=len(cells), runs=", ".join(names)))
    try:
        build(plan.cells[0].cfg.tracking).root.upload_sweep(folder)
    except Exception as error:
        terminal.note(f"warning: {tracking_failure(error, folder)}")
    terminal.note(say("progress.sweep", folder=folder))


def _compared(plan: Plan, folder: Path, cells: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """What comparing says must not cost the results of the runs."""
    from runner.comparison.sweep import compare_sweep

    cfg, statuses = plan.cells[0].cfg, {str(cell["folder"]): str(cell["status"]) for cell in cells}
    baseline = str(chosen_baseline(plan.cells))
    try:
        margin = build(cfg.regression).root.margin
        return compare_sweep(folder, statuses, baseline=baseline, seed=cfg.seed, margin=margin)
    except RunnerError as error:
        terminal.note(_say(plan)("progress.not_compared", error=error))
        return None
