import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from runner.data.problems import ProblemLog
from runner.data.queries import read_queries
from runner.errors import DataError
from runner.records import Context, GivenResults, Query, Span, Turn

GOOD: dict[str, Any] = {"id": "q", "query": "뭐?", "answerable": True, "expected_notes": ["a"]}


def read(path: Path, *lines: dict[str, Any] | str, strict: bool = False) -> tuple[list[Query], list[str]]:
    file = path / "q.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    file.write_text("\n".join(texts), encoding="utf-8")
    log = ProblemLog(strict=strict)
    queries = read_queries(str(file), "dataset.queries", log)
    return [query for _, query in queries], [str(problem).replace(f"{path}/", "") for problem in log.problems]


def test_team_and_domain_are_tags(tmp_path: Path) -> None:
    queries, problems = read(tmp_path, {**GOOD, "tags": ["x", "team:결제"], "team": "결제", "domain": "billing"})
    assert queries[0].tags == ("x", "team:결제", "domain:billing")
    assert problems == []


@pytest.mark.parametrize("written", ["yesterday", "2026-13-01", "", 1767312000])
def test_a_creation_time_that_is_none_is_an_error(tmp_path: Path, written: object) -> None:
    queries, problems = read(tmp_path, GOOD, {**GOOD, "id": "r", "created_at": written})
    assert [query.id for query in queries] == ["q"]
    expected = "text" if isinstance(written, int) else "a time such as 2026-03-01T09:00:00Z"
    found = "number 1767312000" if isinstance(written, int) else f'text "{written}"'
    assert problems == [f"q.jsonl:2: created_at: expected {expected}, found {found}"]


def test_the_least_that_a_query_has(tmp_path: Path) -> None:
    lines = (
        '{"id":"q-001","query":"우리 팀의 승인 프로세스는?","answerable":true,"expected_notes":["policies/a.md"]}',
        '{"id":"q-002","query":"지난주 점심 메뉴가 뭐였지?","answerable":false,"expected_notes":[]}',
        '{"id":"q-003","query":"?","answerable":false}',
    )
    assert read(tmp_path, *lines) == (
        [
            Query("q-001", "우리 팀의 승인 프로세스는?", True, {"policies/a.md": 1}),
            Query("q-002", "지난주 점심 메뉴가 뭐였지?", False, {}),
            Query("q-003", "?", False, {}),
        ],
        [],
    )


def test_a_question_is_a_query_by_another_name(tmp_path: Path) -> None:
    named = {"question" if name == "query" else name: value for name, value in GOOD.items()}
    queries, problems = read(tmp_path, named, {**GOOD, "id": "r", "query": " ", "question": "뭐?"})
    assert [query.text for query in queries] == ["뭐?"]
    assert problems == ['q.jsonl:2: query: expected text that is not blank, found text " "']


def test_everything_that_a_query_may_have(tmp_path: Path) -> None:
    line = GOOD | {
        "expected_notes": {"a": 2, "b": 0, "c": -1},
        "expected_chunks": ["a#0"],
        "expected_spans": [{"note": "a", "start": 1, "end": 3}, {"document": "a", "text": "x", "start": 0, "end": 1}],
        "answers": ["예", "yes"],
        "language": "ko",
        "difficulty": "mid",
        "tags": ["t1", "t2"],
        "created_at": "2026-01-02",
        "related_notes": ["z"],
        "plausible_answers": [],
    }
    assert read(tmp_path, line) == (
        [
            Query(
                "q",
                "뭐?",
                True,
                {"a": 2, "b": 0, "c": -1},
                ("a#0",),
                (Span("a", 1, 3), Span("a", 0, 1, "x")),
                ("예", "yes"),
                "ko",
                "mid",
                ("t1", "t2"),
            )
        ],
        [],
    )


def test_null_is_as_good_as_nothing(tmp_path: Path) -> None:
    names = ("expected_spans", "answers", "lang", "difficulty", "tags", "history", "ranking", "contexts", "answer")
    (query,), problems = read(tmp_path, GOOD | dict.fromkeys(names))
    assert query == Query("q", "뭐?", True, {"a": 1})
    assert problems == []


def test_ids_and_texts_become_nfc(tmp_path: Path) -> None:
    text = unicodedata.normalize("NFD", "가é")
    line = {
        "id": text,
        "query": text,
        "answerable": True,
        "expected_notes": {text: 1},
        "answers": [text],
        "tags": [text],
    }
    (query,), _ = read(tmp_path, line)
    assert query == Query("가é", "가é", True, {"가é": 1}, answers=("가é",), tags=("가é",))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": 5}, "id: expected text that is not blank, found number 5"),
        ({"query": ""}, 'query: expected text that is not blank, found text ""'),
        ({"answerable": "true"}, 'answerable: expected true or false, found text "true"'),
        ({"answerable": 1}, "answerable: expected true or false, found number 1"),
        ({"answerable": None}, "answerable: expected true or false, found null"),
        ({"expected_notes": "a"}, 'expected_notes: expected a list of notes or {note: grade}, found text "a"'),
        ({"expected_notes": ["a", 3]}, "expected_notes[1]: expected text, found number 3"),
        ({"expected_notes": {"a": True}}, "expected_notes: expected a whole number as the grade of 'a', found true"),
        (
            {"expected_notes": {"a": 1.5}},
            "expected_notes: expected a whole number as the grade of 'a', found number 1.5",
        ),
        (
            {"expected_notes": []},
            "expected_notes: an answerable question needs a gold note, known answers or the answer of a system",
        ),
        (
            {"expected_notes": {"a": 0}},
            "expected_notes: an answerable question needs a gold note, known answers or the answer of a system",
        ),
        ({"answerable": False}, "expected_notes: a question with answerable=false has no gold, found some"),
        (
            {"answerable": False, "expected_notes": [], "expected_chunks": ["a#0"]},
            "expected_chunks: a question with answerable=false has no gold, found some",
        ),
        ({"tags": "faq"}, 'tags: expected a list of texts, found text "faq"'),
        ({"answers": [42]}, "answers[0]: expected text, found number 42"),
        ({"language": 1}, "language: expected text, found number 1"),
        ({"expected_spans": {}}, "expected_spans: expected a list, found an object"),
        ({"expected_spans": [3]}, "expected_spans[0]: expected an object or text, found number 3"),
        ({"expected_spans": [{"note": "a"}]}, "expected_spans[0].start: expected start and end, or text"),
        ({"expected_spans": [{"start": 1, "text": "x"}]}, "expected_spans[0].start: expected start and end, or text"),
        (
            {"expected_spans": [{"start": 3, "end": 3}]},
            "expected_spans[0].end: expected more than start (3), found number 3",
        ),
        (
            {"expected_spans": [{"start": -1, "end": 3}]},
            "expected_spans[0].start: expected a whole number from 0, found number -1",
        ),
        (
            {"expected_spans": [{"start": 0, "end": True}]},
            "expected_spans[0].end: expected a whole number from 0, found true",
        ),
        (
            {"expected_notes": ["a", "b"], "expected_spans": ["x"]},
            "expected_spans[0].note: expected the note that the span is in, found nothing",
        ),
        ({"ranking": "a"}, 'ranking: expected a list, found text "a"'),
        (
            {"ranking": ["a", {"id": "b", "score": 1}]},
            'ranking[0]: expected either ids only or {"id", "score"} only, found text "a"',
        ),
        ({"ranking": [{"id": "b"}]}, "ranking[0].score: expected a number, found nothing"),
        ({"ranking": [{"id": "b", "score": "1"}]}, 'ranking[0].score: expected a number, found text "1"'),
        ({"ranking": [{"id": "b", "score": True}]}, "ranking[0].score: expected a number, found true"),
        ({"ranking": [{"score": 1}]}, "ranking[0].id: expected text, found nothing"),
        ({"contexts": [1]}, 'contexts[0]: expected text or {"id", "text"}, found number 1'),
        ({"contexts": [{"id": "x"}]}, "contexts[0].text: expected text, found nothing"),
        ({"answer": ["x"]}, "answer: expected text, found a list of 1"),
    ],
)
def test_bad_queries_are_left_out(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    queries, problems = read(tmp_path, GOOD | change, GOOD | {"id": "good"})
    assert [query.id for query in queries] == ["good"]
    assert problems == [f"q.jsonl:1: {problem}"]


@pytest.mark.parametrize("field", ["id", "query", "answerable", "expected_notes"])
def test_missing_fields(tmp_path: Path, field: str) -> None:
    line = {name: value for name, value in GOOD.items() if name != field}
    _, problems = read(tmp_path, line, GOOD | {"id": "good"})
    found = {"answerable": "expected true or false, found nothing"}.get(field, "expected text, found nothing")
    if field == "expected_notes":
        found = "an answerable question needs a gold note, known answers or the answer of a system"
    assert problems == [f"q.jsonl:1: {field}: {found}"]


def test_more_than_two_gold_notes_are_a_warning(tmp_path: Path) -> None:
    queries, problems = read(
        tmp_path,
        GOOD | {"expected_notes": ["a", "b"]},
        GOOD | {"id": "r", "expected_notes": ["a", "b", "c"]},
        GOOD | {"id": "s", "expected_notes": {"a": 1, "b": 1, "c": 0}},
    )
    assert len(queries) == 3
    assert problems == ["q.jsonl:2: expected_notes: 3 gold notes; more than 2 make a question ambiguous"]


def test_a_repeated_id_is_an_error_and_the_first_one_counts(tmp_path: Path) -> None:
    queries, problems = read(tmp_path, GOOD, GOOD | {"query": "again"})
    assert [query.text for query in queries] == ["뭐?"]
    assert problems == ["q.jsonl:2: id: 'q' is already the id at q.jsonl:1; the first one counts"]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("anwerable", "answerable"),
        ("expectedNotes", "expected_notes"),
        ("expected_span", "expected_spans"),
        ("Difficulty", "difficulty"),
        ("context", "contexts"),
        ("histroy", "history"),
    ],
)
def test_misspelt_keys(tmp_path: Path, key: str, meant: str) -> None:
    line: dict[str, Any] = {"id": "q", "query": "?", "answerable": False} | {key: None}
    if meant == "answerable":
        line.pop("answerable")
    _, problems = read(tmp_path, line, GOOD | {"id": "good"})
    assert problems[0] == f"q.jsonl:1: {key}: unknown, ignored; did you mean '{meant}'?"


def test_an_unknown_difficulty_is_kept_and_told_once(tmp_path: Path) -> None:
    lines = [GOOD | {"id": str(n), "difficulty": name} for n, name in enumerate(("hrad", "hrad", "mid", "medium"))]
    queries, problems = read(tmp_path, *lines)
    assert [query.difficulty for query in queries] == ["hrad", "hrad", "mid", "medium"]
    assert problems == [
        "q.jsonl:1: difficulty: unknown difficulty 'hrad', a slice of its own; expected easy, mid or hard"
    ]


def test_a_span_without_a_note_stands_in_the_only_gold_note(tmp_path: Path) -> None:
    (query,), _ = read(tmp_path, GOOD | {"expected_spans": ["quoted", {"start": 0, "end": 2}]})
    assert query.expected_spans == (Span("a", text="quoted"), Span("a", 0, 2))


def test_what_was_said_before_a_question(tmp_path: Path) -> None:
    said = unicodedata.normalize("NFD", "요금제는 두 가지입니다.")
    turns = [{"role": "user", "content": "요금제가 뭐가 있나요?", "at": 3}, {"role": "assistant", "text": said}]
    queries, problems = read(tmp_path, GOOD | {"history": turns}, GOOD | {"id": "r", "history": []})
    assert queries[0].history == (
        Turn("user", "요금제가 뭐가 있나요?"),
        Turn("assistant", "요금제는 두 가지입니다."),
    )
    assert queries[1].history == ()
    assert problems == []


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ("hello", 'history: expected a list, found text "hello"'),
        (["hello"], 'history[0]: expected an object with "role" and "text", found text "hello"'),
        ([{"role": "user"}], "history[0].text: expected text, found nothing"),
        ([{"role": "user", "content": 3}], "history[0].content: expected text that is not blank, found number 3"),
        ([{"role": "user", "text": " "}], 'history[0].text: expected text that is not blank, found text " "'),
        ([{"text": "hi"}], 'history[0].role: expected "user" or "assistant", found nothing'),
        (
            [{"role": "user", "text": "hi"}, {"role": "system", "text": "obey"}],
            'history[1].role: expected "user" or "assistant", found text "system"',
        ),
    ],
)
def test_a_history_that_is_none(tmp_path: Path, history: object, problem: str) -> None:
    queries, problems = read(tmp_path, GOOD | {"history": history}, GOOD | {"id": "good"})
    assert [query.id for query in queries] == ["good"]
    assert problems == [f"q.jsonl:1: {problem}"]


def test_what_another_system_returned(tmp_path: Path) -> None:
    queries, problems = read(
        tmp_path,
        GOOD | {"ranking": ["b", "a"], "contexts": ["one", {"id": "a#0", "text": "two", "title": "T"}], "answer": "예"},
        GOOD | {"id": "r", "ranking": [{"id": "x", "score": 0.5}, {"id": "b", "score": 2}, {"id": "a", "score": 2}]},
        GOOD | {"id": "s", "ranking": [], "contexts": [], "answer": ""},
    )
    assert [query.given for query in queries] == [
        GivenResults((("b", 1.0), ("a", 0.5)), (Context("context-1", "one"), Context("a#0", "two", "T")), "예"),
        GivenResults((("b", 2.0), ("a", 2.0), ("x", 0.5))),
        GivenResults((), (), ""),
    ]
    assert problems == []


def test_a_file_without_queries(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        read(tmp_path, "")
    assert str(raised.value) == f"dataset.queries: no queries in {tmp_path}/q.jsonl"
    with pytest.raises(DataError) as raised:
        read(tmp_path, {"id": "q"})
    assert str(raised.value).startswith(f"dataset.queries: no queries in {tmp_path}/q.jsonl; its lines have errors:\n")


def test_strict_stops_with_all_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        read(tmp_path, GOOD, "[]", GOOD, strict=True)
    assert str(raised.value) == (
        "2 errors in the data files (strict=true stops at them):\n"
        f"  {tmp_path}/q.jsonl:2: expected a JSON object, found an empty list\n"
        f"  {tmp_path}/q.jsonl:3: id: 'q' is already the id at {tmp_path}/q.jsonl:1; the first one counts"
    )
