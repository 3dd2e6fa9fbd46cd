"""The rows of a run as columns for what sets runs side by side: where each row stands, whether it went right, and what
came out.

A run of a sweep leaves them for the end of the sweep, while its rows are in memory anyway."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from runner.system.folder import lines_at
from runner.system.shared import make_once
from runner.system.shared_record import note_once

PARTS = ("retrieved", "answer")  # parts of the output of a case
RIGHT = frozenset({"none", "ok", "True"})  # among the outcomes of a case
KEPT_ROWS = 2_000_000  # of all runs of a sweep, 17 bytes each


@dataclass(frozen=True, slots=True)
class Outputs:
    """`ids`: of the cases, each once, in the order of the file; `places`: of their rows in bytes, int64 [n]; `right`:
    bool [n]; `digests`: part of the output -> hash over all cases, independent of their order; without parts that no
    case has."""

    ids: Sequence[str]
    places: NDArray[np.int64]
    right: NDArray[np.bool_]
    digests: Mapping[str, str]


def outputs(path: Path, among: Container[str] | None = None) -> Outputs:
    """The outputs of the rows in a file; `among`: of these cases only."""
    state = path.stat()
    key = path, state.st_size, state.st_mtime_ns
    outputs_by_file: dict[tuple[Path, int, int], Outputs] = make_once("outputs", "", dict)
    columns = outputs_by_file[key] if key in outputs_by_file else _read(path, None)
    if key not in outputs_by_file and sum(len(each.ids) for each in outputs_by_file.values()) < KEPT_ROWS:
        columns = outputs_by_file[key] = _with_known_ids(columns, next(iter(outputs_by_file.values()), columns).ids)
    if among is None or all(id in among for id in columns.ids):
        return columns
    return _read(path, among)


def _with_known_ids(columns: Outputs, known: Sequence[str]) -> Outputs:
    ids = known if known == columns.ids else columns.ids
    return Outputs(ids, columns.places, columns.right, columns.digests)


def _read(path: Path, among: Container[str] | None) -> Outputs:
    places, right = dict[str, int](), list[bool]()
    sums, seen_parts = dict.fromkeys(PARTS, 0), set[str]()
    for place, row in lines_at(path):
        id = str(row.get("id"))
        if id in places or (among is not None and id not in among):
            continue
        places[id] = place
        right.append(is_right(row))
        for name, number in _numbers(id, row.get("output")).items():
            seen_parts.add(name)
            sums[name] = (sums[name] + number) % 2**128
    digests = {name: f"{sums[name]:032x}" for name in PARTS if name in seen_parts}
    return Outputs([*places], np.array([*places.values()], np.int64), np.array(right, bool), digests)


def outcome(row: Mapping[str, Any]) -> str:
    """The stage at which a question failed, `none` where it did not; `True`, `False` or `unknown` where the output says
    whether it had success; or how the case ended."""
    labels, output = row.get("labels") or {}, row.get("output")
    if row.get("status") != "ok":
        return str(row.get("status"))
    if "lost_at" not in labels and isinstance(output, Mapping) and "success" in output:
        return "unknown" if output["success"] is None else str(bool(output["success"]))
    return str(labels.get("lost_at", "ok"))


def is_right(row: Mapping[str, Any]) -> bool:
    """Whether a case went right; one that nothing judged counts as right."""
    return outcome(row) in RIGHT and (row.get("metrics") or {}).get("right") != 0


def _numbers(id: str, output: Any) -> Mapping[str, int]:
    """Part of an output -> hash of it for its case."""
    return note_once(output, ("outputs", id), lambda: {name: _number(id, value) for name, value in _parts(output)})


def _parts(output: Any) -> Iterator[tuple[str, Any]]:
    fields = output if isinstance(output, Mapping) else {}
    if "retrieved" in fields:
        yield "retrieved", _ranking(fields["retrieved"])
    if "answer" in fields:
        yield "answer", fields["answer"]


def _ranking(retrieved: Any) -> Any:
    """The ids of the ranking, without scores."""
    if not isinstance(retrieved, Sequence):
        return retrieved
    return [
        hit.get("chunk") or hit.get("id") if type(hit) is dict or isinstance(hit, Mapping) else hit for hit in retrieved
    ]


def _number(id: str, value: Any) -> int:
    return int.from_bytes(hashlib.sha256(orjson.dumps([id, value])).digest()[:16])
