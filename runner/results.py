"""From the rows of a run to its summary, its errors and its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from runner.aggregate import aggregate, latency
from runner.components import Built
from runner.config import RunOptions
from runner.job import INTERRUPTED, Job, Outcome
from runner.journal import Journal
from runner.judging import judging_of
from runner.metadata import SCHEMA
from runner.protocols import Case
from runner.records import CaseSet, DataProblem, Preparation

GENERATION = ("mean_faithfulness", "mean_answer_relevancy")


@dataclass(frozen=True, slots=True)
class Finished:
    """What the engine left behind, before it is summed up."""

    case_set: CaseSet[Any]
    cases: Sequence[Case]
    preparation: Preparation
    complete: bool
    elapsed_s: float


def summary_of(
    job: Job, head: Mapping[str, Any], options: RunOptions, built: Built, finished: Finished, journal: Journal
) -> dict[str, Any]:
    ids = [case.id for case in finished.cases]
    numbers = aggregate(journal.rows(ids), seed=options.seed, total=len(ids))
    baselines = [
        f"{key}={job.choices.get(key, type(part).__name__)}"
        for key, part in built.parts.items()
        if getattr(part, "baseline", False)
    ]
    judging = judging_of(journal.rows(ids), seed=options.seed)
    problems = finished.case_set.problems
    errors = sum(problem.severity == "error" for problem in problems)
    return {
        "schema": SCHEMA,
        "status": "completed",
        "experiment": job.experiment,
        "evaluation": head["evaluation_type"],
        "k": options.k,
        "fingerprint": head["fingerprint"],
        **numbers,
        **{name: numbers["metrics"].get(name, {}).get("value") for name in GENERATION},
        **({"judging": judging} if judging else {}),
        "facts": {**finished.preparation.facts, "baselines": sorted(baselines)},
        "data_problems": {"errors": errors, "warnings": len(problems) - errors},
        "timing": {
            "latency": latency(journal.rows(ids)),
            **finished.preparation.timing,
            "created_at": head["created_at"],
            "elapsed_s": round(finished.elapsed_s, 3),
        },
    }


def outcome_of(summary: Mapping[str, Any], options: RunOptions, complete: bool) -> Outcome:
    cases = summary["cases"]
    done = cases["ok"] + cases["failed"] + cases["timeout"]
    bad = cases["failed"] + cases["timeout"] + cases["unscored"]
    if done and bad / done > options.max_failure_rate:
        share = f"{bad} of {done} cases failed ({bad / done:.1%}, max_failure_rate is {options.max_failure_rate:.1%})"
        return Outcome("failed", INTERRUPTED if not complete else 3, f"{share}; errors.jsonl lists them")
    if not complete:
        return Outcome("partial", INTERRUPTED, f"interrupted after {done} of {cases['total']} cases")
    return Outcome("completed", 0)


def write_errors(path: Path, problems: Iterable[DataProblem], rows: Iterable[Mapping[str, Any]]) -> None:
    """errors.jsonl: bad lines of data, then the cases that failed or have a metric that could not be scored."""
    scratch = path.with_suffix(".writing")
    with scratch.open("wb") as file:
        for problem in problems:
            line = {"id": None, "stage": "data", "severity": problem.severity, "error": problem.message}
            where = {"path": problem.path, "line": problem.line, "field": problem.field}
            file.write(orjson.dumps({**line, **where}, option=orjson.OPT_APPEND_NEWLINE))
        for row in rows:
            if row["status"] != "ok" or row["unscored"]:
                kept = {name: row[name] for name in ("id", "stage", "status", "error", "unscored")}
                file.write(orjson.dumps(kept, option=orjson.OPT_APPEND_NEWLINE))
    scratch.replace(path)
