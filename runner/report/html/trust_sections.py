"""Sections of the page about judges, cost, time and data."""

from __future__ import annotations

from collections.abc import Sequence

from runner.report.document import Document
from runner.report.html.head import pairs
from runner.report.html.markup import Html, joined, paragraph, table, tag
from runner.report.html.page import Section
from runner.report.judge_section import cited, controls, votes
from runner.report.models_section import costs
from runner.report.run_sections import failures, index_facts, latencies


def judge(document: Document) -> Section | None:
    """The judge on control items, how far votes agree, and what answers cite."""
    say = document.say
    headers, rows = cited(document)
    blocks = [
        _block(say("head.controls"), *controls(document)),
        _block(say("head.votes"), *votes(document)),
        _block(say("head.citations"), headers, rows, [say("citations.explain")]),
    ]
    body = joined(blocks)
    return Section("judge", say("head.judge"), body) if body else None


def _block(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> Html:
    if not rows:
        return Html("")
    shown = table(headers, rows, label=title, right=range(1, len(headers)))
    return joined([tag("h3", title), shown, *(paragraph(note, "note") for note in notes)])


def cost(document: Document) -> Section | None:
    headers, rows, notes = costs(document)
    if not rows:
        return None
    title = document.say("head.cost")
    class_ = "total" if len(rows) > 1 else ""
    shown = table(headers, rows, label=title, right=range(2, len(headers)), class_=class_)
    return Section("cost", title, joined([shown, paragraph(" ".join(notes), "note")]))


def latency(document: Document) -> Section | None:
    say = document.say
    headers, rows = latencies(document)
    facts = index_facts(document)
    blocks = [table(headers, rows, label=say("head.latency"), right=(1, 2, 3))] if rows else []
    if facts:
        blocks += [tag("h3", say("head.index")), pairs(facts, "facts")]
    return Section("latency", say("head.latency"), joined(blocks)) if blocks else None


def problems(document: Document) -> Section | None:
    """Nothing where nothing went wrong."""
    say, found = document.say, document.summary.get("data_problems") or {}
    rows = failures(document)
    blocks = [paragraph(say("problems.data", **found))] if any(found.values()) else []
    if rows:
        headers = [say("problems.stage"), say("problems.count")]
        blocks.append(table(headers, rows, label=say("head.problems"), right=(1,), class_="narrow"))
        blocks.append(paragraph(say("problems.pointer"), "note"))
    return Section("problems", say("head.problems"), joined(blocks)) if blocks else None
