import pytest

from runner.text.claims import claims, plain_text


def test_statements_without_citations_questions_and_courtesies():
    answer = "Sure! Refunds take **5 days** [1].\n\n- See [the page](https://example.com).\nDoes that help?"
    assert claims(answer) == ["Refunds take 5 days.", "See the page."]


def test_korean():
    assert claims("죄송합니다. 환불은 30일 이내입니다. [2] 더 필요하신가요?") == ["환불은 30일 이내입니다."]


def test_a_remark_that_the_sources_do_not_tell_stays_even_when_it_apologises():
    assert claims("Sorry, but I do not have that information.") == ["Sorry, but I do not have that information."]


def test_nothing():
    assert claims("") == []


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("## Title", "Title"),
        ("1. Open `main.py`.", "Open main.py."),
        ("> - *quoted* item", "quoted item"),
        ("keep_this_name and 2 * 3", "keep_this_name and 2  3"),
        ("![logo](a.png) here", "logo here"),
        ("| a | b |", "a | b"),
    ],
)
def test_plain_text(sentence, expected):
    assert plain_text(sentence) == expected


def test_a_list_of_links_claims_nothing() -> None:
    assert claims("관련 문서를 찾지 못했습니다.\n- [사용 가이드](/guide)") == ["관련 문서를 찾지 못했습니다."]
    assert claims("See [the guide](/guide) for it.") == ["See the guide for it."]
