"""Sections of the pages of runs and sweeps about reasoning traces."""

from __future__ import annotations

from runner.report import trace_section, trace_sweep
from runner.report.document import Document
from runner.report.html.bars import interval_bar
from runner.report.html.markup import Html, joined, paragraph, scrolled, table, tag
from runner.report.html.page import Section
from runner.report.html.plot import WIDE, legend, plot
from runner.report.metric import Value
from runner.report.sweep import Sweep
from runner.report.trace_section import Rows, points


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
    """The domains of all runs in one drawing, and their means in a table; what the weights change."""
    say, runs = sweep.say, trace_sweep.runs_of(sweep)
    if not runs:
        return None
    title = say("trace.by_profile")
    domains = trace_sweep.domains_of(runs)
    found = [dict(points(trace)) for trace in runs.values()]
    lines = [[values.get(domain) or _nothing(domain) for domain in domains] for values in found]
    blocks = [
        legend(list(runs)),
        scrolled(plot(say("trace.domain"), domains, lines, WIDE), title),
        paragraph(say("trace.panel"), "note"),
        _numbers(trace_sweep.by_domain(sweep, runs, spread=False), title),
    ]
    rows, notes = trace_sweep.orders(sweep, runs)
    if rows[1]:
        heading = say("trace.sensitivity")
        blocks += [tag("h3", heading), _numbers(rows, heading), *(paragraph(note, "note") for note in notes)]
    return Section("domains", title, joined(blocks))


def _numbers(rows: Rows, label: str) -> Html:
    headers, cells = rows
    return table(headers, cells, label=label, right=range(1, len(headers)))


def _nothing(domain: str) -> Value:
    return Value(domain, None, 0, 0, None, None, None)
