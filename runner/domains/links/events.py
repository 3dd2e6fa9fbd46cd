"""What people did with suggested links, from JSON Lines, in order of time, and how often they accepted them.

    action              accept or reject
    source_note, target the note, and the note that was suggested: by path, title or alias
    time                ISO 8601; without an offset it is UTC
    anchor              where in the note; without one it holds for the whole note
    language (lang), team, tags

Other keys are free to stand there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from runner.data.fields import Fields
from runner.data.jsonl import read_jsonl
from runner.data.problems import ProblemLog, why_empty
from runner.errors import DataError
from runner.metrics.memory import wilson
from runner.text.note_ids import NoteNames

KNOWN = frozenset({"action", "source_note", "target", "time", "anchor", "language", "lang", "team", "tags", "id"})
ACTIONS = {"accept": True, "reject": False}
DAYS, WEEKS = 31, 182  # days that are shown day by day, and week by week; longer ones month by month
PERIODS: Mapping[str, Callable[[datetime], str]] = {
    "day": lambda time: f"{time:%Y-%m-%d}",
    "week": lambda time: f"{time:%G-W%V}",
    "month": lambda time: f"{time:%Y-%m}",
}


@dataclass(frozen=True, slots=True)
class LinkEvent:
    """`note` and `target` are ids, or names where there is no such note any more."""

    time: datetime
    note: str
    target: str
    is_accepted: bool
    anchor: str | None = None
    language: str | None = None
    team: str | None = None
    tags: tuple[str, ...] = ()


def read_events(path: str, key: str, names: NoteNames, log: ProblemLog) -> tuple[LinkEvent, ...]:
    """A bad line is an error and left out. Raises DataError when the file cannot be read or holds no usable event."""
    events = [
        event
        for line, data in read_jsonl(path, key, log, DataError)
        if (event := _event(Fields(data, path, line, log), names)) is not None
    ]
    log.stop_if_strict()
    if not events:
        raise DataError(f"{key}: no events in {path}{why_empty(log, path)}")
    return tuple(sorted(events, key=lambda event: event.time))


def _event(fields: Fields, names: NoteNames) -> LinkEvent | None:
    fields.warn_of_misspellings(KNOWN)
    action = fields.data.get("action")
    if not isinstance(action, str) or action not in ACTIONS:
        fields.wrong("action", "accept or reject", action)
    note, target = (_resolved_id(fields.required_text(name), names) for name in ("source_note", "target"))
    time = _time(fields)
    event = LinkEvent(
        time=time,
        note=note,
        target=target,
        is_accepted=action == "accept",
        anchor=fields.text("anchor"),
        language=fields.text("language", "lang"),
        team=fields.text("team"),
        tags=fields.texts("tags"),
    )
    return None if fields.failed else event


def _resolved_id(name: str, names: NoteNames) -> str:
    matches = names.resolve(name)
    return matches[0] if len(matches) == 1 else name


def _time(fields: Fields) -> datetime:
    moment = fields.time("time") if fields.required_text("time") else None
    return moment or datetime.min.replace(tzinfo=UTC)


def acceptance_of(events: Sequence[LinkEvent]) -> dict[str, Any]:
    """{"all": rate, "period": "day" | "week" | "month", "time" | "language" | "team" | "tag": {value: rate}}, a rate
    being {n, accepted, rate, low, high} with a 95 % Wilson interval. Empty without events. An event counts under each
    of its tags; an event without a language or team counts in none. Times are in UTC."""
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
