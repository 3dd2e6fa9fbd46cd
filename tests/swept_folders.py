"""Sweeps whose runs have hand-written values of every case."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.run_folders import RUN, dump, estimate, row

Values = Sequence[float | None]
NAMES = {"faithfulness": "mean_faithfulness", "answer_relevancy": "mean_answer_relevancy"}


def write_swept(
    folder: Path,
    runs: Mapping[str, Mapping[str, Values]],
    *,
    ks: Sequence[int] = (),
    language: str = "en",
    changes: Mapping[str, Mapping[str, Any]] | None = None,
    references: Mapping[str, Mapping[str, Values]] | None = None,
) -> Path:
    """`runs`: override -> metric -> value of the cases q-00, q-01, …; None: the case has not been run. `ks`: k of each
    run, 5 where not given; `changes`: override -> changes of its entry in sweep.json; `references`: name -> the
    same as of runs."""
    beside = references or {}
    cells = []
    for number, (override, metrics) in enumerate([*runs.items(), *beside.items()]):
        k = ks[number] if number < len(ks) else 5
        name = str(number) if number < len(runs) else override
        own = folder / name
        own.mkdir(parents=True)
        values = {name: [value for value in column if value is not None] for name, column in metrics.items()}
        summary = {
            "k": k,
            "cases": {"total": len(next(iter(metrics.values()))), "ok": len(next(iter(values.values())))},
            "metrics": {NAMES.get(name, name): _estimate(column) for name, column in values.items()},
        }
        cell = {"folder": name, "overrides": [override], "status": "completed", "exit_code": 0}
        cell |= (changes or {}).get(override, {})
        config = {"k": k, "seed": 42, "report": {"language": language}}
        dump(own / "run.json", {**RUN, "k": k, "sweep_id": folder.name, "status": cell["status"], "config": config})
        dump(own / "summary.json", summary)
        (own / "per_item.jsonl").write_text("".join(_rows(metrics)), encoding="utf-8")
        cells.append(cell)
    parts = {"cells": cells[: len(runs)], "references": cells[len(runs) :]}
    head = {"schema": 1, "id": folder.name, "experiment": "full_rag", "status": "completed"}
    dump(folder / "sweep.json", {**head, "created_at": "2026-01-02T03:04:05Z", **parts})
    return folder


def _estimate(column: Sequence[float]) -> dict[str, Any]:
    return estimate(sum(column) / len(column) if column else None, len(column))


def _rows(metrics: Mapping[str, Values]) -> list[str]:
    """Nothing but these metrics; a case that took 10 ms."""
    lines = []
    for number, values in enumerate(zip(*metrics.values(), strict=True)):
        if None not in values:
            found = row(f"q-{number:02}", timings={"generation": {"ms": 10.0, "live": True}})
            found["metrics"] = dict(zip(metrics, values, strict=True))
            lines.append(json.dumps(found) + "\n")
    return lines
