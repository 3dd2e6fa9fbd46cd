"""Which way a metric is better, and how far it goes."""

from __future__ import annotations

import re
from typing import Literal

Direction = Literal["higher", "lower"]

LOWER = re.compile(
    r"(?:latency|cost)\..+|stale_present|answer_stale|leakage|memory_noise|memory_sentences"
    r"|(?:memory|documents|context)_tokens|tool_calls"
)


def direction(metric: str) -> Direction:
    return "lower" if LOWER.fullmatch(metric) else "higher"


SIZE = re.compile(r"memory_sentences|(?:memory|documents|context)_tokens|tool_calls")
TEN = re.compile(r"memory_(?:relevance|completeness|accuracy|noise)")


def span(metric: str) -> float:
    """From its worst value to its best: what hardly matters is told as a share of it. 0 for a size, which has no end:
    there every difference counts."""
    if metric == "memory_overall":
        return 100.0
    return 10.0 if TEN.fullmatch(metric) else 0.0 if SIZE.fullmatch(metric) else 1.0
