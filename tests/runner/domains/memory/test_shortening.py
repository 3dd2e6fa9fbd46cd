"""A token is a character here, unless told otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.domains.memory.shortening import MARK, largest_fitting, shorten_text, whole_sentences
from runner.llm.tokens import count_tokens


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_the_largest_that_fits_is_found_without_asking_about_much_larger_ones(n: int, limit: int) -> None:
    asked = []

    def fits(number: int) -> bool:
        asked.append(number)
        return number <= limit

    assert largest_fitting(n, fits) == min(n, limit)
    assert all(0 < number <= max(1, 2 * limit) for number in asked)


@pytest.mark.parametrize(
    ("budget", "kept", "n_cut"),
    [
        (31, "예산은 1.5억입니다. 회의는 3시예요. 끝났습니다", 0),
        (22, "예산은 1.5억입니다. 회의는 3시예요.", 1),
        (21, "예산은 1.5억입니다.", 2),
        (12, "예산은 1.5억입니다.", 2),
        (11, "", 3),
        (0, "", 3),
    ],
)
def test_whole_sentences(budget: int, kept: str, n_cut: int) -> None:
    assert whole_sentences("예산은 1.5억입니다. 회의는 3시예요. 끝났습니다", budget, len) == (kept, n_cut)


def test_what_has_no_letters_is_a_sentence_too() -> None:
    assert whole_sentences("*" * 20, 10, len) == ("", 1)


@pytest.mark.parametrize(
    ("text", "budget", "short"),
    [
        ("One two three.", 14, "One two three."),
        ("One two. Three four five six.", 20, "One two. Three […]"),  # the sentence ends before half of what fits
        ("One two three. Four five six.", 20, "One two three. […]"),
        ("The budget is 123456", 20, "The budget is 123456"),
        ("The budget is 1234567", 20, "The budget is […]"),  # no other number
        ("예산은 1.2억이에요", 10, "예산은 […]"),
        ("가나다라마바사아자차", 8, "가나다라 […]"),
        ("cafe\u0301cafe\u0301cafe", 8, "caf […]"),  # no letter without its accent
        ("abcdef", 4, ""),
        ("abcdef", 5, "a […]"),
        ("abcdef", 0, ""),
    ],
)
def test_a_text_is_cut_at_a_sentence_or_a_space_or_anywhere(text: str, budget: int, short: str) -> None:
    assert shorten_text(text, budget, len) == short


@given(st.text(max_size=200), st.integers(0, 60))
def test_no_more_than_the_budget_and_always_marked(text: str, budget: int) -> None:
    for count in (len, lambda words: len(words.split()), count_tokens):
        short = shorten_text(text, budget, count)
        assert count(short) <= budget
        assert short in (text, "") or (short.endswith(MARK) and text.startswith(short.removesuffix(MARK)))
        kept, _ = whole_sentences(text, budget, count)
        assert count(kept) <= budget and text.startswith(kept)
