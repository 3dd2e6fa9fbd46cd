from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.domains.links.links import Link, links_of, markup_of
from runner.records import Document


def written(text: str) -> list[tuple[str, str, str | None, str | None, str | None]]:
    return [(link.kind, link.reference, link.heading, link.block, link.alias) for link in links_of(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[note]]", ("wiki", "note", None, None, None)),
        ("[[폴더/회의 노트.md]]", ("wiki", "폴더/회의 노트.md", None, None, None)),
        ("[[note|alias here]]", ("wiki", "note", None, None, "alias here")),
        ("[[note#Heading|alias]]", ("wiki", "note", "Heading", None, "alias")),
        ("[[note#Outer#Inner]]", ("wiki", "note", "Inner", None, None)),
        ("[[note#^b1]]", ("wiki", "note", None, "b1", None)),
        ("[[#Heading]]", ("wiki", "", "Heading", None, None)),
        ("[[#^b1]]", ("wiki", "", None, "b1", None)),
        ("[[ C# ]]", ("wiki", "C#", None, None, None)),
        ("![[note]]", ("embed", "note", None, None, None)),
        ("![[note#^b1]]", ("embed", "note", None, "b1", None)),
        ("| a | [[note\\|alias]] |\n| - | - |", ("wiki", "note", None, None, "alias")),
        ("[[snake_case_note]] and _more_", ("wiki", "snake_case_note", None, None, None)),
        ("[text](note.md)", ("markdown", "note.md", None, None, "text")),
        ("[*some* `text`](../a/note.md#part-two)", ("markdown", "../a/note.md", "part-two", None, "some text")),
        ("[글](%ED%9A%8C%EC%9D%98%20%EB%85%B8%ED%8A%B8.md)", ("markdown", "회의 노트.md", None, None, "글")),
        ('[text](<my note.md> "title")', ("markdown", "my note.md", None, None, "text")),
        ("[text][ref]\n\n[ref]: note.md", ("markdown", "note.md", None, None, "text")),
        ("[up](#part)", ("markdown", "", "part", None, "up")),
        ("[](note.md)", ("markdown", "note.md", None, None, None)),
        ("> - [[note]]", ("wiki", "note", None, None, None)),
        ("# About [[note]] #", ("wiki", "note", None, None, None)),
        ("About [[note]]\n===", ("wiki", "note", None, None, None)),
        ("[^1]: [[note]]", ("wiki", "note", None, None, None)),
        ("`open [[note]]", ("wiki", "note", None, None, None)),
        ("[[note]]: what it is", ("wiki", "note", None, None, None)),
    ],
)
def test_forms_of_a_link(text: str, expected: tuple[str, ...]) -> None:
    assert written(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "`[[note]]`",
        "`` a ` [[note]] ``",
        "```\n[[note]]\n```",
        "~~~md\n[text](note.md)\n~~~",
        "> ```\n> [[note]]\n> ```",
        "    [[note]]",
        "<div>\n[[note]]\n</div>",
        "<!-- [[note]] -->",
        '<a title="[[note]]">x</a>',
        "\\[[note]]",
        "[[]]",
        "[[ ]]",
        "[[|alias]]",
        "[[a\nb]]",
        "[text](https://example.org/note.md)",
        "[mail](mailto:a@b.c)",
        "[text](//example.org/note.md)",
        "<https://example.org/[[note]]>",
        "![image](note.md)",
        "[ref]: note.md",
        "[a] [b]",
    ],
)
def test_what_is_no_link(text: str) -> None:
    assert links_of(text) == []


def test_an_address_of_its_own_beside_a_link() -> None:
    assert written("<https://example.org> and [[note]]") == [("wiki", "note", None, None, None)]


@pytest.mark.parametrize(
    "text",
    [
        "처음 [[회의]] 그리고\n\n- 하나\n  - 둘 [글](a.md) ![[b]]\n\n> 인용 [[c|d]]\n둘째 줄 [[e]]\n",
        "# 제목 [[a]] #\n\n1. x\n\n   [[b]] [[b]]\n\t- [[c]]\n",
        "a\r\n\r\n> [[b]]\r\n> [[c]]\r\n\r\n[d](e.md)\r\n",
        "null \0 [[a]]\n",
        "`code` **[[a]]** *[b](c.md)* ~~[[d]]~~ [see ![x](y.png)](z.md)",
    ],
)
def test_places(text: str) -> None:
    found = links_of(text)
    assert len(found) == text.count("[[") + text.count(".md)")
    for link in found:
        assert link.reference in text[link.start : link.end]
        assert text[link.start : link.end].endswith(")" if link.kind == "markdown" else "]]")
        assert text[link.start] == {"wiki": "[", "embed": "!", "markdown": "["}[link.kind]
        assert link.line == text.count("\n", 0, link.start) + 1
    assert [link.start for link in found] == sorted(link.start for link in found)


def test_lines_of_a_file_whose_text_begins_further_down() -> None:
    note = Document("n.md", "[[a]]\n\n[[b]]", line=5)
    assert [link.line_of(note) for link in links_of(note.text)] == [5, 7]


def test_links_in_code_are_listed() -> None:
    text = "Write `[[note#^id|x]]` or ``![[b]]``.\n\n```\nlet a = '[[c]]'\n[[d]]\n```\n\n    [[e]]\n\n`[[ ]]` [[f]]\n"
    assert [(link.kind, link.reference, link.line) for link in markup_of(text).code_links] == [
        ("wiki", "note", 1),
        ("embed", "b", 1),
        ("wiki", "c", 4),
        ("wiki", "d", 5),
        ("wiki", "e", 8),
    ]
    for link in markup_of(text).code_links:
        assert link.in_code and text[link.start : link.end].strip("!").startswith("[[")
    assert [link.reference for link in links_of(text)] == ["f"]


def test_tags_of_the_text() -> None:
    text = "# Title\n\n#project/alpha 그리고 #회의, a#b `#code` https://x.org/#part #123 #2024-q1\n\n```\n#no\n```\n"
    assert markup_of(text).tags == ("project/alpha", "회의", "2024-q1")


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="[]|#\\\n\r`<>\0", exclude_categories=("C", "Z")))


@given(st.lists(st.tuples(st.text("abc 가나\n>-*_", max_size=12), NAMES.filter(bool)), max_size=6))
def test_every_link_is_where_it_says(parts: list[tuple[str, str]]) -> None:
    text = "".join(f"{before} x[[{name}]]" for before, name in parts)
    for link in links_of(text):
        assert text[link.start : link.end] == f"[[{link.reference}]]"
        assert text.count("\n", 0, link.start) + 1 == link.line
    assert len(links_of(text)) == len(parts)


def test_a_link_is_a_record() -> None:
    assert links_of("a [[b]]") == [Link("wiki", "b", None, None, None, 2, 7, 1)]
