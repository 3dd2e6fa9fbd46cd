"""Cases in, rows out: the one loop that serves every evaluation.

A pool of workers shares one iterator. A case is run, judged and scored; an error in it becomes its row. Only an error
that would hit every case (StopRunError, InputError) ends the run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from runner.config.result_checks import record_and_timings
from runner.errors import InputError, RunnerError, StopRunError, describe_unexpected, text_of
from runner.llm.metering import charge, metering, so_far
from runner.protocols import Case, Evaluation, Rejudging, attribute_of
from runner.records import Judgement, Judgements, RoleCost, Row, Scores, Status, Timing
from runner.run.inflight import PATIENCE_S, Flight, Place, tell_when_quiet
from runner.system.journal import LARGEST
from runner.system.stopwatch import Watch, deadline, stopwatch
from runner.system.threads import gather_all

NUMBERS = frozenset({float, int, type(None)})
BREATH_S = 0.01  # for which cases that wait for nothing may keep the loop

Record = Callable[[Row], None]
Earlier = Callable[[str], Mapping[str, Any] | None]
Tell = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """`patience_s`: seconds without a finished case after which the cases in flight are listed."""

    concurrency: int
    case_timeout_s: float
    patience_s: float = PATIENCE_S


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the engine stopped before the last case."""

    exit_code: int
    message: str

    @classmethod
    def of(cls, error: RunnerError) -> Stop:
        return cls(error.exit_code, str(error))


INTERRUPTED = Stop(130, "interrupted")  # 130: the exit code of a process that Ctrl-C ended


async def run_cases(
    evaluation: Evaluation[Any, Any],
    cases: Iterable[Case],
    limits: Limits,
    record: Record,
    tell: Tell,
    earlier: Earlier = lambda _: None,
) -> Stop | None:
    """Run every case and pass each row to `record`. Returns None when all were run. A case whose error ends the run
    gets no row; the other cases in flight are finished. `tell` is called when no case ends for a while, with the
    seconds and the cases in flight. `earlier` returns the unfinished row that an earlier command left for a case."""
    crew = _Crew(evaluation, cases, limits, record, earlier)
    try:
        async with tell_when_quiet(
            lambda: crew.flight.ended, lambda quiet_s: tell(quiet_s, crew.flight.slowest()), limits.patience_s
        ):
            await gather_all(crew.work() for _ in range(limits.concurrency))
    except asyncio.CancelledError:
        _forget_cancellation()
        return INTERRUPTED
    return crew.stop


class _Crew:
    """The state that the workers of one run share."""

    def __init__(
        self,
        evaluation: Evaluation[Any, Any],
        cases: Iterable[Case],
        limits: Limits,
        record: Record,
        earlier: Earlier,
    ) -> None:
        self.evaluation, self.cases, self.limits, self.record = evaluation, iter(cases), limits, record
        self.earlier = earlier
        self.flight = Flight()
        self.stop: Stop | None = None
        self.breath, self.is_due = 0.0, False  # when the loop is due, and whether it is

    async def work(self) -> None:
        place = self.flight.place()
        place.since = self.flight.ended
        for case in self.cases:
            if self.stop is not None:
                return
            place.case = case.id
            try:
                timeout_s, earlier = self.limits.case_timeout_s, self.earlier(case.id)
                self._keep(await run_case(self.evaluation, case, timeout_s, place, earlier))
            except (StopRunError, InputError) as error:
                self.stop = self.stop or Stop.of(error)
            place.case = None
            place.since = self.flight.ended = time.perf_counter()
            if place.since >= self.breath:  # cases without I/O would block the loop, and with it Ctrl-C
                await self._let_others_work()

    async def _let_others_work(self) -> None:
        """Yield one turn of the loop, in which each worker ends at most one case. The first worker resumes first, and
        schedules the next turn."""
        is_first, self.is_due = not self.is_due, True
        await asyncio.sleep(0)
        if is_first:
            self.breath, self.is_due = time.perf_counter() + BREATH_S, False

    def _keep(self, row: Row) -> None:
        """Record a row. Where it cannot be written (a component put a recursive object into it, for example), the case
        fails."""
        try:
            self.record(row)
        except (RunnerError, OSError):
            raise
        except Exception as error:
            reason = f"the row of the case cannot be written: {describe_unexpected(error)}"
            empty = replace(row, metrics={}, output=None, judgements={}, labels={}, weights={}, timings={})
            self.record(replace(empty, status="failed", unscored=tuple(row.metrics), stage="score", error=reason))


async def run_case(
    evaluation: Evaluation[Any, Any],
    case: Case,
    timeout_s: float,
    place: Place | None = None,
    earlier: Mapping[str, Any] | None = None,
) -> Row:
    """Run one case and return its row, resuming from `earlier`, an unfinished row. Raises only what ends the run:
    cancellation, StopRunError, InputError."""
    with metering(owner=case.id):
        return await _run_case(evaluation, case, timeout_s, place or Place(), earlier)


async def _run_case(
    evaluation: Evaluation[Any, Any], case: Case, timeout_s: float, place: Place, earlier: Mapping[str, Any] | None
) -> Row:
    place.stage, output, output_record = "run", None, NOTHING
    judgements: dict[str, Judgement] = {}
    try:
        with deadline(timeout_s, place.alarm):
            if earlier is not None:
                output = await _restore(evaluation, case, earlier)
            if output is None or earlier is None:
                with stopwatch() as watch:
                    output = await evaluation.run(case)
                output_record = _output_record(evaluation, output, watch)
            else:
                output_record = _OutputRecord(*record_and_timings(evaluation, output), earlier["latency_ms"])
                judgements = _whole_judgements(earlier["judgements"])
                charge({role: RoleCost(**cost) for role, cost in (earlier.get("cost") or {}).items()})
            place.stage = "judge"
            if _can_rejudge(evaluation):  # judgements that succeeded stay where another one raises an error
                await evaluation.judge_missing(case, output, judgements)
            else:
                judgements |= await evaluation.judge(case, output)
        place.stage = "score"
        return _row(case, "ok", evaluation.score(case, output, judgements), output_record, judgements)
    except (Exception, BaseExceptionGroup, SystemExit, asyncio.CancelledError) as error:
        stage = place.stage
        if _ends_the_run(error, stage):
            raise
        status: Status = "timeout" if isinstance(error, TimeoutError) else "failed"
        scores = _scores_of_failed(evaluation, case, output if stage == "judge" else None, judgements)
        return _row(case, status, scores, output_record, judgements, stage=stage, error=_text(error, timeout_s))


async def _restore(evaluation: Evaluation[Any, Any], case: Case, earlier: Mapping[str, Any]) -> Any | None:
    """The output that an earlier row holds; None where the case must be run."""
    if earlier["output"] is None or not _can_rejudge(evaluation):
        return None
    return await evaluation.restore(case, earlier)


def _whole_judgements(judgements: Mapping[str, Mapping[str, Any]]) -> dict[str, Judgement]:
    """The judgements of a row that did not fail."""
    found = {rubric: Judgement(**said) for rubric, said in judgements.items()}
    return {rubric: said for rubric, said in found.items() if said.score is not None and not said.error}


def _can_rejudge(evaluation: Evaluation[Any, Any]) -> TypeGuard[Rejudging]:
    """The same as `isinstance` with the protocol, at a tenth of its cost."""
    return callable(getattr(evaluation, "restore", None)) and callable(getattr(evaluation, "judge_missing", None))


@dataclass(frozen=True, slots=True)
class _OutputRecord:
    """The parts of a row that come from the output. `latency_ms`: the sum over the stages, None where one was not
    timed; the time of the whole `run` where the output has no timings."""

    record: Mapping[str, Any] | None
    timings: Mapping[str, Timing]
    latency_ms: float | None


NOTHING = _OutputRecord(None, {}, None)


def _output_record(evaluation: Evaluation[Any, Any], output: Any, run: Watch) -> _OutputRecord:
    """Read the record and the timings before the judge is called: an output without them fails its case and costs no
    judgement."""
    record, timings = record_and_timings(evaluation, output)
    if not timings:
        return _OutputRecord(record, timings, run.ms if run.live else None)
    times = [timing.ms for timing in timings.values()]
    return _OutputRecord(record, timings, None if None in times else sum(ms for ms in times if ms is not None))


def _ends_the_run(error: BaseException, stage: str) -> bool:
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, StopRunError | InputError) and stage != "score"


def _scores_of_failed(
    evaluation: Evaluation[Any, Any], case: Case, output: Any, judgements: Mapping[str, Judgement]
) -> Scores:
    """The scores of a failed case: an output without some of its judgements still has its other metrics."""
    for known in (output, None):
        with suppress(Exception, BaseExceptionGroup, SystemExit):
            scores = evaluation.score(case, known, judgements)
            if isinstance(scores, Scores):
                return scores
    return Scores({})


def _row(
    case: Case,
    status: Status,
    scores: Scores,
    output_record: _OutputRecord,
    judgements: Judgements,
    stage: str | None = None,
    error: str | None = None,
) -> Row:
    values, unscored = _finite(scores)
    return Row(
        id=case.id,
        status=status,
        metrics=values,
        output=output_record.record,
        latency_ms=output_record.latency_ms,
        language=case.language,
        difficulty=case.difficulty,
        tags=case.tags,
        labels=scores.labels,
        unscored=unscored,
        weights=scores.weights,
        timings=output_record.timings,
        judgements=judgements,
        stage=stage,
        error=error,
        cost=so_far(),
        clusters=attribute_of(case, "clusters"),
    )


def _finite(scores: Scores) -> tuple[dict[str, float | None], tuple[str, ...]]:
    """The values without NaN and infinities, which count as failed."""
    values = dict(scores.values)
    if _are_numbers(values.values()):
        return values, tuple(dict.fromkeys(scores.unscored))
    broken = [name for name, value in values.items() if value is not None and not _is_number(value)]
    for name in broken:
        values[name] = None
    return values, tuple(dict.fromkeys([*scores.unscored, *broken]))


def _are_numbers(values: Collection[object]) -> bool:
    """Whether a glance tells that each is a number or None; nearly all are."""
    return NUMBERS.issuperset(map(type, values)) and sum(map(abs, filter(None, values))) <= LARGEST  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and -LARGEST <= value <= LARGEST


def _text(error: BaseException, timeout_s: float) -> str:
    text = text_of(error)
    if isinstance(error, TimeoutError):
        return text or f"the case did not end within {timeout_s:g} s (case_timeout_ms)"
    return text if type(error).__module__.startswith("runner.") else describe_unexpected(error)


def _forget_cancellation() -> None:
    """Uncancel the task: the interrupt is handled, and must not cancel the writing of results."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
