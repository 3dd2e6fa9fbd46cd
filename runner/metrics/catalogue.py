"""The metrics of the built-in evaluations, and those that a run declares."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from runner.metrics import agent, answers, diagnosis, judged, links, memory, ranking, trace
from runner.metrics.metric import Catalogue

DECLARED = "declared"  # the key of run.json, snapshot.json and the like that holds the records


@cache
def built_in() -> Catalogue:
    """Of all evaluations that come with the program."""
    return Catalogue(
        [
            *ranking.METRICS,
            *memory.METRICS,
            *judged.MEMORY_METRICS,
            *memory.SIZE_METRICS,
            *trace.METRICS,
            *agent.METRICS,
            *links.METRICS,
            *diagnosis.METRICS,
            *judged.ANSWER_METRICS,
            *answers.METRICS,
        ]
    )


def declared_in(file: Mapping[str, Any]) -> Catalogue:
    """What a run said of its metrics. A file that does not know the key is older than it: all evaluations were built
    in, or nothing was said of their metrics. Raises ValueError where the records are damaged."""
    records = file.get(DECLARED)
    if records is None:
        return built_in()
    if not isinstance(records, list):
        raise ValueError(f"{DECLARED}: expected a list, found {type(records).__name__}")
    return Catalogue.of(records)
