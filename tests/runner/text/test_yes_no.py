"""Yes and no, and the cue files: each cue is found in its own sentence."""

from __future__ import annotations

import re

import pytest

from runner.text.cues import load_cues
from runner.text.yes_no import asks_yes_no, denies, reference_stand, stand


@pytest.mark.parametrize("name", ["runner.text/yes_no.yaml", "runner.text/answer_cues.yaml"])
def test_every_cue_is_found_in_its_sentence(name: str) -> None:
    """The start and end of a cue are those of what stands beside a value in the sentence."""
    cues = [(cue, sentence) for group in load_cues(name).values() for cue, sentence in group.items()]
    missed = [cue for cue, text in cues if not re.search(re.sub(r"^\^|\$$", "", cue), text, re.IGNORECASE)]
    assert missed == []


@pytest.mark.parametrize(
    ("reference", "expected"),
    [("Yes", True), ("예", True), ("응", True), ("네, 가능합니다", True), ("No", False), ("아니오", False),
     ("No, it is not allowed", False), ("Norway", None), ("예산", None), ("네덜란드", None), ("Paris", None)],
)  # fmt: skip
def test_the_stand_of_a_reference(reference: str, expected: bool | None) -> None:
    assert reference_stand(reference) is expected


CARD = "Can I pay by card?"
STANDS = [
    (CARD, "Yes, you can; there is no fee.", True),
    (CARD, "No. Yes was the old rule.", False),
    (CARD, "You cannot pay by card.", False),
    (CARD, "You can pay by card.", True),
    (CARD, "Only cash is accepted.", False),
    (CARD, "The shop opens at nine.", None),
    ("Is the museum open on Mondays?", "The museum is closed every Monday.", False),
    ("Are pets allowed?", "Well-behaved pets are welcome.", True),
    ("카드로 결제할 수 있나요?", "아니오, 안 됩니다.", False),
    ("카드로 결제할 수 있나요?", "네, 됩니다.", True),
    ("카드로 결제할 수 있나요?", "카드 결제는 지원하지 않습니다.", False),
    ("외국인도 만들 수 있나요?", "거주하는 외국인이라면 가입하실 수 있습니다.", True),
    ("What is the fee?", "You cannot pay by card.", None),
]


def test_the_stand_of_an_answer() -> None:
    stands = [(question, answer, stand(question, answer)) for question, answer, _ in STANDS]
    assert [each for each in stands if each not in STANDS] == []


def test_what_asks_and_what_denies() -> None:
    assert asks_yes_no("Is it free?") and asks_yes_no("무료인가요?")
    assert not asks_yes_no("Is it red or blue?") and not asks_yes_no("언제 열리나요?")
    assert denies("It isn't") and denies("없습니다") and not denies("internet") and not denies("It is there")
