from __future__ import annotations

import sys

import pytest

from plugins.tokenizer.kiwi import KiwiTokenizer
from runner.errors import InputError

MORPHEMES = KiwiTokenizer(bigrams=False)  # loads its model once, at the first text


def test_content_morphemes_and_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    both = KiwiTokenizer()
    monkeypatch.setitem(vars(both), "_kiwi", MORPHEMES._kiwi)  # another would be loaded for two seconds and more
    assert both.tokenize(["서류를 접수한다"]) == [["서류", "접수", "서류", "류를", "접수", "수한", "한다"]]


def test_morphemes_alone_with_the_words_of_other_scripts() -> None:
    assert MORPHEMES.tokenize(["서류를 Documents 3부", "東京"]) == [["서류", "부", "document", "3"], ["東京"]]


def test_verbs_lose_their_endings() -> None:
    eaten, eating = MORPHEMES.tokenize(["밥을 먹었습니다", "밥을 먹는다"])
    assert eaten == eating == ["밥", "먹"]


def test_odd_texts() -> None:
    rows = MORPHEMES.tokenize(["", "\ud800", "가나\ud800\0다라", "서류 " * 20000])
    assert rows[:2] == [[], []]
    assert rows[3] == ["서류"] * 20000


def test_the_extra_is_named_where_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    with pytest.raises(InputError, match=r"^tokenizer=kiwi needs the package kiwipiepy .*pip install -e .*\[kiwi\]'?$"):
        KiwiTokenizer().tokenize(["서류"])
