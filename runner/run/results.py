"""Computes the summary, the errors and the outcome of a run from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from runner.config.components import BuiltComponents
from runner.config.options import RunOptions
from runner.llm.models import models_among
from runner.metrics.catalogue import catalogue_in
from runner.metrics.judged import ANSWER_MEANS
from runner.protocols import Summing, attribute_of
from runner.records import DataProblem, Preparation
from runner.run.engine import INTERRUPTED, Stop
from runner.run.job import Job, Outcome
from runner.system.journal import Journal, is_finished
from runner.system.metadata import SCHEMA
from runner.system.shared import make_once
from runner.system.writing import replacing

if TYPE_CHECKING:
    from runner.metrics.aggregate import Known

SHOWN_CHARS = 300  # characters of an error among many


class Tally:
    """Counts over rows that are read once. `errors`: ids of the rows for errors.jsonl; `unfinished`: number of rows
    that lack a judgement; `also` gets each row with its place."""

    def __init__(self, also: Callable[[int, Mapping[str, Any]], None] = lambda place, row: None) -> None:
        from runner.metrics.aggregate import Costs, Times
        from runner.metrics.judging import ClampedScores, RubricVotes

        self.times, self.costs, self.votes, self.clamped = Times(), Costs(), RubricVotes(), ClampedScores()
        self._also = also
        self.errors: list[str] = []
        self.unfinished = 0

    def pass_through(self, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[Mapping[str, Any]]:
        """Yield the rows, which come with their places, and count them."""
        for place, row in rows:
            self._also(place, row)
            self.times.add(row)
            self.costs.add(row)
            self.votes.add(row)
            self.clamped.add(row)
            self.unfinished += not is_finished(row)
            if row["status"] != "ok" or row["unscored"]:
                self.errors.append(row["id"])
            yield row


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of the engine: the problems of the data and the ids of all cases. `stop`: why cases are pending;
    `elapsed_s`: over all passes of the run; `tally`: counts of rows, filled while they are summed up; `loop_lag_ms`:
    the mean of the last pass."""

    problems: Sequence[DataProblem]
    ids: Sequence[str]
    preparation: Preparation
    stop: Stop | None
    elapsed_s: float
    tally: Tally = field(default_factory=Tally)
    loop_lag_ms: float | None = None


def summary_of(
    job: Job,
    head: Mapping[str, Any],
    options: RunOptions,
    components: BuiltComponents,
    finished: Finished,
    journal: Journal,
) -> dict[str, Any]:
    """summary.json of a run, from the rows of its journal."""
    from runner.metrics.aggregate import aggregate

    ids, tally = finished.ids, finished.tally
    rows = tally.pass_through(journal.rows_with_places(ids))
    known: Known = make_once("estimates", "", dict)
    numbers = aggregate(
        rows, catalogue_in(head), seed=options.seed, total=len(ids), shared_estimates=known, cluster=options.cluster
    )
    judging = tally.votes.judging(seed=options.seed)
    more = components.root.sums(journal.rows(ids)) if isinstance(components.root, Summing) else {}
    costs, clamped = tally.costs.sums(), tally.clamped.counts()
    timing = more.pop("timing", {})
    errors = sum(problem.severity == "error" for problem in finished.problems)
    return {
        "schema": SCHEMA,
        "status": "completed",
        "experiment": job.experiment,
        "evaluation": head["evaluation_type"],
        "k": options.k,
        "fingerprint": head["fingerprint"],
        **numbers,
        **{name: numbers["metrics"].get(name, {}).get("value") for name in ANSWER_MEANS},
        **({"judging": judging} if judging else {}),
        **({"clamped_scores": clamped} if clamped else {}),
        **({"cost": costs} if costs else {}),
        **more,
        "facts": {**finished.preparation.facts, "baselines": _baselines(job, components)},
        "data_problems": {"errors": errors, "warnings": len(finished.problems) - errors},
        "timing": _timing(job, head, components, finished, timing),
    }


def _timing(
    job: Job,
    head: Mapping[str, Any],
    components: BuiltComponents,
    finished: Finished,
    own: Mapping[str, Any],
) -> dict[str, Any]:
    """What depends on the clock; `own`: what the evaluation adds to it."""
    models = models_among(components.parts.values())
    return {
        "latency": {**finished.tally.times.percentiles(), **own.get("latency", {})},
        **{name: value for name, value in own.items() if name != "latency"},
        **finished.preparation.timing,
        **({} if models is None else models.usage(job.cell)),
        **({} if finished.loop_lag_ms is None else {"loop_lag_ms": finished.loop_lag_ms}),
        "created_at": head["created_at"],
        "elapsed_s": round(finished.elapsed_s, 3),
    }


def _baselines(job: Job, components: BuiltComponents) -> list[str]:
    """The components that work by simple rules and are not idle, as GROUP=CHOICE, sorted."""
    idle = {f"{key}.{name}" for key, part in components.parts.items() for name in attribute_of(part, "idle")}
    idle |= set(attribute_of(components.root, "idle"))  # an evaluation counts in whole groups
    return sorted(
        f"{key.replace('.', '/')}={job.choices.get(key.replace('.', '/'), type(part).__name__)}"
        for key, part in components.parts.items()
        if attribute_of(part, "baseline") and key not in idle
    )


def outcome_of(
    summary: Mapping[str, Any], options: RunOptions, stop: Stop | None, errors: Mapping[str, int]
) -> Outcome:
    """The outcome of a finished pass. `errors` counts the reasons of failed cases."""
    cases = summary["cases"]
    n_done = cases["ok"] + cases["failed"] + cases["timeout"]
    if stop is not None:
        after = f" after {n_done} of {cases['total']} cases" if stop == INTERRUPTED else ""
        return Outcome("partial", stop.exit_code, f"{stop.message}{after}")
    bad = cases["failed"] + cases["timeout"] + cases["unscored"]
    if n_done and bad / n_done > options.max_failure_rate:
        what = "failed or lack a score" if cases["unscored"] else "failed"
        share = (
            f"{bad} of {n_done} cases {what} ({bad / n_done:.1%}, max_failure_rate is {options.max_failure_rate:.1%})"
        )
        return Outcome("failed", 3, f"{share}; errors.jsonl lists them{_most_common(errors)}")
    return Outcome("completed", 0)


def _most_common(errors: Mapping[str, int]) -> str:
    error, n = Counter(errors).most_common(1)[0]
    shown = error if len(error) <= SHOWN_CHARS else f"{error[:SHOWN_CHARS]}…"
    return f"; {n} of them: {shown}"


def write_errors(path: Path, problems: Iterable[DataProblem], rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Write errors.jsonl: bad lines of data, then the cases that failed or have an unscored metric. Returns the number
    of cases by reason."""
    reasons: Counter[str] = Counter()
    with replacing(path) as scratch, scratch.open("wb") as file:
        for problem in problems:
            line = {"id": None, "stage": "data", "severity": problem.severity, "error": problem.message}
            where = {"path": problem.path, "line": problem.line, "field": problem.field}
            file.write(orjson.dumps({**line, **where}, option=orjson.OPT_APPEND_NEWLINE))
        for row in rows:
            if row["status"] != "ok" or row["unscored"]:
                reason = _reason(row)
                reasons[reason] += 1
                kept = {name: row[name] for name in ("id", "stage", "status")}
                line = {**kept, "error": reason, "unscored": row["unscored"]}
                file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
    return reasons


def _reason(row: Mapping[str, Any]) -> str:
    """Why a case failed, or why its judges did not score it."""
    judges = [judgement["error"] for judgement in row["judgements"].values() if judgement["error"]]
    return row["error"] or "; ".join(dict.fromkeys(judges)) or f"not scored: {', '.join(row['unscored'])}"
