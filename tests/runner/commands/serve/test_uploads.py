"""Every format that a data group or `import` reads, uploaded and read by the command line."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.runner.commands.serve.conftest import Serving

URL = "/evaluation/datasets"


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def packed(files: Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


CORPUS = lines(
    {"id": "d1", "title": "환불", "text": "환불은 14일 안에 됩니다."},
    {"id": "d2", "title": "배송", "text": "배송은 이틀 걸립니다."},
)
ASKED = {
    "id": "q1",
    "query": "환불은 며칠 안에 되나요?",
    "answerable": True,
    "expected_notes": ["d1"],
    "answers": ["14일"],
}
TABLE = "질문,답변,정답\n환불은 며칠 안에 되나요?,14일입니다.,14일\n배송은요?,이틀입니다.,이틀\n".encode()
GUIDE = lines({"id": "g1", "title": "안내", "text": "1. 로그인합니다.\n2. 신청합니다."})
QUESTION = {"id": "a", "question": "How long?", "answers": [{"text": "14 days", "answer_start": 13}]}
SQUAD = {"data": [{"title": "R", "paragraphs": [{"context": "Refunds take 14 days.", "qas": [QUESTION]}]}]}
TOPICS, QRELS = "1\t환불\n".encode(), b"1 0 d1 1\n"
ROWS = "id,question,expected_notes\na,환불?,d1\n".encode()
NOTES = packed(
    {"환불.md": "# 환불\n\n환불은 14일 안에 됩니다. [[배송]]\n", "folder/배송.md": "# 배송\n\n이틀. [[환불]]\n"}
)
FORMATS: list[tuple[str, dict[str, tuple[str, bytes]], int]] = [
    ("jsonl", {"corpus": ("c.jsonl", CORPUS), "queries": ("q.jsonl", lines(ASKED))}, 1),
    ("jsonl", {"queries": ("q.jsonl", lines(ASKED | {"contexts": ["환불은 14일"], "answer": "14일"}))}, 1),
    ("csv", {"corpus": ("c.jsonl", CORPUS), "queries": ("q.csv", ROWS)}, 1),
    ("squad", {"queries": ("dev.json", json.dumps(SQUAD).encode())}, 1),
    ("trec", {"corpus": ("c.jsonl", CORPUS), "queries": ("topics.txt", TOPICS), "qrels": ("q.txt", QRELS)}, 1),
    (
        "beir",
        {
            "corpus": ("corpus.jsonl", CORPUS.replace(b'"id"', b'"_id"')),
            "queries": ("queries.jsonl", lines({"_id": "1", "text": "환불"})),
            "qrels": ("test.tsv", b"query-id\tcorpus-id\tscore\n1\td1\t1\n"),
        },
        1,
    ),
    ("vault", {"notes": ("notes.zip", NOTES), "queries": ("q.jsonl", lines(ASKED | {"expected_notes": ["환불"]}))}, 1),
    ("links", {"notes": ("notes.zip", NOTES)}, 1),
    (
        "faq_guide",
        {"corpus": ("f.jsonl", CORPUS), "guide": ("g.jsonl", GUIDE), "queries": ("q.jsonl", lines(ASKED))},
        1,
    ),
]  # fmt: skip


def uploaded(client: TestClient, format: str | None, files: Mapping[str, tuple[str, bytes]], **fields: str) -> Any:
    return client.post(URL, data={"name": "a", **({"format": format} if format else {}), **fields}, files=files)


def test_what_is_left_out_is_named_by_the_file_that_was_sent(serving: Serving) -> None:
    asked = {"id": "q1", "query": "When?", "answerable": True, "expected_notes": ["nowhere"]}
    files = {"corpus": ("c.jsonl", lines({"id": "a", "text": "Now."})), "queries": ("q.jsonl", lines(asked))}
    told = uploaded(serving(), "jsonl", files).json()
    (problem,) = told["problems"]
    assert problem.startswith("warning: queries/") and ":1: expected_notes: no document 'nowhere'" in problem


def test_a_table_is_imported_and_its_answers_are_evaluated(serving: Serving) -> None:
    client = serving()
    told = uploaded(client, None, {"queries": ("로그.csv", TABLE)}).json()
    assert (told["format"], told["cases"], told["problems"]) == ("csv", 2, [])
    desk = client.app_state["desk"]
    words = desk.words(desk.dataset(told["id"]), "full_rag", 3, [])
    assert words[:2] == ["+experiment=full_rag", "dataset=jsonl"]
    assert words[-3:] == ["retriever=given", "generator=given", "k=3"]
    assert desk.makes_sweep(words) is False
    wrong = uploaded(client, None, {"queries": ("a.csv", TABLE)}, columns='{"qestion": "질문"}').json()["error"]
    assert wrong["message"] == "columns: no field 'qestion'; did you mean 'question'?"
    assert client.delete(f"{URL}/{told['id']}").status_code == 204
    assert [each["built_in"] for each in client.get(URL).json()] == [True] * len(desk.allowed.built_in)
    assert (
        uploaded(client, "csw", {"queries": ("a.csv", TABLE)})
        .json()["error"]["message"]
        .startswith("format: no format 'csw'; did you mean 'csv'?")
    )


@pytest.mark.slow
@pytest.mark.parametrize(("format", "files", "cases"), FORMATS, ids=lambda value: str(value)[:12])
def test_every_format_is_read(client: TestClient, format: str, files: dict[str, tuple[str, bytes]], cases: int) -> None:
    told = uploaded(client, None if format in ("jsonl", "squad") and "dev" not in str(files) else format, files)
    assert told.status_code == 201, told.text
    assert (told.json()["format"], told.json()["cases"]) == (format, cases)


def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused(client: TestClient) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.md", b"a" * (9 << 20))
    for part, name in (("notes", "n.zip"), ("queries", "q.xlsx")):
        told = uploaded(client, None, {part: (name, made.getvalue())})
        assert told.status_code == 413 and "is packed more than 200 to 1" in told.text
