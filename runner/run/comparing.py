"""`compare=BASELINE` of a run: look the baseline up before the run starts, compare when it has ended.

The parent looks up once, for all runs of a sweep, and leaves the place in the state of the command (runner.run.state):
a run may be served by another process, and the latest run of an experiment must not be its own sister.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from omegaconf import DictConfig

from runner.compare.chosen import chosen_baseline
from runner.config.components import build
from runner.config.compose import Cell
from runner.config.references import NAMES
from runner.errors import ConfigError, DataError, InputError, Problem, RunnerError
from runner.run.job import Job, Outcome
from runner.run.state import read_state, write_state
from runner.system.writing import from_here, no_place_for_a_file

if TYPE_CHECKING:
    from runner.compare.regression import Regression
    from runner.compare.sides import Place, Side
    from runner.report.comparison_words import Record

FILES = ("compare.json", "compare.md")
DOWNLOADS = "baselines"  # in cache_dir: what came from MLflow


@dataclass(frozen=True, slots=True)
class Baseline:
    """None: nothing to compare with."""

    place: Place | None

    def leave(self, folder: Path) -> None:
        """For the runs of this folder."""
        place = self.place
        known = None if place is None else {"path": str(place.path.resolve()), "label": place.label}
        write_state(folder, "baseline", known)


def look_up(cells: Sequence[Cell]) -> Baseline:
    """Everything about `compare`, `baseline`, `save_snapshot` and `junit` that can be wrong before the first run
    starts. Raises ConfigError, and InputError or TrackingError for a reference that names no run."""
    cfg = cells[0].cfg
    _check(cells)
    chosen_baseline(cells)
    if cfg.compare is None:
        return Baseline(None)
    from runner.compare.gate import demand_known
    from runner.compare.sides import Finder, open_place

    finder = Finder(Path(cfg.cache_dir) / DOWNLOADS, _store(cfg), None if cfg.out is None else Path(cfg.out))
    try:
        place = finder.find(cfg.compare)
        side = open_place(place)
    except InputError as error:
        raise type(error)(f"compare: {error}") from None
    for cell in cells:
        demand_known(build(cell.cfg.regression).root, side.snapshot.metrics, "baseline")
    return Baseline(place)


def _check(cells: Sequence[Cell]) -> None:
    from runner.report.comparison_junit import no_place_for_junit

    cfg, problems = cells[0].cfg, []
    if cfg.compare is None:
        needs = "needs a run to compare with; give one with compare=BASELINE"
        named = [name for name in ("fail_on_regression", "allow_incomparable", "junit") if cfg[name]]
        problems += [Problem(name, needs) for name in named]
    for name, no_place in (("save_snapshot", no_place_for_a_file), ("junit", no_place_for_junit)):
        path = cfg[name]
        if path is not None and len(cells) > 1:
            problems.append(Problem(name, "this command has several runs, each with a file of its own in its folder"))
        elif path is not None and (problem := no_place(Path(path))) is not None:
            problems.append(Problem(name, problem))
    if not problems and cfg.save_snapshot is not None:
        problems += _foreign(Path(cfg.save_snapshot))
    if problems:
        raise ConfigError(problems)


def _foreign(path: Path) -> list[Problem]:
    """A file that is no snapshot is not written over."""
    from runner.compare.snapshots import read_snapshot

    try:
        if path.exists():
            read_snapshot(path)
    except DataError as error:
        return [Problem("save_snapshot", f"would write over a file that is no whole snapshot: {error}")]
    return []


def _store(cfg: DictConfig) -> str | None:
    uri = cfg.tracking.get("uri")
    return None if uri is None else str(uri)


# --- when a run has ended -------------------------------------------------------------------------


def conclude(job: Job, outcome: Outcome) -> Outcome:
    """Copy the snapshot, compare with the baseline; the outcome with what the comparison adds to it. What goes wrong
    in comparing is no failure of the run: its results stand."""
    from runner.compare.snapshot import FILE, write_bytes

    for name in FILES:
        (job.folder / name).unlink(missing_ok=True)
    try:
        if job.cfg.save_snapshot is not None:
            path = Path(job.cfg.save_snapshot)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, (job.folder / FILE).read_bytes())
        baseline = read_state(job.folder.parent if job.sweep_id else job.folder, "baseline")
        is_ours = job.sweep_id is not None and job.folder.name in NAMES  # baselines=auto: no candidate for anything
        return outcome if baseline is None or is_ours else _compared(job, outcome, baseline)
    except RunnerError as error:
        return _joined(outcome, error.exit_code, str(error))


def _compared(job: Job, outcome: Outcome, baseline: Mapping[str, Any]) -> Outcome:
    from runner.compare.compare import compare
    from runner.compare.record import record_of
    from runner.compare.sides import Place, open_place
    from runner.compare.snapshot import write_bytes
    from runner.report.comparison import write
    from runner.report.comparison_junit import write_junit
    from runner.words.wording import LANGUAGES

    cfg = job.cfg
    regression: Regression = build(cfg.regression).root
    sides = (open_place(Place(Path(baseline["path"]), baseline["label"])), _own(job.folder))
    found = compare(*sides, regression, seed=cfg.seed, allow_incomparable=cfg.allow_incomparable)
    record = record_of(found, fail_on_regression=cfg.fail_on_regression)
    say = LANGUAGES[cfg.report.language]
    write_bytes(job.folder / FILES[0], orjson.dumps(record, option=orjson.OPT_INDENT_2))
    if cfg.format != "json":
        write(job.folder / FILES[1], [record], say)
    if cfg.junit is not None:
        Path(cfg.junit).parent.mkdir(parents=True, exist_ok=True)
        write_junit(Path(cfg.junit), [record], say)
    return _joined(outcome, record["exit_code"], why(record))


def _own(folder: Path) -> Side:
    from runner.compare.sides import Place, open_place

    return open_place(Place(folder, str(from_here(folder))))


def why(record: Record) -> str:
    """In one line, why the exit code of a comparison is not 0."""
    from runner.report.comparison_words import gate_lines, own, warnings
    from runner.words.wording import LANGUAGES

    say = own(LANGUAGES["en"], record)
    lines = warnings(record, say) if record["exit_code"] == 5 else gate_lines(record, say)
    return f"{lines[0]} See compare.md." if lines else ""


def _joined(outcome: Outcome, exit_code: int, message: str) -> Outcome:
    """A run that failed by itself stays what it is."""
    if exit_code == 0 or outcome.exit_code != 0:
        return outcome
    return replace(outcome, exit_code=exit_code, error_message=message)
