"""The form in which texts are compared, by hand and against the official scripts where the two agree."""

from __future__ import annotations

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.normal_form import fold, normalise, tokens


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The Moon", "moon"),
        ("U.S.", "us"),
        ("Britain's well-known (navy)", "britains wellknown navy"),
        ("Vitamin A", "vitamin a"),  # an article only before a word
        ("A", "a"),
        ("The The", "the"),
        ("A 학점", "a 학점"),
        ("++", "++"),  # nothing else would be left
        ("C++ and C#, .NET (--force)", "c++ and c# .net --force"),  # symbols that belong to a word
        ("(.5) ...so", "0.5 so"),
        ("½ cup, m² and 10²", "½ cup m2 and 10²"),
        ("**1990**–1995", "1990 1995"),
        ("EUR 1.500,00", "eur 1500.00"),
        ("2.5", "2.5"),
        ("v0.4.", "v0.4"),
        (".5", "0.5"),
        ("-5°C (-6)", "-5c -6"),
        ("1,234,567", "1234567"),
        ("12,34", "12 34"),
        ("1939-1945", "1939 1945"),
        ("10:30", "10 30"),
        ("[1] 임수경 [2, 3].", "임수경"),  # citations
        ("１９８９년 ㎏", "1989년 kg"),
        ("〈한성조약〉·《조약》", "한성조약 조약"),
        ("STRASSE Straße", "strasse strasse"),
        ("हिन्दी", "हिन्दी"),  # vowel signs are part of a word
        ("cafe\u0301", "café"),
        ("  \t", ""),
    ],
)
def test_normalised(text, form):
    assert normalise(text) == form


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1989년 2월 15일", ["1989", "년", "2", "월", "15", "일"]),
        ("LG전자의 OLED", ["lg", "전", "자", "의", "oled"]),
        ("東京 タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("the 19th century", ["19th", "century"]),
    ],
)
def test_tokens(text, expected):
    assert tokens(text) == expected


def squad(text: str) -> list[str]:
    """Normalisation of the official SQuAD 1.1 script."""
    text = "".join(char for char in text.lower() if char not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


words = st.text(st.sampled_from("abcdXYZ',!() "), max_size=30).map(lambda text: text + " end")


@given(words)
def test_english_tokens_are_those_of_squad(text):
    assume_no_trailing_article = re.sub(r"\b(an?|the)\b", "x", text, flags=re.IGNORECASE)
    assert tokens(assume_no_trailing_article) == squad(assume_no_trailing_article)


@given(st.text(st.sampled_from("가나다라 ·,.'\"〈〉()bcz"), max_size=20))
def test_korean_characters_are_those_of_korquad(text):
    """The official KorQuAD 1.0 script compares the bag of single characters, without space and punctuation."""
    kept = Counter(char for char in text if char.isalnum())
    assert Counter("".join(tokens(text + "끝"))) == kept + Counter("끝")


@given(st.text(max_size=30))
def test_normalising_twice_changes_nothing_more(text):
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Ｆｕｌｌ\u00a0Width ㎏", "full width kg"),
        ("café Ÿ 한글", "cafe y 한글"),
        ("हिन्दी", "हिन्दी"),
        ("1,000 and 1.000,50", "1000 and 1000.50"),
        ("‘quoted’ “x”", "'quoted' \"x\""),
        ("1990 – 1995, word—word", "1990-1995, word - word"),
        ("¾ 10² m²", "¾ 10² m2"),
        ("so\u200bft\u00adly", "softly"),
        ("ㅋㅋㅏ", "ㅋㅋㅏ"),  # letters of Hangul alone do not join
    ],
)
def test_folded(text, form):
    assert fold(text) == form
