"""Columns of the cases of a run: made with the run or of its rows, and never believed of other rows."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from runner.cli import main
from runner.compare import case_index
from runner.compare.case_index import FILE, open_index, read_cases, state_of
from runner.metrics.metric import Catalogue, Metric

ROWS = [
    {"id": "가", "status": "ok", "metrics": {"right": 1.0}, "output": {"query": "환불은 언제?", "answer": "a"},
     "language": "ko", "labels": {"lost_at": "retrieval"},
     "judgements": {"r": {"score": 0.1, "details": {"votes": {"x": 1, "y": 0.75, "z": None}}}, "s": {"error": "bad"}}},
    {"id": "b.*", "status": "failed", "metrics": {}, "output": None},
    {"id": "c", "status": "ok", "metrics": {"right": 0.0}, "output": {"query": "Refund\n  NOW", "answer": "b"},
     "judgements": {"s": {"score": 1}}},
]  # fmt: skip
NAN = pytest.approx(float("nan"), nan_ok=True)


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(case_index, "LARGE", 1)
    path = tmp_path / "per_item.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS), encoding="utf-8")
    return path


def test_an_index_says_what_the_rows_say(rows: Path) -> None:
    made, again = read_cases(rows, writes=True), read_cases(rows, writes=False)
    assert open_index(rows, state_of(rows)) is not None
    for cases in (made, again):
        assert ([cases.ids[n] for n in range(3)], cases.right.tolist()) == (["가", "b.*", "c"], [1, -1, 0])
        assert (cases.failed.tolist(), cases.apart.tolist()) == ([0, 1, 0], [1, 0, 1])
        assert (cases.truth.tolist(), [cases.strata[n] for n in range(3)]) == (
            [1, NAN, 0],
            ["ko\tretrieval", "\t", "\t"],
        )
        judged = {rubric: [column.tolist() for column in own.values()] for rubric, own in cases.judged.items()}
        assert judged == {"r": [[0.1, NAN, NAN], [0.25, NAN, NAN]], "s": [[NAN, NAN, 1], [0, NAN, 0]]}
        assert [cases.searched.texts_with(word).tolist() for word in ("환불", ".*", "refund now", "none")] == [
            [True, False, False], [False, True, False], [False, False, True], [False] * 3,
        ]  # fmt: skip
        assert [cases.number_of(id) for id in ("c", "b", "b.*", "")] == [2, None, 1, None]
        assert [dict(row) for row in cases.rows([2, 0])] == [ROWS[2], ROWS[0]]
    assert made.answers.tolist() == again.answers.tolist()


def test_columns_are_in_the_order_of_the_file(rows: Path) -> None:
    indexing = case_index.Indexing(("right",))
    for number in (2, 0, 1):
        indexing.add(100 * number, ROWS[number])
    cases = indexing.cases(rows)
    assert (cases.places.tolist(), cases.right.tolist()) == ([0, 100, 200], [1, -1, 0])
    assert [cases.ids[n] for n in range(3)] == ["가", "b.*", "c"]
    assert [cases.strata[n] for n in range(3)] == ["ko\tretrieval", "\t", "\t"]
    judged = {rubric: [column.tolist() for column in own.values()] for rubric, own in cases.judged.items()}
    assert judged == {"r": [[0.1, NAN, NAN], [0.25, NAN, NAN]], "s": [[NAN, NAN, 1], [0, NAN, 0]]}


def test_what_the_evaluation_declared_says_which_cases_are_right(rows: Path) -> None:
    """A metric of somebody else, in place of `right`; less than 1 is wrong."""
    told = Metric(name="solved", better="higher", label={"en": "Solved"}, tells_right=True)
    rows.with_name("run.json").write_text(json.dumps({"declared": Catalogue([told]).record()}), encoding="utf-8")
    lines = [{"id": str(n), "metrics": {"right": 1.0, "solved": value}} for n, value in enumerate((1.0, 0.5, None))]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for cases in (read_cases(rows, writes=True), read_cases(rows, writes=False)):
        assert (cases.right.tolist(), tuple(cases.telling)) == ([1, 0, -1], ("solved",))


def test_an_index_of_other_rows_or_a_damaged_one_is_made_again(rows: Path) -> None:
    index = rows.with_name(FILE)
    read_cases(rows, writes=True)
    kept, state = index.read_bytes(), state_of(rows)
    for number in range(0, len(kept), 7):
        index.write_bytes(kept[:number] + bytes([kept[number] ^ 1]) + kept[number + 1 :])
        found = open_index(rows, state)
        assert found is None or [found.ids[n] for n in range(3)] == ["가", "b.*", "c"], number  # a space of its head
    for damaged in (b"", b"{}\n", b"[]\n", kept[:-3], kept + b"x", kept.replace(b'"schema": 3', b'"schema": 2')):
        index.write_bytes(damaged)
        assert open_index(rows, state) is None
        assert read_cases(rows, writes=True).ids[1] == "b.*"
        assert index.read_bytes() == kept
    old = read_cases(rows, writes=False)
    rows.write_text(rows.read_text(encoding="utf-8").replace('"가"', '"나"'), encoding="utf-8")
    os.utime(rows, ns=(0, state[1] + 1))
    assert read_cases(rows, writes=True).ids[0] == "나"
    with pytest.raises(ValueError, match=r"per_item\.jsonl was changed while it was read"):
        next(old.rows([0]))


def test_a_run_leaves_the_index_of_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_index, "LARGE", 1)
    monkeypatch.chdir(tmp_path)
    words = ["dataset=demo_en", "sample=12", "tracking=none", "out=run", "format=json", "generator=extractive"]
    assert main(["+experiment=full_rag", *words]) == 0
    rows = tmp_path / "run" / "per_item.jsonl"
    left = open_index(rows, state_of(rows))
    assert left is not None
    rows.with_name(FILE).unlink()
    made = read_cases(rows, writes=True)
    for name in ("places", "right", "failed", "apart", "answers"):
        assert getattr(left, name).tolist() == getattr(made, name).tolist(), name
    assert (left.ids.encoded_texts(), left.searched.encoded_texts()) == (
        made.ids.encoded_texts(),
        made.searched.encoded_texts(),
    )
