"""What a ranking measure is: what each relevant document found is worth, over what it could be worth.

    measure@k = sum of gain(number, rank, grade) over the relevant documents at ranks 1..k
                / norm(k, n_relevant, ideal)

`number` counts relevant documents from the top (1 for the first), `rank` counts all documents from 1,
`grade` is the judged relevance, > 0. `n_relevant` is the number of relevant documents judged for the
query, found or not; `ideal` is the discounted cumulative gain at k of the best possible ranking.

Both functions take floats (one hit, one query) or arrays (many hits, many queries) and mean the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Measure:
    """`name` is the part before the `@`."""

    name: str
    gain: Callable[[Any, Any, Any], Any]
    norm: Callable[[int, Any, Any], Any]
