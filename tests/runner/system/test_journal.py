import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.records import Judgement, RoleCost, Row, Status, Timing
from runner.system import redaction
from runner.system.folder import read_once
from runner.system.journal import ADOPTED, TOGETHER, Journal, encode, ids_in, is_whole, whole_rows
from runner.system.shared import sharing
from runner.system.shared_record import shared_record

ROOT = Path(__file__).resolve().parents[3]


def row(id: str, status: Status = "ok", **fields: object) -> Row:
    return Row(id=id, status=status, metrics={"recall_at_k": 1.0}, output={"query": "질문"}, latency_ms=1.5, **fields)  # type: ignore[arg-type]


def write(path: Path, *rows: Row) -> Path:
    with Journal(path) as journal:
        for item in rows:
            journal.append(item)
    return path


def ids(path: Path, wanted: Iterable[str]) -> list[str]:
    with Journal(path) as journal:
        return [found["id"] for found in journal.rows(wanted)]


def test_rows_come_back_in_the_order_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "per_item.jsonl", row("c"), row("a"), row("b"))
    assert ids(path, "abxc") == ["a", "b", "c"]


def test_a_row_keeps_every_field(tmp_path: Path) -> None:
    whole = row(
        "가-1",
        language="ko",
        tags=("x",),
        labels={"lost_at": "none"},
        timings={"retrieval": Timing(2.5)},
        judgements={"faithfulness": Judgement(0.5, "why")},
    )
    kept = json.loads(write(tmp_path / "per_item.jsonl", whole).read_text(encoding="utf-8"))
    assert kept["id"] == "가-1" and kept["tags"] == ["x"] and kept["labels"] == {"lost_at": "none"}
    assert kept["timings"] == {"retrieval": {"ms": 2.5, "live": True, "repeated_ms": None}}
    assert kept["judgements"]["faithfulness"] == {"score": 0.5, "reasoning": "why", "error": None, "details": {}}


FAILED = Judgement(None, error="refused")


def test_reopening_keeps_finished_rows_and_lets_others_wait(tmp_path: Path) -> None:
    judged = row("d", judgements={"faithfulness": Judgement(0.5), "answer_relevancy": FAILED})
    counted = row("e", judgements={"faithfulness": Judgement(0.0, error="refused")})  # a failure that counts as 0
    path = write(tmp_path / "per_item.jsonl", row("a"), row("b", "failed"), row("c", "timeout"), judged, counted)
    with Journal(path) as again:
        assert [id in again for id in "abcde"] == [True, False, False, False, False]
        waiting = [again.earlier_row(id) for id in "abcde"]
        assert [each and each["status"] for each in waiting] == [None, "failed", "timeout", "ok", "ok"]
        again.append(row("b"))
        assert again.earlier_row("b") is None
    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()] == ["a", "b"]


def test_of_two_rows_of_one_case_the_first_counts(tmp_path: Path) -> None:
    path = tmp_path / "per_item.jsonl"
    path.write_bytes(b"".join(map(encode, (row("a", tags=("first",)), row("b"), row("a", tags=("second",))))))
    with Journal(path) as journal:
        assert len(journal) == 2
        assert [kept["tags"] for kept in journal.rows("ab")] == [["first"], []]
    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()] == ["a", "b"]


def test_rows_that_wait_survive_any_number_of_ends(tmp_path: Path) -> None:
    path = write(tmp_path / "per_item.jsonl", row("a"), row("b", "failed"), row("c", "timeout"))
    for _ in range(2):
        with Journal(path) as again:
            assert [again.earlier_row(id) is None for id in "abc"] == [True, False, False]
    with Journal(path, again=False) as later:
        assert [id in later for id in "abc"] == [True, False, False]
        later.append(row("c"))
        later.take_back()
    assert [(each["id"], each["status"]) for each in map(json.loads, path.read_bytes().splitlines())] == [
        ("a", "ok"), ("c", "ok"), ("b", "failed"),
    ]  # fmt: skip
    assert [each.name for each in tmp_path.iterdir()] == ["per_item.jsonl"]


def test_an_error_gives_rows_that_wait_back(tmp_path: Path) -> None:
    path = write(tmp_path / "per_item.jsonl", row("a", "failed"))
    with pytest.raises(RuntimeError), Journal(path):
        raise RuntimeError
    assert len(path.read_bytes().splitlines()) == 1


def test_failed_rows_stay_where_failed_cases_are_not_to_be_run_again(tmp_path: Path) -> None:
    path = write(tmp_path / "per_item.jsonl", row("a"), row("b", "failed"), row("c", "timeout"))
    with Journal(path, again=False) as again:
        assert ("a" in again, "b" in again, "c" in again) == (True, True, True)
        assert [found["status"] for found in again.rows("abc")] == ["ok", "failed", "timeout"]


def test_a_torn_last_line_is_survived(tmp_path: Path) -> None:
    path = write(tmp_path / "per_item.jsonl", row("a"), row("b"))
    path.write_bytes(path.read_bytes()[:-10])
    assert ids(path, "ab") == ["a"]
    write(path, row("b"), row("c"))
    assert ids(path, "abc") == ["a", "b", "c"]


def test_damaged_lines_in_the_middle_are_dropped(tmp_path: Path) -> None:
    path = write(tmp_path / "per_item.jsonl", row("a"), row("b"), row("c"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"id": 3}\n\xff\xfe\n[]\n' + lines[0] + lines[2])
    assert ids(path, "abc") == ["a", "c"]
    assert path.read_bytes() == lines[0] + lines[2]


def test_a_row_stays_as_it_is_where_a_secret_is_learnt_later(tmp_path: Path) -> None:
    """Its checksum would fit no more."""
    path = write(tmp_path / "per_item.jsonl", row("a", error="the key is opensesame-1234"), row("b"))
    redaction.learn({"api_key": "opensesame-1234"})
    path.write_bytes(path.read_bytes() + b'{"id": "torn')
    assert ids(path, "ab") == ["a", "b"]


def test_a_lone_surrogate_in_an_answer_does_not_stop_the_run(tmp_path: Path) -> None:
    """Nor does it turn numbers into texts."""
    output = {
        "answer": "half \ud800 emoji",
        "n": 3,
        "share": 0.5,
        "cut": False,
        "rest": None,
        "huge": 2**70,
        "low": -(2**63) - 1,
    }
    path = write(tmp_path / "per_item.jsonl", Row("a", "ok", {"mrr": 0.25}, output, 1.5))
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["output"] == {**output, "answer": "half ? emoji", "huge": str(2**70), "low": str(-(2**63) - 1)}
    assert (kept["metrics"], kept["latency_ms"]) == ({"mrr": 0.25}, 1.5)


@pytest.mark.parametrize(("text", "shown"), [("whole", "whole"), ("half \ud800", "half ?")])
def test_numbers_of_numpy_are_numbers(text: str, shown: str, tmp_path: Path) -> None:
    output = {"answer": text, "scores": np.array([0.5, 0.25], dtype=np.float32), "n": np.int64(3), "is": np.True_}
    path = write(tmp_path / "per_item.jsonl", Row("a", "ok", {"mrr": np.float64(0.25)}, output, None))
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["metrics"] == {"mrr": 0.25}
    assert kept["output"] == {"answer": shown, "scores": [0.5, 0.25], "n": 3, "is": True}


@pytest.mark.parametrize(
    "change",
    [
        {"metrics": {"recall_at_k": "abc"}},
        {"metrics": {"recall_at_k": 1e308}},
        {"labels": []},
        {"tags": 5},
        {"tags": [5]},
        {"unscored": [None]},
        {"latency_ms": "x"},
        {"timings": {"retrieval": 3}},
        {"language": 1},
        {"status": "fine"},
        {"judgements": {"memory": None}},
        {"judgements": {"memory": {"details": {"votes": {"1": "x"}}}}},
        {"stage": 5},
        {"output": []},
        {"metrics": {"recall_at_k": True}},
        {"timings": {"retrieval": {"ms": "1"}}},
        {"timings": {"retrieval": {"ms": True}}},
        {"cost": {"judge": {"usd": "1"}}},
    ],
)
def test_a_row_of_wrong_types_is_not_whole(change: dict[str, object]) -> None:
    votes = Judgement(0.5, details={"votes": {"1": 0.5, "2": None}})
    whole = row("a", timings={"retrieval": Timing(2)}, judgements={"r": votes}, cost={"judge": RoleCost(1, 2, 3, None)})
    told = json.loads(encode(whole))
    assert is_whole(told) and not is_whole({**told, **change})


def test_a_number_that_is_too_large_does_not_stop_the_run(tmp_path: Path) -> None:
    path = write(tmp_path / "per_item.jsonl", Row("a", "ok", {}, {"n": 2**70}, None))
    assert json.loads(path.read_text(encoding="utf-8"))["output"] == {"n": str(2**70)}


@given(st.binary(max_size=200))
def test_any_bytes_are_opened(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    path = tmp_path_factory.mktemp("journal") / "per_item.jsonl"
    path.write_bytes(noise)
    write(path, row("z"))
    assert ids(path, "z") == ["z"]


@given(st.lists(st.sampled_from("abcdef"), max_size=12, unique=True), st.integers(0, 12))
def test_killed_and_resumed_equals_uninterrupted(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], cut: int
) -> None:
    path = write(tmp_path_factory.mktemp("journal") / "per_item.jsonl", *map(row, names[:cut]))
    done = ids(path, names)
    write(path, *(row(name) for name in names if name not in done))
    assert ids(path, names) == names
    assert len(path.read_bytes().splitlines()) == len(names)


def test_a_row_that_a_full_disk_takes_in_part_is_taken_out_again(tmp_path: Path) -> None:
    path = tmp_path / "per_item.jsonl"
    script = f"""
import resource
from pathlib import Path
from runner.system.journal import Journal
from tests.runner.system.test_journal import row
with Journal(Path({str(path)!r})) as journal:
    journal.append(row("a"))
    whole = journal.path.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (whole + 50, resource.RLIM_INFINITY))
    for id in "bc":
        try:
            journal.append(row(id))
        except Exception as error:
            print(type(error).__name__, error)
    print(journal.path.stat().st_size == whole, [row["id"] for row in journal.rows("abc")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    journal.append(row("c"))
"""
    said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    line = f"StopRunError {path}: File too large; finished cases are kept; run the same command again to resume"
    assert said.splitlines() == [line, line, "True ['a']"]
    assert ids(path, "abc") == ["a", "c"]


def test_a_row_that_is_not_as_it_was_written_is_run_again(tmp_path: Path) -> None:
    path = write(tmp_path / "per_item.jsonl", row("a"), row("b"))
    first, second = path.read_bytes().splitlines(keepends=True)
    for place in range(len(first) - 1):
        path.write_bytes(first[:place] + bytes([first[place] ^ 1]) + first[place + 1 :] + second)
        assert ids(path, "ab") == ["b"]
    told = json.loads(first)
    path.write_text(json.dumps({name: told[name] for name in told if name != "seal"}) + "\n", encoding="utf-8")
    assert ids(path, "ab") == []


GOOD = (b"0.5", b"0", b"null", b"1e100")
BAD = (b"1e101", b"-1e101", b"NaN", b"Infinity", b"1" + b"0" * 400, b"true", b'"1"', b"[]")


@pytest.mark.parametrize(("written", "counts"), [*((text, True) for text in GOOD), *((text, False) for text in BAD)])
def test_an_edited_row_counts_where_its_numbers_are_numbers(tmp_path: Path, written: bytes, counts: bool) -> None:
    path = tmp_path / "per_item.jsonl"
    line = encode(Row("a", "ok", {"first": 0.25, "second": 0.75}, {}, None))
    path.write_bytes(line.replace(b"0.75", written))
    assert [row["id"] for row in whole_rows(path)] == (["a"] if counts else [])


def test_rows_of_another_file_are_taken_as_they_stand_there(tmp_path: Path) -> None:
    odd = ['"', "\\", 'a","status":"failed', "한글\n", "\x7f"]
    many = [row(f"q{number}") for number in range(2 * ADOPTED + 3)]
    other = write(tmp_path / "other.jsonl", *many, *map(row, odd), row("mine", "failed"))
    lines = other.read_bytes().splitlines(keepends=True)
    damaged = lines[1].replace(b"1.0", b"0.5")
    torn = encode(row("torn"))[:-5]
    other.write_bytes(
        b"".join([lines[0], damaged, *lines[2:], encode(row("q0", "failed")), encode(row(odd[-1], "failed")), torn])
    )
    with Journal(write(tmp_path / "per_item.jsonl", row("mine")), again=False) as journal:
        journal.adopt(other)
        journal.adopt(other)
        journal.adopt(tmp_path / "missing.jsonl")
        found = {row["id"]: row["status"] for row in journal.rows([*odd, "mine", *(each.id for each in many)])}
        assert set(found) == {*odd, "mine", *(each.id for each in many)} - {"q1"} and set(found.values()) == {"ok"}
        journal.append(row("after"))
        assert [row["id"] for row in journal.rows(["after", '"'])] == ["after", '"']
    assert (tmp_path / "per_item.jsonl").read_bytes() == b"".join(
        [encode(row("mine")), lines[0], *lines[2:-1], encode(row("after"))]
    )
    assert ids_in(tmp_path / "per_item.jsonl") == {*found, "after"}


@pytest.mark.parametrize("cost", [{}, {"judge": RoleCost(1, 2, 3, None)}])
def test_rows_of_cells_that_asked_no_model_are_written_together(cost: dict[str, RoleCost], tmp_path: Path) -> None:
    """As the same lines; whoever asks for a row has it."""
    path = tmp_path / "per_item.jsonl"
    with sharing(), read_once(path):
        rows = [
            replace(row(f"{n}"), metrics={"x": n / 3}, output=shared_record({"query": f"{n}"}), cost=cost)
            for n in range(TOGETHER + 2)
        ]
        with Journal(path) as journal:
            for each in rows[:-1]:
                journal.append(each)
            written = path.read_bytes()
            assert written == b"".join(map(encode, rows[: -1 if cost else TOGETHER]))
            assert rows[-2].id in journal
            assert [found["metrics"] for found in journal.rows([rows[-2].id])] == [rows[-2].metrics]
            journal.append(rows[-1])
        assert path.read_bytes() == b"".join(map(encode, rows))
        kept = list(whole_rows(path))
    assert kept == list(whole_rows(path)) == [json.loads(encode(each)) for each in rows]
