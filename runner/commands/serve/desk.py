"""Turns requests into words of the command line: the one place behind both the API and the pages."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from runner.commands.serve.allowed import DATA, FIXED, Allowlist, key_of
from runner.commands.serve.datasets import Bounds, Dataset, Datasets, Part
from runner.commands.serve.jobs import Job, Jobs, error_in, remove_folder, run_command
from runner.commands.serve.rating import Sheet, Sheets
from runner.commands.serve.runs import ROWS, Place, Run, Runs
from runner.commands.serve.sides import Shelf, Sides
from runner.compare.case_index import without_surrogates
from runner.config import arguments
from runner.config.arguments import unquote
from runner.config.compose import Plan, plan_of
from runner.errors import ConfigError, InputError, Problem, did_you_mean
from runner.system.folder import legible, lines
from runner.system.metadata import read_json
from runner.system.store import fingerprint

PLAN_S, COMPARE_S = 300.0, 300.0
WAITING = 8  # plans, comparisons and uploads at a time; others are refused, so that pages are always answered
MOST_RUNS = 100  # of one request
MOST_JOBS = 1000  # that wait
RETRIEVAL_ONLY = "retrieval_only"
LARGE = 20_000_000  # bytes of rows that take a while to read
MOST_SIDES = 12  # runs side by side


class MissingError(InputError):
    """Nothing has that id."""


class BusyError(InputError):
    """Too many ask at once for what takes a process of its own."""


class ConflictError(InputError):
    """The request does not fit the state of the run."""


@dataclass(frozen=True)
class Settings:
    """The settings of a server. `words`: of its command line, for every run. `bounds`: of uploads."""

    root: Path
    words: tuple[str, ...] = ()
    jobs: int = 2
    read_only: bool = False
    bounds: Bounds = field(default_factory=Bounds)
    queries_at_once: int = 2  # plans and comparisons


class Desk:
    """Everything that a server knows, and does. Threads share it."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.root = settings, settings.root
        self.jobs = None if settings.read_only else Jobs(self.root, settings.jobs)
        self.runs = Runs(self.root, self.jobs)
        self.shelf = Shelf(writes=not settings.read_only)
        self.sheets = Sheets(self.root)
        self._composing = threading.Lock()  # Hydra knows one configuration at a time
        self._asking = threading.Semaphore(settings.queries_at_once)
        self._waiting = threading.Semaphore(WAITING)
        self._answers: dict[str, dict[str, Any]] = {}
        self._warmed: set[tuple[str, int, int]] = set()

    @cached_property
    def line(self) -> arguments.Line:
        """The overrides of the server itself."""
        return arguments.read(self.settings.words)

    @cached_property
    def allowed(self) -> Allowlist:
        """What requests may set."""
        keys = frozenset(key_of(word) for word in self.line.overrides)
        return Allowlist(tuple(self.line.config_folders), keys)

    @cached_property
    def datasets(self) -> Datasets:
        """The data sets of the root."""
        return Datasets(self.root, self.allowed.built_in, self.settings.bounds)

    def dataset(self, id: str) -> Dataset:
        """Raises MissingError."""
        dataset = self.datasets.get(id)
        if dataset is None:
            raise MissingError(f"dataset_id: no data set '{id[:80]}'{did_you_mean(id[:80], self.allowed.built_in)}")
        return dataset

    def remove_dataset(self, id: str) -> None:
        """Delete an uploaded data set. Raises ConflictError for one that comes with the program, and for one that a job
        reads."""
        dataset = self.dataset(id)
        if dataset.built_in:
            raise ConflictError(f"data set {id}: it comes with the configuration")
        reading = [job.id for job in self._queue().open() if job.dataset_id == id]
        if reading:
            raise ConflictError(f"data set {id}: {reading[0]} reads it; cancel that first")
        self.datasets.delete(dataset)

    def run(self, id: str) -> Run:
        """Raises MissingError."""
        run = self.runs.get(id)
        if run is None:
            raise MissingError(f"run_id: no run '{id[:200]}'{near_name(id, self.runs.places())}")
        return run

    def place(self, id: str) -> Place:
        """The place of a run that has a folder."""
        place = self.runs.place(id)
        if place is None or place.is_sweep:
            self.run(id)
            raise ConflictError(f"run {id}: it has no results yet")
        return place

    # --- cases ------------------------------------------------------------------------------------

    def places(self, ids: Sequence[str]) -> list[Place]:
        """The places of the runs with these ids; of a sweep, of all its runs."""
        places: list[Place] = []
        for id in ids:
            place = self.runs.place(id)
            parts = (self.runs.sweep(id) or {}).get("runs", []) if place is not None and place.is_sweep else [id]
            places += [self.place(part) for part in parts]
        if not places:
            raise InputError("runs: expected at least one run")
        if len(places) > MOST_SIDES:
            raise InputError(f"runs: at most {MOST_SIDES} stand side by side, got {len(places)}")
        return places

    def sides(self, ids: Sequence[str]) -> Sides:
        """Runs beside each other. Raises InputError for rows that are damaged."""
        with legible(self.root):
            return self.shelf.sides(self.places(ids))

    def read_missing(self, ids: Sequence[str]) -> list[Place]:
        """Runs whose rows, many of them, must be read before their cases can be shown; that begins now."""
        places = [place for place in self.places(ids) if not self.shelf.has(place)]
        if places:
            threading.Thread(target=self._read, args=(places,), daemon=True).start()
        return places

    def _read(self, places: Sequence[Place]) -> None:
        for place in places:
            with suppress(InputError, OSError), legible(place.path):
                self.shelf.cases(place)

    def rows(self, place: Place, offset: int, limit: int) -> list[Mapping[str, Any]]:
        """The cases of a run from one number on, in the order in which they ended."""
        with legible(place.path):
            if not offset or self.runs.is_running(place):
                return [*map(without_surrogates, islice(lines(place.path / ROWS), offset, offset + limit))]
            cases = self.shelf.cases(place)
            return list(cases.rows(range(offset, min(offset + limit, len(cases)))))

    def rows_by_id(self, place: Place, ids: Collection[str]) -> dict[str, Mapping[str, Any]]:
        """The rows of these cases, by id."""
        with legible(place.path):
            if self.runs.is_running(place):
                return {
                    str(row["id"]): row
                    for row in map(without_surrogates, lines(place.path / ROWS))
                    if str(row["id"]) in ids
                }
            cases = self.shelf.cases(place)
            numbers = {id: number for id in ids if (number := cases.number_of(id)) is not None}
            return dict(zip(numbers, cases.rows(numbers.values()), strict=True))

    def warm(self) -> None:
        """Read large finished runs, newest first, before their cases are requested."""
        states = {place.id: (place, self.shelf.state(place)) for place in self.runs.places().values()}
        large = [pair for pair in states.values() if pair[1][1] > LARGE and not pair[0].is_sweep]
        for place, state in sorted(large, key=lambda pair: pair[1][2], reverse=True)[:MOST_SIDES]:
            if state not in self._warmed and not self.runs.is_running(place):
                self._warmed.add(state)
                if not self.shelf.has(place):
                    self._read([place])

    # --- labels -----------------------------------------------------------------------------------

    def open_sheet(self, id: str, rater: str, rubric: str | None, pick: str, n: int) -> Sheet:
        """The sheet of a rater, created where it is missing."""
        place = self.place(id)
        with legible(place.path):
            cases = self.shelf.cases(place)
        return self.sheets.open(place, cases, rater, rubric, pick, n)

    def sheet(self, id: str, rater: str, rubric: str) -> Sheet:
        """The sheet of a rater. Raises MissingError where there is none."""
        sheet = self.sheets.get(self.place(id), rater, rubric)
        if sheet is None:
            raise MissingError(f"rater: {rater} has no sheet for {rubric[:80]} of this run; POST opens one")
        return sheet

    def calibrate(self, id: str, rubric: str) -> Job:
        """A job of `calibrate` over the sheets of all raters."""
        place = self.place(id)
        paths = self.sheets.of_run(place, rubric)
        if not paths:
            raise ConflictError(f"run {id}: nobody has rated an answer for {rubric[:80]} yet")
        report = (self.runs.files(place)[0].get("config") or {}).get("report") or {}
        words = ["calibrate", ",".join(map(str, paths)), f"run={place.path}", f"ratings={rubric}"]
        words += [f"report.language={report.get('language', 'en')}"]
        return self._queue().add("calibration", "calibration", words, about={"run": id, "rubric": rubric})

    # --- words ------------------------------------------------------------------------------------

    def words(self, dataset: Dataset, evaluation: str, k: int | None, overrides: Sequence[str]) -> list[str]:
        """A command line without a folder. Raises ConfigError and InputError for what must not be, or cannot be,
        run."""
        if evaluation not in self.allowed.experiments:
            known = did_you_mean(evaluation[:80], self.allowed.experiments)
            raise InputError(f"evaluation_type: no evaluation '{evaluation[:80]}'{known}")
        self.allowed.vet(overrides)
        self._demand_unfixed(dataset, evaluation, k)
        request_words = [*([f"k={k}"] if k is not None else []), *overrides]
        given_keys = {key_of(word) for word in request_words}
        if k is not None and any(key_of(word) == "k" for word in overrides):
            request_words = request_words[1:]
        of_data = [word for word in dataset.words if key_of(word) not in given_keys and self._fits(word, evaluation)]
        flags = [word for folder in self.line.config_folders for word in ("--config-dir", folder)]
        return [*flags, f"+experiment={evaluation}", *self.line.overrides, *of_data, *request_words]

    def _demand_unfixed(self, dataset: Dataset, evaluation: str, k: int | None) -> None:
        """Raises ConfigError where a field of a request would change what the words of the server set."""
        asked = [("evaluation_type", f"+experiment={evaluation}"), ("k", None if k is None else f"k={k}")]
        asked += [("dataset_id", word) for word in dataset.words if self._fits(word, evaluation)]
        problems = [
            Problem(name, f"{key_of(word)} {FIXED}")
            for name, word in asked
            if word is not None and self.allowed.is_fixed(key_of(word)) and word not in self.line.overrides
        ]
        if problems:
            raise ConfigError(problems)

    def _fits(self, word: str, evaluation: str) -> bool:
        """Whether a word of a data set fits an evaluation: given answers are of no use where no answers are
        evaluated."""
        return not (word.startswith("generator=") and evaluation == RETRIEVAL_ONLY)

    def makes_sweep(self, words: Sequence[str]) -> bool:
        """Whether the line makes a sweep. Raises ConfigError with what the command line would say."""
        return self._plan(words).is_sweep

    def _plan(self, words: Sequence[str]) -> Plan:
        line = arguments.read(words)
        if (n_runs := len(arguments.cells(line.overrides))) > MOST_RUNS:
            raise InputError(f"overrides: they make {n_runs:,} runs; expected at most {MOST_RUNS} in one request")
        with self._admit(), self._composing:
            return plan_of(line)

    @contextmanager
    def _admit(self) -> Iterator[None]:
        """Among the few that may wait for what takes long, so that others are answered. Raises BusyError."""
        if not self._waiting.acquire(blocking=False):
            raise BusyError("too many plans, runs, comparisons and uploads at once; try again in a moment")
        try:
            yield
        finally:
            self._waiting.release()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for one's turn to have a process started for a request. Raises BusyError."""
        with self._admit(), self._asking:
            yield

    def upload(
        self, name: str, format: str | None, parts: Mapping[str, Sequence[Part]], columns: Mapping[str, str]
    ) -> Dataset:
        """Files become a data set."""
        with self._turn():
            return self.datasets.add(name, format, parts, columns)

    # --- runs -------------------------------------------------------------------------------------

    def start(
        self, dataset_id: str, evaluation: str, k: int | None, overrides: Sequence[str], *, sweep: bool = False
    ) -> Job:
        """Put a run, or a sweep, at the end of the queue."""
        dataset = self.dataset(dataset_id)
        words = self.words(dataset, evaluation, k, overrides)
        is_sweep = self.makes_sweep(words)
        if is_sweep and not sweep:
            raise InputError("overrides: they make a sweep of several runs; POST it to …/sweeps")
        if sweep and not is_sweep:
            raise InputError("overrides: they make a single run; a sweep has several values (k=3,5), or POST to …/runs")
        if len(self._queue().open()) >= MOST_JOBS:
            raise BusyError(f"{MOST_JOBS:,} runs wait or run; try again when some of them have ended")
        kind, facts = "sweep" if is_sweep else "run", {"dataset_id": dataset_id, "evaluation_type": evaluation, "k": k}
        return self._queue().add(kind, evaluation, words, **facts)

    def _queue(self) -> Jobs:
        assert self.jobs is not None  # noqa: S101  a server that only reads has no door here
        return self.jobs

    def cancel(self, id: str) -> None:
        """Cancel a job. Raises ConflictError for one that has ended, or was started elsewhere."""
        job = self._own_job(id)
        if not job.is_open:
            raise ConflictError(f"run {id}: it has ended")
        self._queue().cancel(job)

    def resume(self, id: str) -> None:
        """Resume a run: only missing cases are run. Raises ConflictError for a queued or running one, and for a run of
        a command line that a request could not have started."""
        place, job = self.runs.place(id), self._queue().get(id)
        if job is None and place is not None and not place.is_sweep and place.sweep is None:
            self._adopt(place)
            return
        job = self._own_job(id)
        if job.is_open:
            raise ConflictError(f"run {id}: it is {job.status}")
        self._queue().requeue(job)

    def _adopt(self, place: Place) -> None:
        """Check the command line of a folder like a request: anybody may have written the folder."""
        if self.runs.is_running(place):
            raise ConflictError(f"run {place.id}: it is running")
        head, _ = self.runs.files(place)
        try:
            evaluation, group, choice, overrides = self._command(head)
            dataset = next((id for id, pair in self.allowed.built_in.items() if pair == (group, choice)), None)
            words = self.words(self.dataset(str(dataset)), evaluation, None, overrides)
            if self._plan(words).fingerprint != head.get("fingerprint"):
                raise InputError("this server would run something else, as its configuration differs")
        except (InputError, ConfigError) as error:
            reason = f"it was started at a command line, which resumes it; {error}"
            raise ConflictError(f"run {place.id}: {reason}") from None
        self._queue().adopt(place.id, words, dataset_id=dataset, evaluation_type=evaluation, k=self.run(place.id).k)

    def _command(self, head: Mapping[str, Any]) -> tuple[str, str, str, list[str]]:
        """Evaluation, group and choice of the data, and the other words of the command that began a run; without those
        that say where its files go, which the server says."""
        words, choices = head.get("overrides"), head.get("choices") or {}
        if head.get("frozen"):
            raise InputError("it is that of a record")
        if not isinstance(words, list) or not isinstance(choices, dict):
            raise InputError("its command is not known")
        begun = [str(word).partition("=")[2] for word in words if str(word).startswith("+experiment=")]
        group = next((group for group in DATA if group in choices), "")
        if len(begun) != 1 or not group:
            raise InputError("its command is not known")
        left_out = ("experiment", "tracking", "format", "verbose", "out", "cache_dir", group)
        asked = [unquote(str(word)) for word in words if key_of(str(word)) not in left_out]
        return begun[0], group, str(choices[group]), asked

    def _own_job(self, id: str) -> Job:
        """The job of a run or sweep. Raises ConflictError for what was started elsewhere."""
        job = None if self.jobs is None else self.jobs.get(id)
        if job is not None:
            return job
        place = self.runs.place(id)
        if place is None:
            raise MissingError(f"run_id: no run '{id[:200]}'{near_name(id, self.runs.places())}")
        if place.sweep is not None:
            raise ConflictError(
                f"run {id}: it is a part of the sweep {place.sweep}, which can be cancelled and resumed"
            )
        raise ConflictError(f"run {id}: it was started at a command line, which ends and resumes it")

    def delete(self, id: str) -> None:
        """A run or sweep with all its files."""
        place, job = self.runs.place(id), None if self.jobs is None else self.jobs.get(id)
        if place is None and job is None:
            raise MissingError(f"run_id: no run '{id[:200]}'{near_name(id, self.runs.places())}")
        if place is not None and place.sweep is not None:
            raise ConflictError(f"run {id}: it is a part of the sweep {place.sweep}; delete the sweep")
        status = (self.runs.sweep(id) or {}).get("status") if place is None or place.is_sweep else None
        status = status or self.run(id).status
        if (job is not None and job.status == "running") or status == "running":
            raise ConflictError(f"run {id}: it is running; cancel it first")
        if job is not None:
            self._queue().forget(job)
        remove_folder(self.root / id if place is None else place.path, self.root)
        self.runs.look_again()

    # --- questions that commands answer -------------------------------------------------------------

    def plan(self, dataset_id: str, evaluation: str, k: int | None, overrides: Sequence[str]) -> dict[str, Any]:
        """The plan, as `plan --json` prints it."""
        words = self.words(self.dataset(dataset_id), evaluation, k, overrides)
        self.makes_sweep(words)
        with self._turn():
            command = run_command(["plan", *words, "tracking=none", "--json"], PLAN_S)
        if command.code:
            raise InputError(error_in(command.error))
        plan: dict[str, Any] = orjson.loads(command.out[command.out.index("{") :])
        return plan

    def compare(self, baseline: str, candidate: str) -> Mapping[str, Any]:
        """The comparison of two finished runs, as in compare.json."""
        paths = [self.place(baseline).path, self.place(candidate).path]
        with suppress(OSError):
            key = fingerprint([[str(path), (path / "snapshot.json").stat().st_mtime_ns] for path in paths])
            if key not in self._answers:
                self._answers[key] = self._compare(paths)
            return self._answers[key]
        raise ConflictError(f"{baseline}, {candidate}: one of them has no snapshot yet, which a run has at its end")

    def _compare(self, paths: Sequence[Path]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as scratch, self._turn():
            folder = Path(scratch) / "compared"
            command = run_command(["compare", *map(str, paths), "--out", str(folder)], COMPARE_S)
            comparison = read_json(folder / "compare.json")
        if comparison is None:
            raise InputError(error_in(command.error))
        return comparison


def near_name(id: str, known: Mapping[str, Any]) -> str:
    """A name to try where one is close; never the list of all."""
    text = did_you_mean(id[:80], list(known)[:2000])
    return text if "did you mean" in text else ""
