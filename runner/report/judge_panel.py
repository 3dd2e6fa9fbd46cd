"""What is known of the judge, as small tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from runner.report import metric
from runner.report.trust import Rate, agreements, healths
from runner.words.wording import Wording

RATES = ("false_accept", "false_reject", "injection", "failed")


def controls(summary: Mapping[str, Any], say: Wording) -> Table | None:
    """How many control items of each kind the judge got wrong, one row a rubric."""
    found = healths(summary)
    rows = [
        [Text(f"  {metric.rubric(health.rubric, say)}"), *(_rate(rate) for rate in health.rates)] for health in found
    ]
    return _table([say("controls.panel"), *(say(f"controls.short.{name}") for name in RATES)], rows)


def _rate(rate: Rate) -> Text:
    return Text(str(rate), style="bold red" if rate.k else "dim")


def votes(summary: Mapping[str, Any], say: Wording) -> Table | None:
    """How far several votes on one case agree, one row a rubric."""
    rows = [
        [
            Text(f"  {each.name(say)}"),
            Text(str(each.votes)),
            Text(metric.four(each.noise_sd, say)),
            Text(f"{metric.four(each.alpha, say)} {metric.interval(each.low, each.high, digits=2)}".strip()),
        ]
        for each in agreements(summary)
    ]
    names = ("votes.panel", "votes.short.votes", "votes.noise", "votes.short.alpha")
    return _table([say(name) for name in names], rows)


def _table(headings: Sequence[str], rows: Iterable[Sequence[Text]]) -> Table | None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    for number, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    return table if table.row_count else None
