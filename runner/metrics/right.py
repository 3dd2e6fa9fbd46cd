"""Whether a system answered a question right: the metric that decides.

The first of these rules that applies decides a question; its row names the rule (`right_by`):

no_answer     the system said nothing: wrong, also where the question has no answer
answered      the system answered a question that has no answer: wrong
declined      the system said that it has no answer: right if the question has none; wrong if it has one, unless the
              answer gives the reference after all
not_judged    the model that should have compared the answer with the references failed: undecided
correctness   a model compared the answer with the references: right if its score is above `high`
reference     the answer contains a reference in one piece: right
words         the answer contains most words of a reference that the question lacks: right
amount        a reference is an amount, and the answer gives the same one: right
yes_no        a reference is yes or no, and the answer takes a stand: right if it is the same
other_amount  the answer gives another amount in the place of that of the reference: wrong
denied        the answer says that the reference is not it, or no more: wrong
several       the answer names the reference among several values, and chooses none: wrong
elsewhere     the answer says the amount of the reference of something else than what was asked: wrong
absent        the answer contains hardly anything of a reference, lacks an item of its list or gives another name: wrong
undecided     the answer contains a part of a reference: undecided
needs_model   the references are sentences, which words cannot decide: undecided
facts         the answer is right if it contains every expected fact of a conversation
checks        the answer fails one of the checks that its case brings, or, where no reference is known, passes all
stand_in      no reference is known: right if the judge scores faithfulness and relevancy above `high`. This takes the
              place of a reference that nobody wrote
unknown       nothing can decide

The rules from `reference` to `needs_model` are those of runner.metrics.reference_rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runner.metrics.metric import Grades, Metric

NAME = "right"
LABEL = "right_by"
IDENTITY = "right"  # the name of `high` in the identity of a run
RULES = {  # rule -> its kind (Metric.rules); what does not compare an answer with a reference goes with any
    "declined": "",
    "answered": "",
    "no_answer": "",
    "unknown": "",
    "checks": "",
    "not_judged": "",
    "correctness": "model",
    **dict.fromkeys(("reference", "words", "amount", "yes_no", "other_amount", "denied", "absent"), "words"),
    **dict.fromkeys(("known_answer", "several", "elsewhere", "undecided", "needs_model"), "words"),
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

By = Literal[
    "no_answer",
    "declined",
    "answered",
    "not_judged",
    "correctness",
    "reference",
    "words",
    "amount",
    "yes_no",
    "other_amount",
    "denied",
    "several",
    "elsewhere",
    "absent",
    "undecided",
    "needs_model",
    "facts",
    "checks",
    "stand_in",
    "unknown",
]
UNDECIDED: tuple[By, ...] = ("not_judged", "undecided", "needs_model", "unknown")  # `right` is None


@dataclass(frozen=True, slots=True)
class Decision:
    """`right` is None where nothing can tell, for the reason `by`."""

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
    silent: bool = False,
    by_reference: Decision | None,
    high: float = 1.0,
    correctness: float | None = None,
    not_judged: bool = False,
    faithfulness: float | None = None,
    answer_relevancy: float | None = None,
) -> Decision:
    """Decides whether one question was answered right.

    Args:
        answerable: whether the question has an answer.
        declined: whether the system said that it has none.
        silent: whether it said nothing.
        by_reference: the decision without a model (runner.metrics.reference_rule); None where no reference is known.
        high: above it a score of a judge is high.
        correctness: what a model said of the answer beside the references, 0..1; None where none was asked.
        not_judged: a model was asked so, and gave no score.
        faithfulness: of the judge, 0..1.
        answer_relevancy: of the judge, 0..1.
    """
    if silent:
        return Decision(False, "no_answer")
    if not answerable:
        return Decision(declined, "declined" if declined else "answered")
    if declined:
        is_given = by_reference is not None and by_reference.by == "reference"
        return by_reference if is_given and by_reference else Decision(False, "declined")
    if not_judged:
        return Decision(None, "not_judged")
    if correctness is not None:
        return Decision(correctness > high, "correctness")
    if by_reference is not None:
        return by_reference
    if faithfulness is not None and answer_relevancy is not None:
        return Decision(faithfulness > high and answer_relevancy > high, "stand_in")
    return Decision(None, "unknown")


def with_checks(decision: Decision, passes: bool | None, *, has_label: bool) -> Decision:
    """The decision where a case brings checks.

    Args:
        decision: without the checks.
        passes: whether the answer passes all of them; None where there is none, or none could be evaluated.
        has_label: whether the case also has references or no answer; then both must hold. Else the checks decide.
    """
    if passes is None or (passes and has_label):
        return decision
    return Decision(passes, "checks")
