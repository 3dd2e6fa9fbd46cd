"""Compares a finished run with `compare=BASELINE` and the values of `threshold`, both of which are checked before it
starts.

The parent looks up the baseline once for all runs of a sweep, and writes its place to the state of the command
(runner.run.state): another process may serve a run, and the latest run of an experiment must not be another run of this
sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from omegaconf import DictConfig

from runner.compare.chosen import chosen_baseline
from runner.config.components import build
from runner.config.compose import Cell
from runner.config.options import thresholds_of
from runner.config.references import NAMES
from runner.errors import ConfigError, DataError, InputError, Problem, RunnerError, did_you_mean
from runner.metrics import thresholds
from runner.metrics.catalogue import catalogue_of, merge_catalogues
from runner.metrics.clusters import AUTO, NONE, cluster_key
from runner.metrics.metric import Catalogue
from runner.protocols import Case, attribute_of
from runner.run.job import Job, Outcome
from runner.run.state import read_state, write_state
from runner.system.folder import RunFolder
from runner.system.writing import no_place_for_a_file, relative_path

if TYPE_CHECKING:
    from runner.compare.regression import Regression
    from runner.compare.sides import Place, Side
    from runner.report.comparison_words import Record

FILES = ("compare.json", "compare.md")
DOWNLOADS = "baselines"  # in cache_dir: snapshots downloaded from MLflow


@dataclass(frozen=True, slots=True)
class Baseline:
    """`place` None: no baseline."""

    place: Place | None

    def leave(self, folder: Path) -> None:
        """Write the baseline to the state, for the runs of this folder."""
        place = self.place
        known = None if place is None else {"path": str(place.path.resolve()), "label": place.label}
        write_state(folder, "baseline", known)


def look_up(cells: Sequence[Cell]) -> Baseline:
    """Check `compare`, `baseline`, `save_snapshot` and `junit` before the first run starts. Raises ConfigError, and
    InputError or TrackingError for a reference that names no run."""
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
        catalogue = merge_catalogues([side.snapshot.catalogue, _declared(cell.cfg) or Catalogue()])
        demand_known(build(cell.cfg.regression).root, side.snapshot.metrics, "baseline", catalogue)
    return Baseline(place)


def _no_place_for_junit(path: Path) -> str | None:
    from runner.report.comparison_junit import no_place_for_junit

    return no_place_for_junit(path)


def _check(cells: Sequence[Cell]) -> None:
    cfg, problems = cells[0].cfg, []
    if cfg.compare is None:
        needs = "needs a run to compare with; give one with compare=BASELINE"
        problems += [Problem(name, needs) for name in ("fail_on_regression", "allow_incomparable") if cfg[name]]
        if cfg.junit is not None and not any(thresholds_of(cell.cfg)[0] for cell in cells):
            either = (
                "needs a run to compare with; give one with compare=BASELINE, "
                "or a value to reach with threshold.METRIC=NUMBER"
            )
            problems.append(Problem("junit", either))
    for name, no_place in (("save_snapshot", no_place_for_a_file), ("junit", _no_place_for_junit)):
        path = cfg[name]
        if path is not None and len(cells) > 1 and name != "junit":  # which has a suite for each run
            problems.append(Problem(name, "this command has several runs, each with a file of its own in its folder"))
        elif path is not None and (problem := no_place(Path(path))) is not None:
            problems.append(Problem(name, problem))
    if not problems and cfg.save_snapshot is not None:
        problems += _foreign(Path(cfg.save_snapshot))
    problems += dict.fromkeys(problem for cell in cells for problem in _undeclared_thresholds(cell.cfg))
    if problems:
        raise ConfigError(problems)


def _undeclared_thresholds(cfg: DictConfig) -> Iterator[Problem]:
    """Problems of thresholds on metrics that the evaluation does not declare, or that these runs cannot have."""
    metric_thresholds = thresholds_of(cfg)[0]
    if metric_thresholds and (catalogue := _declared(cfg)) is not None:
        yield from thresholds.metric_problems(metric_thresholds, catalogue, list(cfg.cutoffs))


def _declared(cfg: DictConfig) -> Catalogue | None:
    """The metrics of the evaluation; None where it cannot be built, which its own run reports with a log."""
    try:
        return catalogue_of(build(cfg.evaluation).root)
    except Exception:  # of any component
        return None


def check_slices(cfg: DictConfig, cases: Iterable[Case]) -> None:
    """Raises ConfigError for thresholds of slices without cases, before the first case is run."""
    limits = thresholds_of(cfg)[0]
    if not any(threshold.dimension for threshold in limits):
        return
    labels: dict[str, set[str]] = {"language": set(), "difficulty": set(), "tag": set()}
    for case in cases:
        labels["language"] |= {case.language} if case.language else set()
        labels["difficulty"] |= {case.difficulty} if case.difficulty else set()
        labels["tag"].update(case.tags)
    if problems := list(thresholds.slice_problems(limits, labels)):
        raise ConfigError(problems)


def check_clusters(choice: str, cases: Iterable[Case]) -> None:
    """Raises ConfigError for `cluster=FIELD` where no case has the field, before the first case is run."""
    if choice in (AUTO, NONE):
        return
    fields: set[str] = set()
    for case in cases:
        shared = attribute_of(case, "clusters")
        if cluster_key(shared, case.tags, choice) is not None:
            return
        fields |= {*shared, *(tag.partition(":")[0] for tag in case.tags if ":" in tag)}
    known = (AUTO, NONE, *sorted(fields))
    raise ConfigError([Problem("cluster", f"no case has '{choice}'{did_you_mean(choice, known)}")])


def _foreign(path: Path) -> list[Problem]:
    """The problem where the file is no snapshot: it is not overwritten."""
    from runner.compare.snapshots import read_snapshot

    try:
        if path.exists():
            read_snapshot(path)
    except DataError as error:
        return [Problem("save_snapshot", f"would overwrite a file that is no complete snapshot: {error}")]
    return []


def _store(cfg: DictConfig) -> str | None:
    uri = cfg.tracking.get("uri")
    return None if uri is None else str(uri)


# --- when a run has ended -------------------------------------------------------------------------


def conclude(job: Job, outcome: Outcome, run: RunFolder) -> Outcome:
    """Copy the snapshot, compare with the baseline and check the thresholds. Returns the outcome with what they add to
    it. An error while comparing does not make a failed run: its results stand."""
    records: list[Record] = []
    outcome = _against_baseline(job, outcome, records)
    if not (records or run.summary.get(thresholds.RECORDS)):
        return outcome
    from runner.report.comparison_junit import write_junit
    from runner.report.document import Document
    from runner.report.thresholds import not_reached

    document = Document.of(run)
    if job.cfg.junit is not None and job.sweep_id is None:
        Path(job.cfg.junit).parent.mkdir(parents=True, exist_ok=True)
        write_junit(Path(job.cfg.junit), records, job.say, document)
    code = thresholds.exit_code(run.summary.get(thresholds.RECORDS) or ())
    return _join(outcome, code, not_reached(document))


def write_junit_of_cells(path: Path, folder: Path, cells: Sequence[Mapping[str, Any]], language: str) -> None:
    """Write the JUnit file of a sweep.

    Args:
        path: the file.
        folder: of the sweep.
        cells: the runs as sweep.json has them.
        language: of its texts.
    """
    from runner.report.comparison_junit import CellResult, write_junit_of_sweep
    from runner.report.document import Document
    from runner.system.folder import open_run
    from runner.system.metadata import read_json
    from runner.words.wording import LANGUAGES

    results = []
    for cell in cells:
        place = folder / str(cell["folder"])
        ended = cell["status"] == "completed"
        results.append(
            CellResult(
                " ".join(cell["overrides"]) or str(cell["folder"]),
                "" if ended else str(cell["error_message"] or cell["status"]),
                read_json(place / FILES[0]) if ended else None,
                Document.of(open_run(place)) if ended else None,
            )
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_junit_of_sweep(path, results, LANGUAGES[language])


def thresholds_in(job: Job, summary: Mapping[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """The thresholds and whether the run reached them, for summary.json; empty without thresholds, and for a reference
    run."""
    wanted = [] if _is_reference(job) else thresholds_of(job.cfg)[0]
    return {thresholds.RECORDS: thresholds.check(wanted, summary, catalogue)} if wanted else {}


def _is_reference(job: Job) -> bool:
    """Whether this is a run of baselines=auto, which is never a candidate."""
    return job.sweep_id is not None and job.folder.name in NAMES


def _against_baseline(job: Job, outcome: Outcome, records: list[Record]) -> Outcome:
    """Compare the run with its baseline, and add the record to `records`."""
    from runner.compare.snapshot import FILE, write_bytes

    for name in FILES:
        (job.folder / name).unlink(missing_ok=True)
    try:
        if job.cfg.save_snapshot is not None:
            path = Path(job.cfg.save_snapshot)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, (job.folder / FILE).read_bytes())
        baseline = read_state(job.folder.parent if job.sweep_id else job.folder, "baseline")
        if baseline is None or _is_reference(job):
            return outcome
        records.append(_compare(job, baseline))
        return _join(outcome, records[0]["exit_code"], reason_of(records[0], _comparison_file(job)))
    except RunnerError as error:
        return _join(outcome, error.exit_code, str(error))


def _compare(job: Job, baseline: Mapping[str, Any]) -> Record:
    from runner.compare.compare import compare
    from runner.compare.record import record_of
    from runner.compare.sides import Place, open_place
    from runner.compare.snapshot import write_bytes
    from runner.report.comparison import write
    from runner.words.wording import LANGUAGES

    cfg = job.cfg
    regression: Regression = build(cfg.regression).root
    sides = (open_place(Place(Path(baseline["path"]), baseline["label"])), _side_of(job.folder))
    how = {"allow_incomparable": cfg.allow_incomparable, "strict": cfg.get("comparability") == "strict"}
    found = compare(*sides, regression, seed=cfg.seed, **how)
    record = record_of(found, fail_on_regression=cfg.fail_on_regression)
    say = LANGUAGES[cfg.report.language]
    write_bytes(job.folder / FILES[0], orjson.dumps(record, option=orjson.OPT_INDENT_2))
    if cfg.format != "json":
        write(job.folder / FILES[1], [record], say)
    return record


def _side_of(folder: Path) -> Side:
    from runner.compare.sides import Place, open_place

    return open_place(Place(folder, str(relative_path(folder))))


def _comparison_file(job: Job) -> Path:
    """The file of the comparison that a reader opens: with format=json no Markdown is written."""
    return job.folder / (FILES[0] if job.cfg.format == "json" else FILES[1])


def reason_of(record: Record, file: Path, language: str = "en") -> str:
    """Why the exit code of a comparison is not 0, and the file that says more, in one line."""
    from runner.report.comparison_words import gate_lines, own_wording, warnings
    from runner.words.wording import LANGUAGES

    say = own_wording(LANGUAGES[language], record)
    lines = warnings(record, say) if record["exit_code"] == 5 else gate_lines(record, say)
    return f"{lines[0]} {say('compare.see', path=relative_path(file))}" if lines else ""


def _join(outcome: Outcome, exit_code: int, message: str) -> Outcome:
    """The outcome with this exit code and message; that of a failed run is unchanged."""
    if outcome.exit_code == 4 == exit_code:
        return replace(outcome, error_message=f"{outcome.error_message} {message}")
    if exit_code == 0 or outcome.exit_code != 0:
        return outcome
    return replace(outcome, exit_code=exit_code, error_message=message)
