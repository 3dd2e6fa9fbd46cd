"""The runs of a sweep over the same cases, so that their means can be compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from runner.compare import comparability
from runner.compare.comparability import Reason
from runner.compare.differences import PairedRuns
from runner.compare.pairing import Pairing, pair
from runner.compare.sides import Place, open_place
from runner.compare.snapshots import Bools, Cases, Snapshot
from runner.compare.undecided import undecided
from runner.errors import InputError
from runner.metrics.catalogue import merge_catalogues
from runner.metrics.metric import MIN_DECIDED, Catalogue
from runner.metrics.paired import PairedResult
from runner.metrics.statistics import Floats
from runner.system.folder import case_counts, open_run

PARTS = ("run", "config", "depends", "metrics", "counts")  # of a snapshot, by which runs of a sweep differ little
WHOLE = ("identity", "documents")  # those that are equal in many runs
MOST_KNOWN = 10_000  # differences that are kept, half a KB each


def open_cells(sweep: Path, folders: Iterable[str]) -> dict[str, Snapshot]:
    """Open the runs of a sweep that have results. Metrics with a `/` in the name (legs of a fusion, chunks) are left
    out. Columns and settings that are equal in several runs are one object.

    Args:
        sweep: its folder.
        folders: of its runs, below it.

    Returns:
        Snapshots by folder.

    Raises:
        DataError: a snapshot cannot be used.
    """
    snapshots_of: dict[str, Snapshot] = {}
    known_values, catalogues = dict[bytes, Any](), list[Catalogue]()
    for folder in folders:
        if not _has_results(sweep / folder):
            continue
        snapshot = open_place(Place(sweep / folder, folder)).snapshot
        declared = snapshot.catalogue.metrics
        catalogue = next((each for each in catalogues if each.metrics == declared), snapshot.catalogue)
        catalogues += [] if any(each is catalogue for each in catalogues) else [catalogue]
        parts: dict[str, Any] = {name: _shared_parts(getattr(snapshot, name), known_values) for name in PARTS}
        parts |= {name: _shared_value(getattr(snapshot, name), known_values) for name in WHOLE}
        snapshots_of[folder] = replace(
            snapshot, cases=_with_shared(snapshot.cases, known_values), catalogue=catalogue, **parts
        )
    return snapshots_of


def _shared_parts(record: Mapping[str, Any], known_values: dict[bytes, Any]) -> dict[str, Any]:
    """The record with equal parts taken from `known_values`: runs of a sweep differ in few of their settings."""
    return {
        name: _shared_value(part, known_values) if isinstance(part, dict | list) else part
        for name, part in record.items()
    }


def _with_shared(cases: Cases, known_values: dict[bytes, Any]) -> Cases:
    """The cases with equal columns taken from `known_values`; new columns are added there."""
    columns = {field.name: getattr(cases, field.name) for field in fields(cases)}
    columns["values"] = {name: column for name, column in cases.values.items() if "/" not in name}
    for kind, column in columns.items():
        if kind == "chunk_gold":
            continue
        if isinstance(column, Mapping):
            columns[kind] = {name: _shared_value(each, known_values) for name, each in column.items()}
        else:
            columns[kind] = _shared_value(column, known_values)
    return Cases(**columns)


def _shared_value(value: Any, known_values: dict[bytes, Any]) -> Any:
    is_json = isinstance(value, dict | list)
    data = orjson.dumps(value) if is_json else value.dtype.str.encode() + value.tobytes()
    return known_values.setdefault(blake2b(data, digest_size=16).digest(), value)


def _has_results(folder: Path) -> bool:
    try:
        return case_counts(open_run(folder).summary)["done"] > 0
    except InputError:  # it never started
        return False


class Cells:
    """`snapshots` by folder, as `open_cells` returns them. Rows are the cases that all runs have finished."""

    def __init__(self, snapshots: Mapping[str, Snapshot], seed: int) -> None:
        self.snapshots, self._seed = snapshots, seed
        self._places, self.n_rows = _places([snapshot.cases.ids for snapshot in snapshots.values()])
        self._places_of = dict(zip(snapshots, self._places, strict=True))
        self._pairings: dict[tuple[int, ...], Pairing] = {}
        self._differences: dict[tuple[object, ...], PairedResult | None] = {}

    @cached_property
    def catalogue(self) -> Catalogue:
        """The metrics that the runs declare; of several declarations the first one."""
        return merge_catalogues(snapshot.catalogue for snapshot in self.snapshots.values())

    def runs(self, baseline: str, candidate: str) -> PairedRuns:
        """Two runs of the sweep, paired by case."""
        baseline_run, candidate_run = self.snapshots[baseline], self.snapshots[candidate]
        key = tuple(
            id(column) for cases in (baseline_run.cases, candidate_run.cases) for column in _pairing_columns(cases)
        )
        if key not in self._pairings:
            self._pairings[key] = pair(baseline_run.cases, candidate_run.cases)
        return PairedRuns(baseline_run, candidate_run, self._pairings[key], self._seed)

    def reasons(self, one: str, other: str, metric: str) -> list[Reason]:
        """Why a metric of two runs is not comparable."""
        return comparability.reasons(self.runs(one, other), metric)

    def rows(self, metric: str, folders: Collection[str]) -> Bools:
        """bool [n_rows]: where at least one run has the metric or leaves it undecided, and no run lacks it although it
        applies."""
        has, lacks = np.zeros(self.n_rows, dtype=bool), np.zeros(self.n_rows, dtype=bool)
        for folder in folders:
            _, weights, missing = self._column(metric, folder)
            has |= (weights > 0) | self._undecided(metric, folder)
            lacks |= missing
        return np.asarray(has & ~lacks)

    def mean(self, metric: str, folder: str, rows: Bools) -> float | None:
        """The mean of a metric over rows, without undecided ones; None where no case counts."""
        values, weights, _ = self._column(metric, folder)
        total = float(weights[rows].sum())
        return float((values[rows] * weights[rows]).sum() / total) if total else None

    def is_undecided(self, metric: str, folder: str, rows: Bools) -> bool:
        """Whether fewer than half of the rows of a run are decided."""
        return bool(self._undecided(metric, folder)[rows].sum() > (1 - MIN_DECIDED) * rows.sum())

    def between(self, baseline: str, candidate: str, rows: Mapping[str, Bools]) -> dict[str, PairedResult]:
        """The differences `candidate` minus `baseline`, for each metric over its rows."""
        keys = {metric: self._key(metric, baseline, candidate, chosen) for metric, chosen in rows.items()}
        fresh = {metric: chosen for metric, chosen in rows.items() if keys[metric] not in self._differences}
        new_differences = self._new_differences(baseline, candidate, fresh)
        if len(self._differences) > MOST_KNOWN:
            self._differences.clear()
        self._differences.update((keys[metric], new_differences.get(metric)) for metric in fresh)
        differences = {metric: self._differences.get(keys[metric], new_differences.get(metric)) for metric in rows}
        return {metric: numbers for metric, numbers in differences.items() if numbers is not None}

    def _key(self, metric: str, baseline: str, candidate: str, mask: Bools) -> tuple[object, ...]:
        """Everything that a difference depends on. Equal columns are one object, so that of many runs with the same
        values one is compared."""
        columns: list[Any] = []
        for run in (self.snapshots[baseline], self.snapshots[candidate]):
            cases = run.cases
            kinds = (cases.values, cases.unscored, cases.weights, cases.noise)
            record = run.catalogue.variant(metric).metric
            labels = None if record is None else cases.labels.get(record.decided_by)
            columns += [run.catalogue, *_pairing_columns(cases), cases.cluster, cases.failed, labels]
            columns += [kind.get(metric) for kind in kinds]
        return metric, blake2b(mask.tobytes(), digest_size=16).digest(), *map(id, columns)

    def _new_differences(self, baseline: str, candidate: str, rows: Mapping[str, Bools]) -> dict[str, PairedResult]:
        runs, metrics_by_mask = self.runs(baseline, candidate), dict[bytes, list[str]]()
        for metric, mask in rows.items():
            metrics_by_mask.setdefault(mask.tobytes(), []).append(metric)
        differences = {}
        for metrics in metrics_by_mask.values():
            cases = np.zeros(len(self.snapshots[baseline].cases), dtype=bool)
            cases[self._places_of[baseline][rows[metrics[0]]]] = True
            for metric, difference in runs.differences(metrics, cases[runs.pairing.baseline]).items():
                if difference.numbers is not None:
                    differences[metric] = difference.numbers
        return differences

    def _undecided(self, metric: str, folder: str) -> Bools:
        cases = self.snapshots[folder].cases
        return undecided(cases, self.catalogue.variant(metric).metric, metric)[self._places_of[folder]]

    def _column(self, metric: str, folder: str) -> tuple[Floats, Floats, Bools]:
        """(values, weights, whether it is missing although it applies), each [n_rows]."""
        cases, places = self.snapshots[folder].cases, self._places_of[folder]
        n = len(cases)
        values = cases.values[metric][places]
        has = ~np.isnan(values)
        weights = np.where(has, cases.weights.get(metric, np.ones(n))[places], 0.0)
        flagged = cases.unscored.get(metric, np.zeros(n, dtype=bool))[places]
        return np.nan_to_num(values), weights, ~has & (flagged | cases.failed[places])


def _pairing_columns(cases: Cases) -> tuple[Any, ...]:
    """The columns on which the pairing of two runs depends."""
    return cases.ids, cases.content, cases.gold


def _places(columns: Sequence[Sequence[str]]) -> tuple[list[NDArray[np.intp]], int]:
    """The places of the common ids in each column, and their number."""
    distinct = {id(column): column for column in columns}
    first, *others = distinct.values()
    common_ids = sorted(set(first).intersection(*others))
    places: dict[int, NDArray[np.intp]] = {}
    for key, column in distinct.items():
        by_id = {case: place for place, case in enumerate(column)}
        places[key] = np.array([by_id[case] for case in common_ids], dtype=np.intp)
    return [places[id(column)] for column in columns], len(common_ids)
