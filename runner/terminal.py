"""What a person sees: results on stdout, notes and errors on stderr."""

from __future__ import annotations

import sys
from typing import Any


def show(*renderables: Any) -> None:
    """Rich renderables or plain text, on stdout."""
    from rich.console import Console

    console = Console(soft_wrap=False)
    for renderable in renderables:
        console.print(renderable, markup=False, highlight=False)


def lines(*texts: str) -> None:
    """On stdout, each as it is however wide the terminal, so that `file:line` can be searched for."""
    for text in texts:
        sys.stdout.write(text.encode("utf-8", "replace").decode("utf-8") + "\n")


def counted(n: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def note(text: str) -> None:
    print(text.encode("utf-8", "replace").decode("utf-8"), file=sys.stderr, flush=True)  # noqa: T201


def fail(text: str) -> None:
    note(f"error: {text}")
