import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.domains.memory.entities import normalise_key, with_changes
from runner.domains.memory.records import ChatTurn, Entity

TURNS = (ChatTurn("We use AWS.", "All right.", number=3), ChatTurn("The budget is $10,000.", number=4))
KEPT = (Entity("provider", "gcp", 1), Entity("budget", "$8,000", 2), Entity("owner", "Kim", 2))


def test_a_key_that_is_said_again_is_removed_and_added_at_the_end() -> None:
    changed = with_changes(KEPT, [("Provider", "AWS")], TURNS, 25)
    assert changed == (Entity("budget", "$8,000", 2), Entity("owner", "Kim", 2), Entity("provider", "AWS", 3))


def test_what_is_not_named_stays() -> None:
    assert with_changes(KEPT, [], TURNS, 25) == KEPT


def test_the_front_goes_first() -> None:
    changed = with_changes(KEPT, [("budget", "$10,000"), ("region", "Seoul")], TURNS, 3)
    assert [entity.key for entity in changed] == ["owner", "budget", "region"]
    assert with_changes(KEPT, [("region", "Seoul")], TURNS, 0) == ()


def test_of_two_changes_of_one_key_the_last_holds() -> None:
    changed = with_changes((), [("Budget", "1억"), ("BUDGET ", "1.5억")], TURNS, 25)
    assert changed == (Entity("budget", "1.5억", 4),)


@pytest.mark.parametrize("change", [("", "x"), ("  ", "x"), ("budget", ""), ("budget", " \n")])
def test_a_change_without_key_or_value_changes_nothing(change: tuple[str, str]) -> None:
    assert with_changes(KEPT, [change], TURNS, 25) == KEPT


@pytest.mark.parametrize(
    ("said", "turn"), [("aws", 3), ("$10,000", 4), ("not said", 4), ("All right", 3), ("0", 4), ("10", 4)]
)
def test_the_turn_is_the_last_that_says_the_value(said: str, turn: int) -> None:
    (entity,) = with_changes((), [("key", said)], TURNS, 25)
    assert entity.turn == turn


@pytest.mark.parametrize(
    ("one", "other"),
    [("Budget", " budget "), ("예산", unicodedata.normalize("NFD", "예산")), ("STRASSE", "straße"), ("a\n b", "A B")],
)
def test_keys_that_are_the_same(one: str, other: str) -> None:
    assert normalise_key(one) == normalise_key(other)


def test_a_value_is_kept_word_for_word_on_one_line() -> None:
    (entity,) = with_changes((), [("note", "v0.4\nbudget: 0")], TURNS, 25)
    assert entity.value == "v0.4 budget: 0"


KEYS = st.sampled_from(["a", "A", "b", "예산", "c ", "d"])
CHANGES = st.lists(st.tuples(KEYS, st.sampled_from(["1", "2억", "three"])), max_size=8)


@given(first=CHANGES, second=CHANGES, most=st.integers(0, 5))
def test_laws(first: list[tuple[str, str]], second: list[tuple[str, str]], most: int) -> None:
    before = with_changes((), first, TURNS, most)
    after = with_changes(before, second, TURNS, most)
    keys = [entity.key for entity in after]
    assert len(keys) == len(set(keys)) <= most
    assert with_changes(after, [], TURNS, most) == after
    assert with_changes(after, second, TURNS, most) == after  # said again, nothing moves
    last = {normalise_key(key): value for key, value in second}
    assert all(entity.value == last.get(entity.key, entity.value) for entity in after)
    unlimited = with_changes(with_changes((), first, TURNS, 99), second, TURNS, 99)
    assert {normalise_key(key) for key, _ in (*first, *second)} == {entity.key for entity in unlimited}
    assert keys == [entity.key for entity in unlimited][len(unlimited) - len(keys) :]
