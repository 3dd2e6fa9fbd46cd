from __future__ import annotations

from runner.records import Chunk, Corpus, Document
from runner.text.passages import passages


def indexed(text: str, title: str = "", headings: tuple[str, ...] = ()) -> str:
    corpus = Corpus([Document("d", text, title)], [Chunk("d#0", "d", text, 0, len(text), headings)], "")
    return passages(corpus)[0]


def test_title_and_headings_stand_above_the_text() -> None:
    assert indexed("1인당 15일", "휴가 규정", ("연차", "신입")) == "휴가 규정\n연차\n신입\n1인당 15일"


def test_what_the_text_begins_with_is_not_repeated() -> None:
    assert indexed("# 휴가 규정\n\n15일", "휴가 규정", ("휴가 규정",)) == "# 휴가 규정\n\n15일"
    assert indexed("## 연차\n15일", "휴가 규정", ("연차",)) == "휴가 규정\n## 연차\n15일"


def test_a_heading_like_the_title_comes_once() -> None:
    assert indexed("15일", "연차", ("연차", "신입")) == "연차\n신입\n15일"


def test_an_empty_chunk_is_found_by_its_title() -> None:
    assert indexed("", "빈 문서") == "빈 문서\n"
