"""One run: a validated configuration and a folder in, the files of the run and an exit code out."""

from __future__ import annotations

import asyncio
import random
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from omegaconf import DictConfig

from runner import terminal
from runner.aggregate import aggregate, latency
from runner.components import Built, build
from runner.config import RunOptions, evaluation_name, resolved, run_fingerprint, validate
from runner.engine import Limits, run_cases
from runner.errors import InputError, RunnerError, TrackingError, did_you_mean
from runner.journal import Journal
from runner.metadata import SCHEMA, git_state, now, read_json, versions, without_credentials, write_json
from runner.progress import progress
from runner.protocols import Case
from runner.records import CaseSet, Preparation, Row
from runner.store import Store

INTERRUPTED = 130  # what a shell reports for a process ended by Ctrl-C


@dataclass(frozen=True)
class Job:
    """What one run is told: its configuration, its folder, and its place in a sweep."""

    cfg: DictConfig
    folder: Path
    overrides: Sequence[str] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    sweep_id: str | None = None
    label: str = ""

    @property
    def experiment(self) -> str:
        return self.choices.get("experiment") or evaluation_name(self.cfg)


@dataclass(frozen=True, slots=True)
class Outcome:
    status: str  # completed | partial | failed
    exit_code: int
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """What the engine left behind, before it is summed up."""

    case_set: CaseSet[Any]
    cases: Sequence[Case]
    preparation: Preparation
    complete: bool
    elapsed_s: float


def execute(job: Job) -> int:
    """Run, write every file of the folder, upload, print. Returns the exit code; raises KeyboardInterrupt
    after everything is written when the user pressed Ctrl-C."""
    head = _head(job)
    write_json(job.folder / "run.json", head)
    summary: dict[str, Any] | None = None
    try:
        outcome, summary = _evaluate(job, head)
    except RunnerError as error:
        outcome = Outcome("failed", error.exit_code, str(error))
    except KeyboardInterrupt:
        outcome = Outcome("partial", INTERRUPTED, "interrupted")
    except Exception as error:
        outcome = _unexpected(job.folder, error)
    _close(job, head, outcome, summary)
    if outcome.exit_code == INTERRUPTED:
        raise KeyboardInterrupt
    return outcome.exit_code


def _head(job: Job) -> dict[str, Any]:
    before = read_json(job.folder / "run.json") or {}
    return {
        "schema": SCHEMA,
        "id": f"{job.folder.parent.name}-{job.folder.name}" if job.sweep_id else job.folder.name,
        "sweep_id": job.sweep_id,
        "status": "running",
        "exit_code": None,
        "error_message": None,
        "experiment": job.experiment,
        "evaluation_type": evaluation_name(job.cfg),
        "k": job.cfg.get("k"),
        "fingerprint": run_fingerprint(job.cfg),
        "overrides": list(job.overrides),
        "choices": dict(job.choices),
        "config": without_credentials(resolved(job.cfg)),
        "versions": versions(),
        "git": git_state(),
        "identity": before.get("identity", {}),
        "mean_faithfulness": None,
        "mean_answer_relevancy": None,
        "created_at": before.get("created_at") or now(),
        "updated_at": now(),
    }


def _evaluate(job: Job, head: dict[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    options = validate(job.cfg)
    built = build(job.cfg.evaluation)
    store = Store(Path(options.cache_dir), built.identities, cold=options.cold_start)
    case_set: CaseSet[Any] = built.root.load()
    cases = selected(case_set.cases, options)
    _say_problems(case_set)
    path = job.folder / "per_item.jsonl"
    _set_aside_if_stale(path, head["identity"], case_set.identity)
    head["identity"] = dict(case_set.identity)
    write_json(job.folder / "run.json", head)
    with Journal(path) as journal:
        finished = _run(job, options, built, store, case_set, cases, journal)
        summary = _summary(job, head, options, built, finished, journal)
        _write_errors(job.folder / "errors.jsonl", case_set, journal.rows(case.id for case in cases))
    outcome = _judge_run(summary, options, finished.complete)
    head.update({name: summary[name] for name in ("mean_faithfulness", "mean_answer_relevancy")})
    summary["status"] = outcome.status
    write_json(job.folder / "summary.json", summary)
    return outcome, summary


def selected(cases: Sequence[Case], options: RunOptions) -> Sequence[Case]:
    """One case, a seeded sample in file order, or all. Raises InputError when nothing is left."""
    if not cases:
        raise InputError("the data set has no usable case; errors.jsonl lists what was wrong")
    if options.case is not None:
        found = [case for case in cases if case.id == options.case]
        if not found:
            near = did_you_mean(options.case, [case.id for case in cases][:10_000])
            raise InputError(f"case: no case has the id '{options.case}'{near if 'did you mean' in near else ''}")
        return found
    if options.sample is None:
        return cases
    wanted = options.sample if isinstance(options.sample, int) else max(1, round(options.sample * len(cases)))
    if wanted >= len(cases):
        return cases
    return [cases[index] for index in sorted(random.Random(options.seed).sample(range(len(cases)), wanted))]


def _run(
    job: Job,
    options: RunOptions,
    built: Built,
    store: Store,
    case_set: CaseSet[Any],
    cases: Sequence[Case],
    journal: Journal,
) -> Finished:
    pending = [case for case in cases if case.id not in journal]
    if len(pending) < len(cases):
        terminal.note(f"{job.label}resuming: {len(cases) - len(pending)} of {len(cases)} cases are done")
    limits = Limits(options.max_concurrency, options.case_timeout_s)
    started = time.perf_counter()

    async def main() -> tuple[Preparation, bool]:
        try:
            preparation = await built.root.prepare(cases, store)
        except asyncio.CancelledError:
            return Preparation(), False
        with progress(len(pending), f"{job.label}{job.experiment}") as shown:

            def record(row: Row) -> None:
                journal.append(row)
                shown.advance(failed=row.status != "ok")

            return preparation, await run_cases(built.root, pending, limits, record)

    preparation, complete = asyncio.run(main())
    return Finished(case_set, cases, preparation, complete, time.perf_counter() - started)


def _summary(
    job: Job, head: Mapping[str, Any], options: RunOptions, built: Built, finished: Finished, journal: Journal
) -> dict[str, Any]:
    ids = [case.id for case in finished.cases]
    numbers = aggregate(journal.rows(ids), seed=options.seed, total=len(ids))
    baselines = [
        f"{key}={job.choices.get(key, type(part).__name__)}"
        for key, part in built.parts.items()
        if getattr(part, "baseline", False)
    ]
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
        **{
            name: numbers["metrics"].get(name, {}).get("value")
            for name in ("mean_faithfulness", "mean_answer_relevancy")
        },
        "facts": {**finished.preparation.facts, "baselines": sorted(baselines)},
        "data_problems": {"errors": errors, "warnings": len(problems) - errors},
        "timing": {
            "latency": latency(journal.rows(ids)),
            **finished.preparation.timing,
            "created_at": head["created_at"],
            "elapsed_s": round(finished.elapsed_s, 3),
        },
    }


def _judge_run(summary: Mapping[str, Any], options: RunOptions, complete: bool) -> Outcome:
    cases = summary["cases"]
    done = cases["ok"] + cases["failed"] + cases["timeout"]
    bad = cases["failed"] + cases["timeout"] + cases["unscored"]
    if done and bad / done > options.max_failure_rate:
        share = f"{bad} of {done} cases failed ({bad / done:.1%}, max_failure_rate is {options.max_failure_rate:.1%})"
        return Outcome("failed", INTERRUPTED if not complete else 3, f"{share}; errors.jsonl lists them")
    if not complete:
        return Outcome("partial", INTERRUPTED, f"interrupted after {done} of {cases['total']} cases")
    return Outcome("completed", 0)


def _write_errors(path: Path, case_set: CaseSet[Any], rows: Any) -> None:
    scratch = path.with_suffix(".writing")
    with scratch.open("wb") as file:
        for problem in case_set.problems:
            line = {"id": None, "stage": "data", "severity": problem.severity, "error": problem.message}
            where = {"path": problem.path, "line": problem.line, "field": problem.field}
            file.write(orjson.dumps({**line, **where}, option=orjson.OPT_APPEND_NEWLINE))
        for row in rows:
            if row["status"] != "ok" or row["unscored"]:
                kept = {name: row[name] for name in ("id", "stage", "status", "error", "unscored")}
                file.write(orjson.dumps(kept, option=orjson.OPT_APPEND_NEWLINE))
    scratch.replace(path)


def _say_problems(case_set: CaseSet[Any]) -> None:
    shown = [problem for problem in case_set.problems if problem.severity == "error"]
    for problem in shown[:5]:
        terminal.note(f"skipped {problem}")
    if len(shown) > 5:
        terminal.note(f"skipped {len(shown) - 5} more; errors.jsonl lists all")


def _set_aside_if_stale(path: Path, before: Mapping[str, str], now_: Mapping[str, str]) -> None:
    """Rows of other data must not be mixed with rows of this data."""
    if before and dict(before) != dict(now_) and path.exists():
        aside = path.with_name(f"per_item.before-{time.strftime('%Y%m%d-%H%M%S')}.jsonl")
        path.rename(aside)
        terminal.note(f"the data changed since the folder was written: starting over (earlier rows: {aside.name})")


def _unexpected(folder: Path, error: Exception) -> Outcome:
    log = folder / "error.log"
    log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    return Outcome("failed", 3, f"unexpected {type(error).__name__}: {error}; {log} has the details")


def _close(job: Job, head: dict[str, Any], outcome: Outcome, summary: Mapping[str, Any] | None) -> None:
    """The last steps read the folder: report, tracking, terminal."""
    head |= {"status": outcome.status, "exit_code": outcome.exit_code, "error_message": outcome.error_message}
    head["updated_at"] = now()
    write_json(job.folder / "run.json", head)
    if summary is not None:
        _report(job, head, summary)
        _track(job)
    if outcome.error_message:
        terminal.fail(f"{job.label}{outcome.error_message}")


def _report(job: Job, head: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
    from runner import report

    if job.cfg.format != "json":
        report.write(job.folder)
    if job.cfg.case is not None:
        terminal.show(report.case_view(job.folder))
    terminal.show(*report.panels(head, summary))
    terminal.note(f"{job.label}results in {job.folder}")


def _track(job: Job) -> None:
    if job.cfg.case is not None:
        return
    try:
        build(job.cfg.tracking).root.upload(job.folder)
    except TrackingError as error:
        terminal.note(f"warning: {error}")
