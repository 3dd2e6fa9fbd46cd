"""Means that compare runs of a sweep of which not all are complete: over the cases that all have finished."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runner.metrics.aggregate import aggregate
from runner.metrics.clusters import AUTO
from runner.metrics.metric import Catalogue
from runner.system.folder import lines


@dataclass(frozen=True, slots=True)
class CommonCases:
    """`done` maps folders of runs to the number of cases that have a result there, `metrics` to estimates over
    the `n` cases that have one in all of them (nothing where `n` is 0)."""

    n: int
    done: Mapping[str, int]
    metrics: Mapping[str, Mapping[str, Any]]

    @property
    def same(self) -> bool:
        """Whether the runs have finished the very same cases."""
        return set(self.done.values()) == {self.n}

    def record(self) -> dict[str, Any]:
        """The record in summary.json of the sweep."""
        return asdict(self)


def pair_runs(
    sweep: Path, folders: Iterable[str], names: Collection[str], seed: int, catalogue: Catalogue, cluster: str = AUTO
) -> CommonCases | None:
    """`names` are metrics as summary.json calls them. None unless at least two of the runs have results."""
    files = {folder: sweep / folder / "per_item.jsonl" for folder in folders}
    ids = {
        folder: ids_of_run
        for folder, path in files.items()
        if (ids_of_run := {str(row.get("id")) for row in lines(path)})
    }
    if len(ids) < 2:
        return None
    common_ids = set.intersection(*ids.values())
    wanted = {catalogue.row_name(name) for name in names}
    estimates = {
        folder: aggregate(_rows(files[folder], common_ids, wanted), catalogue, seed=seed, cluster=cluster)["metrics"]
        for folder in ids
        if common_ids
    }
    return CommonCases(len(common_ids), {folder: len(ids_of_run) for folder, ids_of_run in ids.items()}, estimates)


def _rows(path: Path, ids: Collection[str], names: Collection[str]) -> list[dict[str, Any]]:
    """The parts of rows that the metrics `names` are computed from, of these cases, in the order of their ids: the
    order in which they finished does not matter."""
    rows = []
    for row in lines(path):
        if str(row.get("id")) in ids:
            parts = {part: _subset(row.get(part) or {}, names) for part in ("metrics", "weights")}
            unscored = [name for name in row.get("unscored") or () if name in names]
            shared = {name: row.get(name) for name in ("status", "clusters", "tags")}
            rows.append({"id": row["id"], **shared, **parts, "unscored": unscored})
    return sorted(rows, key=lambda row: str(row["id"]))


def _subset(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}
