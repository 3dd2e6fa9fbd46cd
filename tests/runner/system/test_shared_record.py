"""Records that rows of several cells keep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import orjson
import pytest

from runner.records import Judgement, RoleCost, Row, Timing
from runner.system import redaction, shared_record
from runner.system.folder import kept_values, read_once
from runner.system.journal import Journal
from runner.system.shared import sharing
from runner.system.shared_record import SharedRecord

RECORD = {"query": "q", "retrieved": [{"id": "d1", "score": np.float64(0.5)}], "expected": ("d1",)}


@pytest.fixture(autouse=True)
def _several() -> Iterator[None]:
    with sharing():
        yield


def test_a_record_is_what_is_read_of_it() -> None:
    record = shared_record.shared_record(RECORD)
    assert isinstance(record, SharedRecord)
    assert record == orjson.loads(record.encoded) == {**RECORD, "expected": ["d1"]}


def test_the_rest_is_made_once_for_equal_keys() -> None:
    record = shared_record.shared_record(RECORD)
    assert isinstance(record, SharedRecord)
    first = record.with_rest(("a", 1), lambda: {"answer": "a"})
    assert record.with_rest(("a", 1), lambda: {"answer": "another"}) is first
    assert record.with_rest(("b", 1), lambda: {"answer": "b"}) == {**record, "answer": "b"}
    assert first == {**record, "answer": "a"}


def test_without_room_and_outside_of_a_sweep_records_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_record, "ROOM", 10)
    assert shared_record.shared_record(RECORD) is RECORD
    with sharing(several=False):
        assert shared_record.shared_record({}) == {}
    odd = {"query": "\ud800"}
    assert shared_record.shared_record(odd) is odd


def row(**changes: object) -> Row:
    record = shared_record.shared_record(RECORD)
    values = {
        "metrics": {"recall": 1.0, "precision": None},
        "output": record,
        "latency_ms": 1.5,
        "tags": ("t",),
        "labels": {"lost_at": "none"},
        "unscored": ("precision",),
        "timings": {"retrieval": Timing(1.5, live=True)},
        "judgements": {"faithfulness": Judgement(0.5, "so", details={"claims": [1]})},
        "cost": {"judge": RoleCost(1, 2, 3, None)},
    }
    return Row("q1", "ok", **{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"output": None},
        {"output": dict(RECORD)},
        {"metrics": {"recall": np.float32(0.1)}},
        {"error": "lone \ud800"},
        {"error": "a word that is hidden: opensesame-1234"},
    ],
)
def test_a_row_in_memory_is_the_row_of_the_file(tmp_path: Path, changes: dict[str, object]) -> None:
    """What the run has just written is not parsed again, where it is known what parsing gives."""
    redaction.learn({"api_key": "opensesame-1234"})
    path = tmp_path / "per_item.jsonl"
    with read_once(path), Journal(path) as journal:
        journal.append(row(**changes))
        assert bool(kept_values(path)) is (not changes)
        (found,) = journal.rows(["q1"])
        assert found == orjson.loads(path.read_bytes())
        assert list(found) == list(orjson.loads(path.read_bytes()))
    with Journal(path) as journal:
        assert "q1" in journal
        assert list(journal.rows(["q1"])) == [orjson.loads(path.read_bytes())]
