"""What a reader sees of Markdown and HTML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.markup import visible_text

SEEN = [
    ("It takes **14** *days*, _not_ `20`.", "It takes 14 days, not 20."),
    ("snake_case, 5 * 3 and C*", "snake_case, 5 * 3 and C"),
    ("~~14~~ <del>15</del> 20 days", "    20 days"),
    ("It <b>takes</b> 14&nbsp;days<br>or more", "It takes 14\u00a0days\nor more"),
    ("a < b and c > d, List<String>", "a < b and c > d, List<String>"),
    ("| Item | Price |\n|---|---:|\n| Fee | 3 euros |", "Item ; Price\n\nFee ; 3 euros"),
    ("<tr><td>Fee</td><td>3</td></tr>", "\nFee ; 3 ; \n"),
    ("# Title\n> quote\n- one\n* two", "Title\nquote\none\ntwo"),
    ("1. one\n2. two", "one\ntwo"),
    ("14. Oktober", "14. Oktober"),  # one line is no list
    ("```bash\ndocker ps\n```", "\ndocker ps\n"),
    ("see [the guide](https://example.com/a_(b)) and ![alt](x.png)", "see the guide and alt"),
    ("by Fleming[1] in 1928.[2][3]", "by Fleming in 1928."),
    ("mostly nitrogen¹², 10² and m²", "mostly nitrogen, 10² and m²"),
    ("It is 12.4 【3†contract.docx】.", "It is 12.4."),
    ("공지 【안내】입니다", "공지 【안내】입니다"),
    ("38 % (source: survey_2022.pdf, p. 14).", "38 %."),
    ("대전센터입니다[출처 2: 부산센터 소식지].", "대전센터입니다."),
    ("처음 재배되었다3). 다음은 (2)번", "처음 재배되었다. 다음은 (2)번"),
    ("in 1987 (Smith, 1998), of 15 (see p. 12)", "in 1987, of 15"),
    ("in Paris (France) in May (born May 5, 1990)", "in Paris (France) in May (born May 5, 1990)"),
    ("[5]", "[5]"),  # nothing else would be left
    ("plain text", "plain text"),
]


def test_what_is_seen() -> None:
    assert [(text, visible_text(text)) for text, seen in SEEN if visible_text(text) != seen] == []


@pytest.mark.parametrize("wrapped", ["**{}**", "`{}`", "<b>{}</b>", "# {}", "> {}", "- {}", "***{}***"])
@given(
    st.text(st.sampled_from("abc 12가나東é,;!?"), min_size=1).filter(
        lambda text: text == text.strip() and text[0] not in ",;!?"
    )
)
def test_marks_around_a_text_are_not_seen(wrapped: str, text: str) -> None:
    assert visible_text(wrapped.format(text)) == text
