"""Sections of summary.md that show metrics: the key table, legs, fixed cutoffs, slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.metrics.metric import GROUPS
from runner.report import metric
from runner.report.document import Document, section
from runner.report.markdown import Markdown, bold, escape, table
from runner.report.metric import Value

MAX_SLICES = 30


def main(document: Document) -> str:
    say, metrics = document.say, document.metrics
    names = metric.of_groups(metrics, say, *GROUPS)
    values = metric.values(metrics, names)
    if not values:
        return section(say("head.metrics"), escape(say("metrics.none")))
    counted = [value for value in values if value.partly_scored and value.scored_only != value.value]
    headers = [say("metrics.metric"), say("head.value"), say("interval"), say("scored")]
    headers += [say("metrics.scored_only")] * bool(counted)
    graded = any(metric.grade_of(value, say) for value in values)
    headers += [say("metrics.grade"), say("metrics.reading")] if graded else []
    rows = [_key_row(document, value, bool(counted))[: len(headers)] for value in values]
    notes = metric.grade_notes(values, say)
    if any(value.partly_scored for value in values):
        notes.append(say("metrics.unscored" if counted else "metrics.excluded"))
    right = (1, 2, 3, 4) if counted else (1, 2, 3)
    return section(say("head.metrics"), table(headers, rows, right), *(escape(note) for note in notes))


def _key_row(document: Document, value: Value, counted: bool) -> list[str]:
    say = document.say
    grade = metric.grade_of(value, say)
    cells: list[str] = [
        metric.label(value.name, document.k, say),
        bold(metric.four(value.value, say)),
        Markdown(metric.interval(value.low, value.high)),
        f"{value.n_scored}/{value.n}",
    ]
    if counted:
        cells.append(metric.four(value.scored_only, say) if value.partly_scored else "")
    return [
        *cells,
        say(f"grade.{grade}") if grade else "",
        metric.reading(value, say) or metric.meaning(value.name, say),
    ]


def legs(document: Document) -> str:
    headers, rows = by_leg(document)
    if not rows:
        return ""
    return section(legs_head(document), table(headers, rows, right=range(1, len(headers))), level=3)


def legs_head(document: Document) -> str:
    added = _added(metric.legs(document.metrics))
    return document.say(f"head.{added}" if added else "head.legs")


def _added(legs: Sequence[str]) -> str:
    """What was done to a ranking, where all that stands beside it is the one without; empty for a fusion."""
    return {"no_graph": "graph", "base": "agent"}.get(legs[0], "") if len(legs) == 1 else ""


def by_leg(document: Document) -> tuple[list[str], list[list[str]]]:
    """(headers, rows): each leg beside the fusion that was made of them."""
    say, metrics = document.say, document.metrics
    names = metric.legs(metrics)
    shown = [name for name in _of_legs(document) if metric.scored(metrics, [f"{leg}/{name}" for leg in names])]
    rows = [
        [metric.label(name, document.k, say), *(_cell(document, prefix + name) for prefix in ["", *_prefixes(names)])]
        for name in shown
    ]
    own = say(f"legs.{_added(names) or 'fusion'}")
    return [say("metrics.metric"), own, *(say.name("leg", name) for name in names)], rows


def _of_legs(document: Document) -> list[str]:
    """What legs were measured by, but at fixed cutoffs, in order."""
    names = {name.partition("/")[2] for name in document.metrics if "/" in name}
    found = (document.say.catalogue.variant(name) for name in names)
    return [each.name for each in sorted(found, key=lambda each: (each.place, each.name)) if each.fixed is None]


def _prefixes(names: Sequence[str]) -> list[str]:
    return [f"{name}/" for name in names]


def cutoffs(document: Document) -> str:
    headers, rows = at_cutoffs(document)
    return section(
        document.say("head.cutoffs"), table(headers, rows, right=range(len(headers))) if rows else "", level=3
    )


def at_cutoffs(document: Document) -> tuple[list[str], list[list[str]]]:
    """(headers, rows)"""
    say, names = document.say, metric.families(document.metrics, document.say)
    found = [
        cutoff
        for cutoff in metric.cutoffs(document.metrics)
        if metric.scored(document.metrics, [f"{name}_at_{cutoff}" for name in names])
    ]
    rows = [[str(cutoff), *(_cell(document, f"{name}_at_{cutoff}") for name in names)] for cutoff in found]
    return [say("cutoffs.cutoff"), *(metric.label(name, None, say) for name in names)], rows


def _cell(document: Document, name: str) -> str:
    return metric.four(metric.value_of(document.metrics, name).value, document.say)


def slices(document: Document) -> str:
    say = document.say
    blocks = [_slice(document, dimension, groups) for dimension, groups in metric.slices(document.summary)]
    blocks = [block for block in blocks if block]
    return section(say("head.slices"), *([escape(say("slices.explain")), *blocks] if blocks else []))


def _slice(document: Document, dimension: str, groups: Mapping[str, Any]) -> str:
    """One row a group, largest first; groups to which none of the metrics applies are left out."""
    say = document.say
    shown, ordered = sliced(document, dimension, groups)
    if not ordered:
        return ""
    rows = [[name, *(slice_cell(groups[name], metric_, say("none")) for metric_ in shown)] for name in ordered]
    headers = [say.name("slice", dimension), *(metric.label(name, document.k, say) for name in shown)]
    more = escape(say("slices.more", count=len(rows) - MAX_SLICES)) if len(rows) > MAX_SLICES else ""
    return "\n\n".join(filter(None, [table(headers, rows[:MAX_SLICES], right=range(1, len(headers))), more]))


def sliced(document: Document, dimension: str, groups: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """(metrics, groups to which any of them applies, largest first)"""
    catalogue = document.say.catalogue
    names = catalogue.headlines(document.metrics) if dimension == "tag" else catalogue.shown(document.metrics, "slices")
    shown = [value.name for value in metric.scored(document.metrics, names)]
    sizes = {name: max((value.n for value in metric.scored(groups[name], shown)), default=0) for name in groups}
    return shown, sorted((name for name in groups if sizes[name]), key=lambda name: (-sizes[name], name))


def slice_cell(metrics: Mapping[str, Any], name: str, none: str) -> str:
    """`0.85 [0.78, 0.91] (40)`; with unscored cases `(38/40)`."""
    value = metric.value_of(metrics, name)
    if value.value is None:
        return none
    count = f"{value.n_scored}/{value.n}" if value.partly_scored else str(value.n)
    return Markdown(
        f"{value.value:.2f} {metric.interval(value.low, value.high, digits=2)} ({count})".replace("  ", " ")
    )
