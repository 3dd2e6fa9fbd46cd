import json
from pathlib import Path
from typing import Any

import pytest

from plugins.dataset.squad import SquadDataset
from runner.errors import CorpusError, DataError
from runner.records import DataSet, Query, Span

SEOUL = "서울은 대한민국의 수도이다. 서울에는 한강이 흐른다."
RIVER = "한강은 강이다."


def article(title: str, **questions: list[dict[str, Any]]) -> dict[str, Any]:
    return {"title": title, "paragraphs": [{"context": text, "qas": qas} for text, qas in questions.items()]}


def question(id: str, *answers: tuple[str, int], **extra: Any) -> dict[str, Any]:
    return {"id": id, "question": f"{id}?", "answers": [{"text": t, "answer_start": s} for t, s in answers]} | extra


def load(path: Path, *articles: dict[str, Any], **settings: Any) -> tuple[DataSet, list[str]]:
    file = path / "s.json"
    file.write_text(json.dumps({"version": "1", "data": articles}), encoding="utf-8")
    data = SquadDataset(**({"path": str(file)} | settings)).load()
    return data, [str(problem).replace(f"{path}/", "") for problem in data.problems]


def test_paragraphs_are_documents_and_answers_are_spans(tmp_path: Path) -> None:
    data, problems = load(
        tmp_path,
        article(
            "서울",
            **{
                SEOUL: [question("a", ("서울", 0)), question("b", ("한강", 21), ("한강", 21), ("한강이", 21))],
                RIVER: [],
            },
        ),
        article("서울", **{"둘째 글": [question("c", ("글", 3))]}),
        language="ko",
    )
    assert [(document.id, document.title, document.language) for document in data.corpus.documents] == [
        ("서울/0", "서울", "ko"),
        ("서울/1", "서울", "ko"),
        ("서울/2", "서울", "ko"),
    ]
    assert data.queries == (
        Query("a", "a?", True, {"서울/0": 1}, (), (Span("서울/0", 0, 2, "서울"),), ("서울",), "ko", group="서울"),
        Query(
            "b",
            "b?",
            True,
            {"서울/0": 1},
            (),
            (Span("서울/0", 21, 23, "한강"), Span("서울/0", 21, 24, "한강이")),
            ("한강", "한강이"),
            "ko",
            group="서울",
        ),
        Query("c", "c?", True, {"서울/2": 1}, (), (Span("서울/2", 3, 4, "글"),), ("글",), "ko", group="서울"),
    )
    assert problems == []


def test_impossible_questions_are_unanswerable(tmp_path: Path) -> None:
    impossible = question("a", is_impossible=True, plausible_answers=[{"text": "서울", "answer_start": 0}])
    possible = question("b", ("서울", 0), is_impossible=False)
    data, problems = load(tmp_path, article("t", **{SEOUL: [impossible, possible]}))
    assert [(query.answerable, dict(query.relevance), query.answers) for query in data.queries] == [
        (False, {}, ()),
        (True, {"t/0": 1}, ("서울",)),
    ]
    assert problems == []


def test_answers_that_stand_elsewhere_are_found(tmp_path: Path) -> None:
    data, problems = load(tmp_path, article("t", **{SEOUL: [question("a", ("한강", 3)), question("b", ("부산", 0))]}))
    assert [query.expected_spans[0].start for query in data.queries] == [21, 0]
    assert problems == ["s.json: expected_spans[0]: 't/0' does not contain the text '부산' (query 'b')"]


def test_what_is_wrong_is_named_by_its_place(tmp_path: Path) -> None:
    bad_answer = {"id": "a", "question": "?", "answers": [{"text": 5}]}
    bad_flag = question("b", ("서울", 0), is_impossible="no")
    data, problems = load(
        tmp_path,
        article("t", **{SEOUL: [bad_answer, bad_flag, 7, question("c"), question("c")], "": [question("lost")]}),  # type: ignore[list-item]
    )
    assert [query.id for query in data.queries] == ["c"]
    place = "s.json: data[0].paragraphs[0]"
    assert problems == [
        f"{place}.qas[0].answers[0].text: expected text that is not blank, found number 5",
        f'{place}.qas[1].is_impossible: expected true or false, found text "no"',
        f"{place}.qas[2]: expected an object, found number 7",
        f"{place}.qas[4].id: 'c' is already the id at s.json, data[0].paragraphs[0].qas[3]; the first one counts",
        's.json: data[0].paragraphs[1].context: expected text that is not blank, found text ""',
    ]


def test_several_files_are_one_corpus(tmp_path: Path) -> None:
    paths = [tmp_path / "1.json", tmp_path / "2.json"]
    for n, path in enumerate(paths):
        content = {"data": [article("t", **{SEOUL: [question(str(n), ("부산", 0))]})]}
        path.write_bytes(b"\xef\xbb\xbf" + json.dumps(content).encode())
    data = SquadDataset(path=[str(path) for path in paths]).load()
    assert [dict(query.relevance) for query in data.queries] == [{"t/0": 1}, {"t/1": 1}]
    assert [problem.path for problem in data.problems] == [str(path) for path in paths]


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"{", DataError, ": not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        (b'{"data":\n"\xff"}', DataError, ": not UTF-8: byte 0xff at offset 10 of the file"),
        (b"[]", DataError, ' is not SQuAD data: expected an object with a list "data"'),
        (b'{"data":{}}', DataError, ' is not SQuAD data: expected an object with a list "data"'),
    ],
)
def test_files_that_are_no_squad_data(tmp_path: Path, content: bytes, error: type[Exception], message: str) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(content)
    with pytest.raises(error) as raised:
        SquadDataset(path=str(path)).load()
    assert str(raised.value) == f"dataset.path: {path}{message}"


def test_files_without_paragraphs_or_questions(tmp_path: Path) -> None:
    with pytest.raises(CorpusError) as raised:
        load(tmp_path)
    assert str(raised.value) == f"dataset.path: no paragraphs in {tmp_path}/s.json"
    with pytest.raises(DataError) as no_questions:
        load(tmp_path, article("t", **{SEOUL: []}))
    assert str(no_questions.value) == f"dataset.path: no questions in {tmp_path}/s.json"


def test_a_file_that_is_given_twice_counts_its_questions_once(tmp_path: Path) -> None:
    load(tmp_path, article("t", **{SEOUL: [question("a")]}))
    data = SquadDataset(path=[str(tmp_path / "s.json")] * 2).load()
    assert [query.id for query in data.queries] == ["a"]
    assert len(data.problems) == 1


def test_no_file_at_all() -> None:
    with pytest.raises(CorpusError) as raised:
        SquadDataset(path=[]).load()
    assert str(raised.value) == "dataset.path: no paragraphs in an empty list of files"


def test_a_missing_file() -> None:
    with pytest.raises(CorpusError) as raised:
        SquadDataset(path="gone.json").load()
    assert str(raised.value) == "dataset.path: file not found: gone.json"


def test_half_a_character_is_replaced_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"data":[{"title":"t","paragraphs":[{"context":"x\\ud800","qas":[{"id":"a","question":"?"}]}]}]}')
    data = SquadDataset(path=str(path)).load()
    assert data.corpus.documents[0].text == "x\ufffd"
    assert [problem.severity for problem in data.problems] == ["warning"]


def test_strict_stops_at_bad_questions(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1 error in the data files"):
        load(tmp_path, article("t", **{SEOUL: [question("a"), {"id": "b"}]}), strict=True)


def test_what_is_missing_is_told_by_its_setting(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    problems = SquadDataset(path=[f"{tmp_path}/here", f"{tmp_path}/gone"]).preflight()
    assert [str(problem) for problem in problems] == [f"dataset.path: file not found: {tmp_path}/gone"]
