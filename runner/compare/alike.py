"""Compares the rows of runs: which runs have identical outputs, and the latencies of their cases in order of time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from runner.compare.snapshots import Snapshot
from runner.metrics.statistics import Floats
from runner.system.folder import lines

CHUNKS, ROWS = "chunks", "per_item.jsonl"
PARTS = ("retrieved", "answer")  # parts of the output of a case


@dataclass(frozen=True, slots=True)
class Rows:
    """`digests`: part of the output -> hash over all cases, independent of their order; without parts that no case has.
    `live_ms`: latencies of the live cases in order of time, float64 [n]."""

    digests: Mapping[str, str]
    live_ms: Floats


def read_rows(folder: Path, snapshot: Snapshot) -> Rows:
    """Read the rows of the cases of a snapshot from its run folder."""
    live = dict(zip(snapshot.cases.ids, snapshot.cases.latency_ms.tolist(), strict=True))
    sums = dict.fromkeys(PARTS, 0)
    read_ids, times, summed = set[str](), list[float](), set[str]()
    for row in lines(folder / ROWS):
        if row.get("id") not in live or row["id"] in read_ids:
            continue
        read_ids.add(row["id"])
        times.append(live[row["id"]])
        for name, value in _parts(row):
            summed.add(name)
            sums[name] = (sums[name] + _number(row["id"], value)) % 2**128
    measured = np.array(times, dtype=np.float64)
    return Rows({name: f"{sums[name]:032x}" for name in PARTS if name in summed}, measured[~np.isnan(measured)])


def alike(snapshots: Mapping[str, Snapshot], rows: Mapping[str, Rows]) -> list[dict[str, Any]]:
    """Groups of at least two runs over the same cases with identical outputs. JSON values: `folders`, and `parts`, the
    identical parts: chunks, retrieved, answer. Most sweeps have equal chunks, so these alone do not make a group."""
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


def _parts(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    output = row.get("output")
    kept = output if isinstance(output, Mapping) else {}
    if "retrieved" in kept:
        yield "retrieved", _ranking(kept["retrieved"])
    if "answer" in kept:
        yield "answer", kept["answer"]


def _ranking(retrieved: Any) -> Any:
    """The ids of the ranking, without scores."""
    if not isinstance(retrieved, Sequence):
        return retrieved
    return [hit.get("chunk") or hit.get("id") if isinstance(hit, Mapping) else hit for hit in retrieved]


def _number(id: str, value: Any) -> int:
    return int.from_bytes(hashlib.sha256(orjson.dumps([id, value])).digest()[:16])


def _cases(snapshot: Snapshot) -> int:
    return hash(tuple(snapshot.cases.ids))
