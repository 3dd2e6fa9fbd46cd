"""What summary.json tells of the memory of a run, with numbers that were written by hand."""

from __future__ import annotations

from typing import Any


def bin_of(label: str, n: int, share: float | None, low: float | None = None, high: float | None = None) -> Any:
    return {"label": label, "n": n, "share": share, "low": low, "high": high}


MEMORY: dict[str, Any] = {
    "retention": {
        "turns": [bin_of("0-4", 4, 1.0, 0.51, 1.0), bin_of("5-9", 0, None), bin_of("10-19", 2, 0.5, 0.0945, 0.9055)],
        "updates": [bin_of("0", 4, 1.0, 0.51, 1.0), bin_of("1", 2, 0.5, 0.0945, 0.9055), bin_of("2", 0, None)],
    },
    "sections": {
        "memory": {"tokens": 123.45, "budget": 500, "cut": 0},
        "recent": {"tokens": 1234.5, "budget": 1500, "cut": 3},
        "retrieved": {"tokens": 0.0, "budget": None, "cut": 0},
    },
    "upkeep": {"appends": 1200, "updates": 24, "violations": 2, "failures": 1},
}
