import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.commands.generate.duplicates import duplicates

SAME = [
    ("What year was the Alpha tower built?", "In what year was the Alpha tower built?"),
    ("How long does a refund take?", "how long does a refund take"),
    ("환불은 며칠 걸리나요?", "환불은 며칠이 걸리나요?"),
    ("환불에는 며칠이 걸립니까?", "환불에는 며칠이 걸리나요?"),
]
DIFFERENT = [
    ("What year was the Alpha tower built?", "What year was the Omega tower built?"),
    ("How many users does plan A allow?", "How many users does plan B allow?"),
    ("What changed in version 1.2 of Nimbus?", "What changed in version 1.3 of Nimbus?"),
    ("기본 요금제의 저장 용량은 얼마인가요?", "프로 요금제의 저장 용량은 얼마인가요?"),
    ("2019년 매출은 얼마인가요?", "2020년 매출은 얼마인가요?"),
    ("How long does a refund take?", "How long does a refund take in Korea?"),
    ("How long does a refund take?", "Who approves a refund?"),
    ("What is a refund?", "Refund of which purchases is what the manual explains under what?"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_question_in_nearly_the_same_words(one: str, other: str) -> None:
    assert duplicates([one, other]) == duplicates([other, one]) == [False, True]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_one_other_word_makes_another_question(one: str, other: str) -> None:
    assert duplicates([one, other]) == [False, False]


def test_a_repeat_of_a_repeat_goes_too_and_nothing_else() -> None:
    one, other, third = "How long does a refund take?", "How long does a refund take", "Who approves a refund?"
    assert duplicates([third, one, other, one, third]) == [False, False, True, True, True]


def test_no_questions() -> None:
    assert duplicates([]) == []


@given(st.lists(st.sampled_from([question for pair in SAME + DIFFERENT for question in pair]), max_size=12))
def test_what_is_kept_holds_no_repeat_and_the_first_is_kept(questions: list[str]) -> None:
    found = duplicates(questions)
    kept = [question for question, repeated in zip(questions, found, strict=True) if not repeated]
    assert not any(duplicates(kept))
    assert found[:1] in ([], [False])
    assert {*kept} <= {*questions} and len(kept) == len({*kept})
