"""Sections of a report on metrics: the key table, the legs of a fusion, fixed cutoffs, slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.metrics.judged import ANSWER_MEANS
from runner.metrics.metric import GROUPS
from runner.report import metric
from runner.report.blocks import FIGURE, TERMINAL, Block, Cell, Chart, Note, Section, Table, section
from runner.report.document import Document
from runner.report.metric import Value, four, interval, label
from runner.words.wording import Wording

MAX_SLICES = 30
LEG_METRICS = 2  # of each leg in the terminal
MAX_BARS, BARS = 30, 4  # tags and metrics of a figure


def metrics(document: Document) -> Section:
    """The section of a run's metrics, with notes on values that need one."""
    say = document.say
    names = metric.of_groups(document.metrics, say, *GROUPS)
    values = metric.values(document.metrics, names)
    notes = list(_notes(values, say))
    notes += [Note(line, "quiet")] if (line := refused_line(document)) else []
    blocks = [_table(document, values), *notes] if values else [Note(say("metrics.none"))]
    blocks.append(Note(clusters_line(document), "quiet"))
    return Section("metrics", say("head.metrics"), [*blocks, *_depth(document)])


def clusters_line(document: Document) -> str:
    """How the cases of a run depend on each other; empty where they do not."""
    say, clusters = document.say, document.summary.get("clusters")
    if not clusters or clusters["widening"] is None:
        return ""
    alone = say("cluster.alone", alone=f"{clusters['n_alone']:,}") if clusters["n_alone"] else ""
    counts = {"cases": f"{document.cases['done']:,}", "n": f"{clusters['n']:,}", "alone": alone}
    return say(
        "cluster.line", field=metric.cluster_field(clusters, say), widening=f"{clusters['widening']:.2f}", **counts
    )


def _table(document: Document, values: Sequence[Value]) -> Table:
    """Grades and what they mean where any metric has one; the mean over scored cases where failures count as 0."""
    say = document.say
    counts_failures = _has_counted_failures(values)
    graded = any(metric.grade_of(value, say) for value in values)
    headers = [say("metrics.metric"), say("head.value"), say("interval"), say("scored")]
    headers += [say("metrics.scored_only")] * counts_failures + [say("metrics.grade"), say("metrics.reading")] * graded
    rows = [_row(document, value, counts_failures, graded) for value in values]
    return Table(headers, rows, say("head.metrics"), _groups(values, say), range(1, 5 if counts_failures else 4))


def _row(document: Document, value: Value, shows_count: bool, graded: bool) -> list[str | Cell]:
    say, grade = document.say, metric.grade_of(value, document.say)
    cells: list[str | Cell] = [
        label(value.name, document.k, say),
        Cell(four(value.value, say), "strong", value),
        interval(value.low, value.high),
        f"{value.n_scored}/{value.n}",
    ]
    if shows_count:
        cells.append(four(value.scored_only, say) if value.partly_scored else "")
    if graded:
        bad = grade == "needs_work"
        cells.append(Cell(say(f"grade.{grade}"), "alarm" if bad else "") if grade else "")
        cells.append(metric.reading(value, say) or metric.meaning(value.name, say))
    return cells


def _groups(values: Sequence[Value], say: Wording) -> list[tuple[str, int]]:
    """Titles with the number of rows below them."""
    titles: list[tuple[str, int]] = []
    for value in values:
        group = metric.group_of(say.catalogue.variant(value.name))
        title = say.texts.get(f"group.{group}") or say("html.retrieval")
        count = titles.pop()[1] if titles and titles[-1][0] == title else 0
        titles.append((title, count + 1))
    return titles


def _has_counted_failures(values: Sequence[Value]) -> bool:
    """Whether failed judgements count in a mean."""
    return any(value.partly_scored and value.scored_only != value.value for value in values)


def _notes(values: Sequence[Value], say: Wording) -> Iterator[Note]:
    for note in metric.grade_notes(values, say):
        yield Note(note, "quiet")
    if any(value.partly_scored for value in values):
        yield Note(say("metrics.unscored" if _has_counted_failures(values) else "metrics.excluded"), "quiet")


def refused_line(document: Document) -> str:
    """How many answers refuse, to which judgements of an answer do not apply; empty where none does."""
    n_refused = (document.counts.get("answer") or {}).get("refused", 0)
    names = [label(name, None, document.say) for name in ANSWER_MEANS if metric.applies(document.metrics.get(name))]
    return document.say("metrics.refused", n=f"{n_refused:,}", metrics=", ".join(names)) if n_refused and names else ""


def results(document: Document) -> Table | Note:
    """The metrics that have no table of their own in the terminal, and the headlines of legs."""
    say, measures = document.say, document.metrics
    legs = metric.legs(measures)
    names = [name for name in say.catalogue.headlines(measures) if any(f"{leg}/{name}" in measures for leg in legs)]
    names_shown = [
        *metric.result_names(measures, say),
        *(f"{leg}/{name}" for leg in legs for name in names[:LEG_METRICS]),
    ]
    return rows_of(document, names_shown) or Note(say("metrics.none"), media=TERMINAL)


def generation(document: Document) -> Table | None:
    """The metrics of answers, for the terminal."""
    return rows_of(document, metric.of_groups(document.metrics, document.say, "answers"))


def rows_of(document: Document, names: Sequence[str]) -> Table | None:
    """Metric, value, interval, scored / applicable; for the terminal. None where none of them applies."""
    rows: list[list[str | Cell]] = [
        [
            f"{label(value.name, document.k, document.say)}:",
            Cell(four(value.value, document.say), "strong"),
            Cell(interval(value.low, value.high), "quiet"),
            Cell(f"{value.n_scored}/{value.n}", "alarm" if value.partly_scored or value.is_undecided else "quiet"),
        ]
        for value in metric.values(document.metrics, names)
    ]
    return Table([""] * 4, rows, right=(1, 2, 3), media=TERMINAL) if rows else None


# --- legs and cutoffs -----------------------------------------------------------------------------


def _depth(document: Document) -> Iterator[Block]:
    legs = _legs(document)
    if legs is not None:
        yield legs
    cutoffs = _cutoffs(document)
    if cutoffs is not None:
        yield cutoffs


def _legs(document: Document) -> Section | None:
    """Each leg beside the fusion that was made of them."""
    say, measures = document.say, document.metrics
    legs = metric.legs(measures)
    if not legs:
        return None
    names = [name for name in _of_legs(document) if metric.scores(measures, [f"{leg}/{name}" for leg in legs])]
    prefixes = ["", *(f"{leg}/" for leg in legs)]
    rows = [[label(name, document.k, say), *(_cell(document, prefix + name) for prefix in prefixes)] for name in names]
    alone = f".{legs[0]}" if len(legs) == 1 else ""  # what was added to a single ranking has words of its own
    fusion = say.texts.get(f"legs.fusion{alone}") or say("legs.fusion")
    headers = [say("metrics.metric"), fusion, *(say.name("leg", leg) for leg in legs)]
    title = say.texts.get(f"head.legs{alone}") or say("head.legs")
    return section("", title, Table(headers, rows, title, narrow=True))


def _of_legs(document: Document) -> list[str]:
    """The metrics of legs, except those at fixed cutoffs, in order."""
    names = {name.partition("/")[2] for name in document.metrics if "/" in name}
    variants = (document.say.catalogue.variant(name) for name in names)
    return [
        variant.name
        for variant in sorted(variants, key=lambda variant: (variant.place, variant.name))
        if variant.fixed is None
    ]


def _cutoffs(document: Document) -> Section | None:
    say, names = document.say, metric.families(document.metrics, document.say)
    cutoffs = [
        cutoff
        for cutoff in metric.cutoffs(document.metrics)
        if metric.scores(document.metrics, [f"{name}_at_{cutoff}" for name in names])
    ]
    rows = [[str(cutoff), *(_cell(document, f"{name}_at_{cutoff}") for name in names)] for cutoff in cutoffs]
    headers = [say("cutoffs.cutoff"), *(label(name, None, say) for name in names)]
    table = Table(headers, rows, right=range(len(headers)), narrow=True)
    return section("", say("head.cutoffs"), table, _curves(document, cutoffs))


def _curves(document: Document, cutoffs: Sequence[int]) -> Chart:
    say, measures = document.say, document.metrics
    names = [name for name in say.catalogue.in_order(metric.families(measures, say)) if _is_headline(name, say)]
    lines = {name: [metric.value_of(measures, f"{name}_at_{cutoff}") for cutoff in cutoffs] for name in names}
    curves = {
        label(name, None, say): values for name, values in lines.items() if any(v.value is not None for v in values)
    }
    return Chart("metrics_at_cutoffs", say("cutoffs.cutoff"), cutoffs if curves else (), curves, media=FIGURE)


def _is_headline(name: str, say: Wording) -> bool:
    record = say.catalogue.variant(name).metric
    return record is not None and record.headline is not None


def _cell(document: Document, name: str) -> str:
    return four(metric.value_of(document.metrics, name).value, document.say)


# --- slices ---------------------------------------------------------------------------------------


def slices(document: Document) -> Section | None:
    """The section of metrics by slice, with a chart of tags; None without slices."""
    say = document.say
    tables = [
        block for dimension, groups in metric.slices(document.summary) for block in _slice(document, dimension, groups)
    ]
    tags = (document.summary.get("slices") or {}).get("tag") or {}
    charts = _by_tag(document, tags)
    return (
        section("slices", say("head.slices"), Note(say("slices.explain"), "quiet"), *tables, *charts)
        if tables
        else None
    )


def _by_tag(document: Document, tags: Mapping[str, Any]) -> Iterator[Chart]:
    """The largest tags, as a figure for each headline."""
    say, catalogue = document.say, document.say.catalogue
    scored = dict.fromkeys(value.name for group in tags.values() for value in metric.scores(group, group))
    names = catalogue.headlines(scored)[:BARS]
    largest = sorted(tags, key=lambda tag: (-metric.value_of(tags[tag], names[0]).n if names else 0, tag))[:MAX_BARS]
    places = [f"{tag} (n={metric.value_of(tags[tag], names[0]).n})" for tag in largest] if names else []
    for name in names:
        values = [metric.value_of(tags[tag], name) for tag in largest]
        title = label(name, document.k, say)
        yield Chart("metrics_by_tag", title, places, {title: values}, sideways=True, media=FIGURE)


def _slice(document: Document, dimension: str, groups: Mapping[str, Any]) -> Iterator[Block]:
    """One row a group, largest first; groups to which none of the metrics applies are left out."""
    say, catalogue = document.say, document.say.catalogue
    names = (
        catalogue.headlines(document.metrics) if dimension == "tag" else catalogue.names_for(document.metrics, "slices")
    )
    columns = [value.name for value in metric.scores(document.metrics, names)]
    sizes = {name: max((value.n for value in metric.scores(groups[name], columns)), default=0) for name in groups}
    ordered = sorted((name for name in groups if sizes[name]), key=lambda name: (-sizes[name], name))
    if not ordered:
        return
    rows: list[list[str | Cell]] = [
        [Cell(name, is_data=True), *(measured_cell(metric.value_of(groups[name], each), say) for each in columns)]
        for name in ordered
    ]
    headers = [say.name("slice", dimension), *(label(name, document.k, say) for name in columns)]
    yield Table(headers, rows[:MAX_SLICES])
    if len(rows) > MAX_SLICES:
        yield Note(say("slices.more", count=len(rows) - MAX_SLICES), "quiet")


def measured_cell(value: Value, say: Wording, *, is_best: bool = False) -> Cell:
    """`0.85 [0.78, 0.91] (40)`; with unscored cases `(38/40)`."""
    if value.value is None:
        return Cell(say("none"), "quiet")
    count = f"{value.n_scored}/{value.n}" if value.n_scored < value.n else str(value.n)
    limits = f"{interval(value.low, value.high, digits=2)} ({count})".strip()
    return Cell(f"{value.value:.2f}", "strong" if is_best else "", value, limits=limits)
