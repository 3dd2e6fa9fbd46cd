"""Judgements of one case as metric values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from runner.metrics.memory import CRITERIA
from runner.metrics.metric import Grades, Metric
from runner.records import Judgement, Judgements

MEMORY = ("memory_overall", *(f"memory_{criterion}" for criterion in CRITERIA))

ANSWER_METRICS = (
    Metric(
        name="faithfulness",
        better="higher",
        label={"en": "Faithfulness", "ko": "충실도 (Faithfulness)"},
        short={"en": "Faithfulness", "ko": "충실도"},
        grades=Grades(
            {
                "excellent": {"en": "Answers are grounded in the context.", "ko": "답변이 컨텍스트에 충실하게 근거함"},
                "good": {
                    "en": "Answers are mostly grounded in the context, with some uncertain claims.",
                    "ko": "대체로 근거하나 일부 불확실한 주장 포함",
                },
                "fair": {
                    "en": "Large parts of the answers are not grounded in the context.",
                    "ko": "상당 부분이 컨텍스트에 근거하지 않음",
                },
                "needs_work": {"en": "Serious hallucination.", "ko": "심각한 환각 문제"},
            }
        ),
        main=True,
        depends=("queries", "judge", "judge_prompt.faithfulness"),
        group="answers",
        headline=4,
        shown=frozenset({"worst"}),
        quality=1,
        summary="mean_faithfulness",
    ),
    Metric(
        name="answer_relevancy",
        better="higher",
        label={"en": "Answer Relevancy", "ko": "답변 관련성 (Relevancy)"},
        short={"en": "Answer\nRelevancy", "ko": "답변\n관련성"},
        grades=Grades(
            {
                "excellent": {"en": "Answers address the question precisely.", "ko": "답변이 질문을 정확히 다룸"},
                "good": {
                    "en": "Answers mostly fit, with omissions or detours.",
                    "ko": "대체로 적절하나 일부 누락 또는 간접적",
                },
                "fair": {"en": "Answers address the question only in part.", "ko": "질문의 핵심을 부분적으로만 다룸"},
                "needs_work": {"en": "Answers have little to do with the question.", "ko": "질문과 답변이 거의 무관"},
            }
        ),
        main=True,
        depends=("queries", "judge", "judge_prompt.answer_relevancy"),
        group="answers",
        headline=5,
        shown=frozenset({"worst"}),
        summary="mean_answer_relevancy",
    ),
)
MEMORY_METRICS = (
    Metric(
        name="memory_overall",
        better="higher",
        label={"en": "Memory Quality (0-100)", "ko": "메모리 품질 (0-100)"},
        meaning={
            "en": (
                "Weighted sum of the four scores below, with noise inverted; "
                "an empty memory gets only the points for no noise."
            ),
            "ko": "아래 네 점수의 가중합(노이즈는 뒤집어 계산). 빈 메모리는 노이즈가 없는 몫만 받음",
        },
        range=(0.0, 100.0),
        main=True,
        depends=(
            "conversations",
            "queries",
            "gold",
            "metric_code.memory",
            "judge",
            "judge_prompt.memory",
            "memory_weights",
        ),
        group="memory",
        shown=frozenset({"sweeps"}),
    ),
    Metric(
        name="memory_relevance",
        better="higher",
        label={"en": "Memory Relevance (0-10)", "ko": "메모리 관련성 (0-10)"},
        range=(0.0, 10.0),
        depends=("conversations", "queries", "gold", "metric_code.memory", "judge", "judge_prompt.memory"),
        group="memory",
        shown=frozenset(),
    ),
    Metric(
        name="memory_completeness",
        better="higher",
        label={"en": "Memory Completeness (0-10)", "ko": "메모리 완전성 (0-10)"},
        range=(0.0, 10.0),
        depends=("conversations", "queries", "gold", "metric_code.memory", "judge", "judge_prompt.memory"),
        group="memory",
        shown=frozenset(),
    ),
    Metric(
        name="memory_accuracy",
        better="higher",
        label={"en": "Memory Accuracy (0-10)", "ko": "메모리 정확성 (0-10)"},
        range=(0.0, 10.0),
        depends=("conversations", "queries", "gold", "metric_code.memory", "judge", "judge_prompt.memory"),
        group="memory",
        shown=frozenset(),
    ),
    Metric(
        name="memory_noise",
        better="lower",
        label={"en": "Memory Noise (0-10, lower is better)", "ko": "메모리 노이즈 (0-10, 낮을수록 좋음)"},
        range=(0.0, 10.0),
        depends=("conversations", "queries", "gold", "metric_code.memory", "judge", "judge_prompt.memory"),
        group="memory",
        shown=frozenset(),
    ),
)
ANSWER_MEANS = tuple(metric.in_summaries for metric in ANSWER_METRICS)  # they stand at the top of run.json as well

OnFailure = Literal["zero", "exclude"]
Judged = tuple[dict[str, float | None], tuple[str, ...]]  # values by name, and the names that failed


def judged(judgements: Judgements, rubrics: Sequence[str], on_failure: OnFailure) -> Judged:
    """A score 0..1 for each rubric. A failed judgement counts as 0 or not at all, and is reported as failed either
    way."""
    scores = {rubric: score_of(judgements.get(rubric)) for rubric in rubrics}
    failed = tuple(rubric for rubric, score in scores.items() if score is None)
    instead = 0.0 if on_failure == "zero" else None
    return {rubric: instead if score is None else score for rubric, score in scores.items()}, failed


def judged_memory(judgement: Judgement | None, on_failure: OnFailure) -> Judged:
    """The overall score 0..100 and the four 0..10. A failed judgement counts as 0 or not at all; how much noise there
    is it never tells."""
    score = score_of(judgement)
    if judgement is None or score is None:
        return {**dict.fromkeys(MEMORY, 0.0 if on_failure == "zero" else None), "memory_noise": None}, MEMORY
    grades = judgement.details["scores"]
    four = {f"memory_{criterion}": float(grades[criterion]["score"]) for criterion in CRITERIA}
    return {"memory_overall": 100 * score, **four}, ()


def score_of(judgement: Judgement | None) -> float | None:
    """None where the judge failed, or was not asked."""
    return None if judgement is None or judgement.error is not None else judgement.score
