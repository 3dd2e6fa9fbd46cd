"""Citations in answers: [1], [2, 3] and [1-3] name contexts by their number, from 1."""

from __future__ import annotations

import re

_CITATION = re.compile(r"\[(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\](?!\()")
_RANGE = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")


def citations(text: str) -> tuple[int, ...]:
    """Cited numbers in order of first mention, each once. A Markdown link [1](url) is no citation."""
    numbers: dict[int, None] = {}
    for match in _CITATION.finditer(text):
        for first, last in _RANGE.findall(match[1]):
            numbers.update(dict.fromkeys(range(int(first), int(last or first) + 1)))
    return tuple(number for number in numbers if number > 0)


def without_citations(text: str) -> str:
    """The text without its citations and the space before them."""
    return re.sub(r"[ \t]*" + _CITATION.pattern, "", text)
