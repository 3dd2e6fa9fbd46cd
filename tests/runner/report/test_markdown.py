"""What the escaped text looks like after a Markdown parser has read it."""

import html
import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from runner.report.markdown import Markdown, bold, code_block, escape, number_items, quote, shorten, table

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.text(
    "|\\`*_<>[]()#~$&!-+=1.a \n가", max_size=20
)


def visible(text: str) -> str:
    """What is meant to be seen: white space folded, hidden characters replaced."""
    folded = re.sub(r"\s+", " ", text).strip()
    hidden = {"Cc", "Cs", "Co"}
    return "".join(
        "\ufffd"
        if unicodedata.category(c) in hidden or (unicodedata.category(c) == "Cf" and c not in "\u200c\u200d")
        else c
        for c in folded
    )


def cells(markdown: str) -> list[list[str]]:
    """Text of every cell of a table, row by row."""
    rows = re.findall(r"<tr>(.*?)</tr>", PARSER.render(markdown), re.S)
    return [[html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)] for row in rows]


def test_each_special_character_by_hand() -> None:
    assert escape("a|b") == "a\\|b"
    assert escape("`x` *y* [z](u)") == "\\`x\\` \\*y\\* \\[z\\](u)"
    assert escape("<b>&amp;") == "&lt;b&gt;&amp;amp;"
    assert escape("two\nlines\tand\r\nmore ") == "two lines and more"
    assert escape("snake_case _emphasis_ 한_글") == "snake_case \\_emphasis\\_ 한_글"
    assert escape("a\u202eb\x00c\ud800") == "a\ufffdb\ufffdc\ufffd"
    assert [escape(text) for text in ("- x", "1. x", "1.5 x", "# x")] == ["\\- x", "1\\. x", "1.5 x", "\\# x"]


def test_markdown_is_not_escaped_again() -> None:
    assert escape(escape("a|b")) == "a\\|b"
    assert escape(Markdown("**x**")) == "**x**"
    assert bold("a*b") == "**a\\*b**"


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_a_table_has_the_cells_it_was_given_whatever_they_say(rows: list[tuple[str, str]]) -> None:
    found = cells(table(["A", "B"], rows))
    assert found == [["A", "B"], *([visible(a), visible(b)] for a, b in rows)]


@given(TEXT)
def test_a_paragraph_says_what_it_was_given(text: str) -> None:
    rendered = PARSER.render(escape(text))
    assert html.unescape(re.sub(r"^<p>|</p>\n$", "", rendered)) == visible(text)


@given(TEXT)
def test_a_code_block_cannot_be_left(text: str) -> None:
    tokens = PARSER.parse(code_block(text, "sh"))
    assert [token.type for token in tokens] == ["fence"]


def test_numbers_are_right_aligned_on_request() -> None:
    assert table(["a", "b"], [["x", "1"]], right=[1]) == "| a | b |\n| --- | ---: |\n| x | 1 |"


def test_lists_and_quotes() -> None:
    assert number_items(["a", "b|c"]) == "1. a\n2. b\\|c"
    assert quote(["a", "b"]) == "> a\n>\n> b"


def test_long_text_is_cut_at_the_limit() -> None:
    assert shorten("가나다라", 4) == "가나다라"
    assert shorten("가나다라마", 4) == "가나다…"
    assert shorten(" a \n b ", 10) == "a b"
