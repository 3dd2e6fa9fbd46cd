"""The section of summary.md with the models that a run asked, and what that cost."""

from __future__ import annotations

from runner.report import usage
from runner.report.document import Document, section
from runner.report.markdown import bold, escape, table
from runner.report.usage import Use
from runner.words.wording import Wording

HEADERS = ("role", "model", "requests", "retries", "input", "output", "usd", "cached", "usd_saved")


def cost(document: Document) -> str:
    headers, rows, notes = costs(document)
    if not rows:
        return ""
    if len(rows) > 1:
        rows[-1] = [bold(cell) if cell else "" for cell in rows[-1]]
    return section(document.say("head.cost"), table(headers, rows, range(2, len(HEADERS))), escape(" ".join(notes)))


def costs(document: Document) -> tuple[list[str], list[list[str]], list[str]]:
    """(headers, rows, notes); the last of several rows is their total."""
    say, found = document.say, usage.uses(document.summary)
    rows = [_row(say.name("role", use.role), use, say) for use in found]
    if len(found) > 1:
        live, cached = (usage.total(parts) for parts in ([use.live for use in found], [use.cached for use in found]))
        rows.append(_row(say("cost.total"), Use("", "", live, cached), say))
    lost = usage.unanswered(found, say, "cost.unanswered_explain")
    notes = [*_of_a_case(document), say("cost.explain"), *lost, *_prices(document, found)]
    return [say(f"cost.{name}") for name in HEADERS], rows, notes


def _of_a_case(document: Document) -> list[str]:
    say, case = document.say, usage.of_a_case(document.summary)
    if case is None:
        return []
    usd = say("cost.unknown") if case[0] is None else usage.dollars(case[0])
    return [say("cost.of_a_case", usd=usd, tokens=usage.count(round(case[1])))]


def _row(name: str, use: Use, say: Wording) -> list[str]:
    live, cached = use.live, use.cached
    counts = (live.requests, live.retries, live.input_tokens, live.output_tokens)
    return [
        name,
        use.model,
        *(f"{count:,}" for count in counts),
        usage.money(live, say),
        f"{cached.requests:,}",
        usage.money(cached, say),
    ]


def _prices(document: Document, found: list[Use]) -> list[str]:
    """Of when the prices are, and which are missing."""
    say = document.say
    unpriced = usage.total(part for use in found for part in (use.live, use.cached)).unpriced
    dates = [
        say("cost.price", provider=provider, date=date)
        for provider, date in usage.price_dates(document.run, {use.model for use in found} - {*unpriced})
    ]
    sentences = [say("cost.prices", providers=", ".join(dates))] if dates else []
    return sentences + ([say("cost.unpriced", models=", ".join(unpriced))] if unpriced else [])
