"""Index terms of a text, by rules on its characters. Every rule starts from NFC, lower-cased text.

A text is read as runs: maximal stretches of CJK letters (Hangul, Han, kana, bopomofo) and maximal
stretches of all other letters, digits and underscores. White space, punctuation, symbols and lone
surrogates separate runs and are dropped.
"""

from __future__ import annotations

import re
import unicodedata

CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u318e\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff"
)
HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7ff\uffa0-\uffdc]")
_RUNS = re.compile(rf"([{CJK}]+)|[^\W{CJK}]+")
_WORDS = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Runs of letters and digits of any script: 'BM25는 좋다' -> bm25는, 좋다."""
    return _WORDS.findall(_normalised(text))


def bigrams(text: str) -> list[str]:
    """Overlapping pairs of letters for CJK runs (a run of one letter is a term), other runs whole:
    'LSA 검색기는' -> lsa, 검색, 색기, 기는.
    """
    terms: list[str] = []
    for match in _RUNS.finditer(_normalised(text)):
        run = match[0]
        if match[1] is None or len(run) == 1:
            terms.append(run)
        else:
            terms.extend(map(str.__add__, run, run[1:]))
    return terms


def by_script(text: str) -> list[str]:
    """`bigrams` with English plurals folded: 'Two retrievers, 두 검색기' -> two, retriever, 두, 검색, 색기."""
    return [singular(term) if term[-1] == "s" else term for term in bigrams(text)]


def singular(word: str) -> str:
    """The S stemmer of Harman (1991, "How effective is suffixing?"), for ASCII words of four letters or more."""
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


def _normalised(text: str) -> str:
    return unicodedata.normalize("NFC", text).lower()
