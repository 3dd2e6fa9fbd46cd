"""Sections of the page of a sweep that compare its runs (runner.compare.sweep)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.report import metric, sweep_comparison, sweep_gap
from runner.report.comparison_words import MARKS, chance, interval, signed
from runner.report.html.bars import difference_bar
from runner.report.html.markup import Html, joined, paragraph, scrolled, table, tag
from runner.report.html.page import Section
from runner.report.sweep import Sweep

HEADERS = ("sweep.folder", "sweep.value", "compare.verdict", "compare.difference", "compare.p", "compare.mde")
NUMBERS = ("sweep.value", "compare.p", "compare.mde", "sweep.from_best")

Record = Mapping[str, Any]


def sections(sweep: Sweep) -> Iterator[Section]:
    """Runs against the baseline and the best, the Pareto front, the share of the gap closed."""
    if sweep_comparison.has_others(sweep):
        yield _against(sweep)
        yield from _front(sweep)
    yield from _gap(sweep)


def _against(sweep: Sweep) -> Section:
    title, entries = sweep_comparison.title(sweep), sweep_comparison.compared(sweep)
    lines = [*sweep_comparison.warnings(sweep), sweep_comparison.same(sweep)]
    blocks = [*map(paragraph, lines)]
    if entries:
        shown = tag("table", _head(sweep), *(_group(sweep, entry) for entry in entries), class_="slices")
        notes = (paragraph(note, "note") for note in sweep_comparison.notes(sweep))
        blocks += [scrolled(shown, title), *notes]
    return Section("compared", title, joined(blocks))


def _head(sweep: Sweep) -> Html:
    names = [*HEADERS, "sweep.from_best", "sweep.is_near"]
    cells = (tag("th", sweep.say(n), scope="col", class_="number" if n in NUMBERS else None) for n in names)
    return tag("thead", tag("tr", *cells))


def _group(sweep: Sweep, entry: Record) -> Html:
    """One metric; all its bars have one scale."""
    ends = [abs(cell.get(end) or 0.0) for cell in entry["cells"] for end in ("ci_low", "ci_high", "difference")]
    matters = (sweep.comparison or {})["margin"] * sweep.say.catalogue.span(entry["name"])
    widest = max(*ends, 1.5 * matters) or 1.0
    title = f"{sweep_comparison.label(sweep, entry['name'])} (n={entry['n']:,})"
    head = tag("tr", tag("th", title, scope="rowgroup", colspan=len(HEADERS) + 2), class_="group")
    return tag("tbody", head, *(_row(sweep, entry, cell, widest, matters) for cell in entry["cells"]))


def _row(sweep: Sweep, entry: Record, cell: Record, widest: float, matters: float) -> Html:
    say, best = sweep.say, cell["from_best"]
    lead = signed(best["difference"], say) if cell["folder"] != entry["best"] else ""
    cells = [
        tag("th", sweep_comparison.called(sweep, cell["folder"]), scope="row"),
        tag("td", tag("strong" if best["within_noise"] else "span", metric.four(cell["value"], say)), class_="number"),
        *_from_baseline(sweep, cell, widest, matters),
        tag("td", lead, class_="number"),
        tag("td", say("yes") if best["within_noise"] else tag("span", say("no"), class_="quiet")),
    ]
    return tag("tr", *cells)


def _from_baseline(sweep: Sweep, cell: Record, widest: float, matters: float) -> Sequence[Html]:
    say = sweep.say
    if "difference" not in cell:
        return [tag("td", tag("span", say("sweep.baseline"), class_="quiet")), *[tag("td")] * 3]
    verdict, mark = say.name("verdict", cell["verdict"]), MARKS.get(cell["verdict"])
    number = tag("strong", signed(cell["difference"], say))
    bar = difference_bar(cell, widest, matters)
    limits = tag("span", interval(cell, say), class_="quiet")
    return [
        tag("td", tag("span", f"{mark} {verdict}" if mark else verdict, class_=f"verdict {cell['verdict']}")),
        tag("td", tag("span", number, bar, class_="measured signed"), limits),
        tag("td", chance(cell["p_holm"], say), class_="number"),
        tag("td", metric.four(cell["mde"], say), class_="number"),
    ]


def _front(sweep: Sweep) -> Iterator[Section]:
    headers, rows = sweep_comparison.front(sweep)
    if not rows:
        return
    title = sweep.say("sweep.front")
    none = sweep.say("none")
    marked = [[tag("strong", row[0]) if row[-1] == none else row[0], *row[1:]] for row in rows]
    shown = table(headers, marked, label=title, right=range(1 + len(sweep.params), len(headers) - 1))
    line, notes = sweep_comparison.front_lines(sweep)[:1], sweep_comparison.front_notes(sweep)
    yield Section("front", title, joined([*map(paragraph, line), shown, *(paragraph(note, "note") for note in notes)]))


def _gap(sweep: Sweep) -> Iterator[Section]:
    headers, rows = sweep_gap.rows(sweep)
    if rows:
        title = sweep.say("gap.title")
        shown = table(headers, rows, label=title, right=range(1, len(headers)))
        yield Section("gap", title, joined([shown, paragraph(sweep.say("gap.explain"), "note")]))
