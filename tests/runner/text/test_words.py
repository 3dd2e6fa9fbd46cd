import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.words import all_forms, content_words, english_stem, forms, particle


@pytest.mark.parametrize(
    "group",
    [
        "설정합니다 설정하면 설정을 설정했습니다 설정해야 설정됩니다 설정되지",
        "끝났다 끝납니다 끝나면 끝났습니다",
        "먹었습니다 먹는 먹고 먹으면",
        "만들었다 만든 만들면",
        "데이터베이스에서는 데이터베이스를 데이터베이스",
        "회의는 회의를 회의에서 회의",
        "나이가 나이는 나이",
        "물이 물을 물",
        "중요합니다 중요한 중요하고",
        "서울입니다 서울에 서울은",
        "가능합니다 가능한 가능한가요",
        "사용자들은 사용자에게 사용자",
        "stop stops stopped stopping",
        "company companies",
        "box boxes",
        "study studies studied studying",
        "invest invests invested investing",
        "use uses used using",
        "take took taken taking",
        "child children child's",
        "quick quickly",
        "add added adding adds",
        "house houses",
        "Café cafe",
    ],
)
def test_inflected_words_share_a_form(group):
    first, *others = group.split()
    assert all(not forms(first).isdisjoint(forms(other)) for other in others)


@pytest.mark.parametrize(
    "pair", ["환불 배송", "가능 불가능", "서울 부산", "news new", "bus but", "class clay", "organ organic", "나무 나이"]
)
def test_different_words_share_none(pair):
    first, second = pair.split()
    assert forms(first).isdisjoint(forms(second))


def test_content_words_leave_out_function_words_numbers_and_single_letters():
    found = [word.text for word in content_words("The fee is 30 dollars a month; 환불은 그 때 30일 이내에 가능합니다.")]
    assert found == ["fee", "dollars", "month", "환불은", "이내에", "가능합니다"]


def test_words_know_where_they_start():
    text = "No refund, 환불 불가"
    assert all(text.startswith(word.text, word.start) for word in content_words(text))


def test_all_forms():
    assert all_forms(content_words("fees stopped")) == {"fee", "stop"}


@pytest.mark.parametrize(
    ("word", "case"),
    [
        ("서울은", "은"),
        ("부산는", "은"),
        ("비가", "이"),
        ("집이", "이"),
        ("표를", "을"),
        ("역까지", "까지"),
        ("집", ""),
        ("bus", ""),
    ],
)
def test_particle(word, case):
    assert particle(word) == case


@given(st.text(alphabet=st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), min_size=1, max_size=6))
def test_korean_forms_hold_the_word_itself_in_nfc(word):
    found = forms(word)
    assert word in found
    assert "" not in found
    assert all(unicodedata.is_normalized("NFC", form) for form in found)


@given(st.text(alphabet="abcdefghilmnoprstuy'", min_size=1, max_size=12).filter(lambda word: word[0] != "'"))
def test_english_stems_ignore_case_and_are_never_longer_by_much(word):
    assert english_stem(word.upper()) == english_stem(word)
    assert len(english_stem(word)) <= len(word) + 2
