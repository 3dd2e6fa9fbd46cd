"""What a combination of faithfulness, answer relevancy and recall says about a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# (faithfulness is high, answer relevancy is high) -> pattern
PATTERNS = {
    (True, True): "ideal",
    (False, True): "hallucination_risk",
    (True, False): "context_mismatch",
    (False, False): "overall_problem",
}
HIGH = 0.6
JUDGED = ("faithfulness", "answer_relevancy")  # what a pattern is told from


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The run as a whole. `cross` is None without a recall."""

    high: float
    faithfulness: float
    relevancy: float
    recall: float | None

    @property
    def pattern(self) -> str:
        return PATTERNS[self.is_high(self.faithfulness), self.is_high(self.relevancy)]

    @property
    def cross(self) -> str | None:
        if self.recall is None:
            return None
        return cross_name(self.is_high(self.recall), self.pattern == "ideal")

    def is_high(self, value: float) -> bool:
        return round(value, 9) > self.high


def diagnose(summary: Mapping[str, Any], high: float) -> Diagnosis | None:
    """None unless faithfulness and answer relevancy were both scored."""
    metrics = summary.get("metrics") or {}
    faithfulness, relevancy, recall = (
        (metrics.get(name) or {}).get("value") for name in ("mean_faithfulness", "mean_answer_relevancy", "recall_at_k")
    )
    if faithfulness is None or relevancy is None:
        return None
    return Diagnosis(high, faithfulness, relevancy, recall)


def cross_name(retrieval_high: bool, generation_high: bool) -> str:
    return f"retrieval_{_level(retrieval_high)}_generation_{_level(generation_high)}"


def threshold(run: Mapping[str, Any]) -> float:
    """`report.high` of the run's configuration."""
    options = (run.get("config") or {}).get("report") or {}
    return float(options.get("high", HIGH))


def _level(high: bool) -> str:
    return "high" if high else "low"
