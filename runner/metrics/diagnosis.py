"""Where a question was lost, and which of the known failure patterns it shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from runner.metrics.metric import Grades, Metric

METRICS = (
    Metric(
        name="unanswerable_precision",
        better="higher",
        label={"en": "Unanswerable Precision", "ko": "답변 불가 정밀도"},
        meaning={
            "en": "Share of the questions predicted unanswerable that are unanswerable.",
            "ko": "답변 불가로 본 질문 중 실제로 답이 없는 비율",
        },
        grades=Grades(),
        main_beside="unanswerable_recall",
        depends=("queries", "gold", "documents", "metric_code.diagnosis"),
        group="unanswerable",
        shown=frozenset(),
    ),
    Metric(
        name="unanswerable_recall",
        better="higher",
        label={"en": "Unanswerable Recall", "ko": "답변 불가 재현율"},
        meaning={
            "en": "Share of the unanswerable questions that were predicted unanswerable.",
            "ko": "답이 없는 질문 중 답변 불가로 본 비율",
        },
        grades=Grades(),
        depends=("queries", "gold", "documents", "metric_code.diagnosis"),
        group="unanswerable",
        shown=frozenset(),
    ),
    Metric(
        name="unanswerable_f1",
        better="higher",
        label={"en": "Unanswerable F1", "ko": "답변 불가 F1"},
        meaning={"en": "Harmonic mean of precision and recall.", "ko": "정밀도와 재현율의 조화 평균"},
        grades=Grades(),
        main=True,
        main_beside="unanswerable_recall",
        depends=("queries", "gold", "documents", "metric_code.diagnosis"),
        group="unanswerable",
        shown=frozenset({"sweeps", "slices"}),
    ),
)
_GATE = Metric(
    name="retrieval_gate_precision",
    better="higher",
    label={"en": "Retrieval Gate Precision", "ko": "검색 게이트 정밀도"},
    meaning={
        "en": "Share of the questions that min_score alone would decline that are unanswerable.",
        "ko": "min_score만으로 거절했을 질문 중 실제로 답이 없는 비율",
    },
    main_beside="unanswerable_recall",
    depends=("queries", "gold", "documents", "metric_code.diagnosis"),
    group="unanswerable",
    shown=frozenset(),
    quality=None,
)
GATE_METRICS = (
    _GATE,
    replace(
        _GATE,
        name="retrieval_gate_recall",
        label={"en": "Retrieval Gate Recall", "ko": "검색 게이트 재현율"},
        meaning={
            "en": "Share of the unanswerable questions that min_score alone would decline.",
            "ko": "답이 없는 질문 중 min_score만으로 거절했을 비율",
        },
    ),
    replace(
        _GATE,
        name="retrieval_gate_f1",
        label={"en": "Retrieval Gate F1", "ko": "검색 게이트 F1"},
        meaning={
            "en": "Harmonic mean of the two; the answer that was delivered plays no part in it.",
            "ko": "두 값의 조화 평균. 실제로 나간 답변은 영향을 주지 않습니다",
        },
    ),
)
"""Of the best hit against `min_score`, beside an answer that decides; nothing is decided by them."""

Answerability = Literal["true_positive", "false_positive", "false_negative", "true_negative"]
LostAt = Literal[
    "none",
    "not_in_corpus",
    "not_retrieved",
    "below_k",
    "wrong_answer",
    "answered_unanswerable",
    "refused_answerable",
]
Pattern = Literal["ideal", "hallucination_risk", "context_mismatch", "overall_problem"]
Cross = Literal[
    "retrieval_high_generation_high",
    "retrieval_high_generation_low",
    "retrieval_low_generation_high",
    "retrieval_low_generation_low",
]


def predicted_unanswerable(best_relevance: float | None, min_score: float) -> bool:
    """Whether retrieval alone says that there is no answer.

    Args:
        best_relevance: of the best hit, 0..1; None where nothing was found.
        min_score: 0..1.

    Returns:
        True where nothing was found, or the best hit is less relevant than `min_score`.
    """
    return best_relevance is None or best_relevance < min_score


def answerability(predicted_unanswerable: bool, answerable: bool) -> Answerability:
    """The field of the 2x2 table; unanswerable is the positive class."""
    if predicted_unanswerable:
        return "false_positive" if answerable else "true_positive"
    return "true_negative" if answerable else "false_negative"


def unanswerable_values(label: Answerability, prefix: str = "unanswerable") -> dict[str, float | None]:
    """The terms that one question adds to `unanswerable_precision`, `_recall` and `_f1`, as terms of (weighted) means.

    Precision is the mean over questions predicted unanswerable, recall the mean over unanswerable questions.
    F1 = 2 tp / (predicted + actual) is the mean with the weights of `unanswerable_weights`.

    Args:
        label: the field of the 2x2 table.
        prefix: `retrieval_gate` where the label is that of `min_score` beside an answer.

    Returns:
        0 or 1 by metric; None where the question does not count.
    """
    hit = float(label == "true_positive")
    return {
        f"{prefix}_precision": hit if label in ("true_positive", "false_positive") else None,
        f"{prefix}_recall": hit if label in ("true_positive", "false_negative") else None,
        f"{prefix}_f1": hit if label != "true_negative" else None,
    }


def unanswerable_weights(label: Answerability, prefix: str = "unanswerable") -> dict[str, float]:
    """Weight 2 in F1 for a question that is both predicted and actually unanswerable; 1 otherwise."""
    return {f"{prefix}_f1": 2.0} if label == "true_positive" else {}


def lost_at(
    *,
    answerable: bool,
    gold_in_corpus: bool,
    gold_rank: int | None,
    k: int,
    refused: bool | None = None,
    right: bool | None = None,
) -> LostAt:
    """The first stage at which a question failed.

    Args:
        answerable: whether the question has an answer.
        gold_in_corpus: whether a gold document is in the corpus.
        gold_rank: the rank of the first gold document, from 1; None when the whole ranking has none.
        k: how many contexts the generator gets.
        refused: whether the answer refuses; None where nobody answers.
        right: whether the answer is right; None where nobody answers, or it cannot be told.

    Returns:
        `none` where the question did not fail, as far as can be told: always where it was answered right, whatever was
        found for it, and never where it was answered wrong.
    """
    if right:
        return "none"
    if not answerable:
        return "answered_unanswerable" if refused is False else "none"
    if not gold_in_corpus:
        return "not_in_corpus"
    if gold_rank is None:
        return "not_retrieved"
    if gold_rank > k:
        return "below_k"
    if refused:
        return "refused_answerable"
    return "wrong_answer" if right is False else "none"


def pattern(faithfulness: float | None, answer_relevancy: float | None, high: float) -> Pattern | None:
    """Which of the four combinations of faithfulness and relevancy a case is.

    Args:
        faithfulness: 0..1, None where it was not judged.
        answer_relevancy: 0..1, None where it was not judged.
        high: a score above it is high.

    Returns:
        The pattern; None without both scores.
    """
    if faithfulness is None or answer_relevancy is None:
        return None
    if faithfulness > high:
        return "ideal" if answer_relevancy > high else "context_mismatch"
    return "hallucination_risk" if answer_relevancy > high else "overall_problem"


def cross(
    recall: float | None, faithfulness: float | None, answer_relevancy: float | None, high: float
) -> Cross | None:
    """Retrieval against generation, which is high when both judgements are.

    Args:
        recall: at k, 0..1.
        faithfulness: 0..1, None where it was not judged.
        answer_relevancy: 0..1, None where it was not judged.
        high: a value above it is high.

    Returns:
        The combination; None when a value is missing.
    """
    combined = pattern(faithfulness, answer_relevancy, high)
    if recall is None or combined is None:
        return None
    if recall > high:
        return "retrieval_high_generation_high" if combined == "ideal" else "retrieval_high_generation_low"
    return "retrieval_low_generation_high" if combined == "ideal" else "retrieval_low_generation_low"
