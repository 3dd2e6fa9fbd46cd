"""Tables of the terminal: which columns of numbers fit, and how what stands on their left is broken into lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH = 80  # at most, however wide the terminal
GAP = 2  # of each column of a `grid` beside its text, those at the edges included
FOLDED = 20  # columns of the terminal beyond which what stands on the left is folded, where there is no room

_PIECES = re.compile(r"[^\s./=,:]*[\s./=,:]*")

Column = Sequence[str]  # its heading, and the text of every row


def grid(title: Text | None = None) -> Table:
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)


def fitted(left: Sequence[Column], columns: Iterable[Column]) -> tuple[list[list[str]], int]:
    """What stands on the left, folded where it must be, and how many of `columns`, from the first, there is room for
    beside it in a `grid`. Texts may have several lines."""
    columns, width = list(columns), min(WIDTH, Console().width)
    for shown in ([list(column) for column in left], [[folded(text) for text in column] for column in left]):
        fitting = _that_fit(width - sum(_width(texts) + GAP for texts in shown), columns)
        if fitting == len(columns):
            break
    return shown, fitting


def folded(text: str, width: int = FOLDED) -> str:
    """In lines of `width` at most, broken behind a space, a point or the like; within a word only where one is longer
    than a line."""
    lines = [""]
    for piece in _PIECES.findall(text):
        rest = piece
        if cell_len(lines[-1] + rest.rstrip()) > width and lines[-1]:
            lines.append("")
        while cell_len(rest.rstrip()) > width:
            most = next(place for place in range(len(rest), 0, -1) if cell_len(rest[:place]) <= width)
            cut = max(rest.rfind("_", 0, most), rest.rfind("-", 0, most)) + 1 or most
            lines[-1], rest = rest[:cut], rest[cut:]
            lines.append("")
        lines[-1] += rest
    return "\n".join(line.rstrip() for line in lines)


def _that_fit(room: int, columns: Iterable[Column]) -> int:
    fitting = 0
    for texts in columns:
        room -= _width(texts) + GAP
        if room < 0:
            break
        fitting += 1
    return fitting


def _width(texts: Iterable[str]) -> int:
    return max((cell_len(line) for text in texts for line in text.splitlines()), default=0)
