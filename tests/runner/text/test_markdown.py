import pytest

from runner.text.markdown import Heading, anchors, fenced_spans, headings, plain_text, sections


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\ntext\n### B ###\n", [Heading(0, 1, "A"), Heading(9, 3, "B")]),
        ("제목\n====\n\n둘째\n---\n", [Heading(0, 1, "제목"), Heading(9, 2, "둘째")]),
        ("a\r\n\r\n# A\r\n", [Heading(5, 1, "A")]),
        ("```\n# code\n```\n~~~~\n# code\n~~~\n# code\n~~~~\n# A", [Heading(43, 1, "A")]),
        ("    # indented code\n\n<!--\n# comment\n-->\n", []),
        ("> # quoted\n\n- # listed\n", []),
        ("#hashtag\n\n####### seven\n\n\\# escaped\n", []),
        ("a paragraph\nof two lines\n---\n", [Heading(0, 2, "a paragraph of two lines")]),
        ("text\n\n---\n\nmore", []),
        ("#\n", [Heading(0, 1, "")]),
        ("plain text - no heading", []),
        (
            "# Set up {#set-up}\n## Run {: #run .wide}\n### A {#a .b key=1} ###\n",
            [
                Heading(0, 1, "Set up"),
                Heading(19, 2, "Run"),
                Heading(41, 3, "A"),
            ],
        ),
        ("# Sets {a, b} and {curly}", [Heading(0, 1, "Sets {a, b} and {curly}")]),
    ],
)
def test_headings_follow_commonmark(text: str, expected: list[Heading]) -> None:
    assert list(headings(text)) == expected


@pytest.mark.parametrize(
    ("inline", "plain"),
    [
        ("**Set** _up_ `x`", "Set up x"),
        ("[Link](a.md) and ![image](b.png)", "Link and image"),
        ("[[wikilink]] &amp; more", "[[wikilink]] & more"),
        ("two  \nlines", "two lines"),
        ("a\nb", "a b"),
    ],
)
def test_plain_text_has_no_markup(inline: str, plain: str) -> None:
    assert plain_text(inline) == plain


def test_ids_of_headings_and_places() -> None:
    text = (
        '# Set up {#set-up}\n\n## Other\n{: #other .wide }\n\n<h2 id="Html">T</h2>\n\n<a name=place></a>\n\n'
        "```\n# code {#code}\n<a id='code-too'>\n```\n\nsets {a, b} of {#} and ids <id>\n"
    )
    assert anchors(text) == {"set-up", "other", "Html", "place"}


def test_sections_stand_under_their_headings() -> None:
    text = "intro\n# A\na\n## B\nb\n#\nunnamed\n# C\n"
    assert [(text[start:end], path) for start, end, path in sections(text)] == [
        ("intro\n", ()),
        ("# A\na\n", ("A",)),
        ("## B\nb\n", ("A", "B")),
        ("#\nunnamed\n", ()),
        ("# C\n", ("C",)),
    ]


def test_a_text_without_headings_is_one_section() -> None:
    assert sections("text") == [(0, 4, ())]


def test_blank_lines_belong_to_the_first_heading() -> None:
    assert sections("\n\n# A\n") == [(0, 6, ("A",))]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a\n```py\ncode\n```\nb", [(2, 16)]),
        ("````\n```\n````", [(0, 13)]),
        ("~~~\n```\n~~~", [(0, 11)]),
        ("- item\n  ```\n  code\n  ```\n", [(7, 25)]),
        ("```\nnever closed", [(0, 16)]),
        ("no `` fence", []),
    ],
)
def test_fenced_spans(text: str, spans: list[tuple[int, int]]) -> None:
    assert fenced_spans(text) == spans
