"""Facts of a clause: of what something is said (key), and what (value)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from runner.text.numbers import quantities
from runner.text.words import content_words, forms


def any_of(words: str) -> str:
    """A pattern for one of the words, phrases and patterns that are listed between commas."""
    return "(?:" + "|".join(" ".join(word.split()) for word in words.split(",")) + ")"


_MONTHS = "january, february, march, april, may, june, july, august, september, october, november, december"
_MOMENTS = frozenset(["date", "clock", "weekday", "quarter"])
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|[월화수목금토일]요일", re.IGNORECASE)
_PERIOD = re.compile(
    rf"\b{any_of(_MONTHS)}\b"
    r"|(?<!\d)\d{1,2}월(?!\s?\d)|(?<![\d.,$-])(?:19|20)\d\d년?(?![\d.,-])|\d분기|\bq[1-4]\b",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"\bother\b|다른", re.IGNORECASE)  # the group size is not the other group's
_CODE = re.compile(r"[A-Za-z]*\d[\w.-]*")
_NUMBER = re.compile(r"\d[\d,.]*")
_LARGE = re.compile(r"\s?[조억만천백십]+(?:\s?원)?$")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Fact:
    """`old`: the value that the clause itself says is no longer true. Without a key, `old` tells which fact it is
    that has changed. `is_loose`: the key is only what the clause is about, so that facts of one key with values of
    different kinds are different facts."""

    key: str
    value: str
    old: str = ""
    is_loose: bool = False


def _listed(words: str) -> frozenset[str]:
    return frozenset(stem(word.strip()) for word in words.split(","))


def stem(word: str) -> str:
    return min(forms(word), key=lambda form: (len(form), form))


# Words of a key that do not tell two things apart; some do not where the values are moments, or names.
_FILLERS = _listed(
    """
    our, my, your, the, this, that, its, now, new, current, currently, final, total, overall, present, latest, actual,
    exact, month, year, week, today, planned, main, own, old, original, 우리, 저희, 제, 내, 현재, 지금, 이번, 달, 올해,
    새, 새로운, 최종, 총, 전체, 오늘, 이번달, 요즘, 최신, 기존, 원래, 당초
    """
)
_MOMENT_WORDS = _listed("date, day, time, 날짜, 일자, 일정, 시점, 시각, 시간, 날")
_NAME_WORDS = _listed("name, 이름, 성함, 명칭")


def same_thing(one: Fact, other: Fact) -> bool:
    """Whether both say what the value of one and the same thing is."""
    kinds = {kind(one.value), kind(other.value)}
    first, second = identity(one.key) | _periods(one.value), identity(other.key) | _periods(other.value)
    if kinds <= _MOMENTS:
        return _less(first, _MOMENT_WORDS) == _less(second, _MOMENT_WORDS)
    if kinds == {"text"}:
        return _less(first, _NAME_WORDS) == _less(second, _NAME_WORDS)
    return first == second and (len(kinds) == 1 or not (one.is_loose or other.is_loose))


def _less(words: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    return words - others or words


@lru_cache(maxsize=65536)
def identity(key: str) -> frozenset[str]:
    """The words of a key that tell it from others, reduced to one form each."""
    plain = _PERIOD.sub(" ", key)
    exact = {match[0].lower() for match in (*_PERIOD.finditer(key), *_CODE.finditer(plain))}
    exact |= {match[0].lower() for match in _ELSEWHERE.finditer(plain)}
    words = content_words(plain)
    stems = {stem(word.text) for word in words} - _FILLERS
    fallback = {word.text.lower() for word in words} or {" ".join(key.lower().split())}
    return frozenset(exact | {_without_moment(each) for each in stems} or fallback)


def _periods(value: str) -> frozenset[str]:
    """The months and years that a value is of."""
    return frozenset() if kind(value) in _MOMENTS else frozenset(match[0].lower() for match in _PERIOD.finditer(value))


def _without_moment(word: str) -> str:
    """출시일 is when 출시 is."""
    return word[:-1] if len(word) > 2 and word.endswith("일") and "가" <= word[0] <= "힣" else word


@lru_cache(maxsize=65536)
def kind(value: str) -> str:
    """What a value is a value of: its unit, what is counted, a moment; `text` for other words."""
    found = quantities(value)
    if not found:
        return "weekday" if _WEEKDAY.search(value) else "text"
    unit = found[0].unit
    if unit.startswith("date."):
        return "date"
    if unit and unit != "count":
        return unit
    match = _NUMBER.search(value)
    after = _WORD.search(value, match.end()) if match and not _LARGE.match(value, match.end()) else None
    return stem(after[0]) if after else "number"
