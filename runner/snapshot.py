"""snapshot.json: what comparing a run with another one needs, without a text of the data in it.

    {"schema": 1, "kind": "runner.snapshot", "run": {...}, "config": {...}, "identity": {name: hash},
     "depends": {metric: [names of identity]}, "metrics", "slices", "counts", "cases_count", "timing",
     "cases": {"ids": [...], "content": [...], "gold": [...], …, "values": {metric: [number or null]}}}

Columns of `cases` have one entry for each finished case, by ascending id. `content` and `gold` are hashes of the
question and of its labels, `noise` the standard deviation of the votes of a judge within a case.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from runner.aggregate import SUMMARY_NAMES
from runner.report.folder import RunFolder, open_run

SCHEMA = 1
KIND = "runner.snapshot"
FILE = "snapshot.json"
RUN = (
    "id", "experiment", "evaluation_type", "k", "status", "created_at", "git", "versions", "choices", "overrides",
    "sweep_id", "fingerprint", "models",
)  # fmt: skip

# What a metric hangs on, by the first of these that its name begins with; judged metrics by their own rule.
RANKING = ("queries", "gold", "documents", "metric_code.ranking")
DEPENDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("chunk/", (*RANKING, "corpus")),
    ("unanswerable_", ("queries", "gold", "metric_code.diagnosis")),
    ("exact_match", ("queries", "gold", "metric_code.answers")),
    ("token_f1", ("queries", "gold", "metric_code.answers")),
    ("mean_faithfulness", ("queries", "judge")),
    ("mean_answer_relevancy", ("queries", "judge")),
    *((name, RANKING) for name in ("precision", "recall", "hit_rate", "mrr", "ndcg", "map")),
)
TREATMENTS = frozenset({"given", "generator", "retriever", "embedder", "tokenizer", "models", "slices"})


def write_snapshot(folder: Path) -> Path:
    """Beside the results of a run. Raises InputError when `folder` is no run folder."""
    path = folder / FILE
    scratch = path.with_suffix(".writing")
    scratch.write_bytes(orjson.dumps(snapshot_of(open_run(folder)), option=orjson.OPT_APPEND_NEWLINE))
    scratch.replace(path)
    return path


def snapshot_of(opened: RunFolder) -> dict[str, Any]:
    run, summary = opened.run, opened.summary
    identity = _identity(run)
    metrics = summary.get("metrics") or {}
    timing = summary.get("timing") or {}
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "run": {name: run.get(name) for name in RUN},
        "config": run.get("config") or {},
        "identity": identity,
        "depends": {name: list(depends_on(name, identity)) for name in metrics},
        "metrics": metrics,
        "slices": summary.get("slices") or {},
        "counts": summary.get("counts") or {},
        "cases_count": summary.get("cases") or {},
        "timing": {name: timing[name] for name in ("latency", "usage_total") if name in timing},
        "cases": _cases(opened.rows()),
    }


def depends_on(metric: str, identity: Iterable[str]) -> tuple[str, ...]:
    """Names of identity that must be equal for two values of a metric to be comparable."""
    known = set(identity)
    measure = metric.rpartition("/")[2] if not metric.startswith("chunk/") else metric
    found = next((names for prefix, names in DEPENDS if measure.startswith(prefix)), None)
    if found is None:
        found = tuple(sorted(known - TREATMENTS))
    return tuple(name for name in found if name in known)


def content_hash(text: str) -> str:
    """16 hex digits; the same for a question whatever its id."""
    normal = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(normal.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _identity(run: Mapping[str, Any]) -> dict[str, str]:
    """Hashes of the data, of the components and of the code that scores, as the run recorded them."""
    parts = {name: digest for name, digest in (run.get("components") or {}).items() if "." not in name}
    code = {f"metric_code.{family}": digest for family, digest in (run.get("metric_code") or {}).items()}
    data = dict(run.get("identity") or {})
    judge = [data.pop("judge", None), parts.pop("judge", None)]  # what it says and whom it asks; its settings
    if any(judge):
        data["judge"] = hashlib.sha256(repr(judge).encode()).hexdigest()
    return {**parts, **data, **code}


def _cases(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Only the last row of a case counts."""
    kept = {str(row["id"]): _slim(row) for row in rows}
    ordered = [kept[id] for id in sorted(kept)]
    names = sorted({name for row in ordered for name in row["values"]})
    columns = ("ids", "content", "gold", "status", "language", "difficulty", "tags", "latency_ms")
    return {
        **{column: [row[column] for row in ordered] for column in columns},
        "values": {name: [row["values"].get(name) for row in ordered] for name in names},
        "unscored": _sparse(ordered, "unscored"),
        "weights": _sparse(ordered, "weights"),
        "noise": _sparse(ordered, "noise"),
        "labels": _by_name(ordered, "labels"),
    }


def _slim(row: Mapping[str, Any]) -> dict[str, Any]:
    output = row.get("output") or {}
    question = output.get("query") if isinstance(output, Mapping) else None
    unscored = {SUMMARY_NAMES.get(name, name): 1 for name in row.get("unscored") or ()}
    values = {SUMMARY_NAMES.get(name, name): value for name, value in (row.get("metrics") or {}).items()}
    return {
        "ids": str(row["id"]),
        "content": content_hash(question if isinstance(question, str) else str(row["id"])),
        "gold": output.get("gold") if isinstance(output, Mapping) else None,
        "status": row.get("status"),
        "language": row.get("language"),
        "difficulty": row.get("difficulty"),
        "tags": row.get("tags") or [],
        "latency_ms": row.get("latency_ms"),
        "values": {name: value for name, value in values.items() if value is not None}
        | dict.fromkeys(unscored - values.keys()),
        "unscored": unscored,
        "weights": row.get("weights") or {},
        "labels": row.get("labels") or {},
        "noise": dict(_noise(row.get("judgements") or {})),
    }


def _noise(judgements: Mapping[str, Any]) -> Iterable[tuple[str, float]]:
    for rubric, judgement in judgements.items():
        votes = [vote for vote in ((judgement.get("details") or {}).get("votes") or {}).values() if vote is not None]
        if len(votes) > 1:
            mean = math.fsum(votes) / len(votes)
            variance = math.fsum((vote - mean) ** 2 for vote in votes) / (len(votes) - 1)
            yield SUMMARY_NAMES.get(rubric, rubric), math.sqrt(variance)


def _sparse(rows: Sequence[Mapping[str, Any]], column: str) -> dict[str, dict[str, float]]:
    """Metric -> place of the case -> number, where there is one."""
    found: dict[str, dict[str, float]] = {}
    for place, row in enumerate(rows):
        for name, number in row[column].items():
            found.setdefault(name, {})[str(place)] = number
    return dict(sorted(found.items()))


def _by_name(rows: Sequence[Mapping[str, Any]], column: str) -> dict[str, list[Any]]:
    names = sorted({name for row in rows for name in row[column]})
    return {name: [row[column].get(name) for row in rows] for name in names}
