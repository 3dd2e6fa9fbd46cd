"""Korean or English, from the letters and function words of a short text."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["ko", "en"]

_HANGUL = re.compile(r"[가-힣ㄱ-ㆎ]+")
_ENGLISH_FUNCTION_WORDS = re.compile(
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
