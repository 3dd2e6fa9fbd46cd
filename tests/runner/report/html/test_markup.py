import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.report.html.markup import Html, clean, escape, found_in_data, joined, language_tag, paragraph, table, tag
from tests.html_pages import parse

HOSTILE = "</td><script>alert(1)</script> \"x\" 'y' & <img src=x onerror=alert(1)> &lt;"
TEXTS = st.text(st.characters(exclude_categories=()))  # lone surrogates and controls too


@given(TEXTS)
def test_what_is_shown_is_the_text_and_nothing_else(text: str) -> None:
    (element,) = parse(tag("p", text, title=text)).all("p")
    assert element.text == clean(text)
    assert element.attributes == {"title": clean(text)}
    assert all(isinstance(child, str) for child in element.children)


@given(TEXTS)
def test_what_is_shown_can_be_written_to_a_file(text: str) -> None:
    written = escape(text).encode("utf-8")
    assert not {0, 13} & set(written)
    assert not [c for c in written.decode() if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]


def test_text_is_escaped_once() -> None:
    assert escape("a < b & \"c\" 'd'") == "a &lt; b &amp; &quot;c&quot; &#39;d&#39;"
    assert escape(escape("<")) == "&lt;"
    assert tag("p", Html("<b>x</b>"), "<b>") == "<p><b>x</b>&lt;b&gt;</p>"
    assert joined(["<", tag("br")]) == "&lt;<br>"


def test_hostile_text_stays_text() -> None:
    root = parse(tag("td", HOSTILE, title=HOSTILE))
    assert [element.name for element in root] == ["", "td"]
    assert root.text == HOSTILE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\0", "\ufffd"),
        ("a\ud800b", "a\ufffdb"),
        ("abc \u202e def", "abc \ufffd def"),  # would turn the direction of all that follows
        ("\u2066\x1b[31m", "\ufffd\ufffd[31m"),
        ("a\r\nb\rc\td", "a\nb\nc\td"),
        ("\u0645\u0631\u062d\u0628\u0627", "\u0645\u0631\u062d\u0628\u0627"),  # Arabic keeps its own direction
        ("\u0915\u094d\u200d\u0937", "\u0915\u094d\u200d\u0937"),  # a joiner inside a word
        ("한글\u00a0x", "한글\u00a0x"),
    ],
)
def test_characters_that_show_nothing_are_marked(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_attributes() -> None:
    assert tag("td", class_="a", data_x="1", hidden=True, open=False, lang=None, colspan=2) == (
        '<td class="a" data-x="1" hidden colspan="2"></td>'
    )
    assert tag("rect", x=1.0, y=2.456, width=0.0) == '<rect x="1" y="2.46" width="0"></rect>'
    assert tag("input", type="search") == '<input type="search">'


def test_texts_of_the_data_have_their_own_direction() -> None:
    assert found_in_data("<x>", "dd", "a") == '<dd class="a" dir="auto">&lt;x&gt;</dd>'


def test_no_text_no_paragraph() -> None:
    assert paragraph("") == ""
    assert paragraph("x", "note") == '<p class="note">x</p>'


@pytest.mark.parametrize(
    ("language", "found"),
    [("ko", "ko"), ("en-GB", "en-GB"), ("", None), (None, None), ('ko" onclick="x', None), ("한국어", None)],
)
def test_only_language_tags_become_attributes(language: str | None, found: str | None) -> None:
    assert language_tag(language) == found


def test_tables_have_headers_for_rows_and_columns() -> None:
    root = parse(table(["a", "b"], [["<1>", "2"]], label="A table", right=(1,), class_="x"))
    assert root.one("table", class_="x").rows() == [["a", "b"], ["<1>", "2"]]
    assert [each.attributes for each in root.all("th")] == [
        {"scope": "col"},
        {"scope": "col", "class": "number"},
        {"scope": "row"},
    ]
    assert root.one("td").attributes == {"class": "number"}
    assert root.one("div", role="group").attributes["aria-label"] == "A table"
