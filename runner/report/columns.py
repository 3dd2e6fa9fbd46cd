"""How many columns of numbers fit a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len

WIDTH = 80
FOLDED = 20  # columns of the terminal beyond which what stands on the left is folded


def that_fit(left: Iterable[Iterable[str]], columns: Iterable[Iterable[str]]) -> int:
    """How many of `columns`, from the first, there is room for beside those on the left. A column is its texts, which
    may have several lines; a space is between columns."""
    room = WIDTH - sum(min(_width(texts), FOLDED) + 1 for texts in left)
    fitting = 0
    for texts in columns:
        room -= _width(texts) + 1
        if room < 0:
            break
        fitting += 1
    return fitting


def _width(texts: Iterable[str]) -> int:
    return max((cell_len(line) for text in texts for line in text.splitlines()), default=0)
