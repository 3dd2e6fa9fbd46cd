"""One run: a validated configuration and a folder in, the files of the run and an exit code out."""

from __future__ import annotations

import asyncio
import random
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner import terminal
from runner.components import Built, build
from runner.config import RunOptions, validate
from runner.engine import Limits, run_cases
from runner.errors import InputError, RunnerError, TrackingError, did_you_mean
from runner.job import INTERRUPTED, Job, Outcome, head_of
from runner.journal import Journal
from runner.metadata import now, read_json, write_json
from runner.progress import progress, waiting
from runner.protocols import Case
from runner.records import CaseSet, DataProblem, Preparation, Row
from runner.results import GENERATION, Finished, outcome_of, summary_of, write_errors
from runner.store import Store, code_digest, fingerprint

PROVENANCE = ".journal.json"  # the settings, data and code that the rows of per_item.jsonl belong to


def execute(job: Job) -> int:
    """Run, write every file of the folder, upload, print. Returns the exit code; raises KeyboardInterrupt
    after everything is written when the user pressed Ctrl-C."""
    head = head_of(job)
    summary: dict[str, Any] | None = None
    try:
        write_json(job.folder / "run.json", head)
        outcome, summary = _evaluate(job, head)
    except RunnerError as error:
        outcome = Outcome("failed", error.exit_code, str(error))
    except KeyboardInterrupt:
        outcome = Outcome("partial", INTERRUPTED, "interrupted")
    except Exception as error:
        outcome = _unexpected(job.folder, error)
    outcome = _close(job, head, outcome, summary)
    if outcome.exit_code == INTERRUPTED:
        raise KeyboardInterrupt
    return outcome.exit_code


def _evaluate(job: Job, head: dict[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    options = validate(job.cfg)
    built = build(job.cfg.evaluation)
    store = Store(Path(options.cache_dir), built.identities, cold=options.cold_start)
    case_set: CaseSet[Any] = built.root.load()
    _say(case_set.problems)
    errors = job.folder / "errors.jsonl"
    write_errors(errors, case_set.problems, ())
    cases = selected(case_set.cases, options)
    path = job.folder / "per_item.jsonl"
    head["identity"] = dict(case_set.identity)
    code = fingerprint([code_digest(), built.identities[id(built.root)]])
    _claim(path, {"settings": head["fingerprint"], "data": head["identity"], "code": code})
    write_json(job.folder / "run.json", head)
    with Journal(path) as journal:
        finished = _run(job, options, built, store, case_set, cases, journal)
        summary = summary_of(job, head, options, built, finished, journal)
        write_errors(errors, case_set.problems, journal.rows(case.id for case in cases))
    outcome = outcome_of(summary, options, finished.complete)
    head.update({name: summary[name] for name in GENERATION})
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
            with waiting(f"{job.label}{job.experiment}: indexing and ranking for {len(cases)} cases"):
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


def _say(problems: Sequence[DataProblem]) -> None:
    shown = [problem for problem in problems if problem.severity == "error"]
    for problem in shown[:5]:
        terminal.note(f"skipped {problem}")
    if len(shown) > 5:
        terminal.note(f"skipped {len(shown) - 5} more; errors.jsonl lists all")


def _claim(journal: Path, origin: Mapping[str, Any]) -> None:
    """Rows of other settings, data or code, or of unknown origin, must not be mixed with rows of this run."""
    before = read_json(journal.with_name(PROVENANCE)) or {}
    if journal.exists() and before != origin:
        aside = journal.with_name(f"per_item.before-{time.strftime('%Y%m%d-%H%M%S')}.jsonl")
        journal.rename(aside)
        changed = [name for name, value in origin.items() if before.get(name) != value]
        terminal.note(
            f"starting over: the {' and '.join(changed)} changed since {journal.parent} was written "
            f"(the earlier rows are kept in {aside.name})"
        )
    write_json(journal.with_name(PROVENANCE), origin)


def _unexpected(folder: Path, error: Exception) -> Outcome:
    """A bug, or a disk that is full or gone. What was journaled stays, and the same command goes on from it."""
    if isinstance(error, OSError) and error.errno is not None:
        return Outcome("failed", 3, f"{error.strerror}: {error.filename or folder}")
    log = folder / "error.log"
    with suppress(OSError):
        log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    return Outcome("failed", 3, f"unexpected {type(error).__name__}: {error}; {log} has the details")


def _close(job: Job, head: dict[str, Any], outcome: Outcome, summary: Mapping[str, Any] | None) -> Outcome:
    """The last steps read the folder: report, tracking, terminal. Results are safe whatever happens in them."""
    try:
        _write_head(job, head, outcome)
        if summary is not None:
            _report(job, head, summary)
            _track(job)
    except Exception as error:
        found = _unexpected(job.folder, error)
        if outcome.exit_code == 0:
            outcome = found
            with suppress(OSError):
                _write_head(job, head, outcome)
        else:
            terminal.note(f"warning: {found.error_message}")
    if outcome.error_message:
        terminal.fail(f"{job.label}{outcome.error_message}")
    return outcome


def _write_head(job: Job, head: dict[str, Any], outcome: Outcome) -> None:
    head |= {"status": outcome.status, "exit_code": outcome.exit_code, "error_message": outcome.error_message}
    head["updated_at"] = now()
    write_json(job.folder / "run.json", head)


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
    except Exception as error:
        terminal.note(f"warning: {tracking_failure(error, job.folder)}")


def tracking_failure(error: Exception, folder: Path) -> str:
    """Results are complete without their upload, so whatever a tracking store raises is a warning."""
    if isinstance(error, TrackingError):
        return str(error)
    return f"tracking failed: {type(error).__name__}: {error}; upload later with: python -m runner track {folder}"
