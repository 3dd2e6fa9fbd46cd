import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.chunking import Cutter, Passage


def texts(text: str, chunker: Cutter) -> list[str]:
    return [text[passage.start : passage.end] for passage in chunker.passages(text)]


def test_a_short_text_is_one_passage_without_the_white_space_around_it() -> None:
    assert Cutter().passages("\n  서울은 수도이다.\n\n한강이 흐른다. \n") == [Passage(3, 22)]


@pytest.mark.parametrize("text", ["", " \n\t ", "\u3000"])
def test_a_blank_text_has_no_passage(text: str) -> None:
    assert Cutter().passages(text) == []


def test_a_text_of_exactly_max_chars_stays_whole() -> None:
    assert texts("word " * 4, Cutter(max_chars=20)) == ["word word word word"]
    assert texts("a" * 20, Cutter(max_chars=20)) == ["a" * 20]
    assert texts("a" * 21, Cutter(max_chars=20)) == ["a" * 20, "a"]


def test_paragraphs_are_parted_before_sentences() -> None:
    text = "One two. Three four.\n\nFive six. Seven eight."
    assert texts(text, Cutter(max_chars=25)) == ["One two. Three four.", "Five six. Seven eight."]


def test_sentences_are_parted_before_words() -> None:
    text = "하나 둘 셋 넷. 다섯 여섯 일곱. 여덟 아홉 열 열하나!"
    assert texts(text, Cutter(max_chars=22)) == ["하나 둘 셋 넷. 다섯 여섯 일곱.", "여덟 아홉 열 열하나!"]


def test_a_long_blank_stretch_is_no_passage() -> None:
    assert texts(f"a{' ' * 60}b", Cutter(max_chars=20)) == ["a", "b"]


def test_a_quotation_mark_stays_with_its_sentence() -> None:
    assert texts('He said "Go home now." She went there.', Cutter(max_chars=24)) == [
        'He said "Go home now."',
        "She went there.",
    ]


def test_the_number_of_a_list_item_stays_with_the_item() -> None:
    text = "Steps to take:\n1. Open the box.\n2. Close the box."
    assert texts(text, Cutter(max_chars=33)) == ["Steps to take:\n1. Open the box.", "2. Close the box."]


def test_a_long_sentence_is_cut_at_line_breaks_then_at_spaces() -> None:
    assert texts("aaaa bbbb cccc\ndddd eeee ffff", Cutter(max_chars=20)) == ["aaaa bbbb cccc", "dddd eeee ffff"]
    assert texts("aaaa bbbb cccc dddd eeee ffff", Cutter(max_chars=20)) == ["aaaa bbbb cccc dddd", "eeee ffff"]


@pytest.mark.parametrize(
    "letter", ["e\u0301\u0323", "👩\u200d👩\u200d👧", "👍🏽", "🇰🇷", "\u1112\u119e\u11ab", "1\ufe0f\u20e3"]
)
def test_what_is_read_as_one_character_is_not_parted(letter: str) -> None:
    for passage in texts(letter * 20, Cutter(max_chars=20)):
        assert passage.replace(letter, "") == ""


def test_parts_are_about_equally_long() -> None:
    text = " ".join(f"Sentence number {n:02} is here." for n in range(12))
    assert [len(part) for part in texts(text, Cutter(max_chars=300))] == [167, 167]


def test_blank_lines_in_fenced_code_do_not_part_it() -> None:
    code = "```\nfirst\n\nsecond\n\nthird\n```"
    text = f"{'x' * 20}\n\n{code}\n\n{'y' * 40}"
    assert texts(text, Cutter(max_chars=45)) == ["x" * 20, code, "y" * 40]
    assert texts(text.replace("`", " "), Cutter(max_chars=45))[0] == f"{'x' * 20}\n\n   \nfirst"


def test_overlap_repeats_the_last_sentences() -> None:
    text = "One one one. Two two two. Three three. Four four four."
    assert texts(text, Cutter(max_chars=50, overlap=20)) == [
        "One one one. Two two two.",
        "Two two two. Three three. Four four four.",
    ]


def test_overlap_within_a_long_sentence_begins_at_a_word() -> None:
    text = "aaaa bbbb cccc dddd eeee ffff gggg hhhh"
    assert texts(text, Cutter(max_chars=30, overlap=7)) == ["aaaa bbbb cccc dddd", "dddd eeee ffff gggg hhhh"]


def test_overlap_never_repeats_a_whole_passage() -> None:
    text = "word  \n\nword word word"
    assert texts(text, Cutter(max_chars=20, overlap=7)) == ["word", "word word", "word word"]


NOTE = """Before.

# Guide

Welcome to the guide, which is long enough.

## Install

Run the installer and wait for it to end.

```
# not a heading
```

## Use

Open it.
"""


def test_headings_begin_passages_and_are_kept_from_the_outermost() -> None:
    chunker = Cutter(headings=True, min_chars=0)
    assert [(NOTE[p.start : p.end].split("\n")[0], p.headings) for p in chunker.passages(NOTE)] == [
        ("Before.", ()),
        ("# Guide", ("Guide",)),
        ("## Install", ("Guide", "Install")),
        ("## Use", ("Guide", "Use")),
    ]


def test_short_sections_join_the_next_one_and_the_last_one_the_one_before() -> None:
    passages = Cutter(headings=True, min_chars=30).passages(NOTE)
    assert [(NOTE[p.start : p.end].split("\n")[0], p.headings) for p in passages] == [
        ("Before.", ()),
        ("## Install", ("Guide",)),
    ]


def test_short_sections_are_not_joined_beyond_max_chars() -> None:
    text = "# A\n\nshort\n\n# B\n\n" + "word " * 19
    passages = Cutter(headings=True, min_chars=50, max_chars=100).passages(text)
    assert [passage.headings for passage in passages] == [("A",), ("B",)]


def test_blank_lines_before_the_first_heading_do_not_hide_it() -> None:
    assert Cutter(headings=True).passages("\n# A\ntext") == [Passage(1, 9, ("A",))]


def test_every_part_of_a_long_section_carries_its_headings() -> None:
    text = "# A\n\n" + "\n\n".join(["para " * 10] * 4)
    passages = Cutter(headings=True, max_chars=120).passages(text)
    assert len(passages) == 2
    assert {passage.headings for passage in passages} == {("A",)}


def test_without_headings_a_number_sign_is_text() -> None:
    assert Cutter(min_chars=0).passages("# apt update\n\n# apt upgrade") == [Passage(0, 27)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_chars": 19}, "max_chars: expected 20 or more, found 19"),
        ({"max_chars": 100, "overlap": 51}, "overlap: expected 0 to half of max_chars (50), found 51"),
        ({"overlap": -1}, "overlap: expected 0 to half of max_chars (1500), found -1"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError) as raised:
        Cutter(**settings)  # type: ignore[arg-type]
    assert str(raised.value) == message


PIECES = st.sampled_from(
    [
        "word ",
        "가나다",
        "\n\n",
        "\n",
        ". ",
        "# A\n",
        "## B\n",
        "```\n",
        "e\u0301",
        "🇰🇷",
        " ",
        "- item\n",
        "> q\n",
        "=\n",
        "\r\n",
        "x" * 30,
    ]
)


@given(
    st.lists(PIECES, max_size=60).map("".join),
    st.builds(
        Cutter,
        max_chars=st.integers(20, 120),
        min_chars=st.integers(0, 60),
        overlap=st.integers(0, 10),
        headings=st.booleans(),
    ),
)
def test_passages_hold_everything_and_are_never_too_long(text: str, chunker: Cutter) -> None:
    passages = chunker.passages(text)
    covered = set()
    for passage in passages:
        assert 0 < passage.end - passage.start <= chunker.max_chars
        part = text[passage.start : passage.end]
        assert part == part.strip()
        covered.update(range(passage.start, passage.end))
    assert all(place in covered or text[place].isspace() for place in range(len(text)))
    assert [p.start for p in passages] == sorted({p.start for p in passages})


@given(st.lists(PIECES, max_size=60).map("".join), st.integers(20, 120))
def test_without_overlap_no_character_is_in_two_passages(text: str, max_chars: int) -> None:
    passages = Cutter(max_chars=max_chars, headings=True).passages(text)
    assert all(before.end <= after.start for before, after in itertools.pairwise(passages))
