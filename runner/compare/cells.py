"""The runs of a sweep over the same cases, so that their means can be compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runner.compare import comparability
from runner.compare.comparability import Reason
from runner.compare.differences import PairedRuns
from runner.compare.pairing import pair
from runner.compare.sides import Place, open_place
from runner.compare.snapshots import Bools, Snapshot
from runner.errors import InputError
from runner.metrics.catalogue import together
from runner.metrics.metric import Catalogue
from runner.metrics.paired import Paired
from runner.metrics.statistics import Floats
from runner.system.folder import case_counts, open_run


def open_cells(sweep: Path, folders: Iterable[str]) -> dict[str, Snapshot]:
    """The runs with results, by folder. Metrics with a `/` in the name (legs of a fusion, chunks) are left out. Raises
    DataError for an unusable snapshot."""
    opened = {}
    for folder in folders:
        if not _has_results(sweep / folder):
            continue
        snapshot = open_place(Place(sweep / folder, folder)).snapshot
        values = {name: column for name, column in snapshot.cases.values.items() if "/" not in name}
        opened[folder] = replace(snapshot, cases=replace(snapshot.cases, values=values))
    return opened


def _has_results(folder: Path) -> bool:
    try:
        return case_counts(open_run(folder).summary)["done"] > 0
    except InputError:  # it never started
        return False


class Cells:
    """`snapshots` by folder. Rows are the cases that all runs have finished."""

    def __init__(self, snapshots: Mapping[str, Snapshot], seed: int) -> None:
        self.snapshots, self._seed = snapshots, seed
        self._places, self.n_rows = _places([snapshot.cases.ids for snapshot in snapshots.values()])
        self._places_of = dict(zip(snapshots, self._places, strict=True))
        self._runs: dict[tuple[str, str], PairedRuns] = {}

    @cached_property
    def catalogue(self) -> Catalogue:
        """The metrics that the runs declare; of several declarations the first one."""
        return together(snapshot.catalogue for snapshot in self.snapshots.values())

    def runs(self, one: str, other: str) -> PairedRuns:
        """Two runs of the sweep, paired by case; cached."""
        if (one, other) not in self._runs:
            left, right = self.snapshots[one], self.snapshots[other]
            self._runs[one, other] = PairedRuns(left, right, pair(left.cases, right.cases), self._seed)
        return self._runs[one, other]

    def reasons(self, one: str, other: str, metric: str) -> list[Reason]:
        """Why a metric of two runs is not comparable."""
        return comparability.reasons(self.runs(one, other), metric)

    def rows(self, metric: str, folders: Collection[str]) -> Bools:
        """bool [n_rows]: where at least one run has the metric, and no run lacks it although it applies."""
        found = [self._column(metric, folder) for folder in folders]
        has = np.any([weights > 0 for _, weights, _ in found], axis=0)
        return np.asarray(has & ~np.any([missing for *_, missing in found], axis=0))

    def mean(self, metric: str, folder: str, rows: Bools) -> float | None:
        """The mean of a metric over rows; None where no case counts."""
        values, weights, _ = self._column(metric, folder)
        total = float(weights[rows].sum())
        return float((values[rows] * weights[rows]).sum() / total) if total else None

    def between(self, baseline: str, candidate: str, rows: Mapping[str, Bools]) -> dict[str, Paired]:
        """The differences `candidate` minus `baseline`, for each metric over its rows."""
        runs, together = self.runs(baseline, candidate), dict[bytes, list[str]]()
        for metric, chosen in rows.items():
            together.setdefault(chosen.tobytes(), []).append(metric)
        differences = {}
        for metrics in together.values():
            cases = np.zeros(len(self.snapshots[baseline].cases), dtype=bool)
            cases[self._places_of[baseline][rows[metrics[0]]]] = True
            for metric, difference in runs.differences(metrics, cases[runs.pairing.baseline]).items():
                if difference.numbers is not None:
                    differences[metric] = difference.numbers
        return differences

    def _column(self, metric: str, folder: str) -> tuple[Floats, Floats, Bools]:
        """(values, weights, whether it is missing although it applies), each [n_rows]."""
        cases, places = self.snapshots[folder].cases, self._places_of[folder]
        n = len(cases)
        values = cases.values[metric][places]
        has = ~np.isnan(values)
        weights = np.where(has, cases.weights.get(metric, np.ones(n))[places], 0.0)
        flagged = cases.unscored.get(metric, np.zeros(n, dtype=bool))[places]
        return np.nan_to_num(values), weights, ~has & (flagged | cases.failed[places])


def _places(columns: Sequence[Sequence[str]]) -> tuple[list[NDArray[np.intp]], int]:
    """The places of the common ids in each column, and their number."""
    shared = sorted(set(columns[0]).intersection(*columns[1:]))
    by_id = [{id: place for place, id in enumerate(column)} for column in columns]
    return [np.array([places[id] for id in shared], dtype=np.intp) for places in by_id], len(shared)
