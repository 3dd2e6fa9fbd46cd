"""The words of a text that answer a question: what a reference, a question and an answer have in common."""

from __future__ import annotations

from functools import lru_cache

from runner.text.matching import ARTICLES, is_article, read_text
from runner.text.patterns import compile_late
from runner.text.words import forms as word_forms

_ENGLISH_STOP_WORDS = """
the of in on at to for by and or is are was were be it its as with from that this he she they his
her their what which who whom when where how much many does do did will would can could
"""
_KOREAN_STOP_WORDS = """
후 전 이내 이상 이하 까지 동안 약 총 분당 은 는 이 가 을 를 의 에
"""
STOP_WORDS = frozenset(_ENGLISH_STOP_WORDS.split()) | frozenset(_KOREAN_STOP_WORDS.split())
_WORD = compile_late(r"-?\d+(?:\.\d+)*|[가-힣]+|[^\W\d_가-힣]+(?:'[^\W\d_]+)?(?:\+{1,2}|#)?\d*")


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Words and numbers of a folded text in order, articles of English left out."""
    read = read_text(text)
    matches = (
        match for match in _WORD.finditer(read.plain) if match[0] not in ARTICLES or not is_article(read, match.span())
    )
    return tuple(match[0].removesuffix("'s") for match in matches)


@lru_cache(maxsize=4096)
def key_words(text: str) -> frozenset[str]:
    """Forms of the words of a text that carry meaning."""
    found = [word for word in words(text) if word not in STOP_WORDS]
    return frozenset(form for word in found for form in word_forms(word))
