"""Several judgements of one thing as one: repeats of one judge, or the members of a panel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from runner.errors import ComponentError, EvaluationError, InputError, StopRunError, unexpected
from runner.llm.calls import judging_by
from runner.llm.metering import metering, pass_on
from runner.protocols import Completing, Judge
from runner.records import KEPT_VOTES, Judgement

Combine = Callable[[Sequence[float]], float]


async def gathered(asked: Mapping[str, Awaitable[Judgement]]) -> dict[str, Judgement]:
    """All at once. What is wrong with one of them is its judgement; what ends the run ends the others."""
    if len(asked) == 1:
        return {label: await judged(one) for label, one in asked.items()}
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {label: group.create_task(judged(one)) for label, one in asked.items()}
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return {label: task.result() for label, task in tasks.items()}


async def judge_missing(
    judge: Judge, asked: Mapping[str, Mapping[str, Any]], judgements: MutableMapping[str, Judgement]
) -> None:
    """Add the judgement by each rubric that is not there, or of which votes failed, as it comes: `asked` has the fields
    of all, in the order that the judgements get. What is wrong with one of them is raised when the others are there.
    What a judgement that failed came to is spent, but no cost of the case, which is the same however often it is asked
    again."""
    errors: list[Exception] = []
    for rubric, fields in asked.items():
        earlier = judgements.get(rubric)
        if earlier is not None and earlier.is_whole:
            continue
        try:
            with metering(alone=True) as meter:
                judgement = judgements[rubric] = await judged_by(judge, rubric, fields, earlier)
            if judgement.score is not None and not judgement.error:
                pass_on(meter)
        except (StopRunError, InputError):
            raise
        except Exception as error:  # of a judge from elsewhere, too
            errors.append(error)
    for rubric in [rubric for rubric in asked if rubric in judgements]:
        judgements[rubric] = judgements.pop(rubric)
    if errors:
        raise errors[0]


async def judged_by(judge: Judge, rubric: str, fields: Mapping[str, Any], earlier: Judgement | None) -> Judgement:
    """Of an earlier judgement, of which votes failed, only those are asked for, where the judge can."""
    with judging_by(rubric):
        if earlier is None or not isinstance(judge, Completing):
            return await judge.judge(rubric, fields)
        return await judge.complete(rubric, fields, earlier)


def kept_votes(earlier: Judgement | None) -> dict[str, Judgement]:
    """The votes of an earlier judgement that need not be asked for again, or not for all of it."""
    kept = {} if earlier is None else earlier.details.get(KEPT_VOTES, {})
    return {label: Judgement(**vote) for label, vote in kept.items()}


async def judged(asked: Awaitable[Judgement]) -> Judgement:
    """StopRunError and InputError pass through: what they say holds for every case. What a vote that failed came to is
    no cost of the case."""
    try:
        with metering(alone=True) as meter:
            judgement = await asked
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
        return Judgement(None, error=unexpected(error))


def combined(judgements: Mapping[str, Judgement], combine: Combine, details: Mapping[str, Any]) -> Judgement:
    """Of those that succeeded; a failure when none did. `details` are kept beside every single vote, and while one of
    them failed, or is itself waiting for a vote, what the others said in full."""
    scores = {label: each.score for label, each in judgements.items() if each.score is not None}
    failures = {label: each.error for label, each in judgements.items() if each.score is None}
    kept = {**details, "votes": dict(_votes(judgements)), **({"failures": failures} if failures else {})}
    if not scores:
        said = list(dict.fromkeys(str(error) for error in failures.values()))
        return Judgement(None, error="; ".join(said), details=kept)
    if not all(each.is_whole for each in judgements.values()):
        kept[KEPT_VOTES] = {label: _plain(each) for label, each in judgements.items() if each.score is not None}
    lines = (_line(label, each) for label, each in judgements.items())
    return Judgement(combine(list(scores.values())), "\n".join(lines), details=kept)


def _plain(judgement: Judgement) -> dict[str, Any]:
    return {"score": judgement.score, "reasoning": judgement.reasoning, "details": dict(judgement.details)}


def _votes(judgements: Mapping[str, Judgement]) -> Iterator[tuple[str, float | None]]:
    for label, each in judgements.items():
        inner = each.details.get("votes")
        if inner:
            yield from ((f"{label}/{name}", score) for name, score in inner.items())
        else:
            yield label, each.score


def _line(label: str, judgement: Judgement) -> str:
    if judgement.score is None:
        return f"{label}: {judgement.error}"
    return f"{label} ({judgement.score:.2f}): {judgement.reasoning}"
