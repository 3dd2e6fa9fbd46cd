"""Combines several judgements of one case into one: repeats of one judge, or the members of a panel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from runner.errors import ComponentError, EvaluationError, InputError, StopRunError, describe_unexpected
from runner.llm.calls import judging_by
from runner.llm.metering import metering, pass_on
from runner.protocols import Completing, Judge
from runner.records import CLAMPED, KEPT_VOTES, Judgement

Combine = Callable[[Sequence[float]], float]


async def gather_judgements(pending: Mapping[str, Awaitable[Judgement]]) -> dict[str, Judgement]:
    """Await all judgements at once. An error of one becomes its judgement; an error that ends the run cancels the
    others."""
    if len(pending) == 1:
        return {label: await await_judgement(one) for label, one in pending.items()}
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {label: group.create_task(await_judgement(one)) for label, one in pending.items()}
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return {label: task.result() for label, task in tasks.items()}


async def judge_missing(
    judge: Judge, fields_of: Mapping[str, Mapping[str, Any]], judgements: MutableMapping[str, Judgement]
) -> None:
    """Ask for each judgement that is missing or has failed votes, and add it to `judgements` as soon as it is there.

    `fields_of` maps each rubric to its fields; the judgements get its order. The first error is raised once all rubrics
    have been tried. The cost of a failed judgement is not charged to the case, so that the cost of a case does not
    depend on how often it was retried.
    """
    errors: list[Exception] = []
    for rubric, fields in fields_of.items():
        earlier = judgements.get(rubric)
        if earlier is not None and earlier.is_whole:
            continue
        try:
            with metering(alone=True) as meter:
                judgement = judgements[rubric] = await ask_judge(judge, rubric, fields, earlier)
            if judgement.score is not None and not judgement.error:
                pass_on(meter)
        except (StopRunError, InputError):
            raise
        except Exception as error:  # of a judge from elsewhere, too
            errors.append(error)
    for rubric in [rubric for rubric in fields_of if rubric in judgements]:
        judgements[rubric] = judgements.pop(rubric)
    if errors:
        raise errors[0]


async def ask_judge(judge: Judge, rubric: str, fields: Mapping[str, Any], earlier: Judgement | None) -> Judgement:
    """Ask a judge. Where `earlier` is a judgement with failed votes, only these are asked for, if the judge supports
    it."""
    with judging_by(rubric):
        if earlier is None or not isinstance(judge, Completing):
            return await judge.judge(rubric, fields)
        return await judge.complete(rubric, fields, earlier)


def kept_votes(earlier: Judgement | None) -> dict[str, Judgement]:
    """The votes of an earlier judgement that need not be asked for again, or not for all of it."""
    kept = {} if earlier is None else earlier.details.get(KEPT_VOTES, {})
    return {label: Judgement(**vote) for label, vote in kept.items()}


async def await_judgement(pending: Awaitable[Judgement]) -> Judgement:
    """Await a judgement; an error becomes a failed judgement, and its requests are not charged to the case.
    StopRunError and InputError are raised: they hold for every case."""
    try:
        with metering(alone=True) as meter:
            judgement = await pending
        if judgement.score is not None:
            pass_on(meter)
        return judgement
    except (StopRunError, InputError):
        raise
    except TimeoutError as error:
        return Judgement(None, error=str(error) or "the judge did not answer in time")
    except (EvaluationError, ComponentError) as error:
        return Judgement(None, error=str(error))
    except Exception as error:  # of a judge from elsewhere
        return Judgement(None, error=describe_unexpected(error))


def combine_judgements(judgements: Mapping[str, Judgement], combine: Combine, details: Mapping[str, Any]) -> Judgement:
    """One judgement from several: of those that succeeded; a failure when none did. `details` are kept with every
    single vote, and, while a vote is missing, with the full judgements of the others."""
    scores = {label: judgement.score for label, judgement in judgements.items() if judgement.score is not None}
    failures = {label: judgement.error for label, judgement in judgements.items() if judgement.score is None}
    clamped = {
        f"{label}.{place}": value
        for label, judgement in judgements.items()
        for place, value in (judgement.details.get(CLAMPED) or {}).items()
    }
    all_details = {
        **details,
        "votes": dict(_votes(judgements)),
        **({"failures": failures} if failures else {}),
        **({CLAMPED: clamped} if clamped else {}),
    }
    if not scores:
        reasons = list(dict.fromkeys(str(error) for error in failures.values()))
        return Judgement(None, error="; ".join(reasons), details=all_details)
    if not all(judgement.is_whole for judgement in judgements.values()):
        all_details[KEPT_VOTES] = {
            label: _plain_judgement(judgement) for label, judgement in judgements.items() if judgement.score is not None
        }
    lines = (_line(label, judgement) for label, judgement in judgements.items())
    return Judgement(combine(list(scores.values())), "\n".join(lines), details=all_details)


def _plain_judgement(judgement: Judgement) -> dict[str, Any]:
    return {"score": judgement.score, "reasoning": judgement.reasoning, "details": dict(judgement.details)}


def _votes(judgements: Mapping[str, Judgement]) -> Iterator[tuple[str, float | None]]:
    for label, judgement in judgements.items():
        inner = judgement.details.get("votes")
        if inner:
            yield from ((f"{label}/{name}", score) for name, score in inner.items())
        else:
            yield label, judgement.score


def _line(label: str, judgement: Judgement) -> str:
    if judgement.score is None:
        return f"{label}: {judgement.error}"
    return f"{label} ({judgement.score:.2f}): {judgement.reasoning}"
