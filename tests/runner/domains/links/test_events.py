"""What people did with suggestions, and how often they took them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runner.data.problems import ProblemLog
from runner.domains.links.events import LinkEvent, acceptance_of, read_events
from runner.errors import DataError
from runner.text.note_ids import NoteNames

GOOD = {"time": "2026-03-01T09:00:00+09:00", "action": "accept", "source_note": "A", "target": "비"}


def names() -> NoteNames:
    found = NoteNames()
    found.add("a.md", "Alpha")
    found.add("b.md", "비")
    return found


def read(tmp_path: Path, *rows: Any) -> tuple[tuple[LinkEvent, ...], list[str]]:
    path, log = tmp_path / "events.jsonl", ProblemLog()
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    events = read_events(str(path), "dataset.events", names(), log)
    return events, [str(each).replace(str(path), "FILE") for each in log.problems]


def test_notes_are_resolved_times_are_utc_and_the_order_is_that_of_time(tmp_path: Path) -> None:
    early = {**GOOD, "time": "2026-02-28T23:59", "action": "reject", "target": "gone", "team": "t", "tags": ["x"]}
    (first, second), wrong = read(tmp_path, GOOD, early)
    assert not wrong
    assert first == LinkEvent(datetime(2026, 2, 28, 23, 59, tzinfo=UTC), "a.md", "gone", False, team="t", tags=("x",))
    assert second == LinkEvent(datetime(2026, 3, 1, 0, 0, tzinfo=UTC), "a.md", "b.md", True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"action": "yes"}, 'FILE:2: action: expected accept or reject, found text "yes"'),
        ({"action": ["accept"]}, "FILE:2: action: expected accept or reject, found a list of 1"),
        ({"action": None}, "FILE:2: action: expected accept or reject, found null"),
        ({"time": "March"}, 'FILE:2: time: expected a time such as 2026-03-01T09:00:00Z, found text "March"'),
        (
            {"time": "0001-01-01T00:00:00+10:00"},
            'FILE:2: time: expected a time such as 2026-03-01T09:00:00Z, found text "0001-01-01T00:00:00+10:00"',
        ),
        ({"target": 3}, "FILE:2: target: expected text that is not blank, found number 3"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    assert read(tmp_path, GOOD, {**GOOD, **changes})[1] == [message]


def test_a_file_without_events_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"dataset\.events: no events in .*events\.jsonl$"):
        read(tmp_path)


# --- acceptance ---------------------------------------------------------------------------------------


def event(day: int, is_accepted: bool, **more: Any) -> LinkEvent:
    return LinkEvent(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day), "a.md", "b.md", is_accepted, **more)


def test_acceptance_by_hand() -> None:
    found = acceptance_of(
        [
            event(0, True, language="ko", team="a", tags=("x", "y")),
            event(0, False, language="ko", tags=("x", "x")),
            event(1, True, language="en", team="b"),
            event(31, True, language="en", team="b"),
        ]
    )
    assert {name: found["all"][name] for name in ("n", "accepted", "rate")} == {"n": 4, "accepted": 3, "rate": 0.75}
    assert (found["all"]["low"], found["all"]["high"]) == pytest.approx((0.3006, 0.9544), abs=1e-4)  # Wilson
    assert found["period"] == "day"
    assert {day: rate["rate"] for day, rate in found["time"].items()} == {
        "2026-01-01": 0.5,
        "2026-01-02": 1.0,
        "2026-02-01": 1.0,
    }
    assert {name: rate["rate"] for name, rate in found["language"].items()} == {"en": 1.0, "ko": 0.5}
    assert {name: rate["n"] for name, rate in found["team"].items()} == {"a": 1, "b": 2}
    assert {name: (rate["accepted"], rate["n"]) for name, rate in found["tag"].items()} == {"x": (1, 2), "y": (1, 1)}


@pytest.mark.parametrize(
    ("days", "period", "last"), [(31, "day", "2026-02-01"), (182, "week", "2026-W27"), (183, "month", "2026-07")]
)
def test_longer_times_are_told_in_longer_steps(days: int, period: str, last: str) -> None:
    found = acceptance_of([event(0, True), event(days, False)])
    assert (found["period"], list(found["time"])[-1]) == (period, last)


def test_nothing_is_told_without_events() -> None:
    assert acceptance_of([]) == {}
