import unicodedata
from pathlib import Path

import pytest

from runner.data.documents import read_documents
from runner.data.problems import ProblemLog
from runner.errors import CorpusError, DataError
from runner.records import Document


def read(path: Path, *files: str, strict: bool = False) -> tuple[list[Document], list[str]]:
    names = [path / f"{'abc'[n]}.jsonl" for n in range(len(files))]
    for name, content in zip(names, files, strict=True):
        name.write_text(content, encoding="utf-8")
    log = ProblemLog(strict=strict)
    documents = read_documents([str(name) for name in names], "dataset.corpus", log)
    return documents, [str(problem).replace(f"{path}/", "") for problem in log.problems]


def test_documents_keep_their_order_and_other_keys(tmp_path: Path) -> None:
    documents, problems = read(
        tmp_path,
        '{"id":"b","title":"제목","text":"본문","lang":"ko","source":"x.html","year":2024}\n{"_id":"a","text":"t"}\n',
        '{"id":"c","title":"t","text":"","language":"en","url":null}\n',
    )
    assert documents == [
        Document("b", "본문", "제목", "ko", {"source": "x.html", "year": 2024}),
        Document("a", "t", "", None, {}),
        Document("c", "", "t", "en", {"url": None}),
    ]
    assert problems == []


def test_everything_becomes_nfc(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "한글 é")
    documents, _ = read(tmp_path, f'{{"id":"{decomposed}","title":"{decomposed}","text":"{decomposed}"}}')
    assert documents == [Document("한글 é", "한글 é", "한글 é")]


def test_nul_becomes_a_replacement_character(tmp_path: Path) -> None:
    documents, _ = read(tmp_path, '{"id":"a","text":"x\\u0000y"}')
    assert documents[0].text == "x\ufffdy"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text":"t"}', "id: expected text, found nothing"),
        ('{"id":7,"text":"t"}', "id: expected text that is not blank, found number 7"),
        ('{"id":" ","text":"t"}', 'id: expected text that is not blank, found text " "'),
        ('{"id":"x"}', "text: expected text, found nothing"),
        ('{"id":"x","text":null}', "text: expected text, found null"),
        ('{"id":"x","text":["t"]}', "text: expected text, found a list of 1"),
        ('{"id":"x","text":"t","title":3}', "title: expected text, found number 3"),
        ('{"id":"x","text":"t","lang":true}', "lang: expected text, found true"),
        ('{"id":"x","text":" \\n"}', "text: expected text or a title, found neither"),
        ('{"id":"ok","text":"again"}', "id: 'ok' is already the id at a.jsonl:1; the first one counts"),
    ],
)
def test_bad_documents_are_left_out(tmp_path: Path, line: str, problem: str) -> None:
    documents, problems = read(tmp_path, f'{{"id":"ok","text":"t"}}\n\n{line}\n')
    assert documents == [Document("ok", "t")]
    assert problems == [f"a.jsonl:3: {problem}"]


def test_all_that_is_wrong_with_a_line_is_said(tmp_path: Path) -> None:
    _, problems = read(tmp_path, '{"id":"ok","text":"t"}\n{"id":1,"text":2,"title":3}\n')
    assert [problem.split(": ")[1] for problem in problems] == ["id", "title", "text"]


def test_ids_that_are_the_same_in_nfc_or_in_two_files(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "é")
    documents, problems = read(
        tmp_path, '{"id":"é","text":"1"}\n', f'{{"id":"{decomposed}","text":"2"}}\n{{"id":"x","text":"3"}}'
    )
    assert [document.text for document in documents] == ["1", "3"]
    assert problems == ["b.jsonl:1: id: 'é' is already the id at a.jsonl:1; the first one counts"]


def test_a_misspelt_key_is_named_once(tmp_path: Path) -> None:
    documents, problems = read(tmp_path, '{"id":"a","text":"t","titel":"x"}\n{"id":"b","text":"t","titel":"y"}\n')
    assert [document.metadata for document in documents] == [{"titel": "x"}, {"titel": "y"}]
    assert problems == ["a.jsonl:1: titel: unknown, ignored; did you mean 'title'?"]


def test_a_key_that_resembles_a_key_beside_it_is_no_misspelling(tmp_path: Path) -> None:
    _, problems = read(tmp_path, '{"id":"a","text":"t","texts":["t"],"title":"x","subtitle":"y"}')
    assert problems == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "dataset.corpus: no documents in {path}"),
        ("\n\n", "dataset.corpus: no documents in {path}"),
        (
            '{"id":1,"text":"t"}\n[]\n',
            "dataset.corpus: no documents in {path}; its lines have errors:\n"
            "  {path}:1: id: expected text that is not blank, found number 1\n"
            "  {path}:2: expected a JSON object, found an empty list",
        ),
    ],
)
def test_a_file_without_documents(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(CorpusError) as raised:
        read(tmp_path, content)
    assert str(raised.value) == message.format(path=tmp_path / "a.jsonl")


def test_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(CorpusError) as raised:
        read(tmp_path)
    assert str(raised.value) == "dataset.corpus: expected at least one file, found an empty list"


def test_strict_stops_with_all_errors_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        read(tmp_path, '{"id":1,"text":"t"}\n{"id":"a","text":"t"}\n{"id":"b"}\n', strict=True)
    assert str(raised.value) == (
        "2 errors in the data files (strict=true stops at them):\n"
        f"  {tmp_path}/a.jsonl:1: id: expected text that is not blank, found number 1\n"
        f"  {tmp_path}/a.jsonl:3: text: expected text, found nothing"
    )


@pytest.mark.parametrize("deep", ['{"a":' * 300 + "1" + "}" * 300, "[" * 300 + "]" * 300])
def test_metadata_that_no_file_could_hold_again(tmp_path: Path, deep: str) -> None:
    documents, problems = read(tmp_path, f'{{"id":"a","text":"t","x":{deep}}}\n{{"id":"b","text":"t","x":[[{{}}]]}}')
    assert [document.id for document in documents] == ["b"]
    assert problems == ["a.jsonl:1: nested too deeply"]
