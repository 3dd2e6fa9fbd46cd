"""Several judgements become one; what ends the run ends them all."""

import asyncio
import statistics
from typing import Any

import pytest

from runner.errors import BudgetSpentError, EvaluationError, InputError, ReplyError, StopRunError
from runner.llm import metering
from runner.llm.ledger import Cost
from runner.llm.messages import Usage
from runner.llm.votes import ask_judge, combine_judgements, gather_judgements, judge_missing, kept_votes
from runner.records import Judgement


async def says(score: float) -> Judgement:
    return Judgement(score, "so")


async def raises(error: Exception) -> Judgement:
    raise error


def test_the_mean_of_those_that_succeeded() -> None:
    votes = {"1": Judgement(1.0, "yes"), "2": Judgement(None, error="no JSON"), "3": Judgement(0.5, "half")}
    found = combine_judgements(votes, statistics.fmean, {"claims": []})
    assert found == Judgement(
        0.75,
        "1 (1.00): yes\n2: no JSON\n3 (0.50): half",
        details={
            "claims": [],
            "votes": {"1": 1.0, "2": None, "3": 0.5},
            "failures": {"2": "no JSON"},
            "kept_votes": {
                "1": {"score": 1.0, "reasoning": "yes", "details": {}},
                "3": {"score": 0.5, "reasoning": "half", "details": {}},
            },
        },
    )
    assert not found.is_whole
    assert kept_votes(found) == {label: vote for label, vote in votes.items() if vote.score is not None}


class Charging:
    """A judge each of whose requests costs a request, and whose second rubric fails."""

    on_failure = "zero"

    async def judge(self, rubric: str, fields: Any) -> Judgement:
        metering.note("judge", rubric.encode(), Cost(Usage(5, 1), 0))
        return Judgement(0.5) if rubric == "tone" else Judgement(None, error="no JSON")


async def test_a_judgement_that_failed_costs_its_case_nothing() -> None:
    """So that what a case costs does not depend on how often it was asked for again."""
    judgements: dict[str, Judgement] = {}
    with metering.metering() as meter:
        await judge_missing(Charging(), {"tone": {}, "right": {}}, judgements)  # type: ignore[arg-type]
    assert [judgements[name].score for name in ("tone", "right")] == [0.5, None]
    assert meter.by_role["judge"].requests == 1


async def test_of_several_judgements_those_that_failed_cost_nothing() -> None:
    judge = Charging()
    with metering.metering() as meter:
        found = await gather_judgements({rubric: judge.judge(rubric, {}) for rubric in ("tone", "right", "kind")})
    assert [judgement.score for judgement in found.values()] == [0.5, None, None]
    assert meter.by_role["judge"].requests == 1
    assert await gather_judgements({}) == {}


async def test_a_judge_that_can_is_asked_for_what_is_missing_alone() -> None:
    class Completes(Charging):
        async def complete(self, rubric: str, fields: Any, earlier: Judgement) -> Judgement:
            return Judgement(1.0, f"after {earlier.error}")

    missing = Judgement(None, error="no JSON")
    assert await ask_judge(Completes(), "tone", {}, missing) == Judgement(1.0, "after no JSON")
    assert await ask_judge(Completes(), "tone", {}, None) == Judgement(0.5)
    assert await ask_judge(Charging(), "tone", {}, missing) == Judgement(0.5)


def test_votes_of_votes_are_told_by_both_names() -> None:
    inner = combine_judgements({"1": Judgement(1.0), "2": Judgement(0.0)}, statistics.fmean, {})
    outer = combine_judgements({"strict": inner, "lenient": Judgement(1.0)}, statistics.fmean, {})
    assert outer.score == 0.75
    assert outer.details == {"votes": {"strict/1": 1.0, "strict/2": 0.0, "lenient": 1.0}}


def test_nothing_but_failures_is_one() -> None:
    votes = {"1": Judgement(None, error="cut off"), "2": Judgement(None, error="cut off")}
    found = combine_judgements(votes, statistics.fmean, {})
    assert (found.score, found.error, found.details["votes"]) == (None, "cut off", {"1": None, "2": None})
    assert combine_judgements(
        {"a": Judgement(None, error="x"), "b": Judgement(None, error="y")}, statistics.fmean, {}
    ).error == ("x; y")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ReplyError("the model refused: no"), "the model refused: no"),
        (EvaluationError("HTTP 400"), "HTTP 400"),
        (TimeoutError("no answer in 15 s"), "no answer in 15 s"),
        (TimeoutError(), "the judge did not answer in time"),
        (KeyError("score"), f"KeyError: 'score' ({__name__}, line {raises.__code__.co_firstlineno + 1})"),
    ],
)
@pytest.mark.parametrize("others", [{}, {"b": 1.0}])
async def test_what_is_wrong_with_one_is_its_judgement(error: Exception, said: str, others: dict[str, float]) -> None:
    found = await gather_judgements({"a": raises(error), **{label: says(score) for label, score in others.items()}})
    assert found == {"a": Judgement(None, error=said), **{label: Judgement(1.0, "so") for label in others}}


@pytest.mark.parametrize("error", [StopRunError("wrong key"), BudgetSpentError("spent"), InputError("no such file")])
async def test_what_ends_the_run_passes_as_it_is_and_cancels_the_others(error: Exception) -> None:
    ended = []

    async def waits() -> Judgement:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
        raise AssertionError

    async def compile_late() -> Judgement:
        await asyncio.sleep(0)
        raise error

    with pytest.raises(type(error)) as raised:
        async with asyncio.timeout(5):
            await gather_judgements({"a": waits(), "b": compile_late()})
    assert raised.value is error and ended == ["cancelled"]
    with pytest.raises(type(error)):
        await gather_judgements({"a": raises(error)})


async def test_all_are_asked_at_once() -> None:
    meeting: Any = asyncio.Barrier(3)

    async def meets() -> Judgement:
        await meeting.wait()
        return Judgement(1.0)

    assert len(await gather_judgements({str(number): meets() for number in range(3)})) == 3
