"""What people did with suggested links, from JSON Lines, in order of time.

    action              accept or reject
    source_note, target the note, and the note that was suggested: by path, title or alias
    time                ISO 8601; without an offset it is UTC
    anchor              where in the note; without one it holds for the whole note
    language (lang), team, tags

Other keys are free to stand there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from runner.data.fields import Fields
from runner.data.jsonl import read_jsonl
from runner.data.problems import ProblemLog, why_empty
from runner.errors import DataError
from runner.text.note_ids import NoteNames

KNOWN = frozenset({"action", "source_note", "target", "time", "anchor", "language", "lang", "team", "tags", "id"})
ACTIONS = {"accept": True, "reject": False}


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
    found = [
        event
        for line, data in read_jsonl(path, key, log, DataError)
        if (event := _event(Fields(data, path, line, log), names)) is not None
    ]
    log.stop_if_strict()
    if not found:
        raise DataError(f"{key}: no events in {path}{why_empty(log, path)}")
    return tuple(sorted(found, key=lambda event: event.time))


def _event(fields: Fields, names: NoteNames) -> LinkEvent | None:
    fields.warn_of_misspellings(KNOWN)
    action = fields.data.get("action")
    if not isinstance(action, str) or action not in ACTIONS:
        fields.wrong("action", "accept or reject", action)
    note, target = (_meant(fields.required_text(name), names) for name in ("source_note", "target"))
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


def _meant(name: str, names: NoteNames) -> str:
    found = names.resolve(name)
    return found[0] if len(found) == 1 else name


def _time(fields: Fields) -> datetime:
    written = fields.required_text("time")
    try:
        found = datetime.fromisoformat(written)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (OverflowError, ValueError):  # no time, or one before the year 1 or after 9999 in UTC
        if not fields.failed:
            fields.wrong("time", "a time such as 2026-03-01T09:00:00Z", written)
        return datetime.min.replace(tzinfo=UTC)
