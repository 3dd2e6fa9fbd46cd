"""Suggested links against those that are expected, those that are there, and what people decided."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from runner.metrics.metric import Grades, Metric
from runner.metrics.ranking import ranking_metrics

METRICS = (
    Metric(
        name="link_acceptance",
        better="higher",
        label={"en": "Acceptance", "ko": "수락률"},
        grades=Grades(),
        group="links",
        shown=frozenset(),
    ),
    Metric(
        name="link_novelty",
        better="higher",
        label={"en": "Novelty", "ko": "새 링크 비율"},
        group="links",
        shown=frozenset(),
    ),
    Metric(
        name="link_reason",
        better="higher",
        label={"en": "Quality of reasons", "ko": "제안 이유의 품질"},
        grades=Grades(),
        group="links",
        shown=frozenset(),
    ),
)


def link_metrics(
    suggested: Sequence[str], expected: Sequence[Collection[str]], cutoffs: Sequence[int]
) -> dict[str, float | None]:
    """Measures of runner.metrics.ranking over concepts. A second note of one concept is skipped, like a repeated
    document; a concept without notes is never found.

    Args:
        suggested: ids of notes, best first.
        expected: the right notes of each concept; no note is in two.
        cutoffs: >= 1.

    Returns:
        Values 0..1 by metric; None where nothing is expected.
    """
    concept_of = {note: f"\0{number}" for number, notes in enumerate(expected) for note in notes}
    concepts = {f"\0{number}": 1 for number in range(len(expected))}
    return ranking_metrics([concept_of.get(note, note) for note in suggested], concepts, cutoffs)


def novelty(suggested: Sequence[str], linked: Collection[str]) -> float | None:
    """The share of suggestions that the text does not link to yet; None without suggestions."""
    return sum(note not in linked for note in suggested) / len(suggested) if suggested else None


def acceptance(suggested: Sequence[str], accepted: Collection[str], rejected: Collection[str]) -> float | None:
    """Share of accepted ones among the suggestions that people accepted or rejected; None without any."""
    decided = [note in accepted for note in suggested if note in accepted or note in rejected]
    return sum(decided) / len(decided) if decided else None


def first_rank(suggested: Sequence[str], expected: Sequence[Collection[str]]) -> int | None:
    """The rank of the first expected suggestion, from 1."""
    wanted = {note for notes in expected for note in notes}
    return next((rank for rank, note in enumerate(suggested, start=1) if note in wanted), None)
