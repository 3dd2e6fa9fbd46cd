"""Four grades and what code makes of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.llm.graded import is_empty, judge_empty, make_judgement, merge_details, read
from runner.metrics.memory import CRITERIA, overall
from runner.records import Judgement


def reply(**scores: Any) -> dict[str, Any]:
    said = {name: {"score": 5, "reason": f"r-{name}"} for name in CRITERIA}
    return {
        "overall_score": 99,
        "scores": {**said, **scores},
        "helpful_info": ["a", " ", 3],
        "missing_info": ["b"],
        "summary": " so ",
    }


def test_what_a_reply_says() -> None:
    noise = {"score": 3, "reason": "lunch", "types": ["off_topic", "off_topic", "weather"]}
    accuracy = {"score": 9.0, "reason": "old", "types": ["시점 오류", "number"]}
    found = read(
        reply(
            relevance={"score": 8, "reason": "on it"},
            completeness={"score": 6, "reason": ""},
            accuracy=accuracy,
            noise=noise,
        ),
        "en",
    )
    assert found.score == pytest.approx(0.755)
    assert found.reasoning == "so (relevance 8: on it; completeness 6: ; accuracy 9: old; noise 3: lunch)"
    assert found.details == {
        "scores": {
            "relevance": {"score": 8.0, "reason": "on it"},
            "completeness": {"score": 6.0, "reason": ""},
            "accuracy": {"score": 9.0, "reason": "old", "types": ["time", "number"]},
            "noise": {"score": 3.0, "reason": "lunch", "types": ["off_topic"]},
        },
        "overall": pytest.approx(75.5),
        "helpful_info": ["a"],
        "missing_info": ["b"],
        "summary": "so",
        "empty": False,
    }


@pytest.mark.parametrize(("said", "score"), [(10 + 1e-12, 10.0), (-0.0, 0.0), (7.25, 7.25), ("8", 8.0), (0, 0.0)])
def test_grades_are_numbers_from_0_to_10(said: float | str, score: float) -> None:
    assert read(reply(relevance={"score": said}), "ko").details["scores"]["relevance"]["score"] == score


def test_grades_outside_of_their_range_are_clamped_and_named_where_that_is_asked_for() -> None:
    clamped: dict[str, float] = {}
    judgement = read(reply(relevance={"score": 85}, noise={"score": -1}), "ko", clamped=clamped)
    assert clamped == {"scores.relevance.score": 85.0, "scores.noise.score": -1.0}
    assert [judgement.details["scores"][name]["score"] for name in ("relevance", "noise")] == [10.0, 0.0]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"summary": "x"}, "scores: expected an object, got None"),
        ({"scores": [1, 2, 3, 4]}, "scores: expected an object, got [1, 2, 3, 4]"),
        (reply(noise=None), "scores.noise: expected an object, got None"),
        (reply(noise=3), "scores.noise: expected an object, got 3"),
        (reply(relevance={"reason": "x"}), "scores.relevance.score: expected a number, got None"),
        (reply(relevance={"score": "high"}), "scores.relevance.score: expected a number, got 'high'"),
        (reply(relevance={"score": 11}), "scores.relevance.score: expected a number from 0 to 10, got 11"),
        (reply(noise={"score": -0.51}), "scores.noise.score: expected a number from 0 to 10, got -0.51"),
        (reply(relevance={"score": True}), "scores.relevance.score: expected a number, got True"),
        (reply(accuracy={"score": float("nan")}), "scores.accuracy.score: expected a finite number, got nan"),
        (reply(accuracy={"score": float("inf")}), "scores.accuracy.score: expected a finite number, got inf"),
    ],
)
def test_what_is_no_grade(said: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError) as raised:
        read(said, "en")
    assert str(raised.value) == reason


def test_words_of_another_kind_are_left_out() -> None:
    said = {**reply(accuracy={"score": 1, "reason": 7, "types": "time"}), "helpful_info": "a", "summary": None}
    found = read(said, "en").details
    assert found["scores"]["accuracy"] == {"score": 1.0, "reason": "", "types": []}
    assert (found["helpful_info"], found["missing_info"], found["summary"]) == ([], ["b"], "")


@pytest.mark.parametrize(
    ("memory", "entities", "expected"),
    [
        ("", " \n", True),
        ("(메모리 없음)", "", True),
        ("(no memory)", "(none)", True),
        ("—", "", True),
        ("없음", "budget: 1억", False),
        ("예산 없음", "", False),
        ("none of them", "", False),
    ],
)
def test_empty(memory: str, entities: str, expected: bool) -> None:
    assert is_empty(memory, entities) is expected


def test_an_empty_memory_has_10_of_100() -> None:
    found = judge_empty("ko")
    assert (found.score, found.reasoning) == (pytest.approx(0.1), "메모리가 비어 있습니다.")
    assert found.details["overall"] == pytest.approx(10.0) and found.details["empty"]
    assert {name: entry["score"] for name, entry in found.details["scores"].items()} == dict.fromkeys(CRITERIA, 0.0)


def judgement(*scores: float, types: tuple[str, ...] = ()) -> Judgement:
    entries = {name: {"score": score, "reason": "r"} for name, score in zip(CRITERIA, scores, strict=True)}
    return make_judgement(
        {**entries, "accuracy": {**entries["accuracy"], "types": list(types)}}, "s", "en", helpful=["h"]
    )


def test_several_as_one() -> None:
    votes = [
        judgement(10, 8, 6, 0, types=("time",)),
        Judgement(None, error="x"),
        judgement(4, 8, 2, 4, types=("state",)),
    ]
    found = merge_details(votes)
    assert {name: entry["score"] for name, entry in found["scores"].items()} == {
        "relevance": 7, "completeness": 8, "accuracy": 4, "noise": 2,
    }  # fmt: skip
    assert found["scores"]["accuracy"]["types"] == ["time", "state"]
    assert found["overall"] == pytest.approx(66.5)  # 24.5 + 24 + 10 + 8
    assert (found["helpful_info"], found["summary"], found["empty"]) == (["h"], "s", False)
    assert merge_details([Judgement(1.0), Judgement(None, error="x")]) == {}


SCORES = st.lists(st.floats(0, 10), min_size=4, max_size=4)


@given(st.lists(SCORES, min_size=1, max_size=5))
def test_the_overall_of_the_means_is_the_mean_of_the_overalls(several: list[list[float]]) -> None:
    votes = [judgement(*scores) for scores in several]
    total = sum(overall(*scores) for scores in several) / len(several)
    assert merge_details(votes)["overall"] == pytest.approx(total)
    assert sum(vote.score or 0 for vote in votes) / len(votes) == pytest.approx(total / 100)
