"""Rated answers, read from JSON Lines."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from runner.commands.calibrate.judging import fields_by_rubric
from runner.data.labels import Labels, read_labels
from runner.data.problems import ProblemLog
from runner.data.ratings import RatingSpec, Scale
from runner.errors import DataError
from runner.records import Context, Turn

BOTH = {"faithfulness": "faithfulness", "answer_relevancy": "answer_relevancy"}
GOOD: dict[str, Any] = {
    "id": "a",
    "question": "요금은?",
    "answer": "월 4달러입니다.",
    "contexts": ["요금은 월 4달러."],
    "ratings": {"faithfulness": 1},
}


def read(folder: Path, *lines: Any, scale: Scale | None = None, **names: str) -> tuple[Labels, list[str]]:
    path = folder / "라벨.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    log = ProblemLog()
    labels = read_labels(str(path), RatingSpec(names or BOTH, scale, fields_by_rubric(names or BOTH, {})), log)
    assert labels.problems == log.problems
    return labels, [str(problem).removeprefix(f"{folder}/") for problem in log.problems]


def test_everything_that_a_rated_answer_may_have(tmp_path: Path) -> None:
    turns = [{"role": "user", "text": "안녕?"}, {"role": "assistant", "content": "네."}]
    line = {
        **GOOD,
        "contexts": ["하나", {"id": "d#2", "title": "둘째", "text": "둘"}],
        "ratings": {"faithfulness": [4, 3, None, 1], "answer_relevancy": 2.5, "tone": "whatever"},
        "history": turns,
        "language": "ko",
        "system": "s1",
        "group": "g1",
        "note": {"free": True},
    }
    labels, problems = read(tmp_path, line, scale=Scale(1, 4))
    (answer,) = labels.answers
    assert problems == []
    assert answer.ratings == {"faithfulness": (1.0, pytest.approx(2 / 3), 0.0), "answer_relevancy": (0.5,)}
    assert answer.contexts == (Context("context-1", "하나"), Context("d#2", "둘", "둘째"))
    assert answer.history == (Turn("user", "안녕?"), Turn("assistant", "네."))
    assert (answer.language, answer.system, answer.group) == ("ko", "s1", "g1")
    assert labels.rubrics == ("faithfulness", "answer_relevancy")


def test_a_rubric_has_the_fields_that_it_sees(tmp_path: Path) -> None:
    line = {
        "id": "m",
        "question": "예산은?",
        "memory": "예산 1억",
        "entities": "",
        "note": "x",
        "ratings": {"memory": 1},
    }
    without = {name: value for name, value in line.items() if name != "entities"} | {"id": "n"}
    labels, problems = read(
        tmp_path, line | {"stale": ["2억"]}, line | {"id": "o", "stale": "2억"}, without, memory="memory"
    )
    (answer,) = labels.answers
    assert answer.fields == {"memory": "예산 1억", "entities": "", "stale": ["2억"]} and answer.answer == ""
    assert problems == [
        '라벨.jsonl:2: stale: expected a list, since memory is rated, found text "2억"',
        "라벨.jsonl:3: entities: expected text, since memory is rated, found nothing",
    ]


def test_a_rubric_of_ones_own_sees_everything(tmp_path: Path) -> None:
    line = GOOD | {"ratings": {"tone": 1}, "mood": "kind", "note": {"free": True}}
    labels, _ = read(tmp_path, line, tone="tone")
    assert labels.answers[0].fields == {"mood": "kind", "note": {"free": True}}


def test_correctness_is_rated_of_what_has_answers_that_are_known_to_be_right(tmp_path: Path) -> None:
    rated = {**GOOD, "ratings": {"answer_correctness": 1}}
    lines = [{**rated, "answers": ["월 4달러", "4달러"]}, {**rated, "id": "b"}, {**rated, "id": "c", "answers": []}]
    labels, problems = read(tmp_path, *lines, answer_correctness="answer_correctness")
    assert [answer.fields["references"] for answer in labels.answers] == [["월 4달러", "4달러"]]
    wanted = "expected a list of texts, since answer_correctness is rated"
    assert [problem.partition(": ")[2].partition(", found")[0] for problem in problems] == [f"answers: {wanted}"] * 2
    other, _ = read(tmp_path, {**rated, "answers": ["월 5달러"]}, answer_correctness="answer_correctness")
    assert other.fingerprint != labels.fingerprint


def test_answers_to_one_question_are_one_group(tmp_path: Path) -> None:
    after = {"history": [{"role": "user", "text": "x"}]}
    lines = [
        GOOD,
        GOOD | {"id": "b", "answer": ""},
        GOOD | {"id": "c"} | after,
        GOOD | {"id": "d", "question": "언제?"},
    ]
    labels, _ = read(tmp_path, *lines)
    first, second, third, fourth = (answer.group for answer in labels.answers)
    assert first == second
    assert len({first, third, fourth}) == 3


def test_answers_to_one_question_for_all_are_grouped_by_document(tmp_path: Path) -> None:
    one = [GOOD | {"id": str(n), "group": "", "contexts": [f"document {n // 2}"]} for n in range(6)]
    labels, _ = read(tmp_path, *one)
    assert len({answer.group for answer in labels.answers}) == 3
    assert labels.answers[0].group == labels.answers[1].group != labels.answers[2].group
    for other in ({"id": "6", "question": "언제?"}, {"id": "6", "group": "g"}):
        labels, _ = read(tmp_path, *one, GOOD | {"group": ""} | other)
        assert len({answer.group for answer in labels.answers[:6]}) == 1
    labels, _ = read(tmp_path, *(line | {"contexts": ["the only one"]} for line in one))
    assert len({answer.group for answer in labels.answers}) == 1


def test_ratings_under_other_names_and_those_that_nobody_asked_for(tmp_path: Path) -> None:
    lines = [
        GOOD | {"ratings": {"grounded": 0.5, "tone": 9}},
        GOOD | {"id": "b", "ratings": {"tone": 9}},
        {"id": "c", "question": "q", "answer": "a", "ratings": {"useful": [1, 0]}},
    ]
    labels, problems = read(tmp_path, *lines, faithfulness="grounded", answer_relevancy="useful")
    assert [(answer.id, dict(answer.ratings)) for answer in labels.answers] == [
        ("a", {"faithfulness": (0.5,)}),
        ("c", {"answer_relevancy": (1.0, 0.0)}),
    ]
    assert problems == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": None}, "id: expected text, found nothing"),
        ({"question": " "}, 'question: expected text that is not blank, found text " "'),
        ({"answer": None}, "answer: expected text, since faithfulness is rated, found null"),
        ({"answer": 3}, "answer: expected text, found number 3"),
        ({"contexts": None}, "contexts: expected a list, since faithfulness is rated, found null"),
        ({"contexts": [1]}, 'contexts[0]: expected text or {"id", "text"}, found number 1'),
        ({"ratings": None}, "ratings: expected {rubric: a number or a list of numbers}, found null"),
        ({"ratings": {}}, "ratings: expected {rubric: a number or a list of numbers}, found an object"),
        ({"ratings": 3}, "ratings: expected {rubric: a number or a list of numbers}, found number 3"),
        (
            {"ratings": {"faithfulness": "4"}},
            "ratings.faithfulness: expected a number or a list of numbers, found text",
        ),
        (
            {"ratings": {"faithfulness": [True]}},
            "ratings.faithfulness: expected a number or a list of numbers, found true",
        ),
        ({"ratings": {"faithfulness": [1, 5]}}, "ratings.faithfulness: expected a number from 1 to 4, found number 5"),
        ({"history": "hi"}, 'history: expected a list, found text "hi"'),
    ],
)
def test_a_bad_line_is_left_out_and_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    line = {name: value for name, value in (GOOD | change).items() if value is not None or name != "id"}
    labels, problems = read(tmp_path, line, GOOD | {"id": "b"}, scale=Scale(1, 4))
    assert [answer.id for answer in labels.answers] == ["b"]
    (found,) = problems
    assert found.startswith(f"라벨.jsonl:1: {problem}")


def test_a_repeated_id_and_a_misspelt_key(tmp_path: Path) -> None:
    labels, problems = read(tmp_path, GOOD | {"sytem": "x"}, GOOD)
    assert len(labels.answers) == 1
    assert problems[0] == "라벨.jsonl:1: sytem: unknown, ignored; did you mean 'system'?"
    assert problems[1].startswith("라벨.jsonl:2: id: 'a' is already the id at ")


def test_ratings_beyond_one_need_a_scale(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, GOOD, GOOD | {"id": "b", "ratings": {"faithfulness": [1, 4]}})
    assert str(caught.value) == (
        f"{tmp_path}/라벨.jsonl:2: ratings.faithfulness: 4 is not within 0..1; "
        "give the scale of the ratings, such as scale=1,5"
    )


def test_nothing_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, GOOD, GOOD | {"id": "b", "ratings": 4}, faithfulness="grounded")
    path = tmp_path / "라벨.jsonl"
    assert str(caught.value) == (
        f"LABELS: no answer in {path} has a rating called grounded; its lines have errors:\n"
        f"  {path}:2: ratings: expected {{rubric: a number or a list of numbers}}, found number 4"
    )


@pytest.mark.parametrize("path", ["nowhere.jsonl", "~no-such-user.jsonl"])
def test_no_file(path: str) -> None:
    with pytest.raises(DataError, match=rf"^LABELS: file not found: {re.escape(path)}$"):
        read_labels(path, RatingSpec(BOTH), ProblemLog())


def test_a_strict_reader_stops_at_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(GOOD) + "\nnonsense\n", encoding="utf-8")
    with pytest.raises(DataError, match="1 error in the data files"):
        read_labels(str(path), RatingSpec(BOTH), ProblemLog(strict=True))


def test_the_fingerprint_covers_what_is_judged_and_what_people_said(tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"question": "언제?"},
        {"answer": "5달러"},
        {"contexts": ["요금은 월 5달러."]},
        {"ratings": {"faithfulness": 0}},
        {"history": [{"role": "user", "text": "x"}]},
        {"group": "g"},
        {"system": "s"},
    ]
    assert len({read(tmp_path, GOOD | change)[0].fingerprint for change in changes}) == len(changes)
    assert read(tmp_path, GOOD | {"note": 1})[0].fingerprint == read(tmp_path, GOOD)[0].fingerprint


@pytest.mark.parametrize(
    ("scale", "steps"),
    [(Scale(1, 4), 3), (Scale(0, 1), None), (Scale(0, 2), 2), (Scale(0, 100), None), (Scale(0, 2.5), None)],
)
def test_scales_of_a_few_whole_numbers_have_steps(scale: Scale, steps: int | None) -> None:
    assert scale.steps == steps
