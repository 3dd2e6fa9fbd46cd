"""What panels look like in a terminal of eighty columns."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from rich.console import Console


def lines_of(panels: Iterable[Any], width: int = 80) -> list[str]:
    shown = io.StringIO()
    console = Console(file=shown, width=width, force_terminal=False)
    for panel in panels:
        console.print(panel, markup=False, highlight=False)
    return shown.getvalue().splitlines()
