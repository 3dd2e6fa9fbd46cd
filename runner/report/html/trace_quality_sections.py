"""Sections of the pages of runs and sweeps about reasoning traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.report import trace_section
from runner.report.document import Document
from runner.report.html.bars import interval_bar
from runner.report.html.markup import Html, joined, paragraph, scrolled, table, tag
from runner.report.html.page import Section
from runner.report.html.plot import WIDE, legend, plot
from runner.report.metric import Value
from runner.report.sweep import Sweep
from runner.report.trace_section import points
from runner.report.wording import Wording


def traces(document: Document) -> Section | None:
    say, found = document.say, document.summary.get("trace")
    if not found:
        return None
    bars = {domain: interval_bar(value) for domain, value in points(found)}
    blocks: list[Html] = []
    for name, (headers, rows), notes in trace_section.parts(found, say):
        title, right = say(f"trace.{name}"), range(1, len(headers))
        drawn = name == "domains"
        shown = [[*row, bars[row[0]]] for row in rows] if drawn else rows
        head = [*headers, say("trace.range")] if drawn else headers
        blocks += [tag("h3", title), table(head, shown, label=title, right=right, class_="narrow")]
        blocks += [paragraph(note, "note") for note in notes]
    blocks.append(paragraph(trace_section.outliers(found, say)))
    return Section("traces", say("trace.title"), joined(blocks))


def by_profile(sweep: Sweep) -> Section | None:
    """The domains of all runs in one drawing, and their means in a table."""
    say = sweep.say
    runs: dict[str, Mapping[str, Any]] = {
        " ".join(f"{name}={value}" for name, value in cell.params.items()) or cell.folder: cell.summary["trace"]
        for cell in sweep.cells
        if cell.status == "completed" and cell.summary.get("trace")
    }
    if not runs:
        return None
    title = say("trace.by_profile")
    found = {name: dict(points(trace)) for name, trace in runs.items()}
    domains = list(dict.fromkeys(domain for values in found.values() for domain in values))
    lines = [[values.get(domain) or _nothing(domain) for domain in domains] for values in found.values()]
    drawing = scrolled(plot(say("trace.domain"), domains, lines, WIDE), title)
    rows = [[name, *(_mean(values.get(domain), say) for domain in domains)] for name, values in found.items()]
    shown = table([say("sweep.folder"), *domains], rows, label=title, right=range(1, len(domains) + 1))
    return Section(
        "domains", title, joined([legend(list(found)), drawing, paragraph(say("trace.panel"), "note"), shown])
    )


def _mean(value: Value | None, say: Wording) -> str:
    return say("none") if value is None or value.value is None else f"{value.value:.4f}"


def _nothing(domain: str) -> Value:
    return Value(domain, None, 0, 0, None, None, None)
