"""Two real runs between which a few labels, questions or documents changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.small_data import write_jsonl

WORDS = [
    "dataset=jsonl", "dataset.corpus=corpus.jsonl", "dataset.queries=queries.jsonl", "retriever=keyword",
    "tracking=none", "tokenizer=word",
]  # fmt: skip


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpus()
    write_queries()


def write_corpus(edited: dict[int, str] | None = None, more: int = 0) -> None:
    texts = {n: f"word{n} stands here" for n in range(12 + more)} | (edited or {})
    write_jsonl(Path("corpus.jsonl"), [{"id": f"d{n}", "title": "", "text": text} for n, text in texts.items()])


def write_queries(**changes: dict[str, Any]) -> None:
    rows = [
        {"id": f"q{n}", "query": f"word{n}", "answerable": True, "expected_notes": [f"d{n}"]}
        if n < 12
        else {"id": f"q{n}", "query": f"absent{n}", "answerable": False, "expected_notes": []}
        for n in range(14)
    ]
    write_jsonl(Path("queries.jsonl"), [{**row, **changes.get(str(row["id"]), {})} for row in rows])


def read(path: str) -> dict[str, Any]:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def pairs(record: dict[str, Any]) -> dict[str, int]:
    return {entry["name"]: entry["n_paired"] for entry in record["metrics"]}


def test_changed_questions_and_labels_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "out=base"]) == 0
    write_queries(q3={"expected_notes": ["d3", "d4"]}, q5={"query": "word5 and more"})
    assert main([*WORDS, "out=x", "compare=base", "fail_on_regression=true"]) == 0
    shown = capsys.readouterr().out
    assert "1 case(s) with a changed question are left out: q5." in shown
    assert "1 case(s) with changed labels are left out of the metrics that use labels: q3." in " ".join(shown.split())
    record = read("x/compare.json")
    assert pairs(record)["recall_at_5"] == 10 and record["corpus"] is None
    assert main([*WORDS, "out=y", "compare=base", "comparability=strict"]) == 5
    assert "error: Not comparable: the two runs were not measured in" in capsys.readouterr().err
    assert main(["compare", "base", "x", "--out", "c"]) == 0
    assert main(["compare", "base", "x", "--out", "c", "--comparability", "strict"]) == 5


def test_changed_documents_are_a_note_on_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "out=base"]) == 0
    write_corpus({4: "word4 stands there"}, more=3)
    assert main([*WORDS, "out=x", "compare=base", "fail_on_regression=true"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "The corpus changed too: 3 added, 1 edited." in shown
    assert "1 case(s) have changed gold documents: q4." in shown
    record = read("x/compare.json")
    assert {**record["corpus"], "retrieved": None} == {
        "added": 3, "removed": 0, "edited": 1, "gold": ["q4"], "retrieved": None,
    }  # fmt: skip
    assert "Recall@5 *" not in shown and "although they are not comparable" not in shown
    assert "q4" in record["corpus"]["retrieved"] and pairs(record)["recall_at_5"] == 12
    assert "The corpus changed too: 3 added, 1 edited." in Path("x/compare.md").read_text(encoding="utf-8")


def test_strict_compares_nothing_over_other_documents() -> None:
    """Whether a question has an answer hangs on the documents, too."""
    assert main([*WORDS, "out=base"]) == 0
    write_corpus(more=1)
    assert main([*WORDS, "out=x", "compare=base", "comparability=strict"]) == 5
    record = read("x/compare.json")
    assert {entry["name"] for entry in record["metrics"]} == set()
    assert "unanswerable_f1" in {entry["metric"] for entry in record["not_comparable"]}


def test_snapshots_alone_say_how_many_documents_changed() -> None:
    assert main([*WORDS, "out=base", "save_snapshot=base.json"]) == 0
    assert set(read("base.json")["documents"]) == {f"d{n}" for n in range(12)}
    write_corpus({4: "word4 stands there"})
    assert main([*WORDS, "out=x", "compare=base.json"]) == 0
    corpus = read("x/compare.json")["corpus"]
    assert (corpus["edited"], corpus["gold"]) == (1, None)
