"""Which way a metric is better."""

from __future__ import annotations

import re
from typing import Literal

Direction = Literal["higher", "lower"]

LOWER = re.compile(
    r"(?:latency|cost)\..+|stale_present|answer_stale|leakage|memory_noise|memory_tokens|memory_sentences|context_tokens"
)


def direction(metric: str) -> Direction:
    return "lower" if LOWER.fullmatch(metric) else "higher"
