from __future__ import annotations

from math import log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.domains.agent.coverage import Coverage, coverage_of, form_counts
from tests.corpora import corpus_of, workspace

A = "Budget alerts arrive by mail."
CORPUS = corpus_of({"a": A, "b": "Budget owners.", "c": "Mail servers.", "d": "달력"})
COVERAGE = Coverage(4, form_counts(CORPUS))
ONE, TWO, NONE = log(1 + 3.5 / 1.5), log(2), log(10)  # of a word that so many of the four chunks hold
QUESTION = "How do budget alerts arrive?"


def covered(question: str, text: str) -> tuple[float, float, tuple[str, ...]]:
    found = COVERAGE.of(COVERAGE.analyse(question), text)
    return found.coverage, found.confidence, found.missing


def test_words_weigh_more_the_fewer_chunks_hold_them() -> None:
    asked = COVERAGE.analyse("budget alerts unheard")
    assert asked.weights.tolist() == pytest.approx([TWO, ONE, NONE])


def test_words_are_counted_once(tmp_path: Path) -> None:
    first = coverage_of(CORPUS, workspace(tmp_path))
    (counted,) = tmp_path.glob("coverage/*/manifest.json")
    written = counted.stat().st_mtime_ns
    again = coverage_of(CORPUS, workspace(tmp_path))
    assert counted.stat().st_mtime_ns == written
    for coverage in (first, again):
        assert coverage.analyse("budget 달력은").weights.tolist() == pytest.approx([TWO, ONE])


def test_a_text_with_all_words_in_one_sentence_covers_all() -> None:
    assert covered(QUESTION, A) == (1.0, 1.0, ())


def test_what_is_missing_counts_by_its_weight() -> None:
    share = TWO / (TWO + 2 * ONE)
    assert covered(QUESTION, "Budget owners.") == (
        pytest.approx(share),
        pytest.approx(share / 0.5),
        ("alerts", "arrive"),
    )


def test_half_of_what_is_asked_is_enough() -> None:
    coverage, confidence, _ = covered(QUESTION, "Alerts come.")
    assert coverage < 0.5
    assert confidence == pytest.approx(2 * coverage)
    assert covered(QUESTION, "Alerts arrive.")[:2] == (pytest.approx(2 * ONE / (TWO + 2 * ONE)), 1.0)


def test_words_of_the_sentences_beside_count_half() -> None:
    best = (2 * ONE + TWO / 2) / (TWO + 2 * ONE)
    assert covered(QUESTION, "Budget. Alerts arrive.")[0] == pytest.approx((1 + best) / 2)
    assert covered(QUESTION, "Alerts arrive. Budget.")[0] == pytest.approx((1 + best) / 2)
    further = 2 * ONE / (TWO + 2 * ONE)
    assert covered(QUESTION, "Alerts arrive. Servers run. Budget.")[0] == pytest.approx((1 + further) / 2)


@pytest.mark.parametrize(
    ("question", "there", "elsewhere"),
    [
        ("Do AWS budget alerts arrive?", "Budget alerts of AWS arrive.", A),
        ("Did alerts arrive in 2024?", "Alerts arrive since 2024.", "Alerts arrive since 2023."),
        ("Does a budget of 12,500 send alerts?", "A budget of 12500 sends alerts.", "A budget of 99 sends alerts."),
        ("Which alerts do not arrive?", "At night alerts do not arrive.", "At night alerts arrive."),
        ("도착하지 않는 알림은?", "밤에는 알림이 도착하지 않습니다.", "밤에는 알림이 도착합니다."),
    ],
)
def test_other_names_figures_and_denials_speak_of_something_else(question: str, there: str, elsewhere: str) -> None:
    assert covered(question, there)[1] == 1.0
    assert covered(question, elsewhere)[1] <= 0.4


def test_a_small_number_counts_things_and_may_be_told_in_words() -> None:
    assert covered("Do 2 alerts arrive?", "Alerts arrive.")[1] == 1.0


def test_korean_words_are_found_whatever_their_endings() -> None:
    assert covered("달력을 왜 만드나요?", "달력은 첫 화면에 있습니다.")[2] == ("만드나요",)


def test_without_words_that_carry_meaning_any_text_will_do() -> None:
    assert covered("What is it?", "") == (1.0, 1.0, ())
    assert covered(QUESTION, "") == (0.0, 0.0, ("budget", "alerts", "arrive"))


WORDS = st.lists(st.sampled_from(["budget", "alerts", "arrive", "mail", "달력", "servers"]), max_size=4)


@given(WORDS, WORDS, st.sampled_from(["budget", "alerts", "달력"]))
def test_more_text_covers_no_less(asked: list[str], text: list[str], more: str) -> None:
    before = covered(" ".join(asked), " ".join(text))
    after = covered(" ".join(asked), " ".join([*text, more]))
    assert 0 <= before[0] <= after[0] + 1e-12 <= 1 + 1e-9
    assert 0 <= before[1] <= after[1] + 1e-12
    assert set(after[2]) <= set(before[2])
