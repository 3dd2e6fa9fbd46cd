"""Which language a short text is in, from its letters and function words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from runner.text.patterns import compile_late

Language = Literal["ko", "en"]

SENTENCE = 2  # words in Hangul, or function words of English, that make a sentence of a text

_HANGUL = compile_late(r"[가-힣ㄱ-ㆎ]+")
_COMMON_LATIN = compile_late(r"\b[a-z]{3,}\b")  # no names
_ENGLISH_FUNCTION_WORDS = compile_late(
    r"\b(?:the|a|an|is|are|was|were|be|been|do|does|did|has|have|had|of|in|on|at|to|for|from|with|by|and|or|not|but|if"
    r"|what|who|whom|which|when|where|why|how|can|could|will|would|should|it|its|this|that|these|those|i|you|he|she|we"
    r"|they|my|your|his|her|our|their|there|than|as)\b",
    re.IGNORECASE,
)


def detect_language(text: str) -> Language:
    """`ko` when Hangul words are at least as many as English function words, else `en` (also without letters).

    Function words decide because Korean sentences borrow English nouns (Docker에서 volume을 mount하는 법)
    while English sentences that quote a Korean word keep their own grammar.
    """
    korean = len(_HANGUL.findall(text))
    return "ko" if korean and korean >= len(_ENGLISH_FUNCTION_WORDS.findall(text)) else "en"


def differ_in_language(text: str, others: Iterable[str]) -> bool:
    """Whether a text is a sentence in another language than all of the others, so that their words cannot be compared.
    A name, a number or another phrase without grammar of its own is of every language."""
    language = _sentence_language(text)
    languages = {_sentence_language(other) for other in others} - {None}
    return language is not None and bool(languages) and language not in languages


def _sentence_language(text: str) -> str | None:
    """The language of a text of several words; None where too little tells it."""
    if len(_HANGUL.findall(text)) >= SENTENCE or len(_ENGLISH_FUNCTION_WORDS.findall(text)) >= SENTENCE:
        return detect_language(text)
    is_latin = len(_COMMON_LATIN.findall(text)) >= SENTENCE and not _HANGUL.search(text)
    return other_language(text) or ("en" if is_latin else None)


# Words that are frequent in one language, and none of English.
_FUNCTION_WORDS = {
    "de": """der die das und ist nicht ein eine einen einem einer mit von zu den dem für auf im auch sich wird werden
        wie bei oder aus nach sind zum zur""",
    "fr": "le la les des est dans pour que qui une du au aux et ou pas avec sont cette ce il elle nous vous",
    "es": "el los las una es en por con para que y se su como está son más pero esta este lo al",
    "it": "il lo gli una è con che di della si sono alla anche più questo nel dei perché",
    "pt": "os uma é em por para que da dos das não se são mais na ao pelo",
    "nl": "de het een en van niet met voor op te dat die zijn aan ook naar bij wordt",
    "sv": "och att det som en på är av för med till inte ett",
    "pl": "w na z jest nie się że jak po dla przez od są oraz",
    "tr": "ve bir bu için ile da olarak çok daha gibi olan",
    "id": "dan yang di ini itu untuk dengan dari tidak pada adalah akan",
    "vi": "và của là có không được cho trong với các một này đã những để",
}
_BY_WORD = {
    word: [name for name, words in _FUNCTION_WORDS.items() if word in words.split()]
    for listed in _FUNCTION_WORDS.values()
    for word in listed.split()
}
_SCRIPTS = {  # of languages that no other rule tells apart
    "ja": re.compile(r"[\u3041-\u30ff]"),
    "zh": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
}
_WORD = compile_late(r"[^\W\d_]+")
_LETTER = compile_late(r"[^\W\d_]")
LEAST = 2  # function words of a language that tell a text as one of it


@lru_cache(maxsize=4096)
def other_language(text: str) -> str | None:
    """The language of a text that is neither Korean nor English, as a code of two letters, by its letters or by more
    function words than English has; a Cyrillic text is `ru`, one in Devanagari `hi`. None where nothing tells."""
    if _HANGUL.search(text):
        return None
    letters = len(_LETTER.findall(text))
    for name, script in _SCRIPTS.items():  # Japanese before Chinese: both write Han
        if letters and len(script.findall(text)) > letters * (0.15 if name == "ja" else 0.5):
            return name
    counts = Counter(name for word in _WORD.findall(text.casefold()) for name in _BY_WORD.get(word, ()))
    if not counts:
        return None
    name, count = max(counts.items(), key=lambda item: (item[1], item[0]))
    return name if count >= LEAST and count > len(_ENGLISH_FUNCTION_WORDS.findall(text)) else None
