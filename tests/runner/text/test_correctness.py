"""How far an answer says what a reference says, by words, numbers and denials."""

import pytest

from runner.text.correctness import correctness

TICKET = "How much does a day ticket cost?"
LOCK = "비밀번호를 5회 틀리면 몇 분 동안 잠기나요?"


@pytest.mark.parametrize(
    ("question", "reference", "answer"),
    [
        (TICKET, "8 euros", "A day ticket costs 8 euros [1]."),
        (TICKET, "8 euros", "8 euros."),
        (TICKET, "A day ticket costs 8 euros.", "It is eight euros."),
        ("When did it open?", "1934", "In 1934, after the telescope had come."),
        ("Where is the office?", "The office is in Seoul.", "In Seoul."),
        ("Can dogs ride?", "No, dogs may not ride.", "Dogs are not allowed to ride."),
        ("Can dogs ride?", "Yes", "Yes, they can."),
        (LOCK, "15분 동안", "15분 동안 잠깁니다."),
        ("토큰은 얼마나 쓸 수 있나요?", "최대 180일", "개인 토큰의 유효 기간은 최대 180일입니다."),
        ("담당자는 누구인가요?", "김민수", "담당자는 김민수입니다."),
        ("무료인가요?", "네, 무료입니다.", "무료입니다."),
        ("환불되나요?", "환불되지 않습니다.", "환불할 수 없습니다."),
        ("Which items are not refundable?", "Gift cards", "Gift cards are not refundable."),
    ],
)
def test_right(question: str, reference: str, answer: str) -> None:
    found = correctness(question, [reference], answer)
    assert (found.score, found.conflict) == (1.0, None)


@pytest.mark.parametrize(
    ("question", "reference", "answer", "kind"),
    [
        (TICKET, "8 euros", "14 euros.", "number"),
        (TICKET, "8 euros", "A day ticket does not cost 8 euros.", "denied"),
        (TICKET, "8 euros", "The price is not 8 euros.", "denied"),
        ("When did it open?", "1934", "It opened in 1943.", "number"),
        ("Where is the office?", "The office is in Seoul.", "In Busan.", None),
        ("Can dogs ride?", "No, dogs may not ride.", "Dogs may ride.", "denied"),
        ("Can dogs ride?", "Yes", "No.", None),
        (LOCK, "15분 동안", "30분 동안 잠깁니다.", "number"),
        (LOCK, "15분 동안", "15분 동안 잠기지 않습니다.", "denied"),
        (LOCK, "15분 동안", "잠기는 시간은 15분이 아닙니다.", "denied"),
        ("담당자는 누구인가요?", "김민수", "담당자는 박지영입니다.", None),
        ("담당자는 누구인가요?", "김민수", "담당자는 김민수가 아닙니다.", "denied"),
        ("무료인가요?", "무료", "무료가 아닙니다.", "denied"),
        ("환불되나요?", "환불되지 않습니다.", "환불됩니다.", "denied"),
    ],
)
def test_wrong(question: str, reference: str, answer: str, kind: str | None) -> None:
    found = correctness(question, [reference], answer)
    assert found.score == 0
    assert (found.conflict.kind if found.conflict else None) == kind


def test_the_cover_is_that_of_what_the_question_does_not_hold() -> None:
    """Of account, settings and billing, two of three; `delete` is in the question."""
    found = correctness("How do I delete it?", ["Delete it in account settings, billing."], "In the account settings.")
    assert (found.score, found.missing) == (pytest.approx(2 / 3), ("billing",))


def test_an_answer_without_a_number_or_name_of_the_reference_is_no_more_than_half_right() -> None:
    reference = "Refunds go back to the original card by bank transfer within 5 days."
    answer = "Refunds go back to the original card by bank transfer."
    assert correctness("How are refunds paid?", [reference], answer).score == 0.5


def test_the_closest_reference_counts() -> None:
    assert correctness(TICKET, ["14 euros", "8 euros"], "8 euros").score == 1.0
