"""Snapshots of small runs, with numbers that were written by hand, and folders to compare."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runner.compare.differences import PairedRuns
from runner.compare.sides import Side
from runner.compare.snapshot import depends_on, write_snapshot
from runner.compare.snapshots import Cases, Snapshot
from runner.metrics.catalogue import built_in_catalogue
from tests.run_folders import METRICS, dump, merged, row, write_run

IDENTITY = {
    name: name for name in (
        "documents", "chunks", "queries", "gold", "judge", "judge_prompt.faithfulness", "retriever",
        "metric_code.ranking", "metric_code.answers", "metric_code.diagnosis",
    )
}  # fmt: skip


def cases(ids: Sequence[str], values: Mapping[str, Sequence[float | None]] | None = None, **columns: Any) -> Cases:
    """Columns not given hold nothing; `failed` names cases, `unscored`, `weights`, `noise` map metrics to {id: …}."""
    n = len(ids)
    nothing: list[Any] = [None] * n

    def dense(found: Mapping[str, Mapping[str, float]], default: float) -> dict[str, np.ndarray]:
        return {name: np.array([entry.get(id, default) for id in ids]) for name, entry in found.items()}

    return Cases(
        ids=list(ids),
        content=columns.get("content", [f"text of {id}" for id in ids]),
        gold=columns.get("gold", nothing),
        failed=np.array([id in columns.get("failed", ()) for id in ids], dtype=bool),
        language=columns.get("language", nothing),
        difficulty=columns.get("difficulty", nothing),
        tags=columns.get("tags", [[] for _ in ids]),
        latency_ms=np.array(columns.get("latency_ms", [np.nan] * n), dtype=np.float64),
        values={name: np.array(column, dtype=np.float64) for name, column in (values or {}).items()},
        unscored={name: found == 1 for name, found in dense(columns.get("unscored", {}), 0.0).items()},
        weights=dense(columns.get("weights", {}), 1.0),
        noise=dense(columns.get("noise", {}), np.nan),
        labels=columns.get("labels", {}),
        chunk_gold=columns.get("chunk_gold", {}),
        cluster=columns.get("cluster", []),
    )


def snapshot(found: Cases, **changes: Any) -> Snapshot:
    """A run of retrieval with k = 5; `changes` to its run, identity, config, catalogue, timing and cost."""
    identity = {**IDENTITY, **changes.get("identity", {})}
    catalogue = changes.get("catalogue", built_in_catalogue())
    metrics = {name: {"value": 0.5, "n": len(found)} for name in changes.get("metrics", found.values)}
    return Snapshot(
        run={"id": "run", "evaluation_type": "retrieval_only", "k": 5, "status": "completed", **changes.get("run", {})},
        config=changes.get("config", {}),
        identity=identity,
        depends={name: depends_on(name, identity, catalogue) for name in metrics},
        metrics=metrics,
        counts={},
        cases_count={},
        timing=changes.get("timing", {}),
        cases=found,
        catalogue=catalogue,
        cost=changes.get("cost", {}),
    )


def side(found: Cases, label: str = "run", **changes: Any) -> Side:
    return Side(snapshot(found, **changes), label)


def paired(baseline: Snapshot, candidate: Snapshot, seed: int = 1) -> PairedRuns:
    return PairedRuns.of(baseline, candidate, seed=seed)


# --- folders --------------------------------------------------------------------------------------

RUN = {
    "identity": {"corpus": "c" * 64, "documents": "o" * 64, "queries": "d" * 64, "gold": "e" * 64},
    "metric_code": {"ranking": "1" * 64, "answers": "2" * 64, "diagnosis": "3" * 64},
    "judged_by": {"judge": "4" * 64, "prompts": {"faithfulness": "5" * 64}},
    "components": {"retriever": "6" * 64},
}


def run_folder(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    run: Mapping[str, Any] | None = None,
    summary: Mapping[str, Any] | None = None,
) -> Path:
    """A finished run with its snapshot. Metrics of summary.json are those of the rows."""
    write_run(folder, merged(merged(RUN, {"id": folder.name}), run or {}), summary, rows)
    path = folder / "summary.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    named = {name for each in rows for name in each["metrics"]}
    names = [name for name in METRICS if name.removeprefix("mean_") in named]
    found["metrics"] = {name: METRICS[name] for name in (*names, *sorted(named & METRICS.keys()))}
    dump(path, found)
    write_snapshot(folder)
    return folder


def graded(id: str, recall: float, **changes: Any) -> dict[str, Any]:
    """A row whose ranking metrics are all `recall`, lost below k where that is 0."""
    names = ("recall_at_k", "ndcg_at_k", "mrr", "hit_rate_at_3", "mrr_at_10", "precision_at_5")
    output = {"gold": f"gold {id}", "retrieved": [], **changes.pop("output", {})}
    labels = {"lost_at": "none" if recall > 0 else "below_k", **changes.pop("labels", {})}
    metrics = {**dict.fromkeys(names, recall), **changes.pop("metrics", {})}
    return row(id, metrics=metrics, output=output, labels=labels, **changes)
