"""The interval of one mean, from what the program has for many."""

from __future__ import annotations

from typing import Any

from runner.metrics.statistics import Floats, mean_intervals


def mean_interval(values: Floats, weights: Floats | None = None, **options: Any) -> tuple[float, float]:
    """Values and weights float64 [n_cases]."""
    columns = None if weights is None else weights[:, None]
    low, high = mean_intervals(values[:, None], columns, **options)[0]
    return low, high
