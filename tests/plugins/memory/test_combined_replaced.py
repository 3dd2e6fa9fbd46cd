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


@pytest.mark.parametrize(
    ("said", "later", "stays"),
    [
        ("Ada is fluent in three languages: English, French and German.", "Ada is only fluent in Spanish.", False),
        ("The savings target is 5%.", "The savings target is now 8%.", False),
        ("운동 시간은 오후 6시예요.", "운동 시간은 이제 오후 7시예요.", False),
        ("We went to the beach in May.", "We don't go often, only once or twice a year.", True),
        ("I signed up for a pottery class.", "Yeah, I made this bowl in my class.", True),
        ("Hey Jon! I got a tattoo, it stands for freedom.", "No worries, Jon!", True),
        ("점심에 동료와 국수를 먹었어요.", "저녁에는 도서관에 다녀왔어요.", True),
    ],
)
def test_a_turn_that_a_later_one_has_overtaken_does_not_come_back(said: str, later: str, stays: bool) -> None:
    first, second = ChatTurn(said, "Noted.", number=1), ChatTurn(later, "Noted.", number=2)
    expected = (first, second) if stays else (second,)
    assert still_true([second, first], SessionState(last_turn=9), ()) == expected[::-1]
