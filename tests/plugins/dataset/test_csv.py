"""Tables as data sets."""

from pathlib import Path
from typing import Any

import pytest

from plugins.dataset.csv import CsvDataset
from runner.cli import main
from runner.errors import DataError

QUERIES = "번호,질문,답변,docs,정답\n7,환불은?,14일입니다,환불은 14일 걸립니다|||배송은 3일,14일\n"


def write(path: Path, text: str, encoding: str = "utf-8") -> str:
    path.write_text(text, encoding=encoding)
    return str(path)


def test_questions_with_what_another_system_answered(tmp_path: Path) -> None:
    data = CsvDataset(queries=write(tmp_path / "x.csv", QUERIES, "cp949")).load()
    (query,) = data.queries
    assert (query.id, query.text, query.answerable, query.answers, query.relevance) == (
        "7",
        "환불은?",
        True,
        ("14일",),
        {},
    )
    assert query.given.answer == "14일입니다"
    assert [context.text for context in query.given.contexts or ()] == ["환불은 14일 걸립니다", "배송은 3일"]
    assert data.corpus.documents == ()


def test_documents_in_a_table_too(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.csv", "문서 ID,제목,본문,부서\nrefund,환불,환불은 14일,결제\n", "cp949")
    queries = write(tmp_path / "q.csv", "질문,정답 문서,답변 가능\n환불은?,refund,예\n점심은?,,아니오\n")
    data = CsvDataset(queries=queries, corpus=corpus, strict=True).load()
    (document,) = data.corpus.documents
    assert (document.id, document.title, document.text, document.metadata) == (
        "refund",
        "환불",
        "환불은 14일",
        {"부서": "결제"},
    )
    assert [(query.answerable, dict(query.relevance)) for query in data.queries] == [(True, {"refund": 1}), (False, {})]
    assert data.problems == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"columns": {"answer": "reply"}},
            "dataset.columns.answer: no column 'reply'; it has: 번호, 질문, 답변, docs, 정답",
        ),
        ({"encoding": "ascii"}, "dataset.queries: {path} is not ascii; name its encoding: encoding=NAME"),
    ],
)
def test_wrong_settings(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "x.csv", QUERIES)
    with pytest.raises(DataError) as raised:
        CsvDataset(queries=path, **settings).load()
    assert str(raised.value) == message.format(path=path)


def test_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "x.csv", QUERIES.replace("질문", "고객이 한 말"), "cp949")
    words = ["+experiment=full_rag", "dataset=csv", "dataset.queries=x.csv", "retriever=given", "generator=given"]
    run = [*words, "tracking=none", "out=run"]
    assert main([*words, "tracking=none", "out=none"]) == 1
    assert "dataset.queries: no column of x.csv looks like a question; name it: dataset.columns.question=COLUMN" in (
        capsys.readouterr().err
    )
    assert main([*run, "dataset.columns.question=고객이 한 말"]) == 0
    assert main([*words, "dataset.columns.qestion=x", "dry_run=true"]) == 1
    assert "dataset.columns.qestion" in capsys.readouterr().err


def test_a_csv_given_to_jsonl_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "x.csv", QUERIES)
    assert main(["dataset=jsonl", "dataset.corpus=null", "dataset.queries=x.csv", "tracking=none", "out=run"]) == 1
    expected = (
        "dataset.queries: x.csv is a CSV file, not JSON Lines; dataset=csv reads it, and `python -m runner import` "
    )
    assert expected in capsys.readouterr().err
