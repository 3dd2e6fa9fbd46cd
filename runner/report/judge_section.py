"""Sections of summary.md that say what the judge and the citations of answers are worth."""

from __future__ import annotations

from collections.abc import Sequence

from runner.report import metric
from runner.report.document import Document, section
from runner.report.markdown import Markdown, escape, table
from runner.report.trust import Agreement, Health, Rate, agreements, healths
from runner.words.wording import Wording

RATES = ("false_accept", "false_reject", "injection", "failed")
CITATIONS = ("valid", "out_of_range", "none")
MAX_ITEMS = 20


def judge(document: Document) -> str:
    """The judge on control items, and how far several votes on one case agree."""
    return section(document.say("head.judge"), _controls(document), _votes(document))


def _controls(document: Document) -> str:
    headers, rows, notes = controls(document)
    if not rows:
        return ""
    shown = table(headers, rows, range(1, 5))
    return section(document.say("head.controls"), shown, *map(escape, notes), level=3)


def controls(document: Document) -> tuple[list[str], list[list[str]], list[str]]:
    """(headers, rows, notes)"""
    say, found = document.say, healths(document.summary)
    rows = [[metric.rubric(health.rubric, say), *map(_rate, health.rates)] for health in found]
    headers = [say("judge.rubric"), *(say(f"controls.{name}") for name in RATES)]
    wrong = [_items(health, say) for health in found if health.items]
    examples = [_examples(health, say) for health in found if health.off is not None]
    return headers, rows, [say("controls.explain"), *(wrong or [say("controls.fine")]), *examples]


def _examples(health: Health, say: Wording) -> str:
    rubric = metric.rubric(health.rubric, say)
    return say("controls.examples", rubric=rubric, n=health.n_examples, points=f"{health.off:.2f}")


def _rate(rate: Rate) -> str:
    return f"{rate} ({rate.share:.1%})" if rate.n else str(rate)


def _items(health: Health, say: Wording) -> str:
    items = ", ".join(health.items[:MAX_ITEMS])
    if len(health.items) > MAX_ITEMS:
        items = say("controls.more", items=items, count=len(health.items) - MAX_ITEMS)
    return say("controls.items", rubric=metric.rubric(health.rubric, say), items=items)


def _votes(document: Document) -> str:
    headers, rows, notes = votes(document)
    if not rows:
        return ""
    return section(document.say("head.votes"), table(headers, rows, range(1, 7)), *map(escape, notes), level=3)


def votes(document: Document) -> tuple[list[str], list[list[str]], list[str]]:
    """(headers, rows, notes)"""
    say, found = document.say, agreements(document.summary)
    rows = [
        [
            each.name(say),
            str(each.n),
            str(each.votes),
            str(each.failed),
            metric.four(each.alpha, say),
            Markdown(metric.interval(each.low, each.high)),
            metric.four(each.noise_sd, say),
        ]
        for each in found
    ]
    headers = [
        say("judge.rubric"),
        say("votes.cases"),
        *(say(f"votes.{name}") for name in ("votes", "failed", "alpha")),
        say("interval"),
        say("votes.noise"),
    ]
    return headers, rows, [sentence for each in found for sentence in _meaning(each, say)]


def _meaning(each: Agreement, say: Wording) -> list[str]:
    sentences = [say(f"votes.{each.grade or 'no_alpha'}", rubric=each.name(say))] if each.judge is None else []
    if each.margin is not None:
        sentences.append(say("votes.margin", rubric=each.name(say), margin=f"{each.margin:.4f}", n=each.n))
    return sentences


def citations(document: Document) -> str:
    headers, rows = cited(document)
    if not rows:
        return ""
    say = document.say
    return section(say("head.citations"), table(headers, rows, (1, 2)), escape(say("citations.explain")))


def cited(document: Document) -> tuple[list[str], Sequence[Sequence[str]]]:
    """(headers, rows): how many answers cite what they were given, and how many cite what is not there."""
    say, counts = document.say, document.counts.get("citations") or {}
    total = sum(counts.values())
    rows = [
        (say(f"citations.{name}"), str(counts[name]), f"{counts[name] / total:.1%}")
        for name in CITATIONS
        if counts.get(name)
    ]
    return [say("citations.answers"), say("citations.count"), say("diagnosis.share")], rows
