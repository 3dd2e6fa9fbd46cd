"""Finds the run that a reference names.

a snapshot.json      a run folder            experiments/NAME
an MLflow run id     latest:EXPERIMENT       the newest completed run of it, in ./outputs or in MLflow
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from runner.compare.snapshot import FILE, encode
from runner.compare.snapshots import Snapshot, parse_snapshot, read_snapshot
from runner.errors import DataError, InputError, TrackingError, did_you_mean
from runner.system import terminal
from runner.system.folder import is_sweep, legible, lines, open_run, open_sweep
from runner.system.metadata import read_json
from runner.tracking.mlflow_client import configured_uri, connect, download, reporting, sqlite_file
from runner.words.wording import current_wording

LATEST = "latest:"
RUN_ID = re.compile(r"[0-9a-f]{32}")
FILES = (FILE, "run.json", "summary.json", "per_item.jsonl", "sweep.json")
WANTED = "expected a snapshot.json, a run folder, experiments/NAME, an MLflow run id or latest:EXPERIMENT"


@dataclass(frozen=True, slots=True)
class Place:
    """A snapshot file or a folder on this machine, and its name in messages."""

    path: Path
    label: str


@dataclass(frozen=True, eq=False)
class Side:
    """One run of a comparison. `folder`: with its rows, where they are available."""

    snapshot: Snapshot
    label: str
    folder: Path | None = None

    def rows(self, ids: Collection[str]) -> dict[str, Mapping[str, Any]]:
        """The available rows of these cases, by id."""
        if self.folder is None or not ids:
            return {}
        return {row["id"]: row for row in lines(self.folder / "per_item.jsonl") if row.get("id") in ids}


@dataclass(frozen=True, slots=True)
class Finder:
    """Resolves references. `uri`: the MLflow store (default: that of conf); `downloads`: the folder for downloads;
    `own_folder`: the folder of the run or sweep to compare; `candidates`: run.json of the runs to compare. Neither of
    these counts as the latest run."""

    downloads: Path
    uri: str | None = None
    own_folder: Path | None = None
    candidates: Sequence[Mapping[str, Any]] = ()

    def open(self, reference: str) -> Side:
        """The side that a reference names. Raises InputError where there is none."""
        return open_place(self.find(reference))

    def find(self, reference: str) -> Place:
        """The place of a reference. Raises InputError where it names no run, TrackingError where MLflow cannot be
        reached."""
        if reference.startswith(LATEST):
            return self._latest(reference.removeprefix(LATEST))
        path = Path(reference)
        if path.is_file():
            return Place(path, reference)
        if path.is_dir():
            return self._folder(path)
        if RUN_ID.fullmatch(reference):
            return self._download(reference)
        raise InputError(f"'{reference}' is no run: {WANTED}{_nearby_folders(reference)}")

    def _folder(self, path: Path) -> Place:
        if self.own_folder is not None and path.resolve() == self.own_folder.resolve():
            raise InputError(f"'{path}' is the folder of this run itself")
        if is_sweep(path):
            with legible(path):
                cells = [_cell(path, cell) for cell in open_sweep(path)["cells"]]
            raise InputError(f"'{path}' is a sweep; name one of its runs: {', '.join(cells)}")
        if not any((path / name).is_file() for name in (FILE, "run.json")):
            raise InputError(f"'{path}' holds neither {FILE} nor run.json, so it is no run folder; {WANTED}")
        return Place(path, str(path))

    def _download(self, run_id: str) -> Place:
        folder = self.downloads / run_id
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        download(self._store, run_id, folder, FILES)
        if (folder / "sweep.json").is_file():
            raise InputError(f"the MLflow run {run_id} is the summary of a sweep; name one of its runs")
        if not any((folder / name).is_file() for name in (FILE, "run.json")):
            raise InputError(f"the MLflow run {run_id} holds neither {FILE} nor run.json: not a run of this program")
        return Place(folder, f"MLflow run {run_id}")

    @property
    def _store(self) -> str:
        return self.uri or configured_uri()

    # --- the latest run ---------------------------------------------------------------------------

    def _latest(self, experiment: str) -> Place:
        local = max(self._in_outputs(experiment), key=lambda found: found[0], default=None)
        remote = self._in_mlflow(experiment, fails=local is None)
        if local is not None and (remote is None or local[0] >= remote[0]):
            return Place(local[1], str(local[1]))
        if remote is not None:
            return self._download(remote[1])
        names = sorted({str(run.get("experiment")) for _, run in _runs_here()})
        hint = (
            "; those in ./outputs did not complete, or are compared" if experiment in names else _runs_in_outputs(names)
        )
        raise InputError(f"no completed run of the experiment '{experiment}' in ./outputs or MLflow{hint}")

    @property
    def _own_keys(self) -> set[tuple[str | None, int]]:
        """The ids of the runs to compare, including those in MLflow."""
        folders = (
            []
            if self.own_folder is None
            else [self.own_folder, *(path.parent for path in self.own_folder.glob("*/run.json"))]
        )
        found = [run for folder in folders if (run := read_json(folder / "run.json")) is not None]
        return {_key(run) for run in (*found, *self.candidates) if _began_ms(run)}

    def _in_outputs(self, experiment: str) -> Iterator[tuple[int, Path]]:
        """(start in milliseconds, folder) of the newest completed run."""
        own_keys = self._own_keys
        for folder, run in _runs_here():
            is_own = self.own_folder is not None and folder.resolve().is_relative_to(self.own_folder.resolve())
            one_case = (run.get("config") or {}).get("case") is not None
            out = is_own or one_case or "reference" in run or _key(run) in own_keys
            if run.get("experiment") == experiment and run.get("status") == "completed" and not out:
                yield _began_ms(run), folder

    def _in_mlflow(self, experiment: str, *, fails: bool) -> tuple[int, str] | None:
        """(start in milliseconds, run id) of the newest completed run. An unreachable store is an error only without
        another run."""
        own_keys, database = self._own_keys, sqlite_file(self._store)
        if database is not None and not database.is_file():
            return None
        try:
            with reporting(self._store, f"cannot look for the latest run of '{experiment}'", "name a run instead"):
                client = connect(self._store)
                tracked = client.get_experiment_by_name(experiment)
                query = "tags.status = 'completed' and tags.evaluation != ''"
                order = ["attributes.start_time DESC"]
                n = 50 + len(own_keys)
                runs = (
                    client.search_runs([tracked.experiment_id], query, max_results=n, order_by=order) if tracked else []
                )
                runs = [run for run in runs if "reference" not in run.data.tags]
                runs = [run for run in runs if (run.data.tags.get("fingerprint"), run.info.start_time) not in own_keys]
        except TrackingError as error:
            if fails:
                raise
            terminal.note(current_wording()("progress.no_store", error=error))
            return None
        return (int(runs[0].info.start_time), str(runs[0].info.run_id)) if runs else None


def open_place(place: Place) -> Side:
    """Args:
        place: of a run or a snapshot.

    Returns:
        One side of a comparison.

    Raises:
        DataError: the snapshot cannot be used.
        InputError: the run has no results.
    """
    if place.path.is_file():
        return _side(read_snapshot(place.path), place, None)
    folder = place.path if (place.path / "per_item.jsonl").is_file() else None
    if (place.path / FILE).is_file():
        return _side(read_snapshot(place.path / FILE), place, folder)
    run = open_run(place.path)
    if not run.summary:
        reason = run.run.get("error_message") or "it did not finish"
        raise InputError(f"{place.label}: the run has no results ({run.run.get('status')}: {reason})")
    with legible(place.path):
        data = encode(run)
    return _side(parse_snapshot(data, str(place.path)), place, folder)


def _side(snapshot: Snapshot, place: Place, folder: Path | None) -> Side:
    if len(snapshot.cases) == 0:
        raise DataError(f"{place.label}: the run has no finished case, so there is nothing to compare with")
    return Side(snapshot, place.label, folder)


def _cell(sweep: Path, cell: Mapping[str, Any]) -> str:
    return f"{sweep / cell['folder']} ({' '.join(cell['overrides'])})"


def _runs_here() -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in (*Path("outputs").glob("*/run.json"), *Path("outputs").glob("*/*/run.json")):
        run = read_json(path)
        if run is not None and run.get("experiment") and _began_ms(run):
            yield path.parent, run


def _key(run: Mapping[str, Any]) -> tuple[str | None, int]:
    return run.get("fingerprint"), _began_ms(run)


def _began_ms(run: Mapping[str, Any]) -> int:
    """The start in milliseconds; 0 where it is unknown."""
    try:
        return int(datetime.fromisoformat(run["created_at"]).timestamp() * 1000)
    except (KeyError, OverflowError, TypeError, ValueError):
        return 0


def _nearby_folders(reference: str) -> str:
    folders = [*Path("outputs").glob("*"), *Path("experiments").glob("*")]
    near = did_you_mean(reference, [str(folder) for folder in folders if folder.is_dir()])
    return near if "did you mean" in near else ""


def _runs_in_outputs(names: Collection[str]) -> str:
    return f"; ./outputs has runs of {', '.join(names)}" if names else ""
