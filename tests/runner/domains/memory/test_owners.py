"""What is told of somebody else is no fact of the user."""

import pytest

from runner.domains.memory.owners import without_others
from runner.domains.memory.recall import as_statements
from runner.text.matching import shows


@pytest.mark.parametrize(
    ("text", "topic", "value", "is_own"),
    [
        ("My boss runs marathons. I swim.", "sport", "marathons", False),
        ("My boss runs marathons. I swim.", "sport", "swim", True),
        ("My neighbour has four cats, I have two.", "cats", "four", False),
        ("My neighbour has four cats, I have two.", "cats", "two", True),
        ("Like my brother, I'm colour-blind.", "sight", "colour-blind", True),
        ("My boss is Olaf.", "boss", "Olaf", True),
        ("Her dog is called Pickle and mine hates him.", "dog", "Pickle", False),
        ("엄마가 당뇨라서 신경 쓰여요.", "병", "당뇨", False),
        ("형은 의대 다니고 나는 재수 중이야", "학교", "의대", False),
        ("형은 의대 다니고 나는 재수 중이야", "학교", "재수", True),
        ("동생이랑 나랑 둘 다 비염이 있어", "병", "비염", True),
        ("남편은 두산 팬인데 저는 한화 팬이에요", "팀", "두산", False),
        ("남편은 두산 팬인데 저는 한화 팬이에요", "팀", "한화", True),
        ("남편은 두산 팬이에요", "남편의 팀", "두산", True),
    ],
)
def test_whose_fact_it_is(text: str, topic: str, value: str, is_own: bool) -> None:
    assert shows(without_others(text, topic), [value]) is is_own


def test_a_text_about_nobody_else_stays_as_it_is() -> None:
    text = "예산은 1억이에요.\nThe budget is $1, and it grows."
    assert without_others(text, "budget") == text


@pytest.mark.parametrize(
    ("text", "value", "is_told"),
    [
        ("강아지 이름이 보리거든요?", "보리", True),
        ("제가 임신 20주인데 이 약 먹어도 될까요?", "20주", True),
        ("성수동 우리 집에서 역까지 제일 빠른 길이 뭐야?", "성수동", True),
        ("How do I tell my therapist, Dr. Amari, that I am late?", "Dr. Amari", True),
        ("Can my landlord keep the 900 euro deposit?", "900 euro", True),
        ("성수동은 살기 괜찮은 편인가요?", "성수동", False),
        ("예산이 1억인가요?", "1억", False),
        ("Is my budget $300?", "$300", False),
        ("Would Bandit be a good name if I got a cat?", "Bandit", False),
    ],
)
def test_a_question_may_take_a_fact_for_granted(text: str, value: str, is_told: bool) -> None:
    assert shows(as_statements(text), [value]) is is_told
