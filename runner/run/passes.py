"""The passes over the runs of a command: one, or wave after wave. Hydra launches the jobs of a pass.

The jobs run in this process or, with another launcher, in others. A job writes its outcome to its folder, because a
launcher may lose the error of a worker.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from runner.config.arguments import as_typed, parse, single_quote
from runner.config.compose import Cell, Plan, initialise
from runner.config.frozen import UNFOLDED
from runner.config.hydra_internals import as_written, start, yaml_of
from runner.errors import InputError
from runner.run import launchers, shards, waves
from runner.run.cluster_jobs import ended_before_limit
from runner.run.engine import INTERRUPTED
from runner.run.job import Job, Outcome
from runner.run.progress import shown_elsewhere
from runner.run.run import ROWS, execute
from runner.run.serving import PROGRESS
from runner.run.state import read_state, write_state
from runner.run.waves import Wave
from runner.system import redaction, terminal
from runner.system.collector import collect
from runner.system.metadata import read_json
from runner.system.shared import share_in_worker
from runner.system.writing import os_error_text, relative_path, replacing
from runner.words.wording import LANGUAGES, Wording

COMPOSED = ".hydra"
TOGETHER = 8  # runs of a sweep that are handed over at once: Hydra keeps 1.5 MB of each until the last has ended
MOST_FAILURES = 2  # of a launcher one after the other: then it is no single run that it fails with
HELD_OUT = "held_out-"  # prefix of a run's number: the folder of the same configuration over the held-out questions
SUBFOLDER = "hydra.sweep.subdir="  # before the name of a run's folder
LAUNCHED = "multirun.yaml"  # where the launcher writes its own arguments


def serve(plan: Plan, folder: Path) -> int:
    """Run one wave after the other. When a run stops early, no further wave starts and the runs are summed up. Returns
    130 when interrupted."""
    code = 0
    for wave in waves.waves_of(plan.runs, folder):
        if not _adds(plan, folder, wave):
            continue
        code = _pass(plan, folder, wave)
        if wave.sums_up:
            break
        reason = INTERRUPTED.message if code else _why_it_ends(plan, folder, wave)
        if reason is not None:
            return max(code, _pass(plan, folder, Wave(wave.number, reason)))
    return code


def _adds(plan: Plan, folder: Path, wave: Wave) -> bool:
    """Whether a wave adds a case to any run; with four cases, half of the waves add none. True for the first pass,
    since the number of cases is not known yet."""
    outcomes = [Outcome.read(folder / name) for name in plan.folders]
    sizes = [outcome.cases for outcome in outcomes if outcome is not None and outcome.status == "running"]
    return not sizes or any(map(wave.adds_to, sizes))


def serve_jobs(plan: Plan, folder: Path, names: Collection[str]) -> int:
    """Run some of the runs, in parallel as far as the launcher allows. Returns 130 when interrupted."""
    cells = dict(zip(plan.folders, plan.runs, strict=True))
    return _pass(plan, folder, Wave(), {name: cells[name] for name in names})


def _pass(plan: Plan, folder: Path, wave: Wave, jobs: Mapping[str, Cell] | None = None) -> int:
    """Make one pass over runs; with shards: prepare, make a pass over the shards of each run, and sum up."""
    runs = dict(zip(plan.folders, plan.runs, strict=True)) if jobs is None else jobs
    for name in runs:
        shards.join(folder / name)  # shards of a command that was killed
    if shards.count_of(plan.cells[0].cfg) == 1 or wave.is_closing:
        return _round(plan, folder, wave, jobs)
    is_fresh = not all((folder / name / ROWS).exists() for name in runs)
    with _spare_processes(plan, is_fresh=is_fresh) as spare:
        return _shard_pass(plan, folder, wave, jobs, runs, spare)


def _spare_processes(plan: Plan, *, is_fresh: bool) -> AbstractContextManager[list[shards.Spare]]:
    """Processes for shards: none where a launcher makes them elsewhere, or where a run may have nothing left to do."""
    if is_fresh and launchers.is_here(plan.cells[0].hydra):
        return shards.spare_processes(plan.cells[0].cfg)
    return nullcontext([])


def _shard_pass(
    plan: Plan,
    folder: Path,
    wave: Wave,
    jobs: Mapping[str, Cell] | None,
    runs: Mapping[str, Cell],
    spare: list[shards.Spare],
) -> int:
    if code := _round(plan, folder, Wave(0), jobs):
        return code
    code, shard_jobs = 0, [_job_of(plan, folder, name, cell, wave) for name, cell in runs.items()]
    shard_jobs = [job for job in shard_jobs if job.before is not None and job.before.status == "running"]
    try:
        if launchers.is_here(plan.cells[0].hydra):
            shards.make_here(shard_jobs, spare)
        else:
            _launch_shards(plan, folder, shard_jobs)
    except KeyboardInterrupt:
        terminal.note(LANGUAGES[plan.language]("progress.interrupted", folder=folder))
        code = INTERRUPTED.exit_code
    stopped = [reason for job in shard_jobs if (reason := shards.settle(job)) is not None]
    last = replace(wave, reason=stopped[0]) if stopped else wave
    return max(code, _round(plan, folder, last, jobs))


def _job_of(plan: Plan, folder: Path, name: str, cell: Cell, wave: Wave) -> Job:
    """The job of a prepared run, for its shards."""
    cfg, place = cell.cfg.copy(), folder / name
    cfg.out = str(folder)
    sweep = read_json(folder / "sweep.json") if plan.is_sweep else None
    label = _label(name, sweep, LANGUAGES[plan.language]) if sweep else ""
    choices, id = {"experiment": cell.experiment}, sweep["id"] if sweep else None
    return Job(cfg, place, cell.overrides, choices, id, label, wave, Outcome.read(place))


def _launch_shards(plan: Plan, folder: Path, jobs: Sequence[Job]) -> None:
    """Launch all shards; a shard that was lost with its worker is launched once more."""
    cell = plan.cells[0]
    for job in jobs:
        _begin(plan, folder, job.wave)
        names = {f"{shards.SHARDS}/{number}": number for number in range(shards.count_of(cell.cfg))}
        for number in names.values():
            shards.drop_outcome(shards.place_in(job.folder, number))
        _launch(plan, folder, plan.overrides, dict.fromkeys(names, cell))
        lost_shards = [name for name in names if Outcome.read(folder / name) is None]
        for name in lost_shards:
            terminal.note(job.say("progress.lost_shard", number=names[name] + 1, run=job.folder))
        if lost_shards:
            _launch(plan, folder, plan.overrides, dict.fromkeys(lost_shards, cell))


def _begin(plan: Plan, folder: Path, wave: Wave) -> None:
    """Write the state that passes in other processes need."""
    if plan.is_sweep or shards.count_of(plan.cells[0].cfg) > 1:
        waves.begin(wave, folder)
        if not launchers.is_here(plan.cells[0].hydra):
            write_state(folder, "place", {"path": str(Path.cwd())})
    elif read_state(folder, "wave") is not None:  # of an earlier command, whose run had shards
        write_state(folder, "wave", None)


def _round(plan: Plan, folder: Path, wave: Wave, jobs: Mapping[str, Cell] | None) -> int:
    _begin(plan, folder, wave)
    try:
        if jobs is not None:
            went_well = [_launch(plan, folder, plan.overrides, jobs)]
        elif len(plan.runs) > TOGETHER and launchers.is_here(plan.cells[0].hydra):
            runs = list(zip(plan.folders, plan.runs, strict=True))
            parts = [dict(runs[start : start + TOGETHER]) for start in range(0, len(runs), TOGETHER)]
            went_well = [_launch_part(plan, folder, part) for part in parts]
        else:
            went_well = [_launch(plan, folder, overrides) for overrides in _commands(plan)]
        if not all(went_well):
            _launch_lost(plan, folder, wave)
    except KeyboardInterrupt:
        terminal.note(LANGUAGES[plan.language]("progress.interrupted", folder=folder))
        return INTERRUPTED.exit_code
    return 0


def _launch_part(plan: Plan, folder: Path, part: Mapping[str, Cell]) -> bool:
    """Launch some of many runs. Hydra's results are released afterwards, and what the other runs share is not traversed
    again."""
    went_well = _launch(plan, folder, plan.overrides, part)
    collect(settles=True)
    return went_well


def _launch_lost(plan: Plan, folder: Path, wave: Wave) -> None:
    """Resume runs whose worker was lost, once and one by one, so that a run that kills its worker does not affect the
    others."""
    say, failures = LANGUAGES[plan.language], 0
    for name, cell in zip(plan.folders, plan.runs, strict=True) if plan.is_sweep else ():
        if failures < MOST_FAILURES and not _is_over(folder / name, wave):
            terminal.note(say("progress.lost", run=name))
            is_well = _launch(plan, folder, [*cell.overrides, f"{SUBFOLDER}{name}"])
            failures = 0 if is_well else failures + 1


def _is_over(folder: Path, wave: Wave) -> bool:
    """Whether a run finished its part of this wave, or stopped early for its own reason."""
    outcome = Outcome.read(folder)
    return outcome is not None and (outcome.wave == wave.number or outcome.status == "failed")


def _commands(plan: Plan) -> Iterator[list[str]]:
    """The override lines for Hydra: one for all cells, then one for each reference run, which is not part of the
    grid."""
    yield list(plan.overrides)
    for name, cell in plan.references.items():
        yield [*cell.overrides, f"{SUBFOLDER}{name}"]


def _launch(plan: Plan, folder: Path, overrides: Sequence[str], jobs: Mapping[str, Cell] | None = None) -> bool:
    """Launch the jobs. Returns False where the launcher failed, which may have lost workers. `jobs`: single runs by the
    names of their folders, instead of the grid."""
    words = [f"out={single_quote(str(folder))}", *overrides]
    if not launchers.is_here(plan.cells[0].hydra):  # a worker may start in another folder
        words = [f"out={single_quote(str(folder.resolve()))}", *_drop_out(overrides)]
    cells = plan.runs if jobs is None else [*jobs.values()]
    try:
        frozen = None if plan.frozen is None else folder / UNFOLDED
        with initialise(frozen), _watch(plan, folder, words, jobs):
            if not launchers.is_here(plan.cells[0].hydra):
                launchers.prepare(cell.hydra for cell in plan.runs)
            known_jobs = [_job(words[0], name, cell) for name, cell in (jobs or {}).items()]
            start(task, words, is_sweep=plan.is_sweep or bool(known_jobs), composed=cells, jobs=known_jobs)
    except OSError as error:
        terminal.fail(os_error_text(error, folder))
    except InputError:  # by another start it would end in the same way
        raise
    except Exception as error:  # the launcher lost workers; the outcomes in the folders tell which
        say = LANGUAGES[plan.language]
        terminal.fail(say("progress.launcher", error=f"{type(error).__name__}: {error}"))
        return launchers.is_here(plan.cells[0].hydra)
    finally:
        redaction.redact_file(folder / LAUNCHED)
    return True


def _watch(
    plan: Plan, folder: Path, words: Sequence[str], jobs: Mapping[str, Cell] | None
) -> AbstractContextManager[None]:
    """One view of the progress of the runs or shards that a launcher makes elsewhere."""
    if launchers.is_here(plan.cells[0].hydra) or not (plan.is_sweep or jobs):
        return nullcontext()
    from runner.run.watching import WatchedRows, show_progress_of

    named = [word.removeprefix(SUBFOLDER) for word in words if word.startswith(SUBFOLDER)]
    names = jobs or named or [str(number) for number in range(len(plan.cells))]
    watched = [WatchedRows(folder / name / ROWS, folder / name / PROGRESS) for name in names]
    say = LANGUAGES[plan.language]
    return show_progress_of(watched, say("progress.elsewhere", n=len(watched)), say)


def _drop_out(overrides: Sequence[str]) -> list[str]:
    return [word for word in overrides if not word.lstrip("+").startswith("out=")]


def _job(out: str, name: str, cell: Cell) -> list[str]:
    """The overrides of one run; those for Hydra are given once for all runs."""
    own = [word for word in _drop_out(cell.overrides) if not parse(word).is_hydra_override()]
    return [out, *own, f"{SUBFOLDER}{name}"]


def _why_it_ends(plan: Plan, folder: Path, wave: Wave) -> str | None:
    """The first reason why a run did not finish its part of this wave. A run that failed by itself, for example with
    unreadable data, is left out and the others continue."""
    for name in plan.folders:
        outcome = Outcome.read(folder / name)
        if outcome is None or (outcome.wave != wave.number and outcome.status != "failed"):
            return f"run {name} did not finish"
        if outcome.status == "partial":
            return f"run {name}: {outcome.error_message}"
    return None


# --- a job ----------------------------------------------------------------------------------------


def task(cfg: DictConfig) -> None:
    """The function that Hydra calls for each job, in this or a worker process."""
    redaction.learn_environment()
    redaction.learn(as_written(cfg))
    with redaction.guarded_streams():
        from hydra.core.hydra_config import HydraConfig

        hydra = HydraConfig.get()
        folder = Path(hydra.runtime.output_dir)
        shard = int(folder.name) if folder.parent.name == shards.SHARDS else None
        folder = folder if shard is None else folder.parents[1]
        place = read_state(folder.parent if shard is None else folder, "place")
        launchers.go_to(place)
        with nullcontext() if place is None else shown_elsewhere(), ended_before_limit():
            _task(cfg, hydra, folder, shard)


def _task(cfg: DictConfig, hydra: Any, folder: Path, shard: int | None) -> None:
    from hydra.types import RunMode

    folder, cfg.out = relative_path(folder), str(relative_path(Path(cfg.out)))
    many = hydra.mode == RunMode.MULTIRUN and shard is None
    sweep = read_json(folder.parent / "sweep.json") if many else None
    choices = {str(key): str(value) for key, value in hydra.runtime.choices.items() if "hydra" not in str(key)}
    label = _label(folder.name, sweep, LANGUAGES[cfg.report.language]) if sweep else ""
    wave, before = waves.current(folder.parent if sweep else folder), Outcome.read(folder)
    if before is not None and before.status == "failed":  # in an earlier wave
        return
    overrides = [as_typed(word) for word in hydra.overrides.task]
    redaction.learn(overrides)
    if shard is None:
        _leave_configuration(cfg, hydra, folder)
        redaction.redact_file(folder.parent / LAUNCHED)
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
    if shard is not None:
        if shards.serve_shard(job, shard).exit_code == INTERRUPTED.exit_code:
            raise KeyboardInterrupt
        return
    outcome = Outcome("partial", INTERRUPTED.exit_code, INTERRUPTED.message)
    if sweep is not None:
        share_in_worker(f"{folder.parent} {sweep['updated_at']}")
    try:
        is_ahead = wave.number == 0 and not launchers.is_here(hydra)
        outcome = shards.prepare(job) if is_ahead else execute(job)
    finally:
        _leave(replace(outcome, wave=wave.number), folder)
    if outcome.exit_code == INTERRUPTED.exit_code and not wave.is_closing:
        raise KeyboardInterrupt


def _leave_configuration(cfg: DictConfig, hydra: Any, folder: Path) -> None:
    """Write the configuration files that Hydra would write, with interpolations unresolved."""
    place = folder / COMPOSED
    place.mkdir(parents=True, exist_ok=True)
    nodes = {"config": cfg, "hydra": hydra, "overrides": hydra.overrides.task}
    for name, node in nodes.items():
        values = redaction.redacted_value(as_written(node))
        with replacing(place / f"{name}.yaml") as scratch:
            scratch.write_text(yaml_of({"hydra": values} if name == "hydra" else values), encoding="utf-8")


def _leave(outcome: Outcome, folder: Path) -> None:
    """Write the outcome; the parent counts a run without one as unfinished."""
    try:
        outcome.write(folder)
    except OSError as error:
        terminal.fail(os_error_text(error, folder))


def _label(name: str, sweep: Mapping[str, Any], say: Wording) -> str:
    """The name of a run in the terminal."""
    if name.isdecimal():
        label = f"{int(name) + 1}/{len(sweep['cells'])}"
    elif name.startswith(HELD_OUT):
        label = say("progress.on_held_out", number=int(name.removeprefix(HELD_OUT)) + 1)
    else:
        label = say("progress.reference", name=name)
    return f"[{label}] "


def _config_folders(places: Sequence[str]) -> list[str]:
    """The users' configuration folders, relative to the folder in which the command was given."""
    return [str(relative_path(Path(place.removeprefix("file://")))) for place in places if place.startswith("file://")]
