"""Judgements of one case as metric values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from runner.metrics.memory import CRITERIA
from runner.records import Judgement, Judgements

MEMORY = ("memory_overall", *(f"memory_{criterion}" for criterion in CRITERIA))

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
