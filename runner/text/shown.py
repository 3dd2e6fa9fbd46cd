"""Whether a text says something in one of the ways in which it may be written, digit for digit.

Compared after Unicode normalisation (NFC) and case folding. White space is folded, and what is looked for with a
space beside Hangul is found without it, too (1.5억 원, 1.5억원). Thousands separators and characters without a width
go. What is looked for stands by itself:

- An article in front does not count: the cat, a cat, cat.
- A number is not part of another one: 10 is not in 110, 10.5, 10:30, 10억 or 10 million, 1억 not in 1.2억 or in
  1억 5000만, 5 not in -5. A unit may follow in Hangul (10명, 1.5억 원); Latin letters may not (10k, 10GB).
- A word is not part of another one (cat is not in concat, 민수 not in 김민수), though a word of another script may
  be written next to it (AWS는).
- After Hangul only what may follow a noun or a stem does: particles, copula, endings (부산은, 부산으로는,
  완료했습니다), not the rest of another word (부산물, 예산안).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from runner.text.units import UNITS
from runner.text.words import forms as word_forms

Span = tuple[int, int]

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLE = re.compile(r"^(?:an?|the) (?=\w)")
_HANGUL = re.compile(r"[가-힣]")
_LETTER = re.compile(r"[^\W\d가-힣]")  # of any script but Hangul
_REST = re.compile(r"[가-힣]*")
_LAST_WORD = re.compile(r"[가-힣]+$")
_UNIT = re.compile("|".join(sorted((name for name in UNITS if name >= "가"), key=len, reverse=True)))

# What may not stand before and after a number, and before and after one that ends with 억 and the like.
_BEFORE = re.compile(r"(?:\d|\d[.:/]|(?<!\w)[.\-−]|[^\W\d가-힣])$")
_AFTER = re.compile(
    r"\d|[.:/]\d|[^\W\d가-힣]|\s?[조억만천백십]|\s?(?:hundred|thousand|million|billion|trillion|bn)(?![a-z])"
)
_LARGE = re.compile(r"\d\s?[조억만천백십]+$")
_LARGE_AFTER = re.compile(r"[조억만천백십]|\s?\d+(?:\.\d+)?\s?[조억만천백원달불]")
_AMOUNT = re.compile(r"\d[\d.]*\s?(?:[조억만천백십]|원|달러|불)")
_AMOUNT_BEFORE = re.compile(r"\d\s?[조억만천백십]+\s?$")
NEAR = 12  # characters before a number that tell whether it goes on there


def shows(text: str, forms: Iterable[str], *, besides: Iterable[str] = ()) -> bool:
    """Whether one of the forms stands in the text; one without letters and digits never does. What stands within
    one of `besides` does not count: 5월 shows in nothing that says 5월 20일, where that is what it was changed to."""
    plain = _plain(text)
    others = [span for form in besides for span in _spans(plain, form)]
    return any(not any(_within(span, other) for other in others) for form in forms for span in _spans(plain, form))


def shows_inside(text: str, forms: Iterable[str]) -> bool:
    """The same where words, but not numbers, may go on before and after: for what must show nowhere."""
    plain = _plain(text)
    return any(_is_whole_number(plain, span) for form in forms for span in _occurrences(plain, form))


@lru_cache(maxsize=64)
def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", _INVISIBLE.sub("", text)).casefold())
    return " ".join(_THOUSANDS.sub("", folded).split())


def _spans(plain: str, form: str) -> Iterator[Span]:
    return (span for span in _occurrences(plain, form) if _is_whole_number(plain, span) and _is_whole_word(plain, span))


def _occurrences(plain: str, form: str) -> Iterator[Span]:
    """At every place, overlapping ones too."""
    pattern = _pattern(form)
    found = pattern.search(plain) if pattern else None
    while pattern and found:
        yield found.span()
        found = pattern.search(plain, found.start() + 1)


@lru_cache(maxsize=65536)
def _pattern(form: str) -> re.Pattern[str] | None:
    """With a space that may or may not be there beside Hangul, between a number and Hangul, before a currency."""
    plain = _ARTICLE.sub("", _plain(form))
    if not any(character.isalnum() for character in plain):
        return None
    tight = re.sub(r"(?<=[가-힣]) | (?=[가-힣])|(?<=\d)(?=[가-힣])|(?<=[조억만천백])(?=원|달러)", "\0", plain)
    return re.compile(re.escape(tight).replace("\0", " ?").replace("\\ ?", " ?"))


def _is_whole_number(plain: str, span: Span) -> bool:
    start, end = span
    before = plain[max(0, start - NEAR) : start]
    if plain[start].isdigit() and (
        _BEFORE.search(before) or (_AMOUNT.match(plain, start) and _AMOUNT_BEFORE.search(before))
    ):
        return False
    if plain[end - 1].isdigit():
        return _AFTER.match(plain, end) is None
    return not (_LARGE.search(plain, start, end) and _LARGE_AFTER.match(plain, end))


def _is_whole_word(plain: str, span: Span) -> bool:
    start, end = span
    before, after = plain[max(0, start - 1) : start], plain[end : end + 1]
    if _HANGUL.match(plain[start]) and _HANGUL.match(before):
        return False
    if _LETTER.match(plain[start]) and (before.isdigit() or _LETTER.match(before)):
        return False
    if _LETTER.match(plain[end - 1]):
        return not (after.isdigit() or _LETTER.match(after))
    return _ends_as_word(plain, span)


def _ends_as_word(plain: str, span: Span) -> bool:
    """Whether the Hangul that goes on after the span, if any does, belongs to the same word."""
    word = _LAST_WORD.search(plain, *span)
    rest = _REST.match(plain, span[1])
    if word is None or rest is None or not rest[0]:
        return True
    unit = _UNIT.match(rest[0]) if plain[word.start() - 1 : word.start()].isdigit() else None
    stems = [word[0], *([word[0] + unit[0]] if unit else [])]
    whole = word[0] + rest[0]
    shorter = [whole, *(form for form in word_forms(whole) if whole.startswith(form))]  # 부산이었어요, 부산이
    return any(stem in word_forms(form) for form in shorter for stem in stems)


def _within(span: Span, other: Span) -> bool:
    return span != other and other[0] <= span[0] and span[1] <= other[1]
