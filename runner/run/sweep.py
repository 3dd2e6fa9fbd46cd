"""From validated cells to finished folders: prepares them, runs them, and gathers the outcomes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from runner.compare.chosen import chosen_baseline
from runner.config.components import build
from runner.config.compose import Plan
from runner.config.frozen import UNFOLDED, unfold
from runner.errors import REFUSED, SPENT, InputError, RunnerError
from runner.llm import ledger
from runner.run import launchers, shards
from runner.run.ahead import ready_requests
from runner.run.comparing import look_up, write_junit_of_cells
from runner.run.cost import agree_on_cost
from runner.run.engine import INTERRUPTED
from runner.run.folders import check_cache, run_folder
from runner.run.job import OUTCOME, Outcome
from runner.run.passes import serve
from runner.run.preflight import preflight
from runner.run.run import tracking_failure
from runner.system import terminal
from runner.system.collector import collect_seldom
from runner.system.metadata import SCHEMA, now, read_json, write_json
from runner.system.shared import sharing
from runner.words.bilingual import add_translation
from runner.words.wording import LANGUAGES, Wording

UNMET = "evaluation.require: "  # the same command would end in the same way
GRAVITY = (INTERRUPTED.exit_code, 3, 2, 1, 5, 4, 0)


def launch(plan: Plan) -> int:
    """Run all cells. Returns the most severe exit code."""
    return launch_in_folder(plan)[1]


def launch_in_folder(plan: Plan) -> tuple[Path, int]:
    """The folder of the run or sweep, and the most severe exit code."""
    with sharing(several=len(plan.runs) > 1), collect_seldom():
        return _launch(plan)


def _launch(plan: Plan) -> tuple[Path, int]:
    is_here = launchers.is_here(plan.cells[0].hydra)
    launchers.check(plan.cells[0].hydra)
    launchers.check_disks(plan.cells[0].cfg, plan.cells[0].hydra)
    shards.check(plan.cells[0].cfg, is_one=not plan.is_sweep, is_here=is_here)
    checked = plan.runs if plan.space is None else [*plan.runs, *plan.space.checked]
    if plan.space is not None:
        from runner.run.search import objectives_of

        objectives_of(plan.cells[0], plan.space)
    if hosts := preflight(checked):
        terminal.note(LANGUAGES[plan.language]("progress.receivers", hosts=", ".join(hosts)))
        if is_here and shards.count_of(plan.cells[0].cfg) == 1:  # other processes have their own
            ready_requests()
    check_cache(Path(plan.cells[0].cfg.cache_dir))
    baseline = look_up(plan.cells)
    agree_on_cost(plan.runs, 1 if plan.space is None else int(plan.cells[0].cfg.search.trials))
    with run_folder(plan) as folder:
        ledger.begin_again(folder, plan.cells[0].cfg.budget)
        _prepare(plan, folder, plan.folders)
        baseline.leave(folder)
        if any(cell.cfg.case is None for cell in plan.runs):  # a run with case=ID is not tracked
            _prepare_tracking(plan.cells[0].cfg)
        if plan.space is None:
            code = serve(plan, folder)
        else:
            from runner.run.search import search

            plan, code = search(plan, plan.space, folder, _prepare)
        return folder, _gather(plan, folder, code)


def _prepare(plan: Plan, folder: Path, names: Collection[str]) -> None:
    """Make the folders `names` and delete their old outcomes, which would otherwise be read as new ones."""
    before = read_json(folder / "sweep.json") or {}
    for name in names:
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
            for name, cell in zip(plan.folders, plan.runs, strict=True)
        ]
        parts = {"cells": runs[: len(plan.cells)]}
        parts |= {"references": runs[len(plan.cells) :]} if plan.references else {}
        head = {"schema": SCHEMA, "id": folder.name, "experiment": plan.experiment, "status": "running"}
        dates = {"created_at": before.get("created_at") or now(), "updated_at": now()}
        write_json(folder / "sweep.json", {**head, "fingerprint": plan.fingerprint, **dates, **parts})


def _prepare_tracking(cfg: DictConfig) -> None:
    """Create the tracking store once, in the parent: several processes would race."""
    try:
        build(cfg.tracking).root.prepare()
    except Exception as error:
        say = LANGUAGES[cfg.report.language]
        terminal.note(say("progress.warning", text=tracking_failure(error, Path("RUN_DIR"), say)))


def _gather(plan: Plan, folder: Path, code: int) -> int:
    """The most severe exit code over all cells; a cell that left no outcome has failed."""
    outcomes = [_final(folder / name) for name in plan.folders]
    most_severe = min([code, *(3 if outcome is None else outcome.exit_code for outcome in outcomes)], key=GRAVITY.index)
    if plan.is_sweep:
        state = read_json(folder / "sweep.json") or {}
        runs = [*state["cells"], *state.get("references", ())]
        for cell, outcome in zip(runs, outcomes, strict=True):
            known_outcome = outcome or Outcome("pending", 3, "did not finish")
            cell |= {
                "status": known_outcome.status,
                "exit_code": known_outcome.exit_code,
                "error_message": known_outcome.error_message,
            }
        state["status"] = "completed" if most_severe in (0, 4, 5) else "partial"
        write_json(folder / "sweep.json", {**state, "updated_at": now()})
        printed_folders = {
            cell["folder"] for cell, outcome in zip(runs, outcomes, strict=True) if outcome and outcome.told
        }
        _close_sweep(plan, folder, runs, printed_folders)
        if (junit := plan.cells[0].cfg.junit) is not None:
            write_junit_of_cells(Path(junit), folder, runs[: len(plan.cells)], plan.language)
    if code == 0:
        _say_how_to_go_on(outcomes, folder, LANGUAGES[plan.language])
    return most_severe


def _say_how_to_go_on(outcomes: Sequence[Outcome | None], folder: Path, say: Wording) -> None:
    """Print how to resume, where a run was stopped or failed; a run with wrong input would fail again."""
    reasons = " ".join(outcome.error_message or "" for outcome in outcomes if outcome is not None)
    if any(outcome is None or outcome.status == "partial" for outcome in outcomes):
        line = say("progress.stopped_corrected" if REFUSED.search(reasons) else "progress.stopped", folder=folder)
    elif any(outcome and outcome.exit_code == 3 and UNMET not in str(outcome.error_message) for outcome in outcomes):
        line = say("progress.not_all", folder=folder)
    elif n_unfinished := sum(outcome.unfinished for outcome in outcomes if outcome is not None):
        line = say("progress.unfinished", count=n_unfinished, folder=folder)
    else:
        return
    terminal.note(say("progress.raise_budget", line=line) if SPENT.search(reasons) else line)


def _final(folder: Path) -> Outcome | None:
    """The final outcome of a run; None for a run that was not summed up by this command."""
    outcome = Outcome.read(folder)
    return None if outcome is None or outcome.status == "running" else outcome


def _close_sweep(plan: Plan, folder: Path, cells: Sequence[Mapping[str, Any]], reported: Collection[str]) -> None:
    """`reported`: folders of runs whose error was printed when it occurred."""
    from runner import report

    sweep, is_verbose = report.write_sweep(folder, _compare(plan, folder, cells)), plan.cells[0].cfg.verbose
    panels = report.sweep_panels(folder, errors=False) if is_verbose else report.brief_sweep(folder, sweep)
    terminal.show(*panels)
    say, names = LANGUAGES[plan.language], []
    for cell in cells:
        if cell["exit_code"]:
            names.append(say("progress.run", folder=cell["folder"], overrides=" ".join(cell["overrides"])))
            if cell["folder"] not in reported:
                message = str(cell["error_message"] or cell["status"])
                terminal.fail(add_translation(message, plan.language, int(cell["exit_code"]), f"{names[-1]}: "))
    if names:
        terminal.fail(say("progress.errors", count=len(names), total=len(cells), runs=", ".join(names)))
    try:
        build(plan.cells[0].cfg.tracking).root.upload_sweep(folder)
    except Exception as error:
        say = LANGUAGES[plan.language]
        terminal.note(say("progress.warning", text=tracking_failure(error, folder, say)))
    terminal.note(say("progress.sweep", folder=folder))


def _compare(plan: Plan, folder: Path, cells: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The comparison of the cells; an error in it must not cost the results of the runs."""
    from runner.compare.sweep import compare_sweep

    cfg = plan.cells[0].cfg
    held_out = plan.references if plan.space is not None else ()
    statuses = {str(cell["folder"]): str(cell["status"]) for cell in cells if cell["folder"] not in held_out}
    baseline = str(chosen_baseline(plan.cells))
    try:
        margin = build(cfg.regression).root.margin
        return compare_sweep(folder, statuses, baseline=baseline, seed=cfg.seed, margin=margin)
    except RunnerError as error:
        terminal.note(LANGUAGES[plan.language]("progress.not_compared", error=error))
        return None
