"""A cell of the tables of summary.md of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.report import metric
from runner.report.markdown import Markdown


def slice_cell(metrics: Mapping[str, Any], name: str, none: str) -> str:
    """`0.85 [0.78, 0.91] (40)`; with unscored cases `(38/40)`."""
    value = metric.value_of(metrics, name)
    if value.value is None:
        return none
    count = f"{value.n_scored}/{value.n}" if value.partly_scored else str(value.n)
    return Markdown(
        f"{value.value:.2f} {metric.interval(value.low, value.high, digits=2)} ({count})".replace("  ", " ")
    )
