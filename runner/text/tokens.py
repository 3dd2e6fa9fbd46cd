"""Index terms of a text, by rules on its characters. Every rule starts from NFC, lower-cased text.

A text is read as runs: maximal stretches of CJK letters (Hangul, Han, kana, bopomofo) and maximal
stretches of all other letters, digits and underscores. White space, punctuation, symbols and lone
surrogates separate runs and are dropped.
"""

from __future__ import annotations

import threading
import unicodedata
from functools import cache, lru_cache

from runner.text.patterns import compile_late

CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u318e\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff"
)
HANGUL = compile_late("[\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7ff\uffa0-\uffdc]")
_RUNS = compile_late(rf"([{CJK}]+)|[^\W{CJK}]+")
LONGEST = 60  # letters of a word that is stemmed
_WORDS = compile_late(r"\w+")


def words(text: str) -> list[str]:
    """Runs of letters and digits of any script: 'BM25는 좋다' -> bm25는, 좋다."""
    return _WORDS.findall(_normalise(text))


def bigrams(text: str) -> list[str]:
    """Overlapping pairs of letters for CJK runs (a run of one letter is a term), other runs whole:
    'LSA 검색기는' -> lsa, 검색, 색기, 기는.
    """
    terms: list[str] = []
    for match in _RUNS.finditer(_normalise(text)):
        run = match[0]
        if match[1] is None or len(run) == 1:
            terms.append(run)
        else:
            terms.extend(map(str.__add__, run, run[1:]))
    return terms


def by_script(text: str) -> list[str]:
    """`bigrams` with words of ASCII letters stemmed by the rules of English (Porter 2001, "Snowball"):
    'Retrievers ranked, 두 검색기' -> retriev, rank, 두, 검색, 색기. Words with digits stay.
    """
    return [_english_stem(term) if term.isascii() and term.isalpha() else term for term in bigrams(text)]


class _Stemmers(threading.local):
    """Stemmers, one for each thread, as PyStemmer requires."""

    def __init__(self) -> None:
        from Stemmer import Stemmer

        self.english = Stemmer("english", 0)


@cache
def _stemmers() -> _Stemmers:
    return _Stemmers()


@lru_cache(maxsize=131_072)
def _english_stem(word: str) -> str:
    return str(_stemmers().english.stemWord(word)) if len(word) <= LONGEST else word


def _normalise(text: str) -> str:
    return unicodedata.normalize("NFC", text).lower()
