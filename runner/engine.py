"""Cases in, rows out: the one loop that serves every evaluation.

A pool of workers shares one iterator. A case is run, judged and scored; whatever goes wrong in it
becomes its row, never the end of the run.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from runner.protocols import Case, Evaluation, Output
from runner.records import Judgements, Row, Scores, Status, Timing
from runner.threads import waits

Record = Callable[[Row], None]


@dataclass(frozen=True, slots=True)
class Limits:
    concurrency: int
    case_timeout_s: float


async def run_cases(evaluation: Evaluation[Any, Any], cases: Iterable[Case], limits: Limits, record: Record) -> bool:
    """Run every case and hand each row to `record`. False when cancelled before the last case."""
    iterator = iter(cases)
    workers = [asyncio.create_task(_work(evaluation, iterator, limits, record)) for _ in range(limits.concurrency)]
    try:
        await asyncio.gather(*workers)
    except asyncio.CancelledError:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        _forget_cancellation()
        return False
    finally:
        for worker in workers:
            worker.cancel()
    return True


async def _work(evaluation: Evaluation[Any, Any], cases: Iterator[Case], limits: Limits, record: Record) -> None:
    for case in cases:
        record(await run_case(evaluation, case, limits.case_timeout_s))
        await asyncio.sleep(0)  # a case without I/O would otherwise hold the loop, and Ctrl-C with it


async def run_case(evaluation: Evaluation[Any, Any], case: Case, timeout_s: float) -> Row:
    """One case to its row. Only the end of the run passes through."""
    stage, output, latency_ms = "run", None, None
    judgements: Judgements = {}
    waited: list[float] = []
    waits.set(waited)
    started = time.perf_counter()
    try:
        async with asyncio.timeout(timeout_s):
            output = await evaluation.run(case)
            latency_ms = _whole(output, (time.perf_counter() - started - sum(waited)) * 1000)
            stage = "judge"
            judgements = await evaluation.judge(case, output)
        stage = "score"
        return _row(case, "ok", evaluation.score(case, output, judgements), output, latency_ms, judgements)
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and _is_ending():
            raise
        status: Status = "timeout" if isinstance(error, TimeoutError) else "failed"
        scores = _scores_of_failed(evaluation, case, output if stage == "judge" else None)
        return _row(case, status, scores, output, latency_ms, judgements, stage=stage, error=_text(error))


def _whole(output: Output, run_ms: float) -> float | None:
    """Latency of a case: its run and the stages that were timed before it; None when one of them was not."""
    times = [timing.ms for timing in output.timings.values()]
    return None if None in times else run_ms + sum(ms for ms in times if ms is not None)


def _scores_of_failed(evaluation: Evaluation[Any, Any], case: Case, output: Any) -> Scores:
    """Without its judgements an output still has the scores of its other metrics."""
    for known in (output, None):
        with suppress(Exception):
            return evaluation.score(case, known, {})
    return Scores({})


def _is_ending() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _row(
    case: Case,
    status: Status,
    scores: Scores,
    output: Any,
    latency_ms: float | None,
    judgements: Judgements,
    stage: str | None = None,
    error: str | None = None,
) -> Row:
    values, unscored = _finite(scores)
    timings: Mapping[str, Timing] = {} if output is None else output.timings
    return Row(
        id=case.id,
        status=status,
        metrics=values,
        output=None if output is None else output.record(),
        latency_ms=latency_ms,
        language=case.language,
        difficulty=case.difficulty,
        tags=case.tags,
        labels=scores.labels,
        unscored=unscored,
        weights=scores.weights,
        timings=timings,
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
    return isinstance(value, int | float) and math.isfinite(value)


def _text(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, TimeoutError):
        return text or "the case did not end before its deadline"
    return text if type(error).__module__.startswith("runner.") else f"{type(error).__name__}: {text}"


def _forget_cancellation() -> None:
    """The interrupt has been dealt with: what follows (writing results) must not be cancelled by it."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
