"""Names that a text says, in whole or in part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.domains.links.mentions import Mention, MentionIndex, terms

NAMES = [
    ("daily", "Daily Notes"),
    ("spell", "Spell checking"),
    ("wiki", "위키링크 제안"),
    ("note", "노트"),
    ("index", "2024 Index"),
    ("index", "색인"),
]


def said(text: str) -> dict[str, Mention]:
    return MentionIndex(NAMES).mentions(text)


@pytest.mark.parametrize(
    ("text", "owner", "words"),
    [
        ("I write daily notes.", "daily", "daily notes"),
        ("a DAILY-note", "daily", "DAILY-note"),
        ("Who checks spelling? Spell checked.", "spell", "Spell checked"),
        ("위키링크 제안을 봅니다", "wiki", "위키링크 제안을"),
        ("위키 링크 제안은", "wiki", "위키 링크 제안은"),  # spaced otherwise
        ("검색 색인이다", "index", "색인이다"),
        ("the 2024 index", "index", "2024 index"),
    ],
)
def test_whole_names_whatever_the_form(text: str, owner: str, words: str) -> None:
    found = said(text)[owner]
    assert (found.words, found.is_whole, found.strength) == (words, True, 1.0)


@pytest.mark.parametrize("text", ["노트북을 샀다", "footnotes", "2025", ""])
def test_what_is_only_like_a_name_is_no_mention(text: str) -> None:
    assert not any(mention.is_whole for mention in said(text).values())


def test_a_part_is_worth_less_and_a_rare_word_more() -> None:
    index = MentionIndex([("a", "blue tea"), ("b", "green tea"), ("c", "tea pot")])
    rare, common = index.mentions("blue")["a"], index.mentions("tea")["a"]
    assert (rare.words, rare.is_whole) == ("blue", False)
    assert 0 < common.strength < rare.strength < 0.5
    assert set(index.mentions("tea")) == {"a", "b", "c"}


def test_the_strength_of_a_part_by_hand() -> None:
    """Weights 0.2 + ln((3 names + 1) / (1 + names with the word)): blue 0.8931, tea 0.2."""
    index = MentionIndex([("a", "blue tea"), ("b", "green tea"), ("c", "tea pot")])
    assert index.mentions("blue")["a"].strength == pytest.approx(0.5 * (0.8931 / 1.0931) ** 2, abs=1e-4)


def test_words_apart_are_no_whole_name_and_function_words_are_not_named() -> None:
    found = said("Notes that I write daily")["daily"]
    assert not found.is_whole and found.strength == 0.5
    assert MentionIndex([("a", "How to brew")]).mentions("to brew")["a"].words == "brew"


def test_the_best_name_of_an_owner_counts() -> None:
    assert said("2024 색인")["index"].name == "색인"


@given(st.text(max_size=60))
def test_terms_are_where_they_say(text: str) -> None:
    for term in terms(text):
        assert term.text and term.end - term.start == len(term.text)
    assert all(0 < mention.strength <= 1 for mention in said(text).values())
