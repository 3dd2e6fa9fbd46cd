"""Whether retrieval is good enough to be worth asking a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping


def shortfall(required: Mapping[str, float | None], cases: Iterable[Mapping[str, float | None]]) -> str:
    """`recall_at_k is 0.4200, required: 0.5`, joined by `; `: every mean that is below what is demanded.

    Empty when none is. A mean is over the cases to which the metric applies; without any it is below all.
    """
    wanted = {name: least for name, least in required.items() if least is not None}
    values: dict[str, list[float]] = {name: [] for name in wanted}
    for case in cases if wanted else ():
        for name in wanted:
            value = case.get(name)
            if value is not None:
                values[name].append(value)
    short = []
    for name, least in wanted.items():
        mean = math.fsum(values[name]) / len(values[name]) if values[name] else None
        if mean is None:
            short.append(f"{name} applies to no case, required: {least}")
        elif mean < least:
            short.append(f"{name} is {mean:.4f}, required: {least}")
    return "; ".join(short)
