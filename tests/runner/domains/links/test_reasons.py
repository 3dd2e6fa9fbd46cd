"""Reasons say what is there, in the language of the place."""

from runner.domains.links.mentions import Mention
from runner.domains.links.reasons import of_back_links, of_link, of_mention, of_text

WHOLE = Mention("Daily Notes", "daily note", True, 1.0)
PART = Mention("Daily Notes", "daily, notes", False, 0.5)


def test_of_names() -> None:
    assert of_mention(WHOLE, "en") == "The text says “daily note”, which is what the note “Daily Notes” is called."
    assert of_mention(PART, "en") == "The text says “daily”, “notes”; a note is called “Daily Notes”."
    assert of_mention(Mention("색인", "색인", True, 1), "ko") == "본문에 나오는 “색인”은 “색인” 노트의 이름입니다."
    assert of_mention(Mention("차", "차", False, 1), "ko") == "본문에 “차”가 나오며, “차”라는 노트가 있습니다."


def test_of_texts() -> None:
    note = "# Tides\n\nAt low tide no boat runs. The moon makes them."
    assert of_text("The boat stops at low tide.", note, "en") == (
        "The note is also about “boat”, “low”, “tide”: “At low tide no boat runs.”"
    )
    assert of_text("빵", "썰물에는 배가 없다.", "ko") == "이 노트는 비슷한 내용을 다룹니다: “썰물에는 배가 없다.”"
    assert of_text("배가 끊긴다", "썰물에는 배가 없다.", "ko") == "이 노트도 “배가”를 다룹니다: “썰물에는 배가 없다.”"
    assert of_text("x", "…", "en") == ""


def test_a_long_sentence_is_cut() -> None:
    assert of_text("x", "word " * 60, "en").endswith("word word…”")


def test_of_links() -> None:
    assert of_link("low tide", "No boat at low tide", "Ferry", "en") == (
        "Where “Ferry” links to it, it is also about “low”, “tide”: “No boat at low tide”"
    )
    assert of_link("bread", "No boat at low tide", "Ferry", "en") == ""
    assert [of_back_links(n, "en") for n in (0, 1, 2)] == ["", "1 other note links to it.", "2 other notes link to it."]
    assert of_back_links(3, "ko") == "다른 노트 3개가 이 노트로 링크합니다."
