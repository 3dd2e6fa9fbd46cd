import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runner.commands.generate.drafts import Draft
from runner.commands.generate.files import check_out, counts, provenance_path, rows
from runner.commands.generate.maker import Batch
from runner.commands.generate.orders import Order, Slot
from runner.data.corpus import build_corpus
from runner.data.gold import check_gold
from runner.data.problems import ProblemLog
from runner.data.queries import read_queries
from runner.errors import InputError
from runner.records import Document
from runner.retrieval.stage import relevant_chunks
from runner.text.chunking import Cutter

TEXT = "서론입니다. 여기는 짧습니다.\n\n환불은 닷새가\n걸립니다. 환불에는 영수증이 필요합니다."
CHUNKER = Cutter(max_chars=40, min_chars=0)
CORPUS = build_corpus([Document("정책/환불.md", TEXT, "환불")], CHUNKER)
SECOND = Order(CORPUS.chunks[1], "환불", "ko", (Slot(1, "factual", "easy", True), Slot(2, "analytical", "hard", False)))


def draft(slot: int = 0, **changes: Any) -> Draft:
    fields = {"question": "환불은 며칠 걸리나요?", "answer": "닷새", "quote": "환불은 닷새가 걸립니다."}
    return Draft(SECOND, SECOND.slots[slot], **(fields | changes))


def test_an_answerable_question_with_the_passage_that_answers_it() -> None:
    (row,) = rows([draft()])
    start = TEXT.index("환불은")
    assert row == {
        "id": "gen-001",
        "query": "환불은 며칠 걸리나요?",
        "answerable": True,
        "expected_notes": ["정책/환불.md"],
        "expected_spans": [
            {"note": "정책/환불.md", "start": start, "end": start + 13, "text": "환불은 닷새가\n걸립니다."}
        ],
        "answers": ["닷새"],
        "language": "ko",
        "difficulty": "easy",
        "tags": ["factual"],
    }


def test_a_quote_that_is_not_there_leaves_the_chunk() -> None:
    (row,) = rows([draft(quote="환불은 엿새가 걸립니다.")])
    assert row["expected_chunks"] == ["정책/환불.md#1"] and "expected_spans" not in row


def test_an_unanswerable_question_has_no_gold() -> None:
    (row,) = rows([draft(1, answer="", quote="")])
    assert (row["answerable"], row["expected_notes"]) == (False, [])
    assert not {"answers", "expected_spans", "expected_chunks"} & set(row)


def test_the_file_is_read_back_without_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    lines = rows([draft(), draft(1), draft(quote="")])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    log = ProblemLog(strict=True)
    queries = check_gold(read_queries(str(path), "q", log), CORPUS, str(path), log)
    assert log.problems == ()
    assert [query.id for query in queries] == ["gen-001", "gen-002", "gen-003"]
    assert [set(relevant_chunks(query, CORPUS)) for query in queries] == [{"정책/환불.md#1"}, set(), {"정책/환불.md#1"}]


def test_counts_of_what_was_kept_and_dropped() -> None:
    made = Batch(CORPUS, CHUNKER, [SECOND, SECOND], (), [draft(), draft(1), draft(quote="?")], Counter(failed=1), ["x"])
    assert counts(made) == {
        "ordered": 4,
        "kept": 3,
        "answerable": 2,
        "with_span": 1,
        "question_type": {"factual": 2, "analytical": 1},
        "difficulty": {"easy": 2, "hard": 1},
        "language": {"ko": 3},
        "dropped": {"failed": 1},
        "failures": {"x": 1},
    }


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "new" / "q.jsonl"
    check_out(out)
    assert out.parent.is_dir()
    for path in (out, provenance_path(out)):
        path.write_text("", encoding="utf-8")
        with pytest.raises(InputError) as raised:
            check_out(out)
        assert str(raised.value) == f"out: {path} exists; name another file, or remove it"
        path.unlink()
    assert provenance_path(out).name == "q.provenance.json"


def test_a_place_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    wrong = {
        Path("/"): "/ is a folder; expected the name of a file",
        tmp_path: f"{tmp_path} is a folder; expected the name of a file",
        tmp_path / "notes.txt/q.jsonl": (
            f"cannot write {tmp_path}/notes.txt/q.jsonl: {tmp_path}/notes.txt is not a folder that can be written to"
        ),
    }
    for out, problem in wrong.items():
        with pytest.raises(InputError) as raised:
            check_out(out)
        assert str(raised.value) == f"out: {problem}"
