"""What `metric=` chose, for an evaluation: what failed, and what is kept of an earlier command."""

from collections.abc import Mapping
from typing import Any, Literal

import pytest

from plugins.metric.offered import Offered
from plugins.metric.rubric import Rubric
from runner.llm.chosen import ChosenMetrics
from runner.metrics.metric import Metric
from runner.records import Judgement, Scores

OWN = Metric(name="own", better="higher", label={"en": "Own"}, depends=("k",))


class Judge:
    def __init__(self, on_failure: Literal["zero", "exclude"] = "zero") -> None:
        self.on_failure: Literal["zero", "exclude"] = on_failure
        self.learned: dict[str, Any] = {}

    def learn(self, rubrics: Mapping[str, Any]) -> None:
        self.learned |= rubrics

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        return Judgement(0.5)


def chosen(judge: Judge | None = None, **choices: Any) -> ChosenMetrics:
    return ChosenMetrics(choices, [OWN], judge=judge or Judge(), fields=("question", "answer"))


def rubric(better: Literal["higher", "lower", "neither"] = "higher") -> Rubric:
    return Rubric(criteria={"en": "…"}, better=better)


@pytest.mark.parametrize(
    ("better", "on_failure", "value"),
    [("higher", "zero", 0.0), ("lower", "zero", 1.0), ("neither", "zero", None), ("lower", "exclude", None)],
)
def test_what_a_judge_fails_at_counts_as_the_worst_or_not_at_all(
    better: Literal["higher", "lower", "neither"], on_failure: Literal["zero", "exclude"], value: float | None
) -> None:
    found = chosen(Judge(on_failure), tone=rubric(better))
    scores = found.merge_scores(
        Scores({}), None, object(), {"tone": Judgement(None, error="no JSON")}, rubrics=["tone"]
    )
    assert (scores.values, scores.unscored) == ({"tone": value}, ("tone",))
    assert found.merge_scores(Scores({}), None, object(), {}, rubrics=[]).values == {}  # it was not asked


def test_a_case_that_failed_lacks_all_that_was_chosen() -> None:
    scores = chosen(tone=rubric(), own=Offered(names=["own"])).merge_scores(
        Scores({}, unscored=("own",)), None, None, {}
    )
    assert scores.unscored == ("own", "tone")


def test_what_was_not_chosen_is_left_out_with_its_cutoffs_and_what_is_not_offered_stays() -> None:
    own = Scores({"own_at_k": 1.0, "leg/own_at_5": 1.0, "other": 1.0}, unscored=("own_at_k",))
    assert chosen(tone=rubric()).merge_scores(own, None, object(), {}) == Scores({"other": 1.0})
    assert set(chosen(own=Offered(names=["own"])).merge_scores(own, None, object(), {}).values) == {*own.values}
    assert set(ChosenMetrics(None, [OWN]).merge_scores(own, None, object(), {}).values) == {*own.values}


def test_a_judge_learns_what_was_chosen_and_nothing_else() -> None:
    judge = Judge()
    chosen(judge, tone=rubric(), own=Offered(names=["own"]))
    assert list(judge.learned) == ["tone"] and judge.learned["tone"].fields == ("question", "answer")


async def test_what_was_judged_by_code_in_an_earlier_command_is_kept() -> None:
    from plugins.metric.checks import Checks

    found = chosen(checks=Checks(checks=[{"contains": "x"}], of_cases=False))
    kept = {"checks": Judgement(1.0, "kept")}
    await found.add_own(None, {"answer": "y"}, kept)
    assert kept["checks"].reasoning == "kept"
    fresh: dict[str, Judgement] = {}
    await found.add_own(None, {"answer": "y"}, fresh)
    assert fresh["checks"].score == 0.0
