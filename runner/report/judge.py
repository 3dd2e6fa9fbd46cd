"""Sections of a report on the judge: control items, agreement of several votes, and the citations of answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.report.blocks import TERMINAL, Cell, Note, Section, Table, section
from runner.report.document import Document
from runner.report.metric import four, interval, rubric
from runner.report.trust import Agreement, Health, Rate, agreements, healths
from runner.words.wording import Wording

RATES = ("false_accept", "false_reject", "injection", "failed")
FURTHER = ("length", "spread")  # columns of the wide table alone
CITATIONS = ("valid", "out_of_range", "none")
MAX_ITEMS = 20


def judge(document: Document) -> Section | None:
    """The section on the health of the judge; None where nothing was judged."""
    return judge_of(document.summary, document.say)


def judge_of(summary: Mapping[str, Any], say: Wording) -> Section | None:
    """The same, from a summary or the result of a calibration."""
    return section(
        "judge",
        say("head.judge"),
        section("", say("head.controls"), *_controls(healths(summary), say)),
        section("", say("head.votes"), *_votes(agreements(summary), say)),
    )


def citations(document: Document) -> Section | None:
    """How many answers cite what they were given, and how many cite what is not there."""
    say, counts = document.say, document.counts.get("citations") or {}
    total = sum(counts.values())
    rows = [
        [say(f"citations.{name}"), str(counts[name]), f"{counts[name] / total:.1%}"]
        for name in CITATIONS
        if counts.get(name)
    ]
    if not rows:
        return None
    headers = [say("citations.answers"), say("citations.count"), say("diagnosis.share")]
    table = Table(headers, rows, say("head.citations"), narrow=True)
    return section("citations", say("head.citations"), table, Note(say("citations.explain"), "quiet"))


def _controls(checks: list[Health], say: Wording) -> Iterator[Table | Note]:
    """How many control items of each kind the judge got wrong, one row a rubric."""
    if not checks:
        return
    headers = [say("judge.rubric"), *(say(f"controls.{name}") for name in (*RATES, *FURTHER))]
    yield Table(headers, [[rubric(check.rubric, say), *map(_rate, check.rates), *_further(check)] for check in checks])
    short = [say("controls.panel"), *(say(f"controls.short.{name}") for name in RATES)]
    rows: list[list[str | Cell]] = [[rubric(check.rubric, say), *map(_alarm, check.rates)] for check in checks]
    yield Table(short, rows, media=TERMINAL)
    yield Note(say("controls.explain"), "quiet")
    wrong = [Note(_items(check, say), "quiet") for check in checks if check.items]
    yield from wrong or [Note(say("controls.fine"), "quiet")]
    for check in checks:
        if check.off is not None:
            yield Note(
                say(
                    "controls.examples", rubric=rubric(check.rubric, say), n=check.n_examples, points=f"{check.off:.2f}"
                ),
                "quiet",
            )


def _rate(rate: Rate) -> str:
    return f"{rate} ({rate.share:.1%})" if rate.n else str(rate)


def _further(check: Health) -> list[str]:
    return [_rate(check.length), "–" if check.spread is None else str(check.spread)]


def _alarm(rate: Rate) -> Cell:
    return Cell(str(rate), "alarm" if rate.k else "quiet")


def _items(check: Health, say: Wording) -> str:
    items = ", ".join(check.items[:MAX_ITEMS])
    if len(check.items) > MAX_ITEMS:
        items = say("controls.more", items=items, count=len(check.items) - MAX_ITEMS)
    return say("controls.items", rubric=rubric(check.rubric, say), items=items)


def _votes(votes: list[Agreement], say: Wording) -> Iterator[Table | Note]:
    """How far several votes on one case agree, one row a rubric."""
    rows = [
        [
            agreement.name(say),
            str(agreement.n),
            str(agreement.votes),
            str(agreement.failed),
            four(agreement.alpha, say),
            interval(agreement.low, agreement.high),
            four(agreement.noise_sd, say),
        ]
        for agreement in votes
    ]
    names = ("judge.rubric", "votes.cases", "votes.votes", "votes.failed", "votes.alpha", "interval", "votes.noise")
    yield Table([say(name) for name in names], rows)
    short = [
        [
            agreement.name(say),
            str(agreement.votes),
            four(agreement.noise_sd, say),
            f"{four(agreement.alpha, say)} {interval(agreement.low, agreement.high, digits=2)}".strip(),
        ]
        for agreement in votes
    ]
    shorter = ("votes.panel", "votes.short.votes", "votes.noise", "votes.short.alpha")
    yield Table([say(name) for name in shorter], short, media=TERMINAL)
    for agreement in votes:
        if agreement.judge is None:
            yield Note(say(f"votes.{agreement.grade or 'no_alpha'}", rubric=agreement.name(say)), "quiet")
        if agreement.margin is not None:
            yield Note(
                say("votes.margin", rubric=agreement.name(say), margin=f"{agreement.margin:.4f}", n=agreement.n),
                "quiet",
            )
