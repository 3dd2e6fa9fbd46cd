from typing import Any

import pytest

from runner.commands.generate.drafts import drafts_of, messages, place_of, source
from runner.commands.generate.orders import Order, Slot
from runner.records import Chunk

CHUNK = Chunk("a#1", "a", "Refunds take\nfive days.", 10, 33)
ORDER = Order(CHUNK, "Refunds", "en", (Slot(1, "factual", "easy", True), Slot(2, "inferential", "hard", False)))


def read(*items: Any) -> list[tuple[int, str, str, str]]:
    drafts = drafts_of({"questions": list(items)}, ORDER)
    return [(draft.slot.number, draft.question, draft.answer, draft.quote) for draft in drafts]


def item(number: object = 1, question: object = "How long?", answer: object = "five days", **rest: object) -> Any:
    return {"number": number, "question": question, "answer": answer, "quote": "", **rest}


def test_what_the_model_is_told() -> None:
    system, user = messages(ORDER)
    assert "\n1. factual, easy, answerable\n2. inferential, hard, not answerable\n" in system.text
    assert "# Refunds\nRefunds take\nfive days.\n" not in user.text  # the chunk begins with its title
    assert "Refunds take\nfive days.\n" in user.text
    assert source(CHUNK, "Billing").title == "Billing"


def test_questions_in_the_order_of_the_slots() -> None:
    two = item(2, " Who\npays? ", "", quote=None)
    assert read(two, item(quote="Refunds take  five days.")) == [
        (1, "How long?", "five days", "Refunds take five days."),
        (2, "Who pays?", "", ""),
    ]


@pytest.mark.parametrize(
    "useless",
    [
        item(1, "Again?"),
        item(3),
        item("1"),
        item(None),
        item(2, ""),
        item(2, 5),
        "text",
        None,
    ],
)
def test_what_is_no_question_of_a_slot_is_left_out(useless: Any) -> None:
    assert read(item(), useless) == [(1, "How long?", "five days", "")]


def test_an_answerable_question_needs_its_answer() -> None:
    assert read(item(1, answer=" "), item(2, answer="")) == [(2, "How long?", "", "")]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({}, 'expected a list under "questions"'),
        ({"questions": "How long?"}, 'expected a list under "questions"'),
        ({"questions": []}, 'expected questions with "number" as ordered, "question" and "answer", found none'),
        ({"questions": [item(7)]}, 'expected questions with "number" as ordered, "question" and "answer", found none'),
    ],
)
def test_a_reply_without_questions(reply: Any, reason: str) -> None:
    with pytest.raises(ValueError) as raised:
        drafts_of(reply, ORDER)
    assert str(raised.value) == reason


@pytest.mark.parametrize(
    ("quote", "place"),
    [
        ("take five days.", (8, 23)),
        ("Refunds", (0, 7)),
        ("take  six days", None),
        ("", None),
        (".", (22, 23)),
        ("five days?", None),
    ],
)
def test_where_a_quote_stands(quote: str, place: tuple[int, int] | None) -> None:
    assert place_of(quote, CHUNK.text) == place
