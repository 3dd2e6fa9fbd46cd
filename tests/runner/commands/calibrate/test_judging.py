"""Rated answers as cases: what a judge is shown, and what becomes of its failures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import pytest

from runner.commands.calibrate.judging import RatedAnswers, item_of
from runner.data.labels import Labels
from runner.data.ratings import UNIT, RatedAnswer
from runner.errors import EvaluationError, StopRunError
from runner.records import Context, Judgement, Row, Turn
from runner.run.engine import run_case
from tests.runner.commands.calibrate.rated import rated

BOTH = {"faithfulness": (1.0, 0.5), "answer_relevancy": (0.0,)}


class Says:
    """A judge with something to say of each rubric: a judgement, or an error to raise."""

    on_failure: Literal["zero"] = "zero"

    def __init__(self, **said: Judgement | Exception) -> None:
        self.said = said
        self.shown: dict[str, Mapping[str, Any]] = {}

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        self.shown[rubric] = fields
        said = self.said[rubric]
        if isinstance(said, Exception):
            raise said
        return said


async def judged(judge: Says, answer: RatedAnswer) -> Row:
    return await run_case(RatedAnswers(Labels((answer,), tuple(answer.ratings), UNIT, ()), judge), answer, 5)


async def test_a_rubric_sees_what_belongs_to_it() -> None:
    judge = Says(faithfulness=Judgement(0.5), answer_relevancy=Judgement(1.0))
    contexts, history = (Context("c", "text"),), (Turn("user", "hi"),)
    await judged(judge, rated("a", ratings=BOTH, contexts=contexts, history=history, language="ko"))
    asked = {"question": "question a", "answer": "answer a", "language": "ko", "history": history}
    assert judge.shown == {"faithfulness": {**asked, "contexts": contexts}, "answer_relevancy": asked}
    await judged(judge, rated("b", 1.0))
    assert judge.shown["faithfulness"] == {
        "question": "question b",
        "answer": "answer b",
        "language": None,
        "contexts": (),
    }


async def test_correctness_is_judged_by_the_references() -> None:
    judge = Says(answer_correctness=Judgement(0.5))
    answer = rated("a", ratings={"answer_correctness": (1.0,)}, fields={"references": ("right", "fine")})
    assert (await judged(judge, answer)).metrics == {"answer_correctness": 0.5}
    assert judge.shown["answer_correctness"] == {
        "question": "question a",
        "answer": "answer a",
        "language": None,
        "references": ("right", "fine"),
    }


async def test_an_item_holds_what_both_said() -> None:
    said = Judgement(0.25, "half of it", details={"votes": {"1": 0.25}})
    answer = rated("a", ratings=BOTH, system="s", group="g", language="en")
    item = item_of(answer, await judged(Says(faithfulness=said, answer_relevancy=Judgement(1.0)), answer))
    assert item["rubrics"]["faithfulness"] == {
        "judge": 0.25,
        "human": 0.75,
        "ratings": [1.0, 0.5],
        "reasoning": "half of it",
        "error": None,
        "details": {"votes": {"1": 0.25}},
    }
    assert {name: item[name] for name in ("id", "system", "group", "language", "question", "answer", "status")} == {
        "id": "a",
        "system": "s",
        "group": "g",
        "language": "en",
        "question": "question a",
        "answer": "answer a",
        "status": "ok",
    }


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Judgement(None, error="no JSON in the reply"), "no JSON in the reply"),
        (EvaluationError("there is no such rubric"), "there is no such rubric"),
        (Judgement(math.nan), "the judge gave no number: nan"),
    ],
)
async def test_a_rubric_that_fails_leaves_the_other(failure: Judgement | Exception, error: str) -> None:
    answer = rated("a", ratings=BOTH)
    row = await judged(Says(faithfulness=failure, answer_relevancy=Judgement(1.0)), answer)
    assert (row.status, row.unscored) == ("ok", ("faithfulness",))
    item = item_of(answer, row)
    assert item["rubrics"]["faithfulness"]["judge"] is None
    assert item["rubrics"]["faithfulness"]["error"] == error
    assert (item["rubrics"]["answer_relevancy"]["judge"], item["rubrics"]["answer_relevancy"]["error"]) == (1.0, None)


async def test_a_bug_fails_the_whole_answer() -> None:
    answer = rated("a", ratings=BOTH)
    item = item_of(answer, await judged(Says(faithfulness=ZeroDivisionError("x")), answer))
    assert item["status"] == "failed" and item["error"].startswith(f"ZeroDivisionError: x ({__name__}, line ")
    assert [said["error"] for said in item["rubrics"].values()] == [item["error"]] * 2


async def test_what_is_wrong_for_every_answer_passes_through() -> None:
    with pytest.raises(StopRunError, match="the key is refused"):
        await judged(Says(faithfulness=StopRunError("the key is refused")), rated("a", 1.0))
