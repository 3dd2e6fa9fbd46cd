"""Compares the rows of runs: which runs have identical outputs, and the latencies of their cases in order of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runner.compare.snapshots import Snapshot
from runner.metrics.statistics import Floats
from runner.report.outputs import PARTS, outputs

CHUNKS, ROWS = "chunks", "per_item.jsonl"


@dataclass(frozen=True, slots=True)
class Rows:
    """`digests`: part of the output -> hash over all cases, independent of their order; without parts that no case has.
    `live_ms`: latencies of the live cases in order of time, float64 [n]."""

    digests: Mapping[str, str]
    live_ms: Floats


def read_rows(folder: Path, snapshot: Snapshot) -> Rows:
    """Args:
        folder: of a run.
        snapshot: of the same run.

    Returns:
        What the rows of its cases put out; none where the folder has no rows.
    """
    if not (folder / ROWS).is_file():
        return Rows({}, np.array([], dtype=np.float64))
    live = dict(zip(snapshot.cases.ids, snapshot.cases.latency_ms.tolist(), strict=True))
    read = outputs(folder / ROWS, live)
    measured = np.array([live[id] for id in read.ids], dtype=np.float64)
    return Rows(read.digests, measured[~np.isnan(measured)])


def identical_groups(snapshots: Mapping[str, Snapshot], rows: Mapping[str, Rows]) -> list[dict[str, Any]]:
    """Runs over the same cases with identical outputs. Most sweeps have equal chunks, so these alone do not make a
    group.

    Args:
        snapshots: by folder.
        rows: by folder.

    Returns:
        One record (JSON values) for each group of at least two runs: `folders`, and `parts`, the identical parts:
        chunks, retrieved, answer.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for part in (CHUNKS, *PARTS):
        same: dict[str, list[str]] = {}
        for folder, snapshot in snapshots.items():
            digest = snapshot.identity.get(part) if part == CHUNKS else rows[folder].digests.get(part)
            if digest is not None:
                same.setdefault(f"{digest} {_cases(snapshot)}", []).append(folder)
        for folders in same.values():
            if len(folders) > 1:
                groups.setdefault(tuple(folders), []).append(part)
    return [{"folders": list(found), "parts": parts} for found, parts in groups.items() if parts != [CHUNKS]]


def _cases(snapshot: Snapshot) -> int:
    return hash(tuple(snapshot.cases.ids))
