from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.tokens import bigrams, by_script, singular, words


def test_korean_runs_become_overlapping_pairs_of_letters() -> None:
    assert bigrams("검색기는 LSA-2를 쓴다") == ["검색", "색기", "기는", "lsa", "2", "를", "쓴다"]


def test_a_run_of_one_letter_is_a_term() -> None:
    assert bigrams("물 of 3 종") == ["물", "of", "3", "종"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("東京都", ["東京", "京都"]),
        ("カタカナ", ["カタ", "タカ", "カナ"]),
        ("ｶﾀｶ", ["ｶﾀ", "ﾀｶ"]),
        ("ㅋㅋㅋ", ["ㅋㅋ", "ㅋㅋ"]),
        ("서울・부산", ["서울", "부산"]),
        ("𠀀𠀁", ["𠀀𠀁"]),
        ("naïve Straße", ["naïve", "straße"]),
        ("don't a_b 3.14", ["don", "t", "a_b", "3", "14"]),
    ],
)
def test_runs_of_other_scripts(text: str, terms: list[str]) -> None:
    assert bigrams(text) == terms


def test_decomposed_hangul_is_the_same_text() -> None:
    assert bigrams(unicodedata.normalize("NFD", "한국어")) == ["한국", "국어"]
    assert words(unicodedata.normalize("NFD", "한국어 CAFÉ")) == ["한국어", "café"]


def test_words_keep_particles() -> None:
    assert words("BM25는 좋다, Not bad!") == ["bm25는", "좋다", "not", "bad"]


def test_by_script_folds_english_plurals_and_nothing_else() -> None:
    assert by_script("Two retrievers, 두 검색기s") == ["two", "retriever", "두", "검색", "색기", "s"]
    assert [term for term in by_script("retrievers") if term not in bigrams("retrievers")] == ["retriever"]


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("queries", "query"),
        ("indices", "indice"),
        ("trees", "tree"),
        ("heroes", "heroe"),
        ("cats", "cat"),
        ("corpus", "corpus"),
        ("class", "class"),
        ("was", "was"),
        ("ages", "age"),
        ("2020s", "2020"),
        ("éclairs", "éclairs"),
    ],
)
def test_singular_is_the_s_stemmer(word: str, folded: str) -> None:
    assert singular(word) == folded


@pytest.mark.parametrize("rule", [words, bigrams, by_script])
def test_nothing_to_index(rule: type) -> None:
    for text in ("", "  \n", "?!… 🙂", "\ud800", "\ufffd\ufffd"):
        assert rule(text) == []


@given(st.text(st.characters(), max_size=40))  # lone surrogates included
def test_terms_are_clean_whatever_the_text(text: str) -> None:
    for rule in (words, bigrams, by_script):
        terms = rule(text)
        assert terms == rule(text)
        assert all(term and not any("\ud800" <= letter <= "\udfff" for letter in term) for term in terms)


@given(st.text("가나다라마", min_size=2, max_size=30))
def test_pairs_spell_the_run(run: str) -> None:
    terms = bigrams(run)
    assert len(terms) == len(run) - 1
    assert terms[0] + "".join(term[1] for term in terms[1:]) == run
