"""The passes over the runs of a command: one, or wave after wave. Hydra launches the jobs of a pass.

It launches them in this process or, with another launcher, in others. A job leaves its outcome in its folder,
because a launcher may lose a failure of a worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from runner.config.arguments import as_typed, single_quoted
from runner.config.compose import Plan, initialized
from runner.config.frozen import UNFOLDED
from runner.config.hydra_internals import start, yaml_of
from runner.run import launchers, waves
from runner.run.engine import INTERRUPTED
from runner.run.job import Job, Outcome
from runner.run.run import execute
from runner.run.state import read_state, write_state
from runner.run.waves import Wave
from runner.system import redaction, terminal
from runner.system.metadata import read_json
from runner.system.shared import share_in_worker
from runner.system.writing import from_here, in_words, replacing
from runner.words.wording import LANGUAGES, Wording

COMPOSED = ".hydra"
MOST_FAILURES = 2  # of a launcher one after the other: then it is no single run that it fails with
LAUNCHED = "multirun.yaml"  # the launcher's own: what it was told


def serve(plan: Plan, folder: Path) -> int:
    """Wave after wave. When a run stops early no further wave starts, and what is there is summed up.
    Returns 130 when interrupted."""
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
    """Whether a wave takes any run further: of four cases, half of the waves have no new one. True for the first pass,
    before which nobody knows how many cases there are."""
    outcomes = [Outcome.read(folder / name) for name in plan.folders]
    sizes = [outcome.cases for outcome in outcomes if outcome is not None and outcome.status == "running"]
    return not sizes or any(map(wave.adds_to, sizes))


def _pass(plan: Plan, folder: Path, wave: Wave) -> int:
    if plan.is_sweep:
        waves.begin(wave, folder)
        if not launchers.is_here(plan.cells[0].hydra):
            write_state(folder, "place", {"path": str(Path.cwd())})
    try:
        went_well = [_launch(plan, folder, overrides) for overrides in _commands(plan)]
        if not all(went_well):
            _launch_lost(plan, folder, wave)
    except KeyboardInterrupt:
        terminal.note(LANGUAGES[plan.language]("progress.interrupted", folder=folder))
        return INTERRUPTED.exit_code
    return 0


def _launch_lost(plan: Plan, folder: Path, wave: Wave) -> None:
    """Runs whose worker was lost are resumed once, one by one: one that kills its worker takes no other along."""
    say, failures = LANGUAGES[plan.language], 0
    for name, cell in zip(plan.folders, plan.runs, strict=True) if plan.is_sweep else ():
        if failures < MOST_FAILURES and not _is_over(folder / name, wave):
            terminal.note(say("progress.lost", run=name))
            is_well = _launch(plan, folder, [*cell.overrides, f"hydra.sweep.subdir={name}"])
            failures = 0 if is_well else failures + 1


def _is_over(folder: Path, wave: Wave) -> bool:
    """Whether a run got to the end of its part in this wave, or ended early for a reason of its own."""
    outcome = Outcome.read(folder)
    return outcome is not None and (outcome.wave == wave.number or outcome.status == "failed")


def _commands(plan: Plan) -> Iterator[list[str]]:
    """What Hydra is to be told: all cells at once, then each reference, which is in no grid with them."""
    yield list(plan.overrides)
    for name, cell in plan.references.items():
        yield [*cell.overrides, f"hydra.sweep.subdir={name}"]


def _launch(plan: Plan, folder: Path, overrides: Sequence[str]) -> bool:
    """False where the launcher failed, which may have lost workers."""
    words = [f"out={single_quoted(str(folder))}", *overrides]
    if not launchers.is_here(plan.cells[0].hydra):  # a worker may begin in another folder
        named = [word for word in overrides if not word.lstrip("+").startswith("out=")]
        words = [f"out={single_quoted(str(folder.resolve()))}", *named]
    composed = plan.runs if plan.frozen is None else ()  # its files are in another place by now
    try:
        with initialized(None if plan.frozen is None else folder / UNFOLDED):
            launchers.prepare(cell.hydra for cell in plan.runs)
            start(task, words, is_sweep=plan.is_sweep, composed=composed)
    except OSError as error:
        terminal.fail(in_words(error, folder))
    except Exception as error:  # a launcher that lost its workers; what they left tells which
        say = LANGUAGES[plan.language]
        terminal.fail(say("progress.launcher", error=f"{type(error).__name__}: {error}"))
        return launchers.is_here(plan.cells[0].hydra)
    finally:
        redaction.redact_file(folder / LAUNCHED)
    return True


def _why_it_ends(plan: Plan, folder: Path, wave: Wave) -> str | None:
    """The first reason for which a run did not get to the end of its part in this wave. A run that failed by
    itself, as with data that cannot be read, is out, and the others go on."""
    for name in plan.folders:
        outcome = Outcome.read(folder / name)
        if outcome is None or (outcome.wave != wave.number and outcome.status != "failed"):
            return f"run {name} did not finish"
        if outcome.status == "partial":
            return f"run {name}: {outcome.error_message}"
    return None


# --- a job ----------------------------------------------------------------------------------------


def task(cfg: DictConfig) -> None:
    """What Hydra runs for each job, here or in a worker process."""
    redaction.learn_environment()
    redaction.learn(OmegaConf.to_container(cfg))
    with redaction.guarded_streams():
        _task(cfg)


def _task(cfg: DictConfig) -> None:
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    launchers.go_to(read_state(folder.parent, "place"))
    folder, cfg.out = from_here(folder), str(from_here(Path(cfg.out)))
    many = hydra.mode == RunMode.MULTIRUN
    sweep = read_json(folder.parent / "sweep.json") if many else None
    choices = {str(key): str(value) for key, value in hydra.runtime.choices.items() if "hydra" not in str(key)}
    label = _label(folder.name, sweep, LANGUAGES[cfg.report.language]) if sweep else ""
    wave, before = waves.current(folder.parent) if sweep else Wave(), Outcome.read(folder)
    if before is not None and before.status == "failed":  # in an earlier wave
        return
    overrides = [as_typed(word) for word in hydra.overrides.task]
    redaction.learn(overrides)
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
    outcome = Outcome("partial", INTERRUPTED.exit_code, INTERRUPTED.message)
    if sweep is not None:
        share_in_worker(f"{folder.parent} {sweep['updated_at']}")
    try:
        outcome = execute(job)
    finally:
        _leave(replace(outcome, wave=wave.number), folder)
    if outcome.exit_code == INTERRUPTED.exit_code and not wave.is_closing:
        raise KeyboardInterrupt


def _leave_configuration(cfg: DictConfig, hydra: Any, folder: Path) -> None:
    """What Hydra would write of a job, interpolations as they stand."""
    place = folder / COMPOSED
    place.mkdir(parents=True, exist_ok=True)
    nodes = {"config": cfg, "hydra": hydra, "overrides": hydra.overrides.task}
    for name, node in nodes.items():
        values = redaction.redacted_value(OmegaConf.to_container(node, enum_to_str=True))
        with replacing(place / f"{name}.yaml") as scratch:
            scratch.write_text(yaml_of({"hydra": values} if name == "hydra" else values), encoding="utf-8")


def _leave(outcome: Outcome, folder: Path) -> None:
    """A run without an outcome did not finish, for all that its parent knows."""
    try:
        outcome.write(folder)
    except OSError as error:
        terminal.fail(in_words(error, folder))


def _label(name: str, sweep: Mapping[str, Any], say: Wording) -> str:
    """What a run is called in the terminal."""
    is_cell = name.isdecimal()
    called = f"{int(name) + 1}/{len(sweep['cells'])}" if is_cell else say("progress.reference", name=name)
    return f"[{called}] "


def _config_folders(places: Sequence[str]) -> list[str]:
    """Folders of YAML that somebody wrote, as seen from where the command was given."""
    return [str(from_here(Path(place.removeprefix("file://")))) for place in places if place.startswith("file://")]
