"""Which metrics a summary holds, in which order they are shown, and how they are called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.metrics.metric import GROUPS, MIN_DECIDED, Grade, Group, Variant, word
from runner.words.wording import Wording

RESULTS = GROUPS[1 : GROUPS.index("answers")]  # groups of the first table of a run; answers have one of their own
CHUNK = "chunk"

_ZERO = re.compile(r"(?<!\d)0\.")
_AT = re.compile(r".+_at_(\d+)")


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
    undecided: int = 0  # of n
    if_lowest: float | None = None  # the value if all undecided cases had the lowest value
    if_highest: float | None = None

    @property
    def partly_scored(self) -> bool:
        """Whether some cases have no score although nothing but a failure stands in its way."""
        return self.n_scored + self.undecided < self.n

    @property
    def is_undecided(self) -> bool:
        """Whether fewer than half of the cases are decided, so that nothing follows from the value."""
        return self.undecided > (1 - MIN_DECIDED) * (self.n_scored + self.undecided)


def value_of(metrics: Mapping[str, Any], name: str) -> Value:
    """A metric of summary.json: value, n and interval; without a value where the run does not have it."""
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
        int(entry.get("undecided") or 0),
        entry.get("if_lowest"),
        entry.get("if_highest"),
    )


def applies(entry: Mapping[str, Any] | None) -> bool:
    """Whether a metric of summary.json applies to at least one case."""
    return int((entry or {}).get("n") or 0) > 0


def values(metrics: Mapping[str, Any], names: Iterable[str]) -> list[Value]:
    """The metrics of `names` that apply to at least one case, in that order."""
    return [value_of(metrics, name) for name in names if applies(metrics.get(name))]


def scores(metrics: Mapping[str, Any], names: Iterable[str]) -> list[Value]:
    """The metrics of `names` that have a value, in that order."""
    return [value for value in values(metrics, names) if value.value is not None]


def of_groups(metrics: Mapping[str, Any], say: Wording, *groups: Group) -> list[str]:
    """Names in the order of a table: by group and as they were declared, those of chunks after those of documents,
    undeclared ones at the end of `own`. Without legs and fixed cutoffs, which have tables of their own, and without
    metrics that say nothing alone (`Metric.main_beside`)."""
    variants = [say.catalogue.variant(name) for name in metrics]
    of_the_whole = [
        each for each in variants if each.part in ("", CHUNK) and (each.fixed is None or each.metric is None)
    ]
    return [
        each.name
        for each in sorted(of_the_whole, key=_row)
        if group_of(each) in groups and (not (beside := _beside(each)) or applies(metrics.get(beside)))
    ]


def _beside(variant: Variant) -> str:
    return "" if variant.metric is None else variant.metric.main_beside


def _row(variant: Variant) -> tuple[int, bool, int, bool, str]:
    undeclared = variant.name if variant.metric is None else ""
    return GROUPS.index(group_of(variant)), bool(variant.part), variant.place, variant.patched, undeclared


def group_of(variant: Variant) -> Group:
    """The group in which a metric is shown; `own` for an undeclared one."""
    return "own" if variant.metric is None else variant.metric.group


def result_names(metrics: Mapping[str, Any], say: Wording) -> list[str]:
    """The metrics without a table of their own, such as those of answers and of unanswerable questions."""
    return of_groups(metrics, say, *RESULTS)


def families(metrics: Iterable[str], say: Wording) -> list[str]:
    """Declared metrics of the whole that are there at fixed cutoffs, without the cutoff, in their order."""
    variants = [say.catalogue.variant(name) for name in metrics]
    fixed = (each for each in variants if each.metric is not None and each.is_whole and each.fixed is not None)
    return list(dict.fromkeys(each.base for each in sorted(fixed, key=lambda each: each.place)))


def legs(metrics: Mapping[str, Any]) -> list[str]:
    """Names of the rankings that a fusion was made of."""
    return sorted({name.split("/", 1)[0] for name in metrics if "/" in name} - {"chunk"})


def cutoffs(metrics: Mapping[str, Any]) -> list[int]:
    """The cutoffs of the ranking metrics, ascending."""
    return sorted({cutoff for name in metrics if "/" not in name and (cutoff := cutoff_of(name)) is not None})


def cutoff_of(name: str) -> int | None:
    """5 of recall_at_5; None of recall_at_k and of mrr."""
    match = _AT.fullmatch(name.rpartition("/")[2])
    return int(match.group(1)) if match else None


def label(name: str, k: int | None, say: Wording) -> str:
    """`Recall@5` of recall_at_k with k = 5, `Chunk Recall@5` of chunk/recall_at_k."""
    if (name, k) not in say.labels:
        say.labels[name, k] = _label(name, k, say)
    return say.labels[name, k]


def _label(name: str, k: int | None, say: Wording) -> str:
    variant = say.catalogue.variant(name)
    text = _words(variant, say)
    if variant.cutoff:
        text = f"{text}@{variant.cutoff if variant.fixed is not None or k is None else k}"
    if template := say.texts.get(f"of.{variant.part}"):
        text = template.format(metric=text)
    elif variant.part:
        text = f"{say.name('part', variant.part)} {text}"
    return say("memory.patched", metric=text) if variant.patched else text


def _words(variant: Variant, say: Wording) -> str:
    """The label; that of one case is shorter where the mean has a name of its own."""
    metric = variant.metric
    if metric is None:
        return variant.base
    of_a_case = variant.base != metric.in_summaries and word(metric.short, say.language).replace("\n", " ")
    return of_a_case or word(metric.label, say.language)


def short_label(name: str, k: int | None, say: Wording) -> str:
    """The label of a metric in a narrow column; may have line breaks."""
    variant = say.catalogue.variant(name)
    text = word(variant.metric.short, say.language) if variant.metric is not None and variant.is_whole else ""
    return text or label(name, k, say)


def rubric(name: str, say: Wording) -> str:
    """The question to the judge; a rubric may be a metric. `faithfulness#2`: of the second answer to a question."""
    if "#" in name:
        own, _, number = name.rpartition("#")
        return f"{rubric(own, say)} #{number}"
    return say.texts.get(f"rubric.{name}") or short_label(name, None, say).replace("\n", " ")


def grade_of(value: Value, say: Wording) -> Grade | None:
    """The grade; None for a metric that its evaluation declares without one."""
    return grade(value.value) if say.catalogue.variant(value.name).is_graded else None


def grade(value: float | None) -> Grade | None:
    """excellent above 0.8, good from 0.6, fair from 0.4, needs_work below; rounded first, so that a mean of 0.6 up to
    rounding errors is 0.6. None outside of 0..1, where the range of the metric is unknown."""
    if value is None or not 0 <= (value := round(value, 9)) <= 1:
        return None
    if value > 0.8:
        return "excellent"
    return "good" if value >= 0.6 else "fair" if value >= 0.4 else "needs_work"


def reading(value: Value, say: Wording) -> str:
    """The meaning of the grade of a metric, if known."""
    variant, grade = say.catalogue.variant(value.name), grade_of(value, say)
    if variant.metric is None or variant.metric.grades is None or grade is None or not variant.is_whole:
        return ""
    return word(variant.metric.grades.readings.get(grade, {}), say.language)


def meaning(name: str, say: Wording) -> str:
    """The meaning of a metric; empty where it has none."""
    variant = say.catalogue.variant(name)
    is_one = variant.metric is not None and variant.is_whole and variant.fixed is None
    return word(variant.metric.meaning, say.language) if is_one and variant.metric is not None else ""


def grade_notes(values: Iterable[Value], say: Wording) -> list[str]:
    """The meaning of grades, and why one of the values has none; empty where none has a grade."""
    graded = list(values)
    if not any(grade_of(value, say) for value in graded):
        return []
    variants = [say.catalogue.variant(value.name) for value in graded]
    without = (word(each.metric.no_grade, say.language) for each in variants if each.metric and each.is_whole)
    return [" ".join([say("metrics.grades"), *dict.fromkeys(filter(None, without))])]


def slices(summary: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(dimension, {value: metrics}) for every dimension along which cases differ or are named."""
    for dimension, groups in (summary.get("slices") or {}).items():
        if groups:
            yield dimension, groups


def four(value: float | None, say: Wording) -> str:
    """A value to four digits, or the word for none."""
    return say("none") if value is None else f"{value:.4f}"


def interval(low: float | None, high: float | None, digits: int = 4) -> str:
    """An interval in brackets; empty where it is unknown."""
    return "" if low is None or high is None else f"[{low:.{digits}f}, {high:.{digits}f}]"


def drop_zero(text: str) -> str:
    """Numbers below 1 without the 0 before their point."""
    return _ZERO.sub(".", text)


def cluster_field(clusters: Mapping[str, Any], say: Wording) -> str:
    """What clusters are: documents, conversations, groups."""
    field = clusters.get("field")
    return say.texts.get(f"cluster.{field}") or say("cluster.other")
