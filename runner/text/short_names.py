"""Other forms of a Korean name: shortened (국민건강보험공단, 건보공단), without the surname (최보름, 보름이), or
transcribed in another way (뉴턴, 뉴튼)."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from runner.text.endings import follows

_HANGUL_WORD = re.compile(r"[가-힣]+")


@lru_cache(maxsize=4096)
def is_shortened(name: str, text: str) -> bool:
    """Whether a text has another form of a Korean name of one word or several."""
    said = frozenset(_HANGUL_WORD.findall(text))
    return any(_is_form(part, word) for part in _HANGUL_WORD.findall(name) if len(part) > 1 for word in said)


@lru_cache(maxsize=65536)
def _is_form(name: str, word: str) -> bool:
    if _is_given_name(name, word) or _is_abbreviation(name, word):
        return True
    heads = (word[: len(name) + more] for more in (-1, 0, 1))
    return any(head != name and _consonants(head) == _consonants(name) for head in heads)


def _is_given_name(name: str, word: str) -> bool:
    """Whether a word is the name of a person of three syllables without the first one, the surname."""
    given = name[1:]
    return len(name) == 3 and word.startswith(given) and (word == given or follows(given, word[2:]) or word[2] == "이")


def _is_abbreviation(name: str, word: str) -> bool:
    """Whether the first syllables of a word are some of a longer name, in order, its last one among them."""
    if len(name) < 5:
        return False
    sizes = [size for size in range(3, min(len(word), len(name) - 1) + 1) if _is_part(word[:size], name)]
    ends = [size for size in sizes if word[size - 1] == name[-1]]
    return any(size == len(word) or follows(word[:size], word[size:]) for size in ends)


def _is_part(short: str, name: str) -> bool:
    rest = iter(name)
    return all(syllable in rest for syllable in short)


@lru_cache(maxsize=65536)
def _consonants(word: str) -> str:
    """The consonants of a word of two syllables and more; transcriptions of a name differ in vowels."""
    letters = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in letters if not "\u1161" <= letter <= "\u1175") if len(word) > 1 else letters
