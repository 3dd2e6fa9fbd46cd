"""Sections of the pages of runs and sweeps about conversational memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.report import memory_section
from runner.report.document import Document
from runner.report.html.markup import Html, joined, paragraph, scrolled, table, tag
from runner.report.html.page import Section
from runner.report.html.plot import WIDE, legend, plot
from runner.report.memory_section import BY, points
from runner.report.metric import Value
from runner.report.sweep import Sweep
from runner.words.wording import Wording


def memory(document: Document) -> Section | None:
    say, found = document.say, document.summary.get("memory")
    if not found:
        return None
    blocks = [*_curves({"": found}, say)]
    for by in BY:
        headers, rows = memory_section.retention(found, by, say)
        blocks += [table(headers, rows, label=headers[0], right=(1, 2, 3), class_="narrow")] if rows else []
    blocks.append(paragraph(say("memory.explain"), "note"))
    headers, rows = memory_section.sections(found, say)
    if rows:
        blocks += [tag("h3", say("memory.used")), table(headers, rows, label=say("memory.used"), right=(1, 2, 3))]
    blocks.append(paragraph(memory_section.upkeep(found, say)))
    return Section("memory", say("memory.title"), joined(blocks))


def retention(sweep: Sweep) -> Section | None:
    """The curves of all runs in one drawing."""
    say = sweep.say
    curves = {
        " ".join(f"{name}={value}" for name, value in cell.params.items()) or cell.folder: cell.summary["memory"]
        for cell in sweep.cells
        if cell.status == "completed" and cell.summary.get("memory")
    }
    drawn = _curves(curves, say)
    if not drawn:
        return None
    return Section("retention", say("memory.retention"), joined([*drawn, paragraph(say("memory.explain"), "note")]))


def _curves(curves: Mapping[str, Mapping[str, Any]], say: Wording) -> list[Html]:
    """One drawing by turns and one by updates, with a line for each entry."""
    blocks: list[Html] = []
    for by in BY:
        found = {name: dict(points(memory, by)) for name, memory in curves.items()}
        places = memory_section.places(curves.values(), by)
        if len(places) < 2:
            continue
        lines = [[values.get(place) or _nothing(place) for place in places] for values in found.values()]
        title = say(f"memory.{by}")
        drawing = scrolled(plot(title, places, lines, WIDE, connected=True), title)
        blocks += [tag("h3", title), *([legend(list(found))] if len(found) > 1 else []), drawing]
    return blocks


def _nothing(place: str) -> Value:
    return Value(place, None, 0, 0, None, None, None)
