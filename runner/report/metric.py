"""Which metrics a summary holds, in which order they are shown, and how they are called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.metrics.direction import direction
from runner.report.wording import Wording

RETRIEVAL = ("precision_at_k", "recall_at_k", "hit_rate_at_k", "mrr", "ndcg_at_k", "map_at_k")
GENERATION = (
    "mean_faithfulness", "mean_answer_relevancy", "exact_match", "exact_match_patched", "token_f1", "token_f1_patched",
)  # fmt: skip
UNANSWERABLE = ("unanswerable_precision", "unanswerable_recall", "unanswerable_f1")
MEMORY = (
    "facts_present", "facts_current", "summary_current", "stale_present", "evidence_recall", "evidence_recall_patched",
    "leakage", "answer_facts", "answer_stale", "memory_overall", "memory_relevance", "memory_completeness",
    "memory_accuracy", "memory_noise", "memory_sentences", "memory_tokens", "documents_tokens", "context_tokens",
)  # fmt: skip
TRACE = ("score", "complexity", "novelty", "diversity", "outcome")
AGENT = ("tool_calls", "sufficiency_precision", "sufficiency_recall")
MAIN = ("recall_at_k", "ndcg_at_k", "mrr", "mean_faithfulness", "mean_answer_relevancy", "facts_present", "score")

# No grade: precision, whose ceiling is below 1 wherever a question has fewer relevant documents than k, and what
# does not run from 0 to 1; of traces, whose dimensions are no qualities by themselves.
UNGRADED = re.compile(r"(?:.*/)?(?:(?:precision_at|memory)_|(?:score|complexity|(?:link_)?novelty|diversity|outcome)$)")

PATCHED = "_patched"  # scored by corrected labels

_ZERO = re.compile(r"(?<!\d)0\.")
_AT = re.compile(r"(?P<name>[a-z_]+)_at_(?P<cutoff>k|\d+)")


@dataclass(frozen=True, slots=True)
class Value:
    """One entry of summary.metrics. Everything is None or 0 where nothing was scored."""

    name: str
    value: float | None
    n: int
    n_scored: int
    low: float | None
    high: float | None
    scored_only: float | None

    @property
    def partly_scored(self) -> bool:
        return self.n_scored < self.n


def value_of(metrics: Mapping[str, Any], name: str) -> Value:
    entry = metrics.get(name) or {}
    n = int(entry.get("n") or 0)
    return Value(
        name,
        entry.get("value"),
        n,
        int(entry.get("n_scored", n) or 0),
        entry.get("ci_low"),
        entry.get("ci_high"),
        entry.get("value_scored"),
    )


def values(metrics: Mapping[str, Any], names: Iterable[str]) -> list[Value]:
    """The metrics of `names` that apply to at least one case, in that order."""
    found = [value_of(metrics, name) for name in names if name in metrics]
    return [value for value in found if value.n > 0]


def scored(metrics: Mapping[str, Any], names: Iterable[str]) -> list[Value]:
    """The metrics of `names` that have a value, in that order."""
    return [value for value in values(metrics, names) if value.value is not None]


def result_names(metrics: Mapping[str, Any]) -> list[str]:
    """Retrieval metrics at k, those of chunks, those of a memory, of traces or of an agent, and whatever no other table
    shows."""
    elsewhere = {*RETRIEVAL, *GENERATION, *UNANSWERABLE, *MEMORY, *TRACE, *AGENT}
    chunk = [f"chunk/{name}" for name in RETRIEVAL]
    others = [name for name in metrics if name not in elsewhere and "/" not in name and cutoff_of(name) is None]
    return [*RETRIEVAL, *chunk, *MEMORY, *TRACE, *AGENT, *sorted(others)]


def legs(metrics: Mapping[str, Any]) -> list[str]:
    """Names of the rankings that a fusion was made of."""
    return sorted({name.split("/", 1)[0] for name in metrics if "/" in name} - {"chunk"})


def cutoffs(metrics: Mapping[str, Any]) -> list[int]:
    return sorted({cutoff for name in metrics if "/" not in name and (cutoff := cutoff_of(name)) is not None})


def cutoff_of(name: str) -> int | None:
    """5 of recall_at_5; None of recall_at_k and of mrr."""
    match = _AT.fullmatch(name.rpartition("/")[2])
    return int(match["cutoff"]) if match and match["cutoff"] != "k" else None


def label(name: str, k: int | None, say: Wording) -> str:
    """`Recall@5` of recall_at_k with k = 5, `Chunk Recall@5` of chunk/recall_at_k."""
    if name.endswith(PATCHED):
        return say("memory.patched", metric=label(name.removesuffix(PATCHED), k, say))
    part, _, metric = name.rpartition("/")
    match = _AT.fullmatch(metric)
    if match:
        cutoff = k if match["cutoff"] == "k" and k is not None else match["cutoff"]
        text = f"{say.name('metric', match['name'])}@{cutoff}"
    else:
        text = say.name("metric", metric)
    if template := say.texts.get(f"of.{part}"):
        return template.format(metric=text)
    return f"{say.name('part', part)} {text}" if part else text


def grade_of(value: Value) -> str | None:
    """None for a metric that has none: less of it is better, or see UNGRADED."""
    is_graded = direction(value.name) == "higher" and not UNGRADED.match(value.name)
    return grade(value.value) if is_graded else None


def grade(value: float | None) -> str | None:
    """excellent above 0.8, good from 0.6, fair from 0.4, needs_work below; rounded first, so that a
    mean that is 0.6 but for the last bit is 0.6. None beyond 0..1, where nobody knows how far the metric goes."""
    if value is None or not 0 <= (value := round(value, 9)) <= 1:
        return None
    if value > 0.8:
        return "excellent"
    return "good" if value >= 0.6 else "fair" if value >= 0.4 else "needs_work"


def reading(value: Value, say: Wording) -> str:
    """What the grade of a metric means, where that can be said."""
    return say.texts.get(f"reading.{value.name}.{grade_of(value)}", "")


def meaning(name: str, say: Wording) -> str:
    """What a metric counts; empty for what is judged and for measures of rankings and of traces."""
    return say.texts.get(f"meaning.{name}", "")


def grade_notes(values: Iterable[Value], say: Wording) -> list[str]:
    """What grades mean, and why one of the values has none; nothing where none has a grade."""
    found = list(values)
    if not any(map(grade_of, found)):
        return []
    has_precision = any(value.name.startswith("precision_at_") for value in found)
    return [" ".join([say("metrics.grades"), *[say("metrics.ungraded")] * has_precision])]


def slices(summary: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(dimension, {value: metrics}) for every dimension along which cases differ or are named."""
    for dimension, groups in (summary.get("slices") or {}).items():
        if groups:
            yield dimension, groups


def four(value: float | None, say: Wording) -> str:
    return say("none") if value is None else f"{value:.4f}"


def interval(low: float | None, high: float | None, digits: int = 4) -> str:
    return "" if low is None or high is None else f"[{low:.{digits}f}, {high:.{digits}f}]"


def narrow(text: str) -> str:
    """Numbers below 1 without the 0 before their point."""
    return _ZERO.sub(".", text)
