"""Makes one run: from a validated configuration and a folder to the files of the run and an exit code."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from runner.config.arguments import shell
from runner.config.components import BuiltComponents, build
from runner.config.options import config_for_hash, options_of
from runner.config.result_checks import missing_methods
from runner.errors import (
    BudgetSpentError,
    ComponentError,
    FallsShortError,
    RunnerError,
    TrackingError,
    describe_unexpected,
)
from runner.llm.calls import FILE as CALLS
from runner.llm.models import models_among
from runner.metrics.catalogue import DECLARED, catalogue_in, catalogue_of
from runner.metrics.judged import ANSWER_MEANS
from runner.protocols import Case, Evaluation, Reference, attribute_of
from runner.records import CaseSet, DataProblem, Preparation, Row
from runner.run.comparing import check_clusters, check_slices, conclude, thresholds_in
from runner.run.engine import INTERRUPTED, Stop
from runner.run.job import Job, Outcome, head_of
from runner.run.results import Finished, Tally, outcome_of, summary_of, write_errors
from runner.run.score_identity import foreign_modules, score_identity
from runner.run.selection import selected_cases
from runner.run.serving import PREPARATION, Service, serve
from runner.system import terminal
from runner.system.collector import collect
from runner.system.folder import DOCUMENTS, RunFolder, read_once
from runner.system.journal import UNFINISHED, Journal
from runner.system.metadata import now, read_json, write_json
from runner.system.redaction import redacted_value
from runner.system.shared import are_several
from runner.system.sources import code_digest
from runner.system.store import fingerprint
from runner.system.writing import os_error_text, write_text
from runner.words.bilingual import add_translation, in_language
from runner.words.wording import Wording, speak

Ending = tuple[Outcome, dict[str, Any] | None]  # of a run, and its summary where it has one
PROVENANCE = ".journal.json"  # holds the settings, data and code that the rows of per_item.jsonl belong to
ROWS = "per_item.jsonl"
ROWS_BY = ("runner.run.engine", "runner.system.journal")  # in every evaluation
LOG = "error.log"
ASKING = (
    "models",
    "generator",
    "system",
    "judge",
)  # identities of components that call models; the first is that of the retriever


def execute(job: Job) -> Outcome:
    """Run, write the files of the folder, upload and print."""
    speak(job.say.language)
    with read_once(job.folder / ROWS):
        outcome = _execute(job, head_of(job))
    if job.sweep_id:
        collect()  # the configuration and the event loop are cycles, which would grow with the runs
    return outcome


def _execute(job: Job, head: dict[str, Any]) -> Outcome:
    summary: dict[str, Any] | None = None
    try:
        write_json(job.folder / "run.json", head)
        outcome, summary = _evaluate(job, head)
    except ComponentError as error:
        outcome = _unexpected_outcome(job.folder, error)
    except RunnerError as error:
        outcome = Outcome("failed", error.exit_code, f"{error}{_budget_note(error, job.cfg)}")
    except KeyboardInterrupt:
        outcome = Outcome("partial", INTERRUPTED.exit_code, INTERRUPTED.message)
    except (Exception, BaseExceptionGroup, SystemExit) as error:
        outcome = _unexpected_outcome(job.folder, error)
    outcome = replace(outcome, error_message=redacted_value(outcome.error_message))
    if job.wave.sums_up or outcome.status == "failed":
        outcome = _close(job, head, outcome, summary)
    return outcome


def _budget_note(error: RunnerError, cfg: DictConfig) -> str:
    """Explains an error before the first case: a budget that was spent on preparation."""
    if not isinstance(error, BudgetSpentError):
        return ""
    judge = cfg.get("judge") or {}
    checks = judge.get("health") and ("model" in judge or "judges" in judge)  # it calls models
    first = "; the judge is first checked with control items (judge.health=false leaves them out)" if checks else ""
    return f" before the first case was done{first}"


def _evaluate(job: Job, head: dict[str, Any]) -> Ending:
    """The summary is None before the last pass over the run."""
    started = time.perf_counter()
    components = build(job.cfg.evaluation)
    try:
        return _run_cases(job, head, components, started)
    finally:
        _log(job.folder, components.tracebacks.values())


def _run_cases(job: Job, head: dict[str, Any], components: BuiltComponents, started: float) -> Ending:
    options = options_of(job.cfg)
    missing_methods(components.root, Evaluation, "evaluation")
    case_set: CaseSet[Any] = components.root.load()
    if job.before is None:
        _print_problems(case_set.problems, job.say)
    errors = job.folder / "errors.jsonl"
    write_errors(errors, case_set.problems, ())
    cases = selected_cases(case_set, options)
    check_slices(job.cfg, cases)
    check_clusters(options.cluster, cases)
    head["identity"] = dict(case_set.identity)
    _note_documents(job.folder, case_set.documents)
    head[DECLARED] = catalogue_of(components.root).record()
    models = models_among(components.parts.values())
    head["models"] = {} if models is None else models.names
    head |= _reference(components.parts.values())
    code = fingerprint([code_digest(*ROWS_BY), components.identities[id(components.root)]])
    _claim(job, {"settings": head["fingerprint"], "data": head["identity"], "code": code})
    write_json(job.folder / "run.json", head)
    with Journal(job.folder / ROWS, again=job.before is None and not job.wave.is_closing) as journal:
        service = Service(job, options, components, cases, journal, started)
        try:
            preparation, stop = _serve(service, head)
        except FallsShortError as error:
            finished = Finished(case_set.problems, service.ids, Preparation(), Stop.of(error), service.elapsed_s)
            summary = redacted_value(summary_of(job, head, options, components, finished, journal))
            return _end_below_floor(job, head, error, cases, summary)
        elapsed_s = service.elapsed_s
        if not job.wave.sums_up:
            return _outcome_of_pass(stop, elapsed_s, len(cases)), None
        journal.take_back()
        with _indexing(job, journal, catalogue_in(head).telling_right) as index:
            finished = Finished(
                case_set.problems, service.ids, preparation, stop, elapsed_s, Tally(index), service.lag.mean_ms
            )
            summary = redacted_value(summary_of(job, head, options, components, finished, journal))
        reasons = write_errors(errors, case_set.problems, journal.rows(finished.tally.errors))
    outcome = replace(outcome_of(summary, options, stop, reasons), unfinished=finished.tally.unfinished)
    head.update({name: summary[name] for name in ANSWER_MEANS})
    summary["status"] = outcome.status
    summary |= thresholds_in(job, summary, catalogue_in(head))
    write_json(job.folder / "summary.json", summary)
    _store_sections(job, components.root.__class__)
    return outcome, summary


def _store_sections(job: Job, evaluation: type) -> None:
    """Keep what an evaluation outside this program reports, for readers who do not load its class."""
    if not foreign_modules(evaluation) or not hasattr(evaluation, "sections"):
        return
    from runner.report.document import Document
    from runner.report.stored_sections import write_sections
    from runner.system.folder import open_run

    document, words = Document.of(open_run(job.folder)), getattr(evaluation, "words", None)
    if document.offer.missing and words is not None:  # a document knows the words of an installed class
        document = replace(document, say=document.say.with_words(words))
    write_sections(document, evaluation)


def _serve(service: Service, head: dict[str, Any]) -> tuple[Preparation, Stop | None]:
    """Run one pass over the cases, then add the identity of the scores to `head`. It takes a while to hash, so a run
    that waits for models has computed it by then."""
    try:
        return serve(service)
    finally:
        head |= score_identity(service.components, config_for_hash(service.job.cfg))


@contextmanager
def _indexing(job: Job, journal: Journal, telling: Sequence[str]) -> Iterator[Callable[[int, Mapping[str, Any]], None]]:
    """Takes the rows with their places while they are read, and writes columns of many rows for commands that list or
    filter cases later. In a sweep, whichever run lists its cases first makes them. `telling`: metrics that say whether
    a case is right."""
    from runner.compare import case_index

    if job.sweep_id is not None or case_index.state_of(journal.path)[0] < case_index.LARGE:
        yield lambda place, row: None
        return
    indexing = case_index.Indexing(telling)
    yield indexing.add
    if len(indexing) == len(journal):  # every row is of a case of this command
        indexing.write(journal.path)


def _note_documents(folder: Path, digests: Mapping[str, str]) -> None:
    """Write the hashes of documents for the snapshot."""
    if digests:
        write_json(folder / DOCUMENTS, dict(digests))
    else:
        (folder / DOCUMENTS).unlink(missing_ok=True)


def _end_below_floor(
    job: Job, head: Mapping[str, Any], error: FallsShortError, cases: Iterable[Case], summary: Mapping[str, Any]
) -> tuple[Outcome, dict[str, Any]]:
    """The outcome and summary of a run that ended after the values measured before the first case."""
    from runner.metrics.aggregate import aggregate

    rows = (
        Row(
            *(case.id, "ok", error.measured[case.id], None, None, case.language, case.difficulty, case.tags),
            clusters=attribute_of(case, "clusters"),
        )
        for case in cases
    )
    numbers = aggregate(rows, catalogue_in(head), seed=job.cfg.seed, cluster=options_of(job.cfg).cluster)
    measured = {"measured": "retrieval", "metrics": numbers["metrics"], "slices": numbers["slices"]}
    summary = {**summary, **measured, "status": "failed"}
    write_json(job.folder / "summary.json", summary)
    return Outcome("failed", error.exit_code, str(error)), summary


def _reference(parts: Iterable[Any]) -> dict[str, str]:
    """The entry of run.json that marks a reference run, which systems are compared with."""
    names = [part.reference for part in parts if isinstance(part, Reference)]
    return {"reference": names[0]} if names else {}


def _outcome_of_pass(stop: Stop | None, elapsed_s: float, n_cases: int) -> Outcome:
    """The outcome of a pass before the last one."""
    if stop is None:
        return Outcome("running", 0, elapsed_s=elapsed_s, cases=n_cases)
    return Outcome("partial", stop.exit_code, stop.message, elapsed_s)


def _print_problems(problems: Sequence[DataProblem], say: Wording) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    for problem in errors[:5]:
        terminal.note(say("progress.skipped", problem=problem))
    if len(errors) > 5:
        terminal.note(say("progress.skipped_more", count=len(errors) - 5))


def _claim(job: Job, origin: Mapping[str, Any]) -> None:
    """Bind the journal to this run. Raises InputError for rows of other settings, data or code, or of unknown
    origin."""
    journal = job.folder / ROWS
    before = read_json(journal.with_name(PROVENANCE)) or {}
    if before != origin and not journal.exists():
        journal.with_name(UNFINISHED).unlink(missing_ok=True)
    if before != origin:
        journal.with_name(PREPARATION).unlink(missing_ok=True)
    if journal.exists() and before != origin:
        aside = journal.with_name(f"per_item.before-{time.strftime('%Y%m%d-%H%M%S')}.jsonl")
        with Journal(journal, again=False) as rows:
            rows.take_back()
        journal.rename(aside)
        if (calls := journal.with_name(CALLS)).exists():
            calls.rename(aside.with_name(f"calls{aside.name.removeprefix('per_item')}.zst"))
        what = job.say("progress.and").join(job.say(f"progress.{name}") for name in _changed_parts(before, origin))
        terminal.note(job.say("progress.starting_over", what=what, folder=job.folder, aside=aside.name))
    write_json(journal.with_name(PROVENANCE), origin)


def _changed_parts(before: Mapping[str, Any], origin: Mapping[str, Any]) -> list[str]:
    """The parts of the origin that changed; model-calling components have identities beside that of the data."""
    found, data = before.get("data"), origin["data"]
    known = found if isinstance(found, dict) else {}
    names = [name for name in {**known, **data} if known.get(name) != data.get(name)]
    asking = [name for name in names if name in ASKING]
    changes = {
        "settings": before.get("settings") != origin["settings"],
        "data": len(asking) < len(names),
        **dict.fromkeys(asking, True),
        "code": before.get("code") != origin["code"],
    }
    return [name for name, is_changed in changes.items() if is_changed]


def _log(folder: Path, tracebacks: Iterable[str]) -> None:
    """Write the tracebacks of errors in components, whether they ended the run or only cases."""
    if text := "\n".join(tracebacks):
        with suppress(OSError):
            write_text(folder / LOG, text)


def _unexpected_outcome(folder: Path, error: BaseException) -> Outcome:
    """The outcome after a bug or a failing disk. The journal stays, and the same command resumes from it."""
    if isinstance(error, OSError) and error.errno is not None:
        return Outcome("failed", 3, os_error_text(error, folder))
    log = folder / LOG
    with suppress(OSError):
        write_text(log, "".join(traceback.format_exception(error)))
    if isinstance(error, ComponentError):
        return Outcome("failed", error.exit_code, f"{error}; {log} has the details")
    return Outcome("failed", 3, f"unexpected {describe_unexpected(error)}; {log} has the details")


def _close(job: Job, head: dict[str, Any], outcome: Outcome, summary: Mapping[str, Any] | None) -> Outcome:
    """The last steps, which only read the folder: report, tracking, terminal. An error in them leaves the results
    intact."""
    from runner.compare.snapshot import write_snapshot
    from runner.report.outputs import marks_of, outputs

    try:
        _write_head(job, head, outcome)
        if summary is not None:
            write_snapshot(job.folder)
            outcome = conclude(job, outcome, RunFolder(job.folder, head, summary))
            _write_head(job, head, outcome)
            _report(job, head, summary)
            _track(job)
            if job.sweep_id and are_several():
                outputs(job.folder / ROWS, marks=marks_of(catalogue_in(head)))
    except (Exception, BaseExceptionGroup, SystemExit) as error:
        failure = _unexpected_outcome(job.folder, error)
        if outcome.exit_code == 0:
            outcome = failure
            with suppress(OSError):
                _write_head(job, head, outcome)
        else:
            terminal.note(job.say("progress.warning", text=in_language(str(failure.error_message), job.say.language)))
    if outcome.error_message and not (job.wave.is_closing and job.sweep_id):  # then the sweep prints it
        terminal.fail(add_translation(outcome.error_message, job.say.language, outcome.exit_code, job.label))
        return replace(outcome, told=True)
    return outcome


def _write_head(job: Job, head: dict[str, Any], outcome: Outcome) -> None:
    head |= {"status": outcome.status, "exit_code": outcome.exit_code, "error_message": outcome.error_message}
    head["updated_at"] = now()
    write_json(job.folder / "run.json", head)


def _report(job: Job, head: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
    from runner import report
    from runner.report.brief import brief
    from runner.report.panels import panels

    if job.cfg.format != "json":
        report.write(job.folder)
    run = RunFolder(job.folder, head, summary)
    if job.cfg.case is not None:
        terminal.show(*([report.case_view(job.folder)] if job.cfg.verbose else report.brief_case(job.folder)))
    if job.cfg.verbose:
        terminal.show(*panels(run))
    elif job.sweep_id is None and job.cfg.case is None:
        terminal.show(*brief(run))
    terminal.show(*report.comparison_view(job.folder, head))
    if job.sweep_id is None or job.cfg.verbose:
        terminal.note(job.say("progress.results", label=job.label, folder=job.folder))


def _track(job: Job) -> None:
    if job.cfg.case is not None:
        return
    try:
        build(job.cfg.tracking).root.upload(job.folder)
    except Exception as error:
        terminal.note(job.say("progress.warning", text=tracking_failure(error, job.folder, job.say)))


def tracking_failure(error: Exception, folder: Path, say: Wording) -> str:
    """The warning for an error of the tracking store: results are complete without their upload."""
    if isinstance(error, TrackingError):
        return in_language(str(error), say.language)
    text = str(error) if isinstance(error, ComponentError) else describe_unexpected(error)
    return say("progress.untracked", reason=text, command=f"python -m runner track {shell(str(folder))}")
