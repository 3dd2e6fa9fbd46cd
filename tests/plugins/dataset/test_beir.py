"""Folders of BEIR."""

import gzip
from pathlib import Path

import pytest

from plugins.dataset.beir import BeirDataset
from runner.cli import main
from runner.errors import DataError

FILES = {
    "corpus.jsonl": '{"_id": "d1", "title": "Moon", "text": "The Moon circles the Earth.", "metadata": {}}\n'
    '{"_id": "d2", "title": "", "text": "Mars is red.", "metadata": {}}\n',
    "queries.jsonl": '{"_id": "q1", "text": "What circles the Earth?", "metadata": {}}\n'
    '{"_id": "q2", "text": "What is red?", "metadata": {}}\n{"_id": "q3", "text": "of dev", "metadata": {}}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td2\t1\n",
    "qrels/dev.tsv": "query-id\tcorpus-id\tscore\nq3\td1\t1\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scifact" / "qrels").mkdir(parents=True)
    for name, text in FILES.items():
        (tmp_path / "scifact" / name).write_text(text, encoding="utf-8")
    return tmp_path / "scifact"


def test_a_split(folder: Path) -> None:
    data = BeirDataset(path=str(folder), language="en", strict=True).load()
    assert [(query.id, query.text, dict(query.relevance), query.language) for query in data.queries] == [
        ("q1", "What circles the Earth?", {"d1": 2, "d2": 0}, "en"),
        ("q2", "What is red?", {"d2": 1}, "en"),
    ]
    assert [document.id for document in data.corpus.documents] == ["d1", "d2"]
    assert data.problems == ()
    assert [query.id for query in BeirDataset(path=str(folder), split="dev").load().queries] == ["q3"]


def test_packed_files(folder: Path) -> None:
    for name in FILES:
        data = (folder / name).read_bytes()
        (folder / name).unlink()
        (folder / f"{name}.gz").write_bytes(gzip.compress(data))
    assert len(BeirDataset(path=str(folder)).load().queries) == 2


def test_judgements_of_a_query_that_is_not_there(folder: Path) -> None:
    path = folder / "qrels" / "test.tsv"
    path.write_text(f"{FILES['qrels/test.tsv']}q9\td1\t1\n", encoding="utf-8")
    (problem,) = BeirDataset(path=str(folder)).load().problems
    assert str(problem) == f"{path}: 1 judged queries are not in {folder}/queries.jsonl, such as 'q9'"


def test_what_is_not_there(folder: Path) -> None:
    def refused(**settings: str) -> list[str]:
        problems = BeirDataset(**{"path": str(folder), **settings}).preflight()
        return [f"{problem.key}: {problem.message}" for problem in problems]

    assert refused() == []
    assert refused(split="tset") == [f"dataset.split: no qrels/tset.tsv in {folder}; did you mean 'test'?"]
    (folder / "queries.jsonl").unlink()
    expected = "expected corpus.jsonl, queries.jsonl and qrels/*.tsv"
    assert refused() == [f"dataset.path: no queries.jsonl in {folder}; {expected}"]
    assert refused(path=str(folder / "x"))[0].startswith(f"dataset.path: folder not found: {folder}/x")
    with pytest.raises(DataError, match=r"no queries\.jsonl"):
        BeirDataset(path=str(folder)).load()


def test_from_the_command_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.parent)
    words = ["dataset=beir", "dataset.path=scifact", "retriever=keyword", "tracking=none", "out=run"]
    assert main(words) == 0
    assert "Recall@5:" in capsys.readouterr().out
    assert main([*words, "dataset.split=dve"]) == 1
    assert "dataset.split: no qrels/dve.tsv in scifact; did you mean 'dev'?" in capsys.readouterr().err
