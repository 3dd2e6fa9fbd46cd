"""Sections of the page that show metrics: the panels, fixed cutoffs and legs, slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.metrics.metric import Group
from runner.report import metric
from runner.report.document import Document
from runner.report.html.bars import interval_bar
from runner.report.html.markup import Html, found_in_data, joined, paragraph, scrolled, table, tag
from runner.report.html.page import Section
from runner.report.metric import Value
from runner.report.metric_sections import MAX_SLICES, at_cutoffs, by_leg, legs_head, sliced
from runner.words.wording import Wording

NUMBERS = ("head.value", "interval", "scored", "metrics.scored_only")
CELL_BAR = 64  # pixels
PANELS: Mapping[str, tuple[Group, ...]] = {
    "html.retrieval": ("retrieval", "agent", "links"),
    "memory.title": ("memory",),
    "trace.title": ("traces",),
    "html.own": ("own",),
    "panel.generation": ("answers",),
    "answerability.title": ("unanswerable",),
}  # titles, and the groups of metrics below each


def panels(document: Document) -> Section:
    """Results of retrieval, memories, traces, generation and on unanswerable questions, with intervals and grades."""
    say, metrics = document.say, document.metrics
    groups = [
        (say(title), metric.values(metrics, metric.of_groups(metrics, say, *names))) for title, names in PANELS.items()
    ]
    found = [value for _, values in groups for value in values]
    if not found:
        return Section("metrics", say("head.metrics"), paragraph(say("metrics.none")))
    counted = any(value.partly_scored and value.scored_only != value.value for value in found)
    headers = ["metrics.metric", "head.value", None, "interval", "scored", *["metrics.scored_only"] * counted]
    graded = [*["metrics.grade"] * any(metric.grade_of(value, say) for value in found)]
    graded += ["metrics.reading"] * any(metric.reading(value, say) for value in found)
    head = [_header(name, say) for name in [*headers, *graded]]
    bodies = [
        _group(title, [_row(value, counted, graded, document) for value in values], len(head))
        for title, values in groups
        if values
    ]
    shown = tag("table", tag("thead", tag("tr", *head)), *bodies, class_="panels")
    notes = metric.grade_notes(found, say)
    if any(value.partly_scored for value in found):
        notes.append(say("metrics.unscored" if counted else "metrics.excluded"))
    body = joined([scrolled(shown, say("head.metrics")), *(paragraph(note, "note") for note in notes)])
    return Section("metrics", say("head.metrics"), body)


def _header(name: str | None, say: Wording) -> Html:
    """Nothing stands above the bars."""
    return (
        tag("td") if name is None else tag("th", say(name), scope="col", class_="number" if name in NUMBERS else None)
    )


def _group(title: str, rows: Sequence[Html], width: int) -> Html:
    head = tag("tr", tag("th", title, scope="rowgroup", colspan=width), class_="group")
    return tag("tbody", head, *rows)


def _row(value: Value, counted: bool, graded: Sequence[str], document: Document) -> Html:
    """`graded`: columns that come after the numbers."""
    say = document.say
    grade = metric.grade_of(value, say)
    partly = value.partly_scored
    cells = [
        tag("th", metric.label(value.name, document.k, say), _meaning(value.name, say), scope="row"),
        tag("td", tag("strong", metric.four(value.value, say)), class_="number"),
        tag("td", interval_bar(value), class_="drawn"),
        tag("td", metric.interval(value.low, value.high), class_="number quiet"),
        tag("td", f"{value.n_scored:,} / {value.n:,}", class_="number failing" if partly else "number quiet"),
    ]
    if counted:
        cells.append(tag("td", metric.four(value.scored_only, say) if partly else "", class_="number"))
    if graded:
        cells.append(tag("td", say(f"grade.{grade}") if grade else "", class_=grade and f"grade {grade}"))
    reading = [tag("td", metric.reading(value, say), class_="quiet")] if "metrics.reading" in graded else []
    return tag("tr", *cells, *reading)


def _meaning(name: str, say: Wording) -> Html:
    meaning = metric.meaning(name, say)
    return tag("span", meaning, class_="quiet") if meaning else Html("")


def cutoffs(document: Document) -> Section | None:
    say = document.say
    parts = []
    for head, (headers, rows) in (
        (say("head.cutoffs"), at_cutoffs(document)),
        (legs_head(document), by_leg(document)),
    ):
        if rows:
            shown = table(headers, rows, label=head, right=range(1, len(headers)))
            parts.append(tag("div", tag("h3", head), shown))
    return Section("cutoffs", say("html.depth"), tag("div", *parts, class_="row")) if parts else None


def slices(document: Document) -> Section | None:
    say = document.say
    tables = [
        shown for dimension, groups in metric.slices(document.summary) for shown in _slice(document, dimension, groups)
    ]
    if not tables:
        return None
    return Section("slices", say("head.slices"), joined([paragraph(say("slices.explain"), "note"), *tables]))


def _slice(document: Document, dimension: str, groups: Mapping[str, Any]) -> Iterator[Html]:
    say = document.say
    shown, ordered = sliced(document, dimension, groups)
    if not ordered:
        return
    headers = [say.name("slice", dimension), *(metric.label(name, document.k, say) for name in shown)]
    rows = [
        [found_in_data(name), *(slice_cell(metric.value_of(groups[name], each), say) for each in shown)]
        for name in ordered[:MAX_SLICES]
    ]
    yield table(headers, rows, label=headers[0], class_="slices")
    if len(ordered) > MAX_SLICES:
        yield paragraph(say("slices.more", count=len(ordered) - MAX_SLICES), "note")


def slice_cell(value: Value, say: Wording, *, is_best: bool = False) -> Html:
    """The value, the number of cases, and the interval, as text and drawn."""
    if value.value is None:
        return tag("span", say("none"), class_="quiet")
    count = f"{value.n_scored:,}/{value.n:,}" if value.partly_scored else f"{value.n:,}"
    number = tag("strong" if is_best else "span", f"{value.value:.2f}")
    interval = metric.interval(value.low, value.high, digits=2)
    quiet = tag("span", f"{interval} ({count})".strip(), class_="quiet")
    return joined([tag("span", number, interval_bar(value, CELL_BAR), class_="measured"), quiet])
