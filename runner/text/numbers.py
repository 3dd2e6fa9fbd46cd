"""Quantities in Korean and English text, normalised so that 1.2억 equals 120,000,000.

Times of day, dates, money, percentages, durations, sizes, counts and number words are found; exact
conversions within one kind are made (hours to seconds, MB to bytes, km to metres, years to months).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from runner.text.units import KOREAN_DAYS, KOREAN_ONES, KOREAN_TENS, MONTHS, MULTIPLIERS, NUMBER_WORDS, UNITS


@dataclass(frozen=True, slots=True)
class Quantity:
    """`face` as written and `factor` of its unit in the base unit `unit` (empty for a bare number)."""

    face: float
    unit: str = ""
    factor: float = 1.0
    text: str = ""

    @property
    def value(self) -> float:
        """The value in the base unit."""
        return self.face * self.factor

    def matches(self, other: Quantity) -> bool:
        """Same value (to one part in a million) and units that do not contradict each other.

        A bare number may be of any unit, a counter (3개, 세 명) may be left out, and 5일 is a duration or a
        day of the month.
        """
        if self.unit == other.unit:
            return math.isclose(self.value, other.value, rel_tol=1e-6)
        units = {self.unit, other.unit}
        return ("" in units or units == _DAYS) and math.isclose(self.face, other.face, rel_tol=1e-6)


_DAYS = {"date.day", "second"}
_Read = Callable[[re.Match[str]], Iterator[Quantity]]


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _unit(name: str | None) -> tuple[str, float]:
    return UNITS.get((name or "").lower(), ("", 1.0))


def _date(match: re.Match[str]) -> Iterator[Quantity]:
    """Year, month and day as separate quantities, those that are there."""
    parts = match.groupdict()
    month = MONTHS[parts["name"][:3].lower()] if parts.get("name") else parts.get("m")
    for unit, part in (("date.year", parts.get("y")), ("date.month", month), ("date.day", parts.get("d"))):
        if part:
            yield Quantity(float(part), unit, text=match[0])


def _decade(match: re.Match[str]) -> Iterator[Quantity]:
    yield Quantity(float(match["decade"]), "date.decade", text=match[0])


def _clock(match: re.Match[str]) -> Iterator[Quantity]:
    """Minutes since midnight."""
    parts = match.groupdict()
    hour, minute, half = int(match["h"]), int(parts.get("min") or 0), (parts.get("half") or "").lower()
    if half.startswith(("p", "오후", "저녁", "밤")) and hour < 12:
        hour += 12
    elif half.startswith(("a", "오전", "새벽")) and hour == 12:
        hour = 0
    yield Quantity(60.0 * hour + minute, "clock", text=match[0])


def _number(match: re.Match[str]) -> Iterator[Quantity]:
    value = _value(match["number"]) * _scale(match["scale"])
    value += sum(_value(number) * _scale(scale) for number, scale in _KOREAN_PART.findall(match["more"] or ""))
    name = match["latin"] or match["other"] or match["currency"]
    if name == "년" and 1000 <= value <= 2999:
        yield Quantity(value, "date.year", text=match[0].strip())
    else:
        yield Quantity(value, *_unit(name), text=match[0].strip())


def _scale(multipliers: str | None) -> float:
    return math.prod(MULTIPLIERS[part] for part in _MULTIPLIER.findall((multipliers or "").lower()))


def _english_words(match: re.Match[str]) -> Iterator[Quantity]:
    value = 0.0
    for word in re.split(r"[\s-]+", match["words"].lower()):
        if word in MULTIPLIERS:
            value = (value or 1.0) * MULTIPLIERS[word]
        else:
            value += NUMBER_WORDS.get(word, 0)
    yield Quantity(value, *_unit(match["latin"]), text=match[0].strip())


def _korean_words(match: re.Match[str]) -> Iterator[Quantity]:
    value = KOREAN_TENS.get(match["tens"] or "", 0) + KOREAN_ONES.get(match["ones"] or "", 0)
    yield Quantity(value, *_unit(match["counter"]), text=match[0].strip())


def _korean_days(match: re.Match[str]) -> Iterator[Quantity]:
    yield Quantity(KOREAN_DAYS[match["days"]], *UNITS["일"], text=match[0])


def _korean_scale(match: re.Match[str]) -> Iterator[Quantity]:
    yield Quantity(_scale(match["scale"]), *_unit(match["other"]), text=match[0])


def _any(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


_NUM = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_LATIN = _any(name for name in UNITS if name.isascii() and name.isalpha())
_OTHER = _any(name for name in UNITS if not (name.isascii() and name.isalpha()))
_COUNTER = _any(name for name, (base, _) in UNITS.items() if name >= "가" and base in ("count", "second", "month"))
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|(?-i:May)|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_SMALL = _any(NUMBER_WORDS)
_MULTIPLIER = re.compile(_any(MULTIPLIERS))
_KOREAN_PART = re.compile(rf"({_NUM})\s?([조억만천백]*)")
_DIGITS, _HANGUL, _LETTERS = (re.compile(needed) for needed in (r"\d", "[가-힣]", "[A-Za-z]"))

# What a text must hold for the pattern to be worth trying, the pattern, its reader; earlier ones win.
_PATTERNS: list[tuple[re.Pattern[str], re.Pattern[str], _Read]] = [
    (needed, re.compile(pattern, re.IGNORECASE), read)
    for needed, pattern, read in (
        (
            _DIGITS,
            r"(?<![\d.])(?P<y>\d{4})[-./]\s?(?P<m>0?[1-9]|1[0-2])[-./]\s?(?P<d>0?[1-9]|[12]\d|3[01])(?!\d)",
            _date,
        ),
        (_HANGUL, r"(?P<y>\d{4})년\s?(?P<m>\d{1,2})월(?:\s?(?P<d>\d{1,2})일)?", _date),
        (_HANGUL, r"(?<!\d)(?P<m>\d{1,2})월\s?(?P<d>\d{1,2})일", _date),
        (_DIGITS, rf"\b{_MONTH}\s+{_DAY}\b(?:\s?,?\s?(?P<y>\d{{4}})\b)?", _date),
        (_DIGITS, rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}\b(?:\s?,?\s?(?P<y>\d{{4}})\b)?", _date),
        (_DIGITS, rf"\b{_MONTH}\s?,?\s+(?P<y>\d{{4}})\b", _date),
        (_DIGITS, r"(?<!\d)(?P<decade>\d{3}0)(?:'?s\b|년대)", _decade),
        (_DIGITS, r"(?<![\d:])(?P<h>\d{1,2}):(?P<min>[0-5]\d)(?:\s?(?P<half>[ap]\.?\s?m\b))?(?!:?\d)", _clock),
        (_DIGITS, r"(?<![\d.])(?P<h>\d{1,2})\s?(?P<half>[ap]\.?\s?m\b)", _clock),
        (
            _HANGUL,
            r"(?:(?P<half>오전|오후|새벽|저녁|밤|아침)\s?)?(?<!\d)(?P<h>\d{1,2})시(?!간)(?:\s?(?P<min>\d{1,2})분)?",
            _clock,
        ),
        (
            _DIGITS,
            rf"(?P<currency>[$€£¥₩])?\s?(?<![\w.])(?<![A-Za-z]-)(?P<number>{_NUM})(?:st|nd|rd|th)?(?!\d|\.\d|s\b|\(\w\))"
            r"(?:[\s-]?(?P<scale>hundred|thousand|million|billion|trillion|bn|k(?![A-Za-z])|[조억만천백]+)"
            rf"(?P<more>(?:\s?(?:{_NUM})\s?[조억만천백]+)*(?:\s?(?:{_NUM})(?=\s?[가-힣]))?))?"
            rf"(?:\s?-?(?P<latin>{_LATIN})(?![A-Za-z])|\s?(?P<other>{_OTHER}))?",
            _number,
        ),
        (
            _LETTERS,
            rf"\b(?P<words>(?:{_SMALL}|a (?=hundred|thousand|million|billion))"
            rf"(?:[\s-]?(?:and )?\b(?:{_SMALL}|hundred|thousand|million|billion|trillion))*)\b"
            rf"(?:[\s-](?P<latin>{_LATIN})\b)?",
            _english_words,
        ),
        (
            _HANGUL,
            rf"(?<![가-힣])(?P<tens>{_any(KOREAN_TENS)})?(?P<ones>{_any(KOREAN_ONES)})?(?<=[가-힣])\s?(?P<counter>{_COUNTER})"
            r"(?:동안|에|이|은|는|을|를|의|로|과|와|도|만|씩|간|정도|뿐|째|이다|입니다|이며|까지|부터|마다)?(?![가-힣])",
            _korean_words,
        ),
        (_HANGUL, rf"(?<![가-힣])(?P<days>{_any(KOREAN_DAYS)})(?![가-힣]{{3}})", _korean_days),
        (_HANGUL, r"(?<![가-힣\d])(?P<scale>[십백천]?[만억조]|[백천])\s?(?P<other>원|명|개|달러|건|대)", _korean_scale),
    )
]
_SPACED = re.compile(r"(?<=\d) (?:(,) (?=\d{3}(?!\d))|(\.) (?=\d))")
_ACCOUNT = re.compile(r"\b40[13]\(?[kb]\b\)?")


def quantities(text: str) -> list[Quantity]:
    """Quantities by position in the text; each stretch of text is read once, dates and times first.

    Numbers that a tokenizer has torn apart (4 . 28, 1 , 000) are read as one; 401(k) is no number.
    """
    text = _ACCOUNT.sub("account", _SPACED.sub(r"\1\2", text))
    placed: list[tuple[int, Quantity]] = []
    for needed, pattern, read in _PATTERNS:
        matches = list(pattern.finditer(text)) if needed.search(text) else []
        for match in matches:
            placed.extend((match.start(), quantity) for quantity in read(match))
        if matches:
            text = pattern.sub(lambda match: "\0" * len(match[0]), text)
    return [quantity for _, quantity in sorted(placed, key=lambda item: item[0])]
