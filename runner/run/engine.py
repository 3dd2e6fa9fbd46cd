"""Cases in, rows out: the one loop that serves every evaluation.

A pool of workers shares one iterator. A case is run, judged and scored; whatever goes wrong in it
becomes its row. Only what is wrong for every case (StopRunError, InputError) ends the run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from runner.config.doors import kept_of
from runner.errors import InputError, RunnerError, StopRunError, text_of, unexpected
from runner.llm.metering import asking_for, charge, metering
from runner.protocols import Case, Evaluation, Rejudging
from runner.records import Judgement, Judgements, RoleCost, Row, Scores, Status, Timing
from runner.run.inflight import PATIENCE_S, Flight, Place, patient
from runner.system.journal import LARGEST
from runner.system.stopwatch import Watch, deadline, stopwatch
from runner.system.threads import together

Record = Callable[[Row], None]
Earlier = Callable[[str], Mapping[str, Any] | None]
Tell = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """`patience_s`: how long no case may end before somebody is told which are in flight."""

    concurrency: int
    case_timeout_s: float
    patience_s: float = PATIENCE_S


@dataclass(frozen=True, slots=True)
class Stop:
    """Why no further case was started."""

    exit_code: int
    message: str

    @classmethod
    def of(cls, error: RunnerError) -> Stop:
        return cls(error.exit_code, str(error))


INTERRUPTED = Stop(130, "interrupted")  # 130: what a shell reports for a process ended by Ctrl-C


async def run_cases(
    evaluation: Evaluation[Any, Any],
    cases: Iterable[Case],
    limits: Limits,
    record: Record,
    tell: Tell,
    earlier: Earlier = lambda _: None,
) -> Stop | None:
    """Run every case and hand each row to `record`; None when all were run. A case whose error ends the run
    has no row, those in flight beside it end as they would have. `tell` gets, when nothing moves, for how many
    seconds, and the cases in flight. `earlier`: the row, not finished, that a case has of an earlier command."""
    crew = _Crew(evaluation, cases, limits, record, earlier)
    try:
        async with patient(
            lambda: crew.flight.ended, lambda quiet_s: tell(quiet_s, crew.flight.slowest()), limits.patience_s
        ):
            await together(crew.work() for _ in range(limits.concurrency))
    except asyncio.CancelledError:
        _forget_cancellation()
        return INTERRUPTED
    return crew.stop


class _Crew:
    """What the workers of one run share."""

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
            await asyncio.sleep(0)  # a case without I/O would otherwise hold the loop, and Ctrl-C with it

    def _keep(self, row: Row) -> None:
        """A row that cannot be written (what a component put into it holds itself, say) is that of a failed case."""
        try:
            self.record(row)
        except (RunnerError, OSError):
            raise
        except Exception as error:
            reason = f"the row of the case cannot be written: {unexpected(error)}"
            empty = replace(row, metrics={}, output=None, judgements={}, labels={}, weights={}, timings={})
            self.record(replace(empty, status="failed", unscored=tuple(row.metrics), stage="score", error=reason))


async def run_case(
    evaluation: Evaluation[Any, Any],
    case: Case,
    timeout_s: float,
    place: Place | None = None,
    earlier: Mapping[str, Any] | None = None,
) -> Row:
    """One case to its row; `earlier`, of an earlier command, is gone on with. Only the end of the run passes through:
    cancellation, StopRunError, InputError."""
    with metering() as meter, asking_for(case.id):
        row = await _run_case(evaluation, case, timeout_s, place or Place(), earlier)
    cost = meter.by_role
    return replace(row, cost=cost) if cost else row


async def _run_case(
    evaluation: Evaluation[Any, Any], case: Case, timeout_s: float, place: Place, earlier: Mapping[str, Any] | None
) -> Row:
    place.stage, output, kept = "run", None, NOTHING
    judgements: dict[str, Judgement] = {}
    try:
        async with deadline(timeout_s):
            output = await _restored(evaluation, case, earlier)
            if output is None or earlier is None:
                with stopwatch() as watch:
                    output = await evaluation.run(case)
                kept = _output_record(evaluation, output, watch)
            else:
                kept = _Kept(*kept_of(evaluation, output), earlier["latency_ms"])
                judgements = _scored(earlier["judgements"])
                charge({role: RoleCost(**cost) for role, cost in (earlier.get("cost") or {}).items()})
            place.stage = "judge"
            await _judge(evaluation, case, output, judgements)
        place.stage = "score"
        return _row(case, "ok", evaluation.score(case, output, judgements), kept, judgements)
    except (Exception, BaseExceptionGroup, SystemExit, asyncio.CancelledError) as error:
        stage = place.stage
        if _ends_the_run(error, stage):
            raise
        status: Status = "timeout" if isinstance(error, TimeoutError) else "failed"
        scores = _scores_of_failed(evaluation, case, output if stage == "judge" else None, judgements)
        return _row(case, status, scores, kept, judgements, stage=stage, error=_text(error, timeout_s))


async def _restored(evaluation: Evaluation[Any, Any], case: Case, earlier: Mapping[str, Any] | None) -> Any | None:
    """What an earlier row was written for; None where the case is to be run."""
    if earlier is None or earlier["output"] is None or not _can_rejudge(evaluation):
        return None
    return await evaluation.restored(case, earlier)


def _scored(judgements: Mapping[str, Mapping[str, Any]]) -> dict[str, Judgement]:
    """Those of a row that did not fail."""
    found = {rubric: Judgement(**said) for rubric, said in judgements.items()}
    return {rubric: said for rubric, said in found.items() if said.score is not None and not said.error}


async def _judge(evaluation: Evaluation[Any, Any], case: Case, output: Any, judgements: dict[str, Judgement]) -> None:
    """Those that came stay where another raises an error."""
    if _can_rejudge(evaluation):
        await evaluation.judge_missing(case, output, judgements)
    else:
        judgements |= await evaluation.judge(case, output)


def _can_rejudge(evaluation: Evaluation[Any, Any]) -> TypeGuard[Rejudging]:
    """As `isinstance` says, at a tenth of its cost, which every case would pay."""
    return callable(getattr(evaluation, "restored", None)) and callable(getattr(evaluation, "judge_missing", None))


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a row has of an output. `latency_ms`: of the stages together, None when one was not timed; of the whole
    run where no stage tells its time."""

    record: Mapping[str, Any] | None
    timings: Mapping[str, Timing]
    latency_ms: float | None


NOTHING = _Kept(None, {}, None)


def _output_record(evaluation: Evaluation[Any, Any], output: Any, run: Watch) -> _Kept:
    """Asked for once, before the judge is: what an output cannot tell fails its case, and costs no judgement."""
    record, timings = kept_of(evaluation, output)
    if not timings:
        return _Kept(record, timings, run.ms if run.live else None)
    times = [timing.ms for timing in timings.values()]
    return _Kept(record, timings, None if None in times else sum(ms for ms in times if ms is not None))


def _ends_the_run(error: BaseException, stage: str) -> bool:
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, StopRunError | InputError) and stage != "score"


def _scores_of_failed(
    evaluation: Evaluation[Any, Any], case: Case, output: Any, judgements: Mapping[str, Judgement]
) -> Scores:
    """Without some of its judgements an output still has the scores of its other metrics."""
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
    kept: _Kept,
    judgements: Judgements,
    stage: str | None = None,
    error: str | None = None,
) -> Row:
    values, unscored = _finite(scores)
    return Row(
        id=case.id,
        status=status,
        metrics=values,
        output=kept.record,
        latency_ms=kept.latency_ms,
        language=case.language,
        difficulty=case.difficulty,
        tags=case.tags,
        labels=scores.labels,
        unscored=unscored,
        weights=scores.weights,
        timings=kept.timings,
        judgements=judgements,
        stage=stage,
        error=error,
    )


def _finite(scores: Scores) -> tuple[dict[str, float | None], tuple[str, ...]]:
    """NaN and infinities are failures, never numbers."""
    values = dict(scores.values)
    broken = [name for name, value in values.items() if value is not None and not _is_number(value)]
    for name in broken:
        values[name] = None
    return values, tuple(dict.fromkeys([*scores.unscored, *broken]))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and -LARGEST <= value <= LARGEST


def _text(error: BaseException, timeout_s: float) -> str:
    text = text_of(error)
    if isinstance(error, TimeoutError):
        return text or f"the case did not end within {timeout_s:g} s (case_timeout_ms)"
    return text if type(error).__module__.startswith("runner.") else unexpected(error)


def _forget_cancellation() -> None:
    """The interrupt has been dealt with: what follows (writing results) must not be cancelled by it."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
