"""The head of the page of a run: what ran, and what a reader must know before the numbers."""

from __future__ import annotations

from collections.abc import Iterable

from runner.report.document import Document
from runner.report.html.markup import Html, found_in_data, tag
from runner.report.panels import cases_line, models_line
from runner.report.run_sections import command, facts, notes
from runner.words.wording import Wording

CHOICES = ("dataset", "retriever", "tokenizer", "embedder", "generator", "judge")


def head(document: Document) -> Html:
    say, run = document.say, document.run
    title = say("title", experiment=run.get("experiment", ""))
    more = tag(
        "details",
        tag("summary", say("html.more")),
        pairs(facts(document), "facts"),
        tag("p", say("ran.command")),
        tag("pre", tag("code", command(document)), tabindex="0"),
        data_print=True,
    )
    return tag("header", tag("h1", title), told(notes(document)), pairs(_main_facts(document), "key"), more)


def told(found: Iterable[tuple[str, bool]]) -> Html:
    """(text, whether it is grave)"""
    lines = [tag("p", text, class_="grave" if grave else None) for text, grave in found]
    return tag("div", *lines, class_="notes") if lines else Html("")


def pairs(found: Iterable[tuple[str, str]], class_: str) -> Html:
    return tag("dl", *(tag("div", tag("dt", name), found_in_data(value, "dd")) for name, value in found), class_=class_)


def _main_facts(document: Document) -> list[tuple[str, str]]:
    say, run, choices = document.say, document.run, document.run.get("choices") or {}
    values = {
        "status": say.name("status", str(run.get("status"))),
        "cases": cases_line(document.summary, say) if document.summary else None,
        "k": None if document.k is None else str(document.k),
        **{name: choices.get(name) for name in CHOICES},
        "models": models_line(run, say),
        "created": _moment(run.get("created_at"), say),
    }
    return [(say(f"ran.{name}"), str(value)) for name, value in values.items() if value]


def _moment(written: str | None, say: Wording) -> str | None:
    """`2026-01-02T03:04:05Z` to the minute."""
    return written and str(written)[:16].replace("T", " ") + (" UTC" if str(written).endswith("Z") else "")
