"""Run a record again and compare the results: identical, within noise, or different, and where."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands import TRUST, Command, Place
from runner.config import arguments
from runner.errors import InputError
from runner.system import terminal
from runner.words.wording import wording

if TYPE_CHECKING:
    from runner.commands.freeze.record import Record, RecordRun
    from runner.config.compose import Plan

COMMAND = Command("reproduce", (Place("record", Path),), (TRUST,), words="OPTION=VALUE")
HAS_RESULTS = (0, 4, 5)  # exit codes of runs that can be compared


def main(argv: Sequence[str]) -> int:
    """Raises InputError for a folder that is no record and for a run that it lacks, ConfigError for wrong overrides."""
    options = COMMAND.read(argv)
    from runner.commands.freeze.record import open_record
    from runner.run.sweep import launch_in_folder
    from runner.system.folder import legible

    with legible(options.record):
        record = open_record(options.record)
    plan = _plan(record, [*options.words, *[TRUST.flag] * options.trust])
    recorded_runs = _recorded_runs(record, plan)
    if plan.cells[0].cfg.dry_run:
        from runner.run.dry_run import dry_run

        return dry_run(plan)
    is_verbose = bool(plan.cells[0].cfg.verbose)
    with nullcontext() if is_verbose else terminal.hold_back_results():
        folder, code = launch_in_folder(plan)
    if code not in HAS_RESULTS:
        say = wording(str(plan.cells[0].cfg.report.language), "outcomes")
        terminal.note(say("reproduce.unfinished", record=record.folder))
        return code
    return _compare(record, plan, recorded_runs, folder)


def _plan(record: Record, words: Sequence[str]) -> Plan:
    from runner.config.compose import plan_of

    line = arguments.read(["-cd", str(record.folder), "-cn", "frozen", *words])
    if line.asks_hydra:
        raise InputError(
            f"reproduce runs a record; to print it: python -m runner -cd {record.folder} -cn frozen --cfg job"
        )
    if not any(arguments.parse(override).key_or_group == "cold_start" for override in line.overrides):
        line.overrides.append("cold_start=true")
    return plan_of(line)


def _recorded_runs(record: Record, plan: Plan) -> list[RecordRun]:
    """The recorded run of each cell."""
    recorded_runs = []
    for cell in plan.cells:
        recorded = record.run_of(cell.overrides)
        if recorded is None:
            runs = ", ".join(" ".join(run.swept) for run in record.runs)
            typed = " ".join(
                word for word in cell.overrides if word.lstrip("+").partition("=")[0] in record.frozen.sweep
            )
            raise InputError(f"{record.folder} has no run to compare with {typed}; it has {runs}")
        recorded_runs.append(recorded)
    return recorded_runs


def _compare(record: Record, plan: Plan, recorded_runs: Sequence[RecordRun], folder: Path) -> int:
    from runner.commands.freeze.environment import changes
    from runner.commands.freeze.reproduction import Reproduction, reproduction
    from runner.commands.freeze.reproduction_report import show, write
    from runner.compare.sides import Place, open_place

    folders = [folder / str(number) for number in range(len(recorded_runs))] if plan.is_sweep else [folder]
    runs = [
        reproduction(recorded, open_place(Place(path, str(path))), path, seed=int(cell.cfg.seed))
        for recorded, path, cell in zip(recorded_runs, folders, plan.cells, strict=True)
    ]
    comparison = Reproduction(str(record.folder), folder, runs, changes(record.environment))
    language = str(plan.cells[0].cfg.report.language)
    write(comparison, language)
    show(comparison, language, verbose=bool(plan.cells[0].cfg.verbose))
    return comparison.exit_code
