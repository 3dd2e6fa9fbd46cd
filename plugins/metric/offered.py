"""Metrics that an evaluation works out by itself, chosen by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.records import Judgements, Scores


class Offered:
    """Computes no score: it selects these metrics of the evaluation."""

    def __init__(self, *, names: Sequence[str]) -> None:
        self.offered_metrics = tuple(names)

    def score(self, case: Any, output: Any, judgements: Judgements) -> Scores:
        return Scores({})
