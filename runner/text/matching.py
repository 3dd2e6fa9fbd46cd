"""Whether a text says something, in one of the forms in which it may be written.

A text and what is looked for are read into the same units: words without their inflection, amounts by value and unit,
dates and times of day. What is looked for shows where

- its letters stand, after Unicode normalisation (NFC), without accents, case, characters without a width and thousands
  separators; white space is folded, counts for nothing beside Hangul, and stands for a hyphen or a full stop between
  words. An article in front does not count: the cat, a cat, cat.
- or its units stand one after the other: English words in any inflection (a capitalised word is a name and has none
  but 's), Korean words before any ending (runner.text.endings), amounts of the same value (runner.text.amounts):
  1억 5천만 = 150,000,000원 = 1.5억, 20% = 20퍼센트, 오후 3시 = 15:00, 11월 3일 = 2026-11-03.

It stands by itself:

- A number is not part of another one: 10 is not in 110, 10.5, 10:30, 10억 or 10 million, 1억 not in 1.2억 or in
  1억 5000만, 5 not in -5. A unit may follow in Hangul (10명, 1.5억 원); Latin letters may not (10k, 10GB).
- A word is not part of another one (cat is not in concat, 민수 not in 김민수), though a word of another script may
  be written next to it (AWS는). After Hangul only what may follow a noun does: 부산으로는, not 부산물.

And the text states it (`shows`): one of its places is neither denied, given up or past, nor only asked, wished,
possible or under a condition (runner.text.stance). `mentions` asks only whether it stands there, `gives` whether it
is said as the answer to a question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from runner.text.amounts import Amount, amounts
from runner.text.endings import follows, follows_count, melts
from runner.text.patterns import compile_late
from runner.text.words import english_stem
from runner.text.words import forms as word_forms

Span = tuple[int, int]

_INVISIBLE = compile_late("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_ACCENT = compile_late("[\u0300-\u036f]")
_THOUSANDS = compile_late(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLE = compile_late(r"^(?:an?|the) (?=\w)")
_HANGUL = compile_late(r"[가-힣]")
_LETTER = compile_late(r"[^\W\d가-힣]")  # of any script but Hangul
_REST = compile_late(r"[가-힣]*")
_LAST_WORD = compile_late(r"[가-힣]+$")
_AMOUNT_END = compile_late(r"\d\s?[가-힣%]{0,5}$")

# What may not precede or follow a number, and a number that ends with 억 and the like.
_BEFORE = compile_late(r"(?:\d|\d[.:/]|(?<!\w)[.\-−]|[^\W\d가-힣])$")
_AFTER = compile_late(
    r"\d|[.:/]\d|[^\W\d가-힣]|\s?[조억만천백십]|\s?(?:hundred|thousand|million|billion|trillion|bn)(?![a-z])"
)
_LARGE = compile_late(r"\d\s?[조억만천백십]+$")
_LARGE_AFTER = compile_late(r"[조억만천백십]|\s?\d+(?:\.\d+)?\s?[조억만천백원달불]")
_AMOUNT = compile_late(r"\d[\d.]*\s?(?:[조억만천백십]|원|달러|불)")
_AMOUNT_BEFORE = compile_late(r"\d\s?[조억만천백십]+\s?$")
_DIALLED = compile_late(r"\+?\d{2,4}(?:[-. ]?\d{3,4}){2}|\d{4}-\d{4}|\+\d{1,3}(?:[-. ]?\d{3,4}){2,3}")
_INITIALS = compile_late(r"(?:[A-Z][a-z]?\.){2,}|[A-Z]{2,4}|[A-Z][a-z][A-Z]")
_SHORTENED = {
    "ℓ": "l", "담주": "다음 주", "담달": "다음 달", "카톡": "카카오톡", "알바": "아르바이트", "남친": "남자친구",
    "여친": "여자친구", "인스타": "인스타그램",
}  # fmt: skip
_SHORT = compile_late(
    "|".join(_SHORTENED).replace("알바", "알바(?!니)").replace("인스타", "인스타(?!그램)") + "|(?<=[월화수목금토일])욜"
)
WRAPPED = 60  # characters of a line that may continue in the next one
NEAR = 12  # characters before a number that show whether it continues there

_WORD = compile_late(r"[^\W_가-힣]+(?:['’][a-z]{1,2}(?![a-z]))?|[가-힣]+")
_SKIPPED = {
    "a",
    "an",
    "the",
    "my",
    "your",
    "his",
    "her",
    "its",
    "our",
    "their",
    "some",
    "myself",
    "yourself",
    "himself",
}
_SKIPPED |= {"herself", "ourselves", "themselves"}
_TRIMMED = {
    "fri": "friday", "weds": "wednesday", "tues": "tuesday", "thurs": "thursday", "jan": "january", "feb": "february",
    "aug": "august", "sept": "september", "oct": "october", "nov": "november", "dec": "december",
}  # fmt: skip
_VERBAL = compile_late(r"[기다함음는한된할]$")
_GOES_ON = compile_late(r"[.:]\d")  # v2 in v2.3
_COMPASS = compile_late(r"(?:^|[.!?,]|\b(?:in|to|from|of|at|near|around|for|than)) ?(?:new|west|north|south|east) $")


def shows(text: str, forms: Iterable[str], *, besides: Iterable[str] = ()) -> bool:
    """Whether the text states one of the forms; one without letters and digits it never does. What stands within
    one of `besides` does not count: 5월 shows in nothing that says 5월 20일, where that is what it was changed to."""
    from runner.text.stance import stance  # its patterns take a while to compile

    lined = _join_wrapped_lines(text)
    return any(stance(lined, *span) == "stated" for span in _spans_outside(_plain_text(text), forms, besides))


def gives(answer: str, known_answers: Iterable[str]) -> bool:
    """Whether an answer to a question gives one of the known answers: not where it says outright that this is not it
    (not 8 euros, 8유로가 아니라). What was, may be or would be can be what was asked for."""
    from runner.text.stance import is_refuted

    plain = _plain_text(answer)
    return any(not is_refuted(plain, *span) for span in _spans_outside(plain, known_answers, ()))


def mentions(text: str, forms: Iterable[str]) -> bool:
    """Whether one of the forms occurs in the text, whether or not the text states it."""
    plain = _plain_text(text)
    return any(True for _ in _spans_outside(plain, forms, ()))


def shows_inside(text: str, forms: Iterable[str]) -> bool:
    """The same where longer words, but not longer numbers, may contain a form: for texts that must show nowhere."""
    plain = _plain_text(text)
    return any(_is_whole_number(plain, span) for form in forms for span in _occurrences(plain, form))


def _spans_outside(plain: str, forms: Iterable[str], besides: Iterable[str]) -> Iterator[Span]:
    """The places of the forms outside of the spans of `besides`."""
    others = [span for form in besides for span in _spans(plain, form)]
    return (
        span for form in forms for span in _spans(plain, form) if not any(_is_within(span, other) for other in others)
    )


def _plain_text(text: str) -> str:
    return _join_wrapped_lines(text).replace("\n", " ")


@lru_cache(maxsize=256)
def _join_wrapped_lines(text: str) -> str:
    """Replace white space, and line breaks within a sentence, by one space."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", _INVISIBLE.sub("", text)).casefold())
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", folded)))
        folded = _SHORT.sub(lambda match: _SHORTENED.get(match[0], "요일"), folded)
    lines = [" ".join(line.split()) for line in _THOUSANDS.sub("", folded).splitlines()]
    lines = [line for line in lines if line]
    return "".join([line + (" " if len(line) > WRAPPED else "\n") for line in lines])[:-1]


def _spans(plain: str, form: str) -> Iterator[Span]:
    """The places of a form: as it is written, then by its units."""
    value = _value(form)
    if value.is_literal:
        for span in _occurrences(plain, form):
            if _is_whole_number(plain, span) and _is_whole_word(plain, span) and _is_own(plain, span, value):
                yield span
    if value.units:
        yield from (span for span in _by_units(plain, value) if value.lone or _is_own(plain, span, value))


def _is_own(plain: str, span: Span, value: _Value) -> bool:
    """Whether the place of an amount is not that of another (3시 in 3시간, 3시 30분), and that of a name not within a
    longer one (York in New York)."""
    if value.lone is not None and value.lone.kind:
        return all(
            value.lone.is_same(amount)
            for amount in amounts(plain)
            if amount.kind and amount.start < span[1] and span[0] < amount.end
        )
    return not (value.units and value.units[0].is_name and _COMPASS.search(plain[: span[0]]))


# --- as it is written -------------------------------------------------------------------------------


def _occurrences(plain: str, form: str) -> Iterator[Span]:
    """All occurrences of a form, overlapping ones too."""
    pattern = _pattern(form)
    match = pattern.search(plain) if pattern else None
    while pattern and match:
        yield match.span()
        match = pattern.search(plain, match.start() + 1)


@lru_cache(maxsize=65536)
def _pattern(form: str) -> re.Pattern[str] | None:
    """The pattern of a form, with an optional space beside Hangul, between a number and Hangul, before a currency; with
    a hyphen or a full stop where a space is, and the other way round."""
    plain = _ARTICLE.sub("", _plain_text(form))
    if not any(character.isalnum() for character in plain):
        return None
    if len(_HANGUL.findall(plain)) > 2:
        plain = re.sub(r"(?<=[가-힣])(?=[가-힣])", " ", plain)
    tight = re.sub(r"(?<=[가-힣]) | (?=[가-힣])|(?<=\d)(?=[가-힣])|(?<=[조억만천백])(?=원|달러)", "\0", plain)
    if _DIALLED.fullmatch(plain):
        return re.compile("[-. ]?".join(re.escape(digit) for digit in re.sub(r"[-. ]", "", plain)))
    if _INITIALS.fullmatch(form):
        return re.compile("[.]?".join(re.escape(letter) for letter in plain.replace(".", "")))
    loose = re.sub(r"(?<=[a-z])-(?=[a-z0-9])", "\1", tight)
    loose = re.sub(r"(?<=[a-z]) ?(?=\d)", "\1", loose)
    loose = re.sub(r"(?<=[a-z])(?:\. ?| )(?=[a-z])", "\2", loose)
    if plain.isascii() and plain.isalpha() and 4 <= len(plain) <= 24:
        return re.compile("-?".join(plain))
    escaped = re.escape(loose).replace("\0", " ?").replace("\\ ?", " ?")
    return re.compile(escaped.replace("\1", "[- ]?").replace("\2", "(?:[.]? |-|[.])?"))


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
    """Whether the Hangul after the span, if there is any, belongs to the same word."""
    ending = _REST.match(plain, span[1])
    if ending is None or not ending[0]:
        return True
    word = _LAST_WORD.search(plain, *span)
    if word is None:
        return not plain[span[1] - 1].isdigit() or _ends_as_number(plain, span)
    if plain[word.start() - 1 : word.start()].isdigit() and follows_count(ending[0]):
        return True
    return follows(word[0], ending[0])


def _ends_as_number(plain: str, span: Span) -> bool:
    """Whether a number ends where the span does: a unit or an ending follows."""
    return any(amount.start <= span[0] and amount.end >= span[1] for amount in amounts(plain)) or follows_count(
        _rest_of_word(plain, span[1])
    )


def _rest_of_word(plain: str, at: int) -> str:
    match = _REST.match(plain, at)
    return match[0] if match else ""


# --- by units ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Unit:
    """A word or an amount. `stem`: of an English word; `is_name`: no inflection but 's."""

    start: int
    end: int
    word: str = ""
    stem: str = ""
    is_name: bool = False
    amount: Amount | None = None

    def says(self, value: _Unit) -> bool:
        """Whether this unit of a text is that of a value."""
        if value.amount is not None:
            return self.amount is not None and value.amount.is_same(self.amount)
        if self.amount is not None:
            return False
        if _HANGUL.match(value.word):
            return _says_korean(self.word, value.word)
        return value.word in (self.word, _TRIMMED.get(self.word)) if value.is_name else self.stem == value.stem


def _says_korean(word: str, value: str) -> bool:
    if word.startswith(value) and follows(value, word[len(value) :]):
        return True
    if melts(value, word):
        return True
    if value.endswith("기") and len(value) > 1 and _verb(value[:-1]).match(unicodedata.normalize("NFD", word)):
        return True
    return _VERBAL.search(value) is not None and not (word_forms(value) - {value}).isdisjoint(word_forms(word))


@lru_cache(maxsize=4096)
def _verb(stem: str) -> re.Pattern[str]:
    """A verb in any form: with its last vowel drawn into the ending (그리다, 그려요), with ㄷ as ㄹ (걷다, 걸어요)."""
    letters = unicodedata.normalize("NFD", stem)
    last = letters[-1]
    vowel_forms = {
        "\u1175": "(?:\u1175|\u1167)",
        "\u11ae": "(?:\u11ae|\u11af)",
        "\u1169": "(?:\u1169|\u116a)",
        "\u116e": "(?:\u116e|\u116f)",
    }
    return re.compile(re.escape(letters[:-1]) + vowel_forms.get(last, re.escape(last)))


@dataclass(frozen=True, slots=True)
class _Value:
    """`units`: none where what is looked for can only be found as it is written; `is_literal`: whether it can be found
    as it is written."""

    units: tuple[_Unit, ...]
    is_literal: bool = True
    lone: Amount | None = None


@lru_cache(maxsize=65536)
def _value(form: str) -> _Value:
    plain = _plain_text(form)
    units = [unit for unit in _units(plain) if unit.word not in _SKIPPED]
    if not units or not any(unit.amount or unit.stem or unit.word for unit in units):
        return _Value(())
    lone = units[0].amount if len(units) == 1 else None
    is_spelled = lone is not None and not any(character.isdigit() for character in plain)
    return _Value(_with_names(form, units), not is_spelled, lone)


def _with_names(form: str, units: Sequence[_Unit]) -> tuple[_Unit, ...]:
    """Capitalised words count as names, which have no inflection; the first of several only where the next one is a
    name, too."""
    capitals = {match[0].casefold() for match in re.finditer(r"[^\W\d_]+", form) if match[0][0].isupper()}
    words = [unit for unit in units if unit.stem]
    is_name = [unit.word.split("'")[0] in capitals and not unit.word.endswith(("day", "days")) for unit in words]
    if len(words) > 1 and is_name[0] and not any(is_name[1:2]):
        is_name[0] = False
    flags = dict(zip((unit.start for unit in words), is_name, strict=True))
    return tuple(
        _Unit(unit.start, unit.end, unit.word, unit.stem, flags.get(unit.start, False), unit.amount) for unit in units
    )


@lru_cache(maxsize=1024)
def _units(plain: str) -> tuple[_Unit, ...]:
    """Words and amounts in order."""
    numbers = [_Unit(amount.start, amount.end, amount=amount) for amount in amounts(plain)]
    at = 0
    words: list[_Unit] = []
    for match in _WORD.finditer(plain):
        while at < len(numbers) and numbers[at].end <= match.start():
            at += 1
        if at < len(numbers) and numbers[at].start < match.end():
            continue
        word = match[0].replace("’", "'").removesuffix("'s")
        is_latin = not _HANGUL.match(word)
        words.append(_Unit(*match.span(), word, _stem(word) if is_latin else ""))
    return tuple(sorted([*numbers, *words], key=lambda unit: unit.start))


_SPELLINGS = (
    (compile_late(r"(?<=[^aeiou])re$"), "er"), (compile_late(r"our(?=s?$|ed$|ing$|ite)"), "or"),
    (compile_late(r"ogue$"), "og"),
    (compile_late(r"is(?=e$|ed$|ing$|ation$)"), "iz"), (compile_late(r"^grey"), "gray"),
)  # fmt: skip


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    word = _TRIMMED.get(word, word)
    for pattern, spelling in _SPELLINGS if len(word) > 3 else ():
        word = pattern.sub(spelling, word)
    stem = english_stem(word)
    return stem.removesuffix("e") if len(stem) > 3 else stem


@dataclass(frozen=True, slots=True)
class _Reading:
    """The units of a text that state something, and the numbers of those that may match a unit of a value: by stem, by
    the first syllable of a Korean word, and all amounts."""

    units: tuple[_Unit, ...]
    places: dict[str, list[int]]


@lru_cache(maxsize=1024)
def _reading(plain: str) -> _Reading:
    units = tuple(unit for unit in _units(plain) if unit.word not in _SKIPPED)
    places: dict[str, list[int]] = {}
    for number, unit in enumerate(units):
        places.setdefault(_key(unit), []).append(number)
    return _Reading(units, places)


def _key(unit: _Unit) -> str:
    """A key that two units share if one matches the other; the first consonant of a Korean word, since its vowel may
    change (걷다, 걸어요)."""
    if unit.amount is not None:
        return "0"
    return unicodedata.normalize("NFD", unit.word[0])[0] if _HANGUL.match(unit.word) else unit.stem


def _by_units(plain: str, value: _Value) -> Iterator[Span]:
    read, units, n = _reading(plain), value.units, len(value.units)
    for first in read.places.get(_key(units[0]), ()):
        spoken_units = read.units[first : first + n]
        if len(spoken_units) == n and all(one.says(other) for one, other in zip(spoken_units, units, strict=True)):
            span = spoken_units[0].start, _end(spoken_units[-1], units[-1])
            if _are_together(plain, spoken_units) and not (units[-1].word and _GOES_ON.match(plain, span[1])):
                yield span


def _end(unit: _Unit, value: _Unit) -> int:
    """The end of a place, without the endings of a Korean word."""
    if value.amount is None and _HANGUL.match(value.word) and unit.word.startswith(value.word):
        return unit.start + len(value.word)
    return unit.end


def _are_together(plain: str, units: Sequence[_Unit]) -> bool:
    """Whether nothing but white space, a hyphen or an article stands between the units, or the mark of a sentence."""
    return not any(re.search(r"[.!?;:()\n]\s|,", plain[one.end : other.start]) for one, other in pairwise(units))


def _is_within(span: Span, other: Span) -> bool:
    return span != other and other[0] <= span[0] and span[1] <= other[1]
