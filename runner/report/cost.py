"""Sections of a report on the models that a run called, and their cost."""

from __future__ import annotations

from runner.llm.messages import SERVICES
from runner.report import usage
from runner.report.blocks import Cell, Note, Section, Table, section
from runner.report.document import Document
from runner.report.usage import Use
from runner.words.wording import Wording

HEADERS = ("role", "model", "requests", "retries", "input", "output", "usd", "cached", "usd_saved")


def cost(document: Document) -> Section | None:
    """A row for each model in each role; the last of several is their total."""
    say, uses = document.say, usage.uses(document.summary)
    if not uses:
        return None
    rows: list[list[str | Cell]] = [[*_row(say.name("role", use.role), use, say)] for use in uses]
    if len(uses) > 1:
        live, cached, unanswered = (
            usage.total(getattr(use, source) for use in uses) for source in ("live", "cached", "unanswered")
        )
        together = Use("", "", live, cached, unanswered)
        rows.append([Cell(text, "strong") for text in _row(say("cost.total"), together, say)])
    lost = usage.unanswered_notes(uses, say, "cost.unanswered_explain")
    notes = [*_of_a_case(document), say("cost.explain"), *lost, *_prices(document, uses)]
    table = Table([say(f"cost.{name}") for name in HEADERS], rows, right=range(2, len(HEADERS)))
    return section("cost", say("head.cost"), table, Note(" ".join(notes), "quiet"))


def _row(name: str, use: Use, say: Wording) -> list[str]:
    live, cached = use.all_requests, use.cached
    counts = (live.requests, live.retries, live.input_tokens, live.output_tokens)
    saved = f"{cached.requests:,}", usage.money(cached, say)
    return [name, use.model, *(f"{count:,}" for count in counts), usage.money(live, say), *saved]


def _of_a_case(document: Document) -> list[str]:
    say, case = document.say, usage.of_a_case(document.summary)
    if case is None:
        return []
    usd = say("cost.unknown") if case[0] is None else usage.dollars(case[0])
    return [say("cost.of_a_case", usd=usd, tokens=usage.count(round(case[1])))]


def _prices(document: Document, uses: list[Use]) -> list[str]:
    """The date of the prices, and the missing ones."""
    say = document.say
    models = [use for use in uses if use.role not in SERVICES]  # no setting gives those a price
    unpriced = usage.total(part for use in models for part in (use.live, use.cached)).unpriced
    dates = [
        say("cost.price", provider=provider, date=date)
        for provider, date in usage.price_dates(document.run, {use.model for use in models} - {*unpriced})
    ]
    sentences = [say("cost.prices", providers=", ".join(dates))] if dates else []
    return sentences + ([say("cost.unpriced", models=", ".join(unpriced))] if unpriced else [])
