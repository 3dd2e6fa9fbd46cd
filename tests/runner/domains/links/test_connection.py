"""A reason connects two texts by what it quotes."""

import pytest

from runner.domains.links.reasons import connection

TEXT, NOTE = (
    "The ferry stops at low tide. 썰물에는 배가 끊긴다.",
    "Tides. At low tide no boat runs. 물때표와 썰물 시각.",
)


@pytest.mark.parametrize(
    ("reason", "score", "missing", "in_both"),
    [
        ("Both speak of “low tides”.", 1.0, (), ("low", "tides")),
        ("둘 다 “썰물”을 다룹니다.", 1.0, (), ("썰물",)),
        ("Both speak of “tide” and “season tickets”.", 1 / 3, ("season", "tickets"), ("tide",)),
        ("It says “ferry” and the note “boat”.", 0.5, (), ()),
        ("It says “ferry”.", 0.0, (), ()),
        ("Both are about the tide.", 1.0, (), ("tide",)),  # nothing is quoted: all its words count
        ("Interesting!", 0.0, ("Interesting",), ()),
        ("", 0.0, (), ()),
    ],
)
def test_by_hand(reason: str, score: float, missing: tuple[str, ...], in_both: tuple[str, ...]) -> None:
    found = connection(reason, TEXT, NOTE)
    assert found.score == pytest.approx(score)
    assert (found.missing, found.in_both) == (missing, in_both)
