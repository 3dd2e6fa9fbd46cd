"""The metrics of the built-in evaluations, and those that a run declares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from runner.errors import ConfigError, Problem
from runner.metrics import agent, answers, diagnosis, judged, links, locomo, memory, ranking, right, trace
from runner.metrics.metric import Catalogue, Metric

DECLARED = "declared"  # the key of run.json, snapshot.json and the like that holds the records


@cache
def built_in_catalogue() -> Catalogue:
    """The metrics of all evaluations that come with the program."""
    return Catalogue(
        [
            *right.METRICS,
            *ranking.METRICS,
            *memory.METRICS,
            *judged.MEMORY_METRICS,
            *memory.SIZE_METRICS,
            *trace.METRICS,
            *agent.METRICS,
            *links.METRICS,
            *diagnosis.METRICS,
            *judged.ANSWER_METRICS,
            *judged.REFERENCE_METRICS,
            *answers.METRICS,
            *locomo.METRICS,
        ]
    )


def catalogue_of(evaluation: object) -> Catalogue:
    """The metrics that an evaluation declares.

    Args:
        evaluation: any; its `metrics` are read (runner.protocols.Measuring).

    Returns:
        The catalogue; empty where the evaluation declares none.

    Raises:
        ConfigError: values are no records, or two records have one name.
    """
    metrics = getattr(evaluation, "metrics", ())
    if not isinstance(metrics, Sequence) or not all(isinstance(metric, Metric) for metric in metrics):
        what = type(metrics).__name__ if not isinstance(metrics, Sequence) else "a sequence of something else"
        needs = f"expected a sequence of runner.metrics.metric.Metric, found {what}"
        raise ConfigError([Problem("evaluation", f"{type(evaluation).__name__}.metrics: {needs}")])
    names = Counter(name for metric in metrics for name in {metric.name, metric.in_summaries})
    if twice := [name for name, count in names.items() if count > 1]:
        problem = f"{type(evaluation).__name__}.metrics: declared more than once: {', '.join(sorted(twice))}"
        raise ConfigError([Problem("evaluation", problem)])
    return Catalogue(metrics)


def merge_catalogues(catalogues: Iterable[Catalogue]) -> Catalogue:
    """The metrics that any of some runs declared.

    Args:
        catalogues: of the runs. Runs of versions without records add nothing where another run has records.

    Returns:
        The catalogue; of two metrics with one name the first counts.
    """
    given = list({id(each): each for each in catalogues}.values())
    declared = [each for each in given if each is not built_in_catalogue()] or given[:1]
    return Catalogue(metric for each in declared for metric in each.metrics) if len(declared) > 1 else declared[0]


def catalogue_in(file: Mapping[str, Any]) -> Catalogue:
    """The metrics that a run declared.

    Args:
        file: the content of run.json, snapshot.json, compare.json or summary.json. One without the key was written by
            an older version, whose evaluations were all built in.

    Returns:
        The catalogue.

    Raises:
        ValueError: the records are damaged.
    """
    records = file.get(DECLARED)
    if records is None:
        return built_in_catalogue()
    if not isinstance(records, list):
        raise ValueError(f"{DECLARED}: expected a list, found {type(records).__name__}")
    return Catalogue.of(records)
