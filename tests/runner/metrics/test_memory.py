"""What a memory still holds, by hand."""

from dataclasses import astuple

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.memory import (
    CRITERIA,
    Recall,
    evidence_recall,
    find_facts,
    leakage,
    lost_at,
    n_sentences,
    overall,
    retention,
    shows,
    wilson,
)

MEMORY = "사용자는 AWS 주력. 예산은 1억에서 1.5억으로 늘었다. RI 커버리지는 60%."
SCORE = st.floats(0, 10)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((10, 10, 10, 0), 100.0),
        ((0, 0, 0, 10), 0.0),
        ((0, 0, 0, 0), 10.0),
        ((8, 6, 9, 3), 75.5),  # 28 + 18 + 22.5 + 7
        ((10, 0, 0, 10), 35.0),
        ((0, 10, 0, 10), 30.0),
        ((0, 0, 10, 10), 25.0),
    ],
)
def test_overall(scores: tuple[float, float, float, float], expected: float) -> None:
    assert overall(*scores) == pytest.approx(expected)
    assert CRITERIA == ("relevance", "completeness", "accuracy", "noise")


@given(SCORE, SCORE, SCORE, SCORE, st.floats(0, 1), st.integers(0, 3))
def test_overall_is_bounded_and_rises_with_all_but_noise(
    relevance: float, completeness: float, accuracy: float, noise: float, more: float, which: int
) -> None:
    scores = [relevance, completeness, accuracy, noise]
    before = overall(*scores)
    scores[which] = min(10, scores[which] + more)
    change = overall(*scores) - before
    assert -1e-9 <= before <= 100 + 1e-9
    assert (change <= 1e-9) if which == 3 else (change >= -1e-9)


def test_facts() -> None:
    facts = [("AWS",), ("2억", "1.5억"), ("GCP",)]
    assert find_facts(MEMORY, facts) == [True, True, False]
    assert find_facts(MEMORY, []) == []
    assert find_facts("", facts) == [False] * 3
    assert shows(MEMORY, ("60%",))
    assert find_facts("출시는 5월 20일.", [("5월",)]) == [True]
    assert find_facts("출시는 5월 20일.", [("5월",)], besides=[("5월 20일",)]) == [False]


@given(st.lists(st.sampled_from(["AWS", "GCP", "1억", "60%"])), st.text(max_size=20))
def test_more_text_shows_no_fewer_facts(names: list[str], more: str) -> None:
    facts = [(name,) for name in names]
    before, after = find_facts(MEMORY, facts), find_facts(f"{MEMORY}\n{more}", facts)
    assert all(now for was, now in zip(before, after, strict=True) if was)


def test_evidence_recall() -> None:
    known = {"D1:1", "D1:2", "D2:1"}
    assert evidence_recall(["D1:1", "D2:1"], known, ["D1:1", "D1:2"]) == 0.5
    assert evidence_recall(["D1:1", "D9:9", "D1:1"], known, {"D1:1"}) == 1.0  # one that exists, named twice
    assert evidence_recall(["D9:9"], known, {"D9:9"}) is None
    assert evidence_recall([], known, known) is None


def test_leakage() -> None:
    assert leakage(["말씀하신 금액은 보라고래님의", "…"], ["보라고래"]) == 1.0
    assert leakage(["…", "보라고래"], ["보라고래"]) == 1.0
    assert leakage(["파란고래"], ["보라고래", "4321"]) == 0.0
    assert leakage(["보라고래"], []) is None


def test_sentences() -> None:
    assert (n_sentences(MEMORY), n_sentences(""), n_sentences("v0.4는 $10,000입니다")) == (3, 0, 1)


def test_retention() -> None:
    recalls = [Recall(0, 0, True), Recall(4, 0, False), Recall(5, 1, True), Recall(49, 2, True), Recall(50, 4, False)]
    found = retention([*recalls, Recall(100, 5, True), Recall(2000, 70, False)])
    turns = {each.label: (each.n, each.share) for each in found["turns"]}
    assert turns == {
        "0-4": (2, 0.5),
        "5-9": (1, 1),
        "10-19": (0, None),
        "20-49": (1, 1),
        "50-99": (1, 0),
        "100+": (2, 0.5),
    }
    updates = {each.label: (each.n, each.share) for each in found["updates"]}
    assert updates == {"0": (2, 0.5), "1": (1, 1), "2": (1, 1), "3-4": (1, 0), "5+": (2, 0.5)}
    assert astuple(found["turns"][2]) == ("10-19", 0, None, None, None)
    # Wilson by hand for 1 of 2: 1/2 -+ z sqrt(1/8 + z²/16) / (1 + z²/2), with z² = 3.8415
    assert (found["turns"][0].low, found["turns"][0].high) == pytest.approx((0.0945, 0.9055), abs=1e-4)


@given(st.lists(st.builds(Recall, st.integers(0, 300), st.integers(0, 20), st.booleans())))
def test_every_recall_is_in_one_bin(recalls: list[Recall]) -> None:
    for bins in retention(recalls).values():
        assert sum(each.n for each in bins) == len(recalls)
        assert sum(round((each.share or 0) * each.n) for each in bins) == sum(each.present for each in recalls)


@given(st.integers(1, 400), st.data())
def test_wilson_as_scipy_has_it(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    expected = scipy.stats.binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_wilson_of_nothing() -> None:
    assert wilson(0, 0) == (None, None)


@pytest.mark.parametrize(
    ("answerable", "refused", "readable", "right", "stale", "place"),
    [
        (False, True, None, True, False, "none"),
        (False, False, None, False, False, "made_up"),
        (True, False, True, True, True, "none"),  # the old value beside the new one
        (True, False, False, True, False, "none"),
        (True, False, False, False, True, "forgotten"),
        (True, True, False, False, False, "forgotten"),
        (True, True, True, False, False, "refused_known"),
        (True, True, None, False, False, "refused_known"),
        (True, False, True, False, True, "stale_answer"),
        (True, False, True, False, False, "unused"),
        (True, False, None, False, False, "unused"),
    ],
)
def test_where_a_probe_was_lost(
    answerable: bool, refused: bool, readable: bool | None, right: bool, stale: bool, place: str
) -> None:
    assert lost_at(answerable=answerable, refused=refused, readable=readable, right=right, stale=stale) == place
