"""What stands below the root: runs and sweeps by id, what is known of them, and how far they are.

An id is the path of a folder below the root, its parts joined by `~`; a folder is only ever reached through the ids
that were found, so that no text of a request becomes a path. Symbolic links are not followed."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from runner.commands.serve.jobs import INSIDE, Job, Jobs
from runner.compare.case_index import without_surrogates
from runner.errors import InputError
from runner.llm.ledger import FILE as LEDGER
from runner.metrics.catalogue import DECLARED, built_in_catalogue, catalogue_in
from runner.metrics.metric import Catalogue
from runner.run.folders import is_locked
from runner.run.serving import PROGRESS
from runner.system.folder import case_counts, legible
from runner.system.metadata import read_json, write_json
from runner.tracking.mlflow_client import COPIES

ROWS = "per_item.jsonl"
DEPTH = 5  # folders below the root
FRESH_S = 1.0
MISSED = (5, 4)  # exit codes of runs that ended, but cannot be compared, or lost or missed a limit
SPEC = ("precision_at_k", "recall_at_k", "hit_rate_at_k", "mrr")  # metrics that the specification shows
STATUS = re.compile(rb'"status":\s*"(\w+)"')
TAG = re.compile(r"[\w .:/-]{1,40}")


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of a run or a sweep. `sweep`: the id of the sweep that a run is a part of."""

    id: str
    path: Path
    is_sweep: bool
    sweep: str | None = None


@dataclass(frozen=True)
class Run:
    """The entry of a list for a run, also for a queued one."""

    id: str
    dataset_id: str | None
    status: str
    k: int | None
    evaluation_type: str | None
    metrics: Mapping[str, float | None]
    error_message: str | None
    created_at: str | None
    updated_at: str | None
    experiment: str | None = None
    sweep_id: str | None = None
    label: str = ""
    tags: Sequence[str] = ()
    done: int = 0
    failed: int = 0
    total: int | None = None
    is_served: bool = False  # started here, so that it can be cancelled and resumed here
    exit_code: int | None = None

    @property
    def is_missed(self) -> bool:
        """Whether it ended, and missed a threshold, lost against its baseline, or could not be compared with it."""
        return self.status == "completed" and self.exit_code in MISSED


@dataclass(frozen=True)
class Progress:
    """`usd` is null where a price is not known; `eta_s` while nothing is done yet."""

    status: str
    done: int
    failed: int
    total: int | None
    tokens: int
    usd: float | None
    eta_s: float | None


@dataclass
class _Tail:
    """How far the rows of a journal were counted."""

    offset: int = 0
    done: int = 0
    failed: int = 0
    began: float = field(default_factory=time.monotonic)
    done_then: int | None = None


class Runs:
    """Runs and sweeps of one root."""

    def __init__(self, root: Path, jobs: Jobs | None) -> None:
        self.root, self.jobs = root, jobs
        self._lock = threading.Lock()
        self._places: dict[str, Place] = {}
        self._scanned = -FRESH_S
        self._tails: dict[Path, _Tail] = {}
        self._tag_file = root / ".serve" / "tags.json"

    # --- which there are --------------------------------------------------------------------------

    def places(self) -> Mapping[str, Place]:
        """Folders of runs and sweeps by id, as they were a second ago at most."""
        with self._lock:
            if time.monotonic() - self._scanned >= FRESH_S:
                self._places = {place.id: place for place in _places_below(self.root, self.root, DEPTH, None)}
                self._scanned = time.monotonic()
            return self._places

    def look_again(self) -> None:
        """Scan the folders again, which may have changed."""
        self._scanned = -FRESH_S

    def place(self, id: str) -> Place | None:
        """The place of an id; None for an unknown id."""
        return self.places().get(id)

    def all(self) -> list[Run]:
        """All runs, queued ones included, newest first."""
        places = self.places()
        runs = [self.run(place) for place in places.values() if not place.is_sweep]
        runs += [self._run_of_job(job) for job in self._jobs("run") if job.id not in places]
        return sorted(runs, key=lambda run: (run.created_at or "", run.id), reverse=True)

    def sweeps(self) -> list[dict[str, Any]]:
        """The sweeps in the form of the API, newest first."""
        places = self.places()
        ids = {place.id for place in places.values() if place.is_sweep} | {job.id for job in self._jobs("sweep")}
        sweeps = [self.sweep(id) for id in ids]
        return sorted((each for each in sweeps if each), key=lambda each: str(each["created_at"]), reverse=True)

    def get(self, id: str) -> Run | None:
        """The run of an id; None for a sweep, and for an unknown id."""
        place = self.place(id)
        if place is not None:
            return None if place.is_sweep else self.run(place)
        job = None if self.jobs is None else self.jobs.get(id)
        return self._run_of_job(job) if job is not None and job.kind == "run" else None

    def _jobs(self, kind: str) -> list[Job]:
        return [] if self.jobs is None else [job for job in self.jobs.all() if job.kind == kind]

    def job_of(self, place_id: str) -> Job | None:
        """The job of a run, or of its sweep."""
        if self.jobs is None:
            return None
        place = self.place(place_id)
        return self.jobs.get(place.sweep if place is not None and place.sweep else place_id)

    # --- one --------------------------------------------------------------------------------------

    def run(self, place: Place) -> Run:
        """The known facts of a run with a folder; for damaged files, that they are damaged."""
        try:
            with legible(place.path):
                return self._read(place)
        except InputError as error:
            job = self.job_of(place.id)
            text = str(error).replace(f"{self.root}{os.sep}", "")
            return Run(place.id, None, "failed", None, None, {}, text, None, None, is_served=job is not None)

    def _read(self, place: Place) -> Run:
        head, summary = self.files(place)
        job = self.job_of(place.id)
        status = self.status(place, head, job)
        done, failed = self._count_finished(place, status, summary)
        metrics = {name: _number(entry.get("value")) for name, entry in (summary.get("metrics") or {}).items()}
        return Run(
            id=place.id,
            dataset_id=(job.dataset_id if job else None) or dataset_of(head),
            status=status,
            k=None if head.get("k") is None else int(head["k"]),
            evaluation_type=_text(head.get("evaluation_type")),
            metrics=metrics,
            error_message=_text(head.get("error_message")),
            created_at=_text(head.get("created_at")),
            updated_at=_text(head.get("updated_at")),
            experiment=_text(head.get("experiment")),
            sweep_id=place.sweep,
            label=self._label(place),
            tags=self.tags().get(place.id, ()),
            done=done,
            failed=failed,
            total=self.total(place, summary),
            is_served=job is not None,
            exit_code=head.get("exit_code"),
        )

    def catalogues(self, runs: Iterable[Run]) -> list[Catalogue]:
        """The metrics that each run declared; those of the built-in evaluations where these cannot be read."""
        places = self.places()
        heads = (_json_of(places[run.id].path / "run.json") if run.id in places else {} for run in runs)
        return [_catalogue_of(orjson.dumps(head.get(DECLARED))) for head in heads]

    def files(self, place: Place) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """run.json and summary.json."""
        return _json_of(place.path / "run.json"), _json_of(place.path / "summary.json")

    def status(self, place: Place, head: Mapping[str, Any], job: Job | None) -> str:
        """pending, running, completed, partial, failed or cancelled."""
        if job is not None and job.status == "queued":
            return "pending"
        if job is not None and job.status == "cancelled":
            return "completed" if head.get("status") == "completed" else "cancelled"
        status = str(head.get("status") or "partial")
        if status not in ("running", "completed", "partial", "failed"):
            raise ValueError(f"status {status[:40]!r}")
        if status != "running":
            return status
        is_running = is_locked(place.path.parent if place.sweep else place.path)
        return "running" if is_running or (job is not None and job.status == "running") else "partial"

    def is_running(self, place: Place) -> bool:
        """Whether its rows may still grow."""
        return self.status(place, self.files(place)[0], self.job_of(place.id)) in ("pending", "running")

    def _run_of_job(self, job: Job) -> Run:
        """Before it has a folder with results."""
        status = {"queued": "pending", "running": "running", "cancelled": "cancelled"}.get(job.status, "failed")
        return Run(
            job.id, job.dataset_id, status, job.k, job.evaluation_type, {}, job.error_message, job.created_at,
            job.updated_at, job.evaluation_type, tags=self.tags().get(job.id, ()), is_served=True,
        )  # fmt: skip

    def _label(self, place: Place) -> str:
        """The values that distinguish a run from the other runs of its sweep."""
        if place.sweep is None:
            return ""
        sweep = _json_of(place.path.parent / "sweep.json")
        cells = [*(sweep.get("cells") or ()), *(sweep.get("references") or ())]
        cell: Mapping[str, Any] = next((cell for cell in cells if cell.get("folder") == place.path.name), {})
        return " ".join(map(str, cell.get("overrides") or ())) or place.path.name

    def sweep(self, id: str) -> dict[str, Any] | None:
        """A sweep in the form of the API."""
        place, job = self.place(id), None if self.jobs is None else self.jobs.get(id)
        if (place is None or not place.is_sweep) and (job is None or job.kind != "sweep"):
            return None
        state = _json_of(place.path / "sweep.json") if place is not None else {}
        status = "pending" if job is not None and job.status == "queued" else str(state.get("status") or "pending")
        if job is not None and job.status in ("running", "cancelled") and status != "completed":
            status = job.status
        elif job is not None and job.status == "ended" and not state:
            status = "failed"
        elif status == "running" and place is not None and not is_locked(place.path):
            status = "partial"
        runs = [each for each in self.places().values() if each.sweep == id]
        codes = [cell.get("exit_code") for cell in state.get("cells") or ()]
        return {
            "id": id,
            "exit_code": next((code for code in MISSED if code in codes), None if None in codes else 0),
            "dataset_id": job.dataset_id if job else None,
            "status": status,
            "evaluation_type": job.evaluation_type if job else state.get("experiment"),
            "runs": [each.id for each in sorted(runs, key=lambda each: _natural(each.path.name))],
            "error_message": job.error_message if job else None,
            "created_at": state.get("created_at") or (job.created_at if job else None),
            "updated_at": state.get("updated_at") or (job.updated_at if job else None),
        }

    # --- how far it is ----------------------------------------------------------------------------

    def count_rows(self, place: Place) -> _Tail:
        """Rows of the journal; what was counted before is not read again."""
        path = place.path / ROWS
        tail = self._tails.setdefault(path, _Tail())
        try:
            size = path.stat().st_size
        except OSError:
            return tail
        if size < tail.offset:
            tail = self._tails[path] = _Tail()
        if size > tail.offset:
            _count(path, tail)
        if tail.done_then is None:
            tail.done_then = tail.done
        return tail

    def _count_finished(self, place: Place, status: str, summary: Mapping[str, Any]) -> tuple[int, int]:
        """Cases that are done, and those that failed: as the summary says, or where rows are being written, as they
        do."""
        if status in ("completed", "failed", "partial", "cancelled") and summary.get("cases"):
            counts = case_counts(summary)
            return counts["done"], counts["failed"] + counts["timeout"]
        tail = self.count_rows(place)
        return tail.done, tail.failed

    def total(self, place: Place, summary: Mapping[str, Any]) -> int | None:
        """How many cases a run has, as soon as it knows."""
        known = (summary.get("cases") or {}).get("total")
        return known if known is not None else (read_json(place.path / PROGRESS) or {}).get("total")

    def progress(self, id: str) -> Progress | None:
        """The progress of a run, or of all runs of a sweep together."""
        place = self.place(id)
        if place is None:
            job = None if self.jobs is None else self.jobs.get(id)
            return None if job is None else Progress(self._run_of_job(job).status, 0, 0, None, 0, 0.0, None)
        if place.is_sweep:
            sweep = self.sweep(id) or {}
            parts = [self._of_run(self.places()[each]) for each in sweep.get("runs", ()) if each in self.places()]
            state = _json_of(place.path / "sweep.json")
            n_runs = len(state.get("cells") or ()) + len(state.get("references") or ())
            return _sum_progress(parts, str(sweep.get("status")), n_runs)
        return self._of_run(place)

    def _of_run(self, place: Place) -> Progress:
        head, summary = self.files(place)
        status = self.status(place, head, self.job_of(place.id))
        total = self.total(place, summary)
        (done, failed), (tokens, usd), eta = self._count_finished(place, status, summary), spending(place), None
        if status != "running":
            return Progress(status, done, failed, total, tokens, usd, None)
        tail = self.count_rows(place)
        gained = tail.done - (tail.done_then or 0)
        if total is not None and gained > 0:
            eta = round((total - tail.done) * (time.monotonic() - tail.began) / gained, 1)
        return Progress(status, tail.done, tail.failed, total, tokens, usd, eta)

    # --- tags -------------------------------------------------------------------------------------

    def tags(self) -> Mapping[str, Sequence[str]]:
        """The tags by id of a run."""
        return _json_of(self._tag_file)

    def tag(self, id: str, tags: Sequence[str]) -> None:
        """Sets the tags of a run."""
        with self._lock:
            self._tag_file.parent.mkdir(parents=True, exist_ok=True)
            kept = {**(read_json(self._tag_file) or {}), id: list(dict.fromkeys(tags))}
            write_json(self._tag_file, {each: names for each, names in kept.items() if names})


def _places_below(folder: Path, root: Path, depth: int, sweep: str | None) -> Iterator[Place]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        is_run = entry.name != COPIES and not entry.name.startswith(".") and INSIDE not in entry.name
        if not is_run or not entry.is_dir(follow_symlinks=False):
            continue
        path = Path(entry.path)
        id = INSIDE.join(path.relative_to(root).parts)
        if (path / "sweep.json").is_file():
            yield Place(id, path, is_sweep=True)
            yield from _places_below(path, root, 1, id)
        elif (path / "run.json").is_file() and not _has_links(path):
            yield Place(id, path, is_sweep=False, sweep=sweep)
        elif depth > 1 and sweep is None:
            yield from _places_below(path, root, depth - 1, None)


def _json_of(path: Path) -> Mapping[str, Any]:
    """The JSON object of a file, read again when the file has changed; empty where it is missing."""
    try:
        state = path.lstat()
    except OSError:
        return {}
    if not os.path.isfile(path) or path.is_symlink():  # noqa: PTH113
        return {}
    return _parse(path, state.st_mtime_ns, state.st_size, state.st_ino)


@lru_cache(maxsize=64)
def _catalogue_of(records: bytes) -> Catalogue:
    """The catalogue of a run, shared by all runs that declare the same metrics."""
    try:
        return catalogue_in({DECLARED: orjson.loads(records)})
    except ValueError:
        return built_in_catalogue()


def confine(path: Path) -> Path:
    """The path, of a resolved folder. Raises InputError where a link on its way leads elsewhere."""
    if path.resolve() != path:
        raise InputError(f"{path.name}: a symbolic link on its way leads out of the folder of the server")
    return path


def _has_links(folder: Path) -> bool:
    """Files of a run that lead elsewhere: such a run is not shown."""
    try:
        with os.scandir(folder) as entries:
            return any(entry.is_symlink() for entry in entries)
    except OSError:
        return True


@lru_cache(maxsize=2048)
def _parse(path: Path, _changed: int, _size: int, _inode: int) -> Mapping[str, Any]:
    return without_surrogates(read_json(path) or {})


def dataset_of(head: Mapping[str, Any]) -> str | None:
    """The choice by which a run of the command line has its data."""
    choices = head.get("choices") or {}
    return _text(choices.get("dataset")) or (f"scenario-{choices['scenario']}" if "scenario" in choices else None)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (10**9, name)


def _count(path: Path, tail: _Tail) -> None:
    """Whole lines only: the last one may be being written."""
    with path.open("rb") as file:
        file.seek(tail.offset)
        for line in file:
            if not line.endswith(b"\n"):
                return
            tail.offset += len(line)
            tail.done += 1
            status = STATUS.search(line, 0, 2000)
            tail.failed += status is not None and status[1] != b"ok"


def spending(place: Place) -> tuple[int, float | None]:
    """Tokens and USD so far; None where a price is not known."""
    ledger = (place.path.parent if place.sweep else place.path) / LEDGER
    if not ledger.is_file():
        return 0, 0.0
    cell = place.path.name if place.sweep else "."
    sums = (
        "SELECT TOTAL(input_tokens + output_tokens), TOTAL(nano_usd), TOTAL(unpriced) FROM spent "
        "WHERE cell = ? AND source != 'cached'"
    )
    try:
        with closing(sqlite3.connect(f"{ledger.resolve().as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            tokens, nano, unpriced = database.execute(sums, (cell,)).fetchone()
    except sqlite3.Error:
        return 0, None
    return int(tokens), None if unpriced else nano / 1e9


def _sum_progress(parts: Sequence[Progress], status: str, n_runs: int) -> Progress:
    """Runs that have not begun are taken to have as many cases as the others."""
    totals = [part.total for part in parts if part.total is not None]
    costs = [part.usd for part in parts]
    etas = [part.eta_s for part in parts if part.eta_s is not None]
    return Progress(
        status,
        sum(part.done for part in parts),
        sum(part.failed for part in parts),
        round(sum(totals) * max(1.0, n_runs / len(totals))) if totals else None,
        sum(part.tokens for part in parts),
        None if None in costs else sum(cost for cost in costs if cost is not None),
        max(etas) if etas else None,
    )


# --- results of cases, as spec 001 shows them -------------------------------------------------------


def metrics_of(run: Run) -> dict[str, Any] | None:
    """The retrieval metrics, under the names of the specification."""
    if not run.metrics:
        return None
    return {**{name: run.metrics.get(name) for name in SPEC}, "k": run.k}


def result_of(number: int, row: Mapping[str, Any], k: int | None) -> dict[str, Any]:
    """A row of per_item.jsonl in the names of the specification."""
    output, metrics = row.get("output") or {}, row.get("metrics") or {}
    hit = metrics.get("hit_rate_at_k")
    retrieved = (output.get("retrieved") or ())[:k]
    return {
        "id": f"result_{number:03d}",
        "test_case_id": str(row.get("id")),
        "retrieved_chunk_ids": [str(each.get("chunk", each.get("id"))) for each in retrieved],
        "precision": metrics.get("precision_at_k"),
        "recall": metrics.get("recall_at_k"),
        "hit": None if hit is None else bool(hit),
        "reciprocal_rank": metrics.get("mrr"),
        "generated_answer": output.get("answer"),
        "faithfulness": metrics.get("faithfulness"),
        "answer_relevancy": metrics.get("answer_relevancy"),
    }
