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
_BY_REFERENCE = ("queries", "gold", "judge")
REFERENCE_METRICS = (
    Metric(
        name="answer_correctness",
        better="higher",
        label={"en": "Answer Correctness", "ko": "정답 일치도 (Correctness)"},
        short={"en": "Answer\nCorrectness", "ko": "정답\n일치도"},
        meaning={
            "en": "How far the answer says what the closest reference answer says; 0 where it declined to answer.",
            "ko": "가장 가까운 기준 답안과 내용이 일치하는 정도. 답하지 않으면 0",
        },
        grades=Grades(),
        main=True,
        depends=(*_BY_REFERENCE, "judge_prompt.answer_correctness"),
        group="answers",
        shown=frozenset({"sweeps", "slices", "cases", "worst"}),
    ),
    Metric(
        name="context_precision",
        better="higher",
        label={"en": "Context Precision (judged)", "ko": "컨텍스트 정밀도 (판정)"},
        meaning={
            "en": "Mean precision at the ranks of the chunks that a judge finds useful for the reference answer.",
            "ko": "기준 답안에 쓸모 있다고 판정된 청크 순위에서 잰 정밀도의 평균",
        },
        grades=Grades(),
        depends=(*_BY_REFERENCE, "judge_prompt.context_precision"),
        group="answers",
        shown=frozenset({"sweeps"}),
    ),
    Metric(
        name="context_recall",
        better="higher",
        label={"en": "Context Recall (judged)", "ko": "컨텍스트 재현율 (판정)"},
        meaning={
            "en": "Share of the claims of the reference answer that a judge finds in the chunks.",
            "ko": "기준 답안의 주장 가운데 청크에 있다고 판정된 비율",
        },
        grades=Grades(),
        depends=(*_BY_REFERENCE, "judge_prompt.context_recall"),
        group="answers",
        shown=frozenset({"sweeps"}),
    ),
)
TRACE_METRICS = (
    Metric(
        name="task_completion",
        better="higher",
        label={"en": "Task Completion (judged)", "ko": "과제 완수도 (판정)"},
        short={"en": "Task\nCompletion", "ko": "과제\n완수도"},
        meaning={
            "en": "How far a judge finds that the trace did what it was asked, by its steps and its result.",
            "ko": "추적의 단계와 결과로 보아 맡은 과제를 어디까지 완수했다고 판정되었는지의 평균",
        },
        grades=Grades(),
        depends=("tasks", "judge", "judge_prompt.task_completion"),
        group="traces",
        quality=None,
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
    *(
        Metric(
            name=f"memory_{name}",
            better="higher",
            label={"en": f"Memory {name.capitalize()} (0-10)", "ko": f"메모리 {korean} (0-10)"},
            range=(0.0, 10.0),
            depends=("conversations", "queries", "gold", "metric_code.memory", "judge", "judge_prompt.memory"),
            group="memory",
            shown=frozenset(),
        )
        for name, korean in {"relevance": "관련성", "completeness": "완전성", "accuracy": "정확성"}.items()
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
CORRECTNESS_METRIC = REFERENCE_METRICS[0]
CORRECTNESS = CORRECTNESS_METRIC.name
ANSWER_MEANS = tuple(metric.in_summaries for metric in ANSWER_METRICS)  # they are at the top level of run.json as well

OnFailure = Literal["zero", "exclude"]
Judged = tuple[dict[str, float | None], tuple[str, ...]]  # values by name, and the names that failed


def f1(precision: float, recall: float) -> float:
    """Their harmonic mean; 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def rank_weighted_precision(useful: Sequence[bool]) -> float:
    """The context precision of RAGAS (Es et al., 2024): the mean, over the useful chunks, of the precision at their
    rank. It looks at the retrieved chunks, not at missing ones.

    Args:
        useful: whether each chunk is useful, best rank first.

    Returns:
        0..1; 0 without a useful chunk.
    """
    ranks = [rank for rank, is_useful in enumerate(useful, start=1) if is_useful]
    return sum(number / rank for number, rank in enumerate(ranks, start=1)) / len(ranks) if ranks else 0.0


def score_judgements(judgements: Judgements, rubrics: Sequence[str], on_failure: OnFailure) -> Judged:
    """The scores of rubrics.

    Args:
        judgements: by rubric.
        rubrics: those that apply.
        on_failure: whether a failed judgement counts as 0, or not at all.

    Returns:
        Values 0..1 by rubric, and the rubrics that failed.
    """
    scores = {rubric: score_of(judgements.get(rubric)) for rubric in rubrics}
    failed = tuple(rubric for rubric, score in scores.items() if score is None)
    instead = 0.0 if on_failure == "zero" else None
    return {rubric: instead if score is None else score for rubric, score in scores.items()}, failed


def judged_correctness(judgements: Judgements, *, declined: bool, on_failure: OnFailure) -> Judged:
    """The correctness of a case with a reference: 0 where it declined; no judge is called then."""
    return ({CORRECTNESS: 0.0}, ()) if declined else score_judgements(judgements, (CORRECTNESS,), on_failure)


def judged_memory(judgement: Judgement | None, on_failure: OnFailure) -> Judged:
    """The scores of a memory.

    Args:
        judgement: None where nothing was judged.
        on_failure: whether a failed judgement counts as 0, or not at all; it never shows how much noise there is.

    Returns:
        The overall score, 0..100, and the four scores, 0..10, by metric; and those that failed.
    """
    score = score_of(judgement)
    if judgement is None or score is None:
        return {**dict.fromkeys(MEMORY, 0.0 if on_failure == "zero" else None), "memory_noise": None}, MEMORY
    grades = judgement.details["scores"]
    four = {f"memory_{criterion}": float(grades[criterion]["score"]) for criterion in CRITERIA}
    return {"memory_overall": 100 * score, **four}, ()


def score_of(judgement: Judgement | None) -> float | None:
    """The score; None where the judge failed, or was not asked."""
    return None if judgement is None or judgement.error is not None else judgement.score
