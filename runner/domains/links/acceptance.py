"""How often suggested links were accepted: in all, over time, and by language, team and tag."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from runner.domains.links.events import LinkEvent
from runner.metrics.memory import wilson

DAYS, WEEKS = 31, 182  # days that are told day by day, and week by week; longer ones month by month
PERIODS: Mapping[str, Callable[[datetime], str]] = {
    "day": lambda time: f"{time:%Y-%m-%d}",
    "week": lambda time: f"{time:%G-W%V}",
    "month": lambda time: f"{time:%Y-%m}",
}


def acceptance_of(events: Sequence[LinkEvent]) -> dict[str, Any]:
    """{"all": rate, "period": "day" | "week" | "month", "time" | "language" | "team" | "tag": {value: rate}}, a rate
    being {n, accepted, rate, low, high} with a 95 % Wilson interval. Empty without events. An event counts under each
    of its tags; one that does not tell its language or team is in none. Times are in UTC."""
    if not events:
        return {}
    period = _period(events)
    ways: dict[str, Callable[[LinkEvent], Iterable[str | None]]] = {
        "time": lambda event: (PERIODS[period](event.time),),
        "language": lambda event: (event.language,),
        "team": lambda event: (event.team,),
        "tag": lambda event: dict.fromkeys(event.tags),
    }
    rates = {name: _rates(events, keys) for name, keys in ways.items()}
    return {"all": _rate([event.is_accepted for event in events]), "period": period, **rates}


def _period(events: Sequence[LinkEvent]) -> str:
    times = [event.time for event in events]
    days = (max(times) - min(times)).days
    return "day" if days <= DAYS else "week" if days <= WEEKS else "month"


def _rates(events: Sequence[LinkEvent], keys: Callable[[LinkEvent], Iterable[str | None]]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[bool]] = defaultdict(list)
    for event in events:
        for key in keys(event):
            if key:
                groups[key].append(event.is_accepted)
    return {key: _rate(groups[key]) for key in sorted(groups)}


def _rate(accepted: Sequence[bool]) -> dict[str, Any]:
    k, n = sum(accepted), len(accepted)
    low, high = wilson(k, n)
    return {"n": n, "accepted": k, "rate": k / n, "low": low, "high": high}
