"""Which turns of long ago come back beside a summary."""

import pytest

from plugins.memory.combined import still_true
from runner.domains.memory.records import ChatTurn, SessionState


@pytest.mark.parametrize(
    ("said", "later", "stays"),
    [
        ("Marek Smithe developed a recipe app.", "Jonan Butley, not Marek Smithe, developed a recipe app.", False),
        ("Micah volunteers for clean-up work.", "Micah does not volunteer for clean-up work, but for shelters.", False),
        ("자동 백업은 기본으로 활성화돼요.", "자동 백업은 이제 기본으로 활성화되어 있지 않아요.", False),
        ("Marek Smithe developed a recipe app.", "Marek Smithe developed a recipe app, which won a prize.", True),
        ("Marek Smithe developed a recipe app.", "Marek Smithe has never been to Paris.", True),
        ("Marek Smithe never wrote a recipe app.", "Marek Smithe never wrote a recipe app for children.", True),
        ("Did Marek Smithe write a recipe app?", "Jonan Butley, not Marek Smithe, wrote a recipe app.", True),
    ],
)
def test_what_was_denied_later_does_not_come_back(said: str, later: str, stays: bool) -> None:
    turn = ChatTurn(said, "Noted.", number=1)
    assert still_true([turn], SessionState(memory=later, last_turn=9), ()) == ((turn,) if stays else ())
