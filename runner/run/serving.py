"""The asynchronous part of a run: prepares, then runs the cases until all are done or the time is up."""

from __future__ import annotations

import asyncio
import json
import time
from array import array
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from runner.config.components import BuiltComponents
from runner.config.options import RunOptions
from runner.errors import InputError, StopRunError
from runner.llm.calls import FILE as CALLS
from runner.llm.calls import CallLog
from runner.llm.models import Models
from runner.protocols import Case, JudgeChecking, Opening
from runner.records import Preparation, Row
from runner.run.ahead import prepare_ahead
from runner.run.engine import INTERRUPTED, Limits, Stop, run_cases
from runner.run.inflight import PATIENCE_S, LoopLag, tell_when_quiet
from runner.run.job import Job
from runner.run.progress import progress, show_waiting
from runner.system import terminal
from runner.system.collector import collect_seldom
from runner.system.journal import Journal
from runner.system.metadata import read_json, write_json
from runner.system.shared import case_ids
from runner.system.spool import Part
from runner.system.store import Store, fingerprint
from runner.words.wording import Wording

PROGRESS = ".progress.json"  # the number of cases, for watchers; the journal says how many are done
PREPARATION = ".preparation.json"  # the result of the first preparation for the rows of the journal


@dataclass(frozen=True)
class Service:
    """One pass over a run. `started`: time.perf_counter. For a shard, `done_ids` are the cases with a row in the run,
    `share` takes its own of the places of the others, and `shard_folder` is its folder."""

    job: Job
    options: RunOptions
    components: BuiltComponents
    cases: Sequence[Case]
    journal: Journal
    started: float
    done_ids: Collection[str] = ()
    share: Callable[[Sequence[int]], Sequence[int]] = field(default=lambda places: places)
    shard_folder: Path | None = None
    lag: LoopLag = field(default_factory=LoopLag)

    @cached_property
    def ids(self) -> Sequence[str]:
        """The ids of all cases, without reading the cases."""
        return case_ids(self.cases)

    @cached_property
    def pending(self) -> Sequence[Case]:
        """The cases of this pass without a row, when this was first called."""
        cases = self.job.wave.of(self.cases, self.options.seed)
        ids = self.ids if cases is self.cases else [case.id for case in cases]
        places = [place for place, id in enumerate(ids) if id not in self.done_ids]
        pending = array("q", (place for place in self.share(places) if ids[place] not in self.journal))
        return cases if len(pending) == len(cases) else Part(cases, pending)

    @property
    def elapsed_s(self) -> float:
        """Seconds over all passes of this command over the run."""
        before = 0.0 if self.job.before is None else self.job.before.elapsed_s
        return before + time.perf_counter() - self.started

    @property
    def n_done(self) -> int:
        """Number of cases with a row."""
        return sum(id in self.journal for id in self.ids)


def serve(service: Service) -> tuple[Preparation, Stop | None]:
    """Make the pass. Raises what preparing raises, but StopRunError and InputError only where no case was done
    before."""
    job, preparation = service.job, kept_preparation(service.job.folder)
    n_done = service.n_done
    n_pending = 0 if job.wave.is_closing else len(service.pending)
    write_json(job.folder / PROGRESS, {"total": len(service.cases), "done": n_done, "pending": n_pending})
    if n_done and job.before is None:
        done = {"label": job.label, "done": n_done, "total": len(service.cases)}
        terminal.note(job.say("progress.resuming", **done))
    if job.wave.is_closing:
        return preparation or Preparation(), job.stop if n_done < len(service.cases) else None
    if preparation is not None and not service.pending:
        return preparation, None
    with collect_seldom():
        return asyncio.run(serve_pending(service, preparation))


def kept_preparation(folder: Path) -> Preparation | None:
    """The preparation of an earlier pass; None where it is missing or the file is damaged."""
    found = read_json(folder / PREPARATION) or {}
    preparation, seal = found.get("told"), found.get("seal")
    with suppress(ValueError):  # NaN, which is never written, has no fingerprint
        if isinstance(preparation, dict) and seal == fingerprint(preparation):
            return Preparation(**preparation)
    return None


def keep_preparation(preparation: Preparation, folder: Path) -> None:
    """Write the facts and timing of a preparation, sealed, for a pass that resumes the run."""
    record = json.loads(json.dumps({"facts": preparation.facts, "timing": preparation.timing}))
    write_json(folder / PREPARATION, {"told": record, "seal": fingerprint(record)})


async def serve_pending(service: Service, earlier: Preparation | None) -> tuple[Preparation, Stop | None]:
    """Prepare, and serve the cases of this pass. `earlier`: what preparing returned before. Raises as `serve`."""
    limit_ms = service.options.run_timeout_ms
    models = [part for part in service.components.parts.values() if isinstance(part, Models)]
    preparation, stop = earlier or Preparation(), None
    try:
        async with (
            asyncio.timeout(None if limit_ms is None else limit_ms / 1000 - service.elapsed_s) as deadline,
            AsyncExitStack() as stack,
        ):
            path, keep = (service.shard_folder or service.job.folder) / CALLS, service.options.calls
            calls = stack.enter_context(closing(CallLog(path, keep, service.journal.__contains__)))
            for door in models:
                await stack.enter_async_context(door.open(service.job.cell, calls if keep != "none" else None))
            await stack.enter_async_context(open_evaluation(service.components.root))
            fresh = await _prepare(service, models, checks=earlier is None)
            if earlier is None:
                preparation = fresh
                keep_preparation(fresh, service.job.folder)
            stop = await _run(service, models, calls)
    except asyncio.CancelledError:
        stop = INTERRUPTED
    except (StopRunError, InputError) as error:
        if not service.n_done:
            raise
        stop = Stop.of(error)
    except TimeoutError:
        if not deadline.expired():
            raise
    if deadline.expired():
        done = f"{service.n_done} of {len(service.cases)} cases are done"
        stop = Stop(3, f"run_timeout_ms={limit_ms} is over; {done}; run the same command again to resume")
    return preparation, stop


def open_evaluation(evaluation: object) -> AbstractAsyncContextManager[None]:
    """The context manager of an evaluation; an empty one where it has none."""
    return evaluation.open() if isinstance(evaluation, Opening) else nullcontext()


async def _prepare(service: Service, models: Sequence[Models], *, checks: bool) -> Preparation:
    """Prepare the evaluation, in every pass; check the judge in the first one."""
    root, options, cases = service.components.root, service.options, service.cases
    cold = options.cold_start and service.job.before is None
    store = Store(Path(options.cache_dir), service.components.identities, cold=cold)
    began = time.perf_counter()
    title, say = service.job.title, service.job.say
    with show_waiting(say("progress.preparing", title=title, n=len(cases)), say) as note:

        def tell(seconds: float) -> None:
            note(_with_requests(say("progress.still_preparing", title=title, seconds=seconds), models, say))

        async with tell_when_quiet(lambda: began, tell, PATIENCE_S):
            preparation: Preparation = await root.prepare(cases, store)
            checked = await root.check_judge() if checks and isinstance(root, JudgeChecking) else {}
            return replace(preparation, facts={**preparation.facts, **checked})


async def _run(service: Service, models: Sequence[Models], calls: CallLog) -> Stop | None:
    say = service.job.say

    def describe_spending() -> str:
        return ", ".join(filter(None, (door.describe_spending(say("progress.tokens")) for door in models)))

    with progress(len(service.pending), service.job.title, describe_spending, say) as bar:

        def record(row: Row) -> None:
            is_ok = row.status == "ok"
            calls.end_case(row.id, is_whole=is_ok and all(each.is_whole for each in row.judgements.values()))
            service.journal.append(row)
            bar.advance(failed=not is_ok, unscored=is_ok and bool(row.unscored))

        def tell(seconds: float, cases: str) -> None:
            bar.note(_with_requests(say("progress.quiet", seconds=seconds, cases=cases), models, say))

        limits = Limits(service.options.max_concurrency, service.options.case_timeout_s)
        judges = [part for key, part in service.components.parts.items() if key.split(".")[0] == "judge"]
        reports, is_waiting = service.job.cfg.format != "json", any(door.may_send for door in models)
        is_waiting = is_waiting and service.shard_folder is None  # the run of a shard prepares its end itself
        measuring = service.lag.measure() if models else nullcontext()
        async with prepare_ahead(judges, reports=reports, is_waiting=is_waiting), measuring:
            return await run_cases(
                service.components.root, service.pending, limits, record, tell, service.journal.earlier_row
            )


def _with_requests(line: str, models: Sequence[Models], say: Wording) -> str:
    """The line with the oldest model requests in flight."""
    slowest = [request for door in models for request in door.slowest()]
    return say("progress.requests", line=line, requests="; ".join(slowest)) if slowest else line
