"""Exact match and token F1, by hand, and against the official formulas where the two agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.answers import answer_matches, contains_answer, exact_match, token_f1


@pytest.mark.parametrize(
    ("answer", "known", "expected"),
    [
        ("the moon.", ["Moon"], 1.0),
        ("Mars", ["Moon", "mars"], 1.0),  # the best known answer counts
        ("now here", ["nowhere"], 0.0),
        ("25", ["2.5"], 0.0),
        ("5", ["-5"], 0.0),
        ("1000", ["1,000"], 1.0),
        ("", ["A"], 0.0),
        ("B", ["A"], 0.0),
        ("아랍에미리트", ["아랍 에미리트"], 1.0),
        ("LG 전자", ["LG전자"], 1.0),
        ("임수경입니다.", ["임수경"], 1.0),
        ("서울로", ["서울"], 1.0),
        ("나무는", ["나무"], 1.0),
        ("책은", ["책"], 1.0),  # ㄱ is the first of the final consonants
        ("나무은", ["나무"], 0.0),  # 은 does not follow a vowel
        ("평가은", ["평가"], 0.0),  # nor the first of all syllables
        ("사람가", ["사람"], 0.0),  # 가 does not follow a consonant
        ("1989년 2월 15일이다", ["1989년 2월 15일"], 1.0),
        ("MBC가", ["MBC"], 1.0),
        ("임수경", ["임수경이"], 0.0),  # only the answer may carry a particle
        ("임수경 의원", ["임수경"], 0.0),
    ],
)
def test_exact_match(answer, known, expected):
    assert exact_match(answer, known) == expected


@pytest.mark.parametrize(
    ("answer", "known", "expected"),
    [
        ("the cat sat", ["a cat"], 2 / 3),  # cat sat, cat
        ("cat cat", ["cat"], 2 / 3),  # tokens are counted
        ("dog", ["cat", "dog"], 1.0),
        ("dog", ["cat"], 0.0),
        ("", ["cat"], 0.0),
        ("임수경이다", ["임수경"], 2 * 3 / (5 + 3)),
        ("1989년", ["1998년"], 0.5),  # a number is one token; its digits are not compared
        ("서울특별시", ["서울 특별시"], 1.0),
    ],
)
def test_token_f1(answer, known, expected):
    assert token_f1(answer, known) == pytest.approx(expected, abs=1e-15)


def test_without_known_answers_nothing_applies():
    assert (exact_match("x", []), token_f1("x", []), answer_matches("x", [])) == (None, None, None)
    assert contains_answer("x", []) is None


@pytest.mark.parametrize(
    ("answer", "known", "expected"),
    [
        ("대회는 1988년 서울에서 열렸다.", "서울", True),
        ("남한산성은 높다.", "산성", False),  # not at the start of a word
        ("UN(유엔)의 결의", "유엔", True),
        ("13 cats", "3", False),
        ("It opened in May 1988 [1].", "May 1988", True),
        ("It opened in 1988, May.", "May 1988", False),  # not together
        ("anything", "", False),
        ("The fee is 8[1] euros [2].", "8 euros", True),  # citations are no part of it
        ("It was designed by the Denver office.", "a Denver office", True),
        ("It costs 18 euros.", "8 euros", False),
        ("김민수가 냈다.", "민수", False),
    ],
)
def test_contains(answer, known, expected):
    assert contains_answer(answer, ["없는 말", known]) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("대회는 1988년 서울에서 열렸고 많은 사람이 왔다.", True),  # contains it
        ("서울입니다", True),  # is it
        ("부산에서 열렸다.", False),
    ],
)
def test_answer_matches(answer, expected):
    assert answer_matches(answer, ["서울", "서울시"]) is expected


def test_an_answer_that_shares_words_is_no_known_answer():
    assert answer_matches("isomorphism problem", ["graph isomorphism problem"]) is False


@pytest.mark.parametrize(
    ("answer", "known"),
    [("1989년 2월 15일", "1989년 2월 22일"), ("1989년", "1998년"), ("14 euros a day", "8 euros a day")],
)
def test_an_answer_with_another_number_does_not_match(answer, known):
    assert token_f1(answer, [known]) >= 0.5
    assert answer_matches(answer, [known]) is False


@given(st.text(max_size=20), st.lists(st.text(max_size=20), min_size=1, max_size=3))
def test_values_stay_between_0_and_1_and_an_answer_matches_itself(answer, known):
    assert 0 <= token_f1(answer, known) <= 1
    assert exact_match(answer, [*known, answer]) == 1
    assert exact_match(answer, known) in (0.0, 1.0)
