"""Texts cut to a number of tokens."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

from runner.llm.tokens import Counter
from runner.text.sentences import sentence_spans

MARK = " […]"  # where a text was cut
LOOK_AHEAD = 200  # characters behind a cut that decide where its last sentence ends
WORD = 60  # characters before a cut within which a space is looked for in any case: half a number is another one
LETTER = 8  # characters that one letter with its accents may have


def largest_fitting(n: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `n` that fits, if all below one that fits do too; 0 is never tried. Small numbers are
    tried first, so that the number of tries grows with the result."""
    low, high = 0, 1
    while high < n and fits(high):
        low, high = high, high * 2
    high = min(high, n)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def whole_sentences(text: str, budget: int, count: Counter) -> tuple[str, int]:
    """The text as far as whole sentences fit, and how many do not. What has no letter or digit is a sentence too."""
    if count(text) <= budget:
        return text, 0
    ends = [end for _, end in sentence_spans(text)] or [len(text)]
    kept = largest_fitting(len(ends), lambda n: count(text[: ends[n - 1]]) <= budget)
    return text[: ends[kept - 1]] if kept else "", len(ends) - kept


def shorten_text(text: str, budget: int, count: Counter) -> str:
    """The beginning of a text, marked where it was cut: at the end of a sentence that keeps more than half of what
    would fit, else at a space, else within a word. Empty where not even the mark fits."""

    def fits(n: int) -> bool:
        return count(text[:n].rstrip() + MARK) <= budget

    if count(text) <= budget:
        return text
    end = largest_fitting(len(text), fits)
    cut = next((place for place in _places(text, end) if fits(place)), end)
    return text[:cut].rstrip() + MARK if cut else ""


def _places(text: str, end: int) -> Iterator[int]:
    """Where to cut at or before `end`, the best place first."""
    half = end // 2
    sentences = [place for _, place in sentence_spans(text[: end + LOOK_AHEAD])[:-1] if half < place <= end]
    yield from sentences[-1:]
    spaces = (place for place in range(end, max(0, min(half, end - WORD)), -1) if text[place : place + 1].isspace())
    yield from (place for place in [next(spaces, 0)] if place)
    yield from (place for place in range(end, max(half, end - LETTER), -1) if starts_a_letter(text[place]))


def starts_a_letter(character: str) -> bool:
    """Whether a text may be cut before this character: no combining mark, no vowel or final of a jamo."""
    return not unicodedata.category(character).startswith("M") and not "ᅠ" <= character <= "ᇿ"
