"""The section of the page of a run about what an agent did."""

from __future__ import annotations

from runner.report.agent_section import parts
from runner.report.document import Document
from runner.report.html.markup import Html, joined, paragraph, table, tag
from runner.report.html.page import Section


def agent(document: Document) -> Section | None:
    say, found = document.say, document.summary.get("agent")
    if not found:
        return None
    blocks: list[Html] = []
    for title, (headers, rows), notes in parts(found, document.k, say):
        blocks += [tag("h3", title), table(headers, rows, label=title, right=range(1, len(headers)), class_="narrow")]
        blocks += [paragraph(note, "note") for note in notes]
    return Section("agent", say("agent.title"), joined(blocks))
