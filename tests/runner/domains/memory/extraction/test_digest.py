"""What a summary without a model keeps, and what it lets go."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.domains.memory.bounds import is_within
from runner.domains.memory.extraction.digest import digest
from runner.domains.memory.records import Bounds, ChatTurn, Entity
from runner.text.language import detect_language
from runner.text.matching import shows
from runner.text.sentences import split_sentences
from tests.runner.domains.memory.extraction.digested import CHANGES, SAID, remembered, users

CHAT = {"ko": (("오늘 날씨가 좋네요.", "네, 그렇네요."), ("점심은 드셨어요?", "저는 먹지 않아요.")),
        "en": (("Nice weather today.", "It is."), ("How are you?", "Fine."))}  # fmt: skip


def text_of(turns: Sequence[ChatTurn], language: str, every: int = 5) -> str:
    memory, entities = remembered(turns, language, every=every)
    return "\n".join([memory, *(f"{entity.key}: {entity.value}" for entity in entities)])


@pytest.mark.parametrize("apart", [0, 7])
def test_a_changed_value_is_the_only_one_left(apart: int) -> None:
    """Of each pair of sentences: what is shown of the old value before, and of the new and the old one afterwards."""
    found = {line: _shown_of_change(*line.split("|"), apart) for line in CHANGES.strip().splitlines()}
    assert {line: shown for line, shown in found.items() if shown != (True, True, False)} == {}


def _shown_of_change(before: str, after: str, old: str, new: str, apart: int) -> tuple[bool, bool, bool]:
    language = detect_language(before)
    chat = [ChatTurn(*CHAT[language][number % 2]) for number in range(apart)]
    text = text_of([ChatTurn(before, "OK."), *chat, ChatTurn(after, "OK."), *chat], language)
    return shows(text_of(users(before), language), [old]), shows(text, [new]), shows(text, [old])


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (["The budget is $10,000.", "The Redfern project has a budget of $300,000."], ["$10,000", "$300,000"]),
        (["예산은 1억이에요.", "옆 팀 예산은 3억이에요."], ["1억", "3억"]),
        (["11월 비용은 100만 원이에요.", "12월 비용은 90만 원이에요."], ["100만 원", "90만 원"]),
        (["The cost was $500 in May.", "The cost was $700 in June."], ["$500", "$700"]),
        (["My dog's name is Bori.", "My cat's name is Coco."], ["Bori", "Coco"]),
        (["The team has 6 developers.", "The team has 3 meetings a week."], ["6 developers", "3 meetings"]),
        (["Alice is a violinist.", "Alice is a mother of two."], ["violinist", "mother"]),
        (["예산은 1억이고 담당자는 김민수예요.", "예산이 2억으로 늘었어요."], ["2억", "김민수"]),
        (["The rent is $900 and the deposit is $900.", "The rent went up to $950."], ["$950", "deposit: $900"]),
    ],
)
def test_what_is_another_thing_stays(said: Sequence[str], left: Sequence[str]) -> None:
    text = text_of(users(*said), detect_language(said[0]))
    assert all(shows(text, [value]) for value in left), text


def test_the_other_facts_of_a_sentence_stay_when_one_changes() -> None:
    memory, entities = remembered(users("예산은 1억이고 담당자는 김민수예요.", "예산이 2억으로 늘었어요."), "ko")
    assert memory.splitlines() == ["예산이 2억으로 늘었어요.", "담당자: 김민수."]
    assert [(entity.key, entity.value) for entity in entities] == [("담당자", "김민수"), ("예산", "2억")]


def test_the_newest_stands_first() -> None:
    memory, _ = remembered(users("The rent is $900.", "The lease ends on May 3.", "My landlord is Mr. Osei."), "en")
    assert memory.splitlines() == ["My landlord is Mr. Osei.", "The lease ends on May 3.", "The rent is $900."]


def test_what_was_said_before_the_change_leaves_the_sentence_that_tells_it() -> None:
    memory, _ = remembered(users("예산은 1억이에요.", "예산이 1억에서 1.5억으로 늘었어요."), "ko")
    assert memory == "예산이 1.5억으로 늘었어요."
    memory, _ = remembered(users("I live in Boston.", "I moved from Boston to Chicago."), "en")
    assert memory == "I moved to Chicago."


def test_an_entity_keeps_its_key_when_it_is_said_in_other_words() -> None:
    _, entities = remembered(users("출시일은 5월 3일이에요.", "출시가 6월 1일로 연기됐어요."), "ko")
    assert [(entity.key, entity.value) for entity in entities] == [("출시일", "6월 1일")]


def test_an_entity_whose_sentence_has_left_the_memory_changes_all_the_same() -> None:
    summary = digest("", (Entity("budget", "$10,000", 1),), users("The budget is now $12,000."), "en", Bounds())
    assert summary.entities == (("budget", "$12,000"),)
    summary = digest("", (Entity("vendor", "Initech", 1),), users("We replaced Initech with Hooli."), "en", Bounds())
    assert summary.entities == (("vendor", "Hooli"),)
    assert not shows(summary.memory, ["Initech"])


# --- two people -----------------------------------------------------------------------------------


def test_of_two_people_each_has_facts_of_their_own() -> None:
    turns = [
        ChatTurn("My dog's name is Bori.", speaker="Ann"),
        ChatTurn("My dog's name is Coco.", speaker="Ben"),
        ChatTurn("I live in Oslo.", speaker="Ann"),
        ChatTurn("My dog's name is Max now.", speaker="Ben"),
    ]
    memory, entities = remembered(turns, "en", every=2)
    assert memory.splitlines() == [
        "[Ben] My dog's name is Max now.",
        "[Ann] I live in Oslo.",
        "[Ann] My dog's name is Bori.",
    ]
    assert {(entity.key, entity.value) for entity in entities} == {
        ("ann dog's name", "Bori"),
        ("ann home", "Oslo"),
        ("ben dog's name", "Max"),
    }


# --- laws -----------------------------------------------------------------------------------------


@given(
    texts=st.lists(SAID, max_size=14), every=st.integers(1, 5), sentences=st.integers(1, 6), tokens=st.integers(5, 80)
)
def test_laws(texts: list[str], every: int, sentences: int, tokens: int) -> None:
    turns, bounds = users(*texts), Bounds(sentences, tokens)
    memory, entities = remembered(turns, "en", every=every, bounds=bounds, most=7)
    assert is_within(memory, bounds)
    assert len(entities) <= 7
    assert (memory, entities) == remembered(turns, "en", every=every, bounds=bounds, most=7)
    again = digest(memory, entities, users("Hello."), "en", bounds)
    assert (again.memory, again.entities) == (memory, ())  # nothing new, nothing changes
    assert all(len(split_sentences(line)) == 1 for line in memory.splitlines())


@pytest.mark.parametrize(
    ("said", "denied", "value"),
    [
        ("예산은 2억이에요.", "예산은 3억이 아니에요.", "2억"),
        ("예산은 2억이에요.", "예산은 3억 아닙니다.", "2억"),
        ("예산은 2억이에요.", "예산은 \u202e3억\u202c 아니에요.", "2억"),
        ("예산은 2억이에요.", "예산이 3억은 아니고 4억이에요.", "4억"),
        ("예산은 2억이에요.", "예산은 2억이 아니라 4억이에요.", "4억"),
        ("담당자는 윤하늘 님이에요.", "담당자는 김철수가 아니에요.", "윤하늘"),
        ("담당자는 윤하늘 님이에요.", "담당자는 윤하늘 님이 아니고 김철수 님이에요.", "김철수"),
        ("The budget is $200.", "The budget is not $300.", "$200"),
        ("The budget is $200.", "The budget is not $200 but $400.", "$400"),
        ("The budget is $200.", "The budget was not $300, it is $400.", "$400"),
        ("The owner is Kim.", "The owner is not Lee.", "Kim"),
    ],
)
def test_what_something_is_not_takes_the_place_of_nothing(said: str, denied: str, value: str) -> None:
    memory, entities = remembered(users(said, denied), detect_language(said) or "en", every=2)
    assert [entity.value for entity in entities] == [value]
    assert shows(memory, [value])
