"""Whether a system answered a question right: the metric that decides.

The first of these rules that applies decides a question; its row names the rule (`right_by`):

declined     the system said that it has no answer: right if the question has none, wrong if it has one
answered     the system answered a question that has no answer: wrong
not_judged   the model that should have compared the answer with the known ones failed: undecided
correctness  a model compared the answer with the known ones: right if its score is above `high`
known_answer no model compared them: right if the answer contains a known answer, or every expected fact
stand_in     no answer is known: right if the judge scores faithfulness and relevancy above `high`. This takes the place
             of a reference that nobody wrote
unknown      nothing can decide
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runner.metrics.metric import Grades, Metric

NAME = "right"
LABEL = "right_by"
IDENTITY = "right"  # the name of `high` in the identity of a run
RULES = {  # rule -> its kind (Metric.rules); what has not to look at the answer's words goes with any
    "declined": "",
    "answered": "",
    "unknown": "",
    "not_judged": "model",
    "correctness": "model",
    **dict.fromkeys(("reference", "words", "amount", "yes_no", "other_amount", "denied", "absent"), "words"),
    **dict.fromkeys(("known_answer", "undecided", "needs_model"), "words"),
}

METRICS = (
    Metric(
        name=NAME,
        better="higher",
        label={"en": "Correct", "ko": "정답률"},
        meaning={
            "en": (
                "Share of the decided questions that were answered right, or rightly refused where there is no answer. "
                "Undecided questions are counted beside it."
            ),
            "ko": "판정된 질문 가운데 맞게 답했거나, 답이 없어 답변을 거절한 비율. 미판정 질문은 따로 셉니다.",
        },
        grades=Grades(),
        main=True,
        depends=(
            "queries",
            "gold",
            IDENTITY,
            "judge",
            "judge_prompt.answer_correctness",
            "judge_prompt.faithfulness",
            "judge_prompt.answer_relevancy",
            "metric_code.right",
            "metric_code.answers",
        ),
        group="right",
        headline=0,
        shown=frozenset({"sweeps", "slices", "cases", "worst"}),
        quality=0,
        tells_right=True,
        decided_by=LABEL,
        rules=RULES,
    ),
)

By = Literal["declined", "answered", "not_judged", "correctness", "known_answer", "stand_in", "unknown"]


@dataclass(frozen=True, slots=True)
class Decision:
    """`right` is None where nobody knows."""

    right: bool | None
    by: By

    @property
    def value(self) -> float | None:
        """1 or 0; None where nothing could be decided."""
        return None if self.right is None else float(self.right)


def decide(
    *,
    answerable: bool,
    declined: bool,
    known_answer: bool | None,
    high: float = 1.0,
    correctness: float | None = None,
    not_judged: bool = False,
    faithfulness: float | None = None,
    answer_relevancy: float | None = None,
) -> Decision:
    """Whether one question was answered right.

    high           above it a score of a judge is high
    known_answer   whether a known answer is found in the answer; None where none is known
    correctness    what a model said of the answer beside the known ones, 0..1; None where none was asked
    not_judged     a model was asked so, and gave no score
    """
    if declined:
        return Decision(not answerable, "declined")
    if not answerable:
        return Decision(False, "answered")
    if not_judged:
        return Decision(None, "not_judged")
    if correctness is not None:
        return Decision(correctness > high, "correctness")
    if known_answer is not None:
        return Decision(known_answer, "known_answer")
    if faithfulness is not None and answer_relevancy is not None:
        return Decision(faithfulness > high and answer_relevancy > high, "stand_in")
    return Decision(None, "unknown")
