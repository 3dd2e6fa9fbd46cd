"""Hashes of the code that scores: two values of a metric are alike only where the same rule made them."""

from __future__ import annotations

import hashlib
import io
import tokenize
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

METRICS = Path(__file__).resolve().parent / "metrics"
# Family of metrics -> modules of runner/metrics that make them.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "ranking": (
        "average_precision", "hit_rate", "measure", "ndcg", "precision", "ranking", "recall", "reciprocal_rank",
    ),
    "answers": ("answers",),
    "diagnosis": ("diagnosis",),
}  # fmt: skip
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


@cache
def metric_code() -> dict[str, str]:
    """Family -> SHA-256 over the words of its code; comments, docstrings and layout do not count."""
    return {family: _digest([METRICS / f"{name}.py" for name in names]) for family, names in FAMILIES.items()}


def _digest(paths: list[Path]) -> str:
    words = (word for path in paths for word in _words(path.read_text(encoding="utf-8")))
    return hashlib.sha256("".join(words).encode()).hexdigest()


def _words(source: str) -> Iterator[str]:
    """A text that is a statement by itself is a docstring."""
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _LAYOUT:
            begins = True
        elif not (begins and token.type == tokenize.STRING):
            begins = False
            yield token.string
