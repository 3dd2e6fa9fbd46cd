"""Stems of English words by Porter (1980), "An algorithm for suffix stripping", with the changes that NLTK's stemmer
makes by default, since published scores were made with it: a few irregular forms, words of up to two letters, `ies`
and `ied` of short words, `y` after a vowel or at the second place, and four endings more.

Only for scores that are defined by it; words that are compared otherwise go through runner.text.words.
"""

from __future__ import annotations

import re
from functools import lru_cache

_IRREGULAR = {
    form: stem
    for stem, forms in {
        "sky": ("sky", "skies"), "die": ("dying",), "lie": ("lying",), "tie": ("tying",), "news": ("news",),
        "inning": ("innings", "inning"), "outing": ("outings", "outing"), "canning": ("cannings", "canning"),
        "howe": ("howe",), "proceed": ("proceed",), "exceed": ("exceed",), "succeed": ("succeed",),
    }.items()
    for form in forms
}  # fmt: skip
_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip
_MEASURED = re.compile("vc")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a word in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = _past(_plural(word))
    if word.endswith("y") and len(word) > 2 and _shape(word[:-1])[-1] == "c":
        word = word[:-1] + "i"
    return _last(_without(_replace_ending(_second(word), _STEP_3)))


def _shape(stem: str) -> str:
    """`c` and `v` a letter; y is a vowel after a consonant."""
    shape = ""
    for letter in stem:
        is_vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if is_vowel else "c"
    return shape


def _measure(stem: str) -> int:
    """How many times consonants follow vowels."""
    return len(_MEASURED.findall(re.sub(r"(.)\1+", r"\1", _shape(stem))))


def _ends_cvc(stem: str) -> bool:
    """Whether a word ends with a short syllable; two letters of which the first is a vowel count as one, too."""
    shape = _shape(stem)
    return (shape.endswith("cvc") and stem[-1] not in "wxy") or shape == "vc"


def _plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending):
            left = word.removesuffix(ending)
            return _mend_stem(left) if "v" in _shape(left) else word
    return word


def _mend_stem(stem: str) -> str:
    """Repair the stem that is left of a word without -ed or -ing."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if len(stem) > 1 and stem[-1] == stem[-2] and _shape(stem)[-1] == "c":
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_cvc(stem) else stem


def _second(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _second(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace_ending(word, _STEP_2)


def _replace_ending(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    """The first ending that fits decides, whether it can be replaced or not."""
    for ending, instead in endings:
        if word.endswith(ending):
            left = word.removesuffix(ending)
            return left + instead if _measure(left) > 0 else word
    return word


def _without(word: str) -> str:
    for ending in _STEP_4:
        if word.endswith(ending) and (ending != "ion" or word[: -len(ending)].endswith(("s", "t"))):
            left = word.removesuffix(ending)
            return left if _measure(left) > 1 else word
    return word


def _last(word: str) -> str:
    if word.endswith("e"):
        left = word[:-1]
        if _measure(left) > 1 or (_measure(left) == 1 and not _ends_cvc(left)):
            word = left
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
