"""Of what people say in chats, how much is held as they meant it, by kind and language; and the moods of sentences."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from runner.text.matching import shows
from tests.runner.domains.memory.extraction.digested import remembered, users

CHATS = Path(__file__).with_name("chats.txt")
SCENES = Path(__file__).with_name("scenes.txt")  # other people, other matters, written without a look at the rules
FLOORS = {  # a little below what is reached in either file: share of chats of which everything is right
    "cancellation en": (0.75, 0.85),
    "cancellation ko": (0.90, 0.95),
    "condition en": (0.95, 0.95),
    "condition ko": (0.95, 0.95),
    "correction en": (0.85, 0.90),
    "correction ko": (0.80, 0.95),
    "hearsay-quote en": (0.90, 0.95),
    "hearsay-quote ko": (0.90, 0.95),
    "move-change en": (0.85, 0.85),
    "move-change ko": (0.95, 0.90),
    "negation en": (0.95, 0.95),
    "negation ko": (0.95, 0.95),
    "nothing-to-hold en": (0.90, 0.95),
    "nothing-to-hold ko": (0.80, 0.90),
    "number-date-amount en": (0.90, 0.95),
    "number-date-amount ko": (0.90, 0.95),
    "plain-statement en": (0.95, 0.95),
    "plain-statement ko": (0.95, 0.95),
    "possibility en": (0.95, 0.95),
    "possibility ko": (0.95, 0.95),
    "preference en": (0.90, 0.95),
    "preference ko": (0.95, 0.95),
    "question en": (0.95, 0.95),
    "question ko": (0.80, 0.95),
    "standing-request en": (0.95, 0.95),
    "standing-request ko": (0.85, 0.90),
    "two-facts-or-reason en": (0.85, 0.95),
    "two-facts-or-reason ko": (0.80, 0.95),
    "wish en": (0.95, 0.95),
    "wish ko": (0.95, 0.95),
}


@cache
def shares(file: Path) -> Mapping[str, float]:
    """Of the chats of each kind, those of which everything is right."""
    right: defaultdict[str, list[bool]] = defaultdict(list)
    kind = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind = line[1:-1]
        elif kind:
            said, current, gone = ([part for part in each.strip().split(" / ") if part] for each in line.split("|"))
            right[kind].append(_is_held(said, current, gone, kind))
    return {kind: sum(held) / len(held) for kind, held in right.items()}


def _is_held(said: Sequence[str], current: Sequence[str], gone: Sequence[str], kind: str) -> bool:
    memory, entities = remembered(users(*said), kind.split()[1], every=1)
    text = "\n".join([memory, *(f"{entity.key}: {entity.value}" for entity in entities)])
    folded = unicodedata.normalize("NFC", text).casefold()
    if kind.startswith("nothing") and not current and memory:
        return False
    return all(value.casefold() in folded for value in current) and not any(shows(text, [value]) for value in gone)


@pytest.mark.parametrize("kind", FLOORS)
@pytest.mark.parametrize("file", [CHATS, SCENES], ids=["chats", "scenes"])
def test_what_is_said_in_chats_is_held_as_it_was_meant(file: Path, kind: str) -> None:
    assert shares(file)[kind] >= FLOORS[kind][file == SCENES]


def test_every_kind_has_a_floor() -> None:
    for file, least in ((CHATS, 800), (SCENES, 750)):
        lines = file.read_text(encoding="utf-8").splitlines()
        assert shares(file).keys() == FLOORS.keys()
        assert sum(len(line.split("|")[0].split(" / ")) for line in lines) > least
    assert len({kind.split()[0] for kind in FLOORS}) == 15


@pytest.mark.parametrize(
    ("said", "then", "held"),
    [
        ("저 통영 살아요", "아 배고파 ㅋㅋ 점심 뭐 먹지", "저 통영 살아요."),
        ("구로로 이사했어", "아 그리고 노원 집은 세 줬어", "구로로 이사했어."),
        ("저는 세종에서 공무원으로 일하고 있습니다.", "고마워요", "저는 세종에서 공무원으로 일하고 있습니다."),
        ("3월 5일 치과 예약했어", "넷플릭스 해지했어", "3월 5일 치과 예약했어."),
        ("Netflix랑 웨이브 구독 중", "웨이브 해지했어", "Netflix 구독 중."),
        ("The rent is $900.", "In the meantime things changed.", "The rent is $900."),
    ],
)
def test_a_sentence_stays_as_it_was_said_where_nothing_is_said_of_it(said: str, then: str, held: str) -> None:
    assert held in remembered(users(said, then), "ko", every=1)[0].splitlines()
