"""The section of the page of a run about suggested links."""

from __future__ import annotations

from runner.report import links_section
from runner.report.document import Document
from runner.report.html.markup import Html, joined, paragraph, table, tag
from runner.report.html.page import Section


def links(document: Document) -> Section | None:
    say = document.say
    lines = links_section.lines_of(document.summary, say)
    if not lines:
        return None
    blocks: list[Html] = [paragraph(line) for line in lines]
    found = (document.summary.get("links") or {}).get("acceptance")
    if found:
        blocks.append(tag("h3", say("links.acceptance")))
        for _, (headers, rows) in links_section.parts(found, say):
            blocks.append(table(headers, rows, label=headers[0], right=range(1, 5), class_="narrow"))
        blocks.append(paragraph(say("links.explain"), "note"))
    return Section("links", say("links.title"), joined(blocks))
