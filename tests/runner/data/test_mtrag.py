"""Rated answers, read from a folder in the form of the human evaluation of MTRAG."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.data.labels import read_labels
from runner.data.problems import ProblemLog
from runner.data.ratings import RatedAnswer, RatingSpec, Scale
from runner.errors import CorpusError, DataError
from runner.records import Context, Turn
from tests.small_data import write_jsonl

CORPUS = [
    {"id": "d1", "title": "Moon", "text": "27 days.", "lang": "en"},
    {"id": "d2", "title": "", "text": "달", "lang": "ko"},
]
RESPONSE: dict[str, Any] = {
    "id": "t1|gpt",
    "task_id": "t1",
    "model": "gpt",
    "conversation": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "How long?"},
    ],
    "context_ids": ["d1"],
    "response": "27 days",
    "annotations": {
        "faithfulness": {"p1": {"value": "4", "timestamp": 1.0}, "p2": {"value": 1}},
        "appropriateness": {"p1": {"value": "3"}},
        "RougeL": {"system": {"value": 0.7}},
    },
}
NAMES = {"faithfulness": "faithfulness", "answer_relevancy": "appropriateness"}


def read(folder: Path, *responses: Any, scale: Scale | None = None) -> tuple[list[RatedAnswer], list[str]]:
    write_jsonl(folder / "corpus.jsonl", CORPUS)
    (folder / "responses.jsonl").write_text("".join(json.dumps(each) + "\n" for each in responses), encoding="utf-8")
    log = ProblemLog()
    labels = read_labels(str(folder), RatingSpec(NAMES, scale), log)
    return list(labels.answers), [str(problem).removeprefix(f"{folder}/") for problem in log.problems]


def test_a_response(tmp_path: Path) -> None:
    (answer,), problems = read(tmp_path, RESPONSE)
    assert answer == RatedAnswer(
        id="t1|gpt",
        question="How long?",
        answer="27 days",
        contexts=(Context("d1", "27 days.", "Moon"),),
        ratings={"faithfulness": (1.0, 0.0), "answer_relevancy": (pytest.approx(2 / 3),)},
        group="t1",
        system="gpt",
        language="en",
        history=(Turn("user", "Hi"), Turn("assistant", "Yes?")),
    )
    assert problems == []


def test_contexts_in_two_languages_do_not_tell_that_of_the_question(tmp_path: Path) -> None:
    (answer, bare), _ = read(
        tmp_path, RESPONSE | {"context_ids": ["d1", "d2"]}, RESPONSE | {"id": "x", "context_ids": []}
    )
    assert (answer.language, bare.language, bare.contexts) == (None, None, ())


def test_references_are_read_where_correctness_is_asked_for(tmp_path: Path) -> None:
    names = {"answer_correctness": "appropriateness"}
    write_jsonl(tmp_path / "corpus.jsonl", CORPUS)
    write_jsonl(tmp_path / "responses.jsonl", [RESPONSE | {"reference": ["27 d"]}, RESPONSE | {"id": "bare"}])
    log = ProblemLog()
    (answer,) = read_labels(str(tmp_path), RatingSpec(names, None), log).answers
    assert (answer.id, answer.fields) == ("t1|gpt", {"references": ("27 d",)})
    assert "reference: expected a list of texts, since answer_correctness is asked for" in str(log.problems[0])


def test_another_scale(tmp_path: Path) -> None:
    (answer,), _ = read(tmp_path, RESPONSE, scale=Scale(0, 4))
    assert answer.ratings["faithfulness"] == (1.0, 0.25)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"conversation": []}, "conversation: expected a list of turns that ends with one of the user"),
        (
            {"conversation": RESPONSE["conversation"][:2]},
            "conversation: expected a list of turns that ends with one of the user",
        ),
        ({"conversation": [{"role": "user"}]}, "conversation[0].text: expected text, found nothing"),
        ({"context_ids": ["d1", "d9"]}, "context_ids[1]: no document of corpus.jsonl has the id 'd9'"),
        ({"response": 1}, "response: expected text, found number 1"),
        ({"response": None}, "response: expected text, found null"),
        ({"task_id": ""}, 'task_id: expected text that is not blank, found text ""'),
        ({"annotations": []}, "annotations: expected an object, found an empty list"),
        (
            {"annotations": {"faithfulness": 4}},
            'annotations.faithfulness: expected {person: {"value"}}, found number 4',
        ),
        (
            {"annotations": {"faithfulness": {"p1": {"value": "good"}}}},
            'annotations.faithfulness: expected a number or a list of numbers, found text "good"',
        ),
        (
            {"annotations": {"faithfulness": {"p1": {"value": "5"}}}},
            "annotations.faithfulness: expected a number from 1 to 4, found number 5.0",
        ),
    ],
)
def test_a_bad_line_is_left_out_and_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    answers, problems = read(tmp_path, RESPONSE | change, RESPONSE | {"id": "good"})
    assert [answer.id for answer in answers] == ["good"]
    assert problems == [f"responses.jsonl:1: {problem}"]


def test_a_repeated_id(tmp_path: Path) -> None:
    answers, problems = read(tmp_path, RESPONSE, RESPONSE)
    assert len(answers) == len(problems) == 1


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"LABELS: file not found: .*corpus\.jsonl"):
        read_labels(str(tmp_path), RatingSpec(NAMES), ProblemLog())
    write_jsonl(tmp_path / "corpus.jsonl", CORPUS)
    with pytest.raises(DataError, match=r"LABELS: file not found: .*responses\.jsonl"):
        read_labels(str(tmp_path), RatingSpec(NAMES), ProblemLog())
