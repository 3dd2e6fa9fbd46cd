"""What one process has read, for others that do a part of the same work."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from runner.records import Query
from runner.system.handover import FILE, clear, leave, share_folder
from runner.system.shared import case_ids, make_once, shared_of, sharing
from runner.system.spool import Part, Spool


def queries() -> Iterator[Query]:
    return (Query(f"q{number}", f"질문 {number}?", True, {"a": 1}) for number in range(5))


def never() -> Sequence[Query]:
    raise AssertionError("this was handed over")


def prepared(folder: Path) -> None:
    """A process that reads a data set, of which it takes a part."""
    with sharing(several=False):
        data = make_once("data of a test", "key", lambda: Spool(queries()), portable=True)
        part = shared_of("part of a test", data, (3,), lambda: Part(data, [0, 2, 4]))
        assert case_ids(part) == ["q0", "q2", "q4"]
        make_once("kept here", "key", lambda: "no other process has it")
        leave(folder)


def test_another_process_goes_on_with_what_was_read(tmp_path: Path) -> None:
    prepared(tmp_path)
    with share_folder(tmp_path):
        data = make_once("data of a test", "key", never, portable=True)
        assert list(data) == list(queries()) and data[4].id == "q4"
        part = shared_of("part of a test", data, (3,), never)
        assert [query.text for query in part] == ["질문 0?", "질문 2?", "질문 4?"]
        assert shared_of("ids", part, None, never) == ["q0", "q2", "q4"]
        assert make_once("kept here", "key", lambda: "anew") == "anew"
        assert make_once("data of a test", "another key", lambda: "anew", portable=True) == "anew"
        clear(tmp_path)
        assert not os.listdir(tmp_path) and data[1].id == "q1"  # who has opened them reads on
    assert make_once("data of a test", "key", lambda: "anew", portable=True) == "anew"


def test_what_was_left_before_is_gone(tmp_path: Path) -> None:
    prepared(tmp_path)
    with sharing(several=False):
        leave(tmp_path)
    with share_folder(tmp_path):
        assert make_once("data of a test", "key", lambda: "anew", portable=True) == "anew"


@pytest.mark.parametrize("damage", ["missing", "torn", "without records", "of another program"])
def test_what_cannot_be_read_is_made_anew(damage: str, tmp_path: Path) -> None:
    prepared(tmp_path)
    file = tmp_path / FILE
    if damage == "missing":
        file.unlink()
    elif damage == "torn":
        file.write_bytes(file.read_bytes()[:-20])
    elif damage == "without records":
        (tmp_path / "records-0").unlink()
    else:
        file.write_bytes(file.read_bytes().replace(b"runner.system.shared", b"runner.system.gone00"))
    with share_folder(tmp_path):
        assert make_once("data of a test", "key", lambda: "anew", portable=True) == "anew"


def test_what_cannot_be_pickled_is_left_out(tmp_path: Path) -> None:
    with sharing(several=False):
        make_once("data of a test", "key", lambda: [lambda: "no pickle"], portable=True)
        leave(tmp_path)
    assert not (tmp_path / FILE).exists()
