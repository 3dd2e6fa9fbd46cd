"""Quantities in Korean and English text, normalised so that 1.2억 equals 120,000,000.

Times of day, dates, money, percentages, durations, sizes, counts and number words are found; exact
conversions within one kind are made (hours to seconds, MB to bytes, km to metres, years to months).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantity:
    """`face` as written and `factor` of its unit in the base unit `unit` (empty for a bare number)."""

    face: float
    unit: str = ""
    factor: float = 1.0
    text: str = ""

    @property
    def value(self) -> float:
        return self.face * self.factor

    def matches(self, other: Quantity) -> bool:
        """Same value (to one part in a million) and units that do not contradict each other."""
        if not _compatible(self.unit, other.unit):
            return False
        if self.unit == other.unit:
            return math.isclose(self.value, other.value, rel_tol=1e-6)
        return math.isclose(self.face, other.face, rel_tol=1e-6)


def _compatible(first: str, second: str) -> bool:
    """A bare number may be of any kind; 5일 is a duration or a day of the month."""
    units = {first, second}
    return len(units) == 1 or "" in units or units == {"date.day", "second"}


_UNITS: dict[str, tuple[str, float]] = {}


def _unit(base: str, **factors: str) -> None:
    for factor, names in factors.items():
        for name in names.split():
            _UNITS[name] = (base, float(factor.lstrip("x").replace("_", ".")))


_unit("second", x1="second seconds sec secs s 초", x60="minute minutes min mins 분", x3600="hour hours hr hrs h 시간")
_unit("second", x86400="day days 일 일간", x604800="week weeks 주 주일 주간")
_unit("second", x0_001="ms millisecond milliseconds 밀리초")
_unit("month", x1="month months 개월 달", x12="year years yr yrs 년간")
_unit("month", x120="decade decades", x1200="century centuries 세기")
_unit("%", x1="% percent 퍼센트 프로 per-cent percentage")
_unit("byte", x1="byte bytes 바이트", x1000="kb kib 킬로바이트", x1000000="mb mib 메가바이트 메가")
_unit("byte", x1000000000="gb gib 기가바이트 기가", x1000000000000="tb tib 테라바이트 테라")
_unit("won", x1="원 won krw ₩")
_unit("dollar", x1="달러 dollar dollars usd $ 불", x0_01="cent cents")
_unit("euro", x1="유로 euro euros eur €")
_unit("yen", x1="엔 yen jpy ¥")
_unit("pound", x1="파운드 gbp £")
_unit("metre", x1="m meter meters metre metres 미터", x1000="km kilometer kilometers kilometre kilometres 킬로미터")
_unit("metre", x0_01="cm 센티미터 센티", x0_001="mm 밀리미터")
_unit("mile", x1="mile miles mi 마일")
_unit("foot", x1="foot feet ft")
_unit("gram", x1="g gram grams 그램", x1000="kg kilogram kilograms 킬로그램 킬로", x0_001="mg 밀리그램")
_unit("litre", x1="l liter liters litre litres 리터", x0_001="ml 밀리리터")
_unit("degree", x1="° 도 degree degrees °c °f")
_unit("hertz", x1="hz", x1000="khz", x1000000="mhz", x1000000000="ghz")
_unit("count", x1="개 명 번 회 권 장 마리 대 잔 곳 사람 배 가지 건 차례 살 세 층 편 석 쪽 페이지 인 점 위 항목 단계 팀")
_UNITS["년"] = ("month", 12.0)
_UNITS["월"] = ("date.month", 1.0)

_MULTIPLIERS = {
    "조": 1e12, "억": 1e8, "만": 1e4, "천": 1e3, "백": 1e2, "십": 1e1,
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "bn": 1e9, "k": 1e3,
}  # fmt: skip
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = {name: number for number, full in enumerate(_MONTHS, 1) for name in (full, full[:3])} | {"sept": 9}
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS = {word: float(number) for number, word in enumerate(_ONES)} | {
    word: 10.0 * number for number, word in enumerate(_TENS, 2)
}
_KOREAN_ONES = {
    "한": 1, "하나": 1, "두": 2, "둘": 2, "세": 3, "셋": 3, "네": 4, "넷": 4, "다섯": 5, "여섯": 6, "일곱": 7,
    "여덟": 8, "아홉": 9,
}  # fmt: skip
_KOREAN_TENS = {"열": 10, "스물": 20, "스무": 20, "서른": 30, "마흔": 40, "쉰": 50, "예순": 60, "일흔": 70}
_KOREAN_DAYS = {
    "하루": 1,
    "이틀": 2,
    "사흘": 3,
    "나흘": 4,
    "닷새": 5,
    "엿새": 6,
    "이레": 7,
    "열흘": 10,
    "보름": 15,
    "일주일": 7,
}


def _names(names: list[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


_NUM = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_LATIN_UNITS = _names([name for name in _UNITS if name.isascii() and name.isalpha()])
_OTHER_UNITS = _names([name for name in _UNITS if not (name.isascii() and name.isalpha())])
_UNIT = rf"(?:\s?-?(?P<latin>{_LATIN_UNITS})(?![A-Za-z])|\s?(?P<other>{_OTHER_UNITS}))"
_COUNTER = _names(
    [name for name, (base, _) in _UNITS.items() if "가" <= name[0] and base in ("count", "second", "month")]
)
_MONTH_NAMES = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|(?-i:May)|june?|july?|aug(?:ust)?|sept?(?:ember)?"
)
_MONTH_NAMES += r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
_SMALL = _names(list(_WORDS))


def _date(year: str | None, month: int | None, day: str | None, text: str) -> Iterator[Quantity]:
    if year:
        yield Quantity(float(year), "date.year", text=text)
    if month:
        yield Quantity(float(month), "date.month", text=text)
    if day:
        yield Quantity(float(day), "date.day", text=text)


def _numeric_date(match: re.Match[str]) -> Iterator[Quantity]:
    return _date(match["y"], int(match["m"]), match["d"], match[0])


def _korean_date(match: re.Match[str]) -> Iterator[Quantity]:
    month = match["m"]
    return _date(match["y"], int(month) if month else None, match["d"], match[0])


def _named_date(match: re.Match[str]) -> Iterator[Quantity]:
    groups = match.groupdict()
    return _date(groups["y"], _MONTH[match["name"].lower()], groups["d"], match[0])


def _decade(match: re.Match[str]) -> Iterator[Quantity]:
    yield Quantity(float(match["decade"]), "date.decade", text=match[0])


def _clock(match: re.Match[str]) -> Iterator[Quantity]:
    groups = match.groupdict()
    hour, minute = int(match["h"]), int(groups.get("min") or 0)
    half = (groups.get("half") or "").lower()
    if half.startswith(("p", "오후", "저녁", "밤")) and hour < 12:
        hour += 12
    elif half.startswith(("a", "오전", "새벽")) and hour == 12:
        hour = 0
    yield Quantity(60.0 * hour + minute, "clock", text=match[0])


def _number(match: re.Match[str]) -> Iterator[Quantity]:
    groups = match.groupdict()
    value, scale = _value(match["number"]), (match["scale"] or "").lower()
    value *= math.prod(_MULTIPLIERS[part] for part in re.findall(_names(list(_MULTIPLIERS)), scale))
    if (more := groups["more"]) is not None:
        value += sum(_value(n) * math.prod(_MULTIPLIERS[part] for part in m) for n, m in _KOREAN_PART.findall(more))
    name = (groups["latin"] or groups["other"] or groups["currency"] or "").lower()
    base, factor = _UNITS.get(name, ("", 1.0))
    if name == "년" and 1000 <= value <= 2999:
        base, factor = "date.year", 1.0
    yield Quantity(value, base, factor, match[0].strip())


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _english_words(match: re.Match[str]) -> Iterator[Quantity]:
    parts = re.split(r"[\s-]+", match["words"].lower())
    value = 0.0
    for part in parts:
        if part in _MULTIPLIERS:
            value = (value or 1.0) * _MULTIPLIERS[part]
        elif part in _WORDS:
            value += _WORDS[part]
    base, factor = _UNITS.get((match["latin"] or "").lower(), ("", 1.0))
    yield Quantity(value, base, factor, match[0].strip())


def _korean_words(match: re.Match[str]) -> Iterator[Quantity]:
    value = _KOREAN_TENS.get(match["tens"] or "", 0) + _KOREAN_ONES.get(match["ones"] or "", 0)
    base, factor = _UNITS[match["counter"]]
    yield Quantity(value, base, factor, match[0].strip())


def _korean_days(match: re.Match[str]) -> Iterator[Quantity]:
    yield Quantity(float(_KOREAN_DAYS[match["days"]]), "second", 86400.0, match[0])


def _korean_scale(match: re.Match[str]) -> Iterator[Quantity]:
    base, factor = _UNITS[match["other"]]
    yield Quantity(math.prod(_MULTIPLIERS[part] for part in match["scale"]), base, factor, match[0])


_KOREAN_PART = re.compile(rf"({_NUM})\s?([조억만천백]*)")
_KOREAN_DAY_NAMES = _names(list(_KOREAN_DAYS))
_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Iterator[Quantity]]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (
            r"(?<![\d.])(?P<y>\d{4})[-./]\s?(?P<m>0?[1-9]|1[0-2])[-./]\s?(?P<d>0?[1-9]|[12]\d|3[01])(?![\d])",
            _numeric_date,
        ),
        (r"(?P<y>\d{4})년\s?(?P<m>\d{1,2})월(?:\s?(?P<d>\d{1,2})일)?", _korean_date),
        (r"(?P<y>(?!))?(?<!\d)(?P<m>\d{1,2})월\s?(?P<d>\d{1,2})일", _korean_date),
        (rf"\b{_MONTH_NAMES}\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?:\s?,?\s?(?P<y>\d{{4}})\b)?", _named_date),
        (rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH_NAMES}\b(?:\s?,?\s?(?P<y>\d{{4}})\b)?", _named_date),
        (rf"\b{_MONTH_NAMES}\s?,?\s+(?P<y>\d{{4}})\b(?P<d>(?!))?", _named_date),
        (r"(?<!\d)(?P<decade>\d{3}0)(?:'?s\b|년대)", _decade),
        (r"(?<![\d:])(?P<h>\d{1,2}):(?P<min>[0-5]\d)(?:\s?(?P<half>[ap]\.?\s?m\b))?(?!:?\d)", _clock),
        (r"(?<![\d.])(?P<h>\d{1,2})\s?(?P<half>[ap]\.?\s?m\b)", _clock),
        (
            r"(?:(?P<half>오전|오후|새벽|저녁|밤|아침)\s?)?(?<!\d)(?P<h>\d{1,2})시(?!간)(?:\s?(?P<min>\d{1,2})분)?",
            _clock,
        ),
        (
            rf"(?P<currency>[$€£¥₩])?\s?(?<![\w.])(?<![A-Za-z]-)(?P<number>{_NUM})(?:st|nd|rd|th)?(?!\d|\.\d)"
            r"(?:[\s-]?(?P<scale>hundred|thousand|million|billion|trillion|bn|(?-i:[kK])(?![A-Za-z])|[조억만천백]+)"
            rf"(?P<more>(?:\s?(?:{_NUM})\s?[조억만천백]+)*(?:\s?(?:{_NUM})(?=\s?[가-힣]))?)?)?{_UNIT}?",
            _number,
        ),
        (
            rf"\b(?P<words>(?:{_SMALL}|a hundred|a thousand|a million|a billion)"
            rf"(?:[\s-](?:and )?(?:{_SMALL}|hundred|thousand|million|billion|trillion))*)\b"
            rf"(?:[\s-](?P<latin>{_LATIN_UNITS})\b)?",
            _english_words,
        ),
        (
            rf"(?<![가-힣])(?P<tens>{_names(list(_KOREAN_TENS))})?(?P<ones>{_names(list(_KOREAN_ONES))})?"
            rf"(?<=[가-힣])\s?(?P<counter>{_COUNTER})(?:동안|에|이|은|는|을|를|의|로|과|와|도|만|씩|간|정도|뿐|째)?(?![가-힣])",
            _korean_words,
        ),
        (rf"(?<![가-힣])(?P<days>{_KOREAN_DAY_NAMES})(?![가-힣]{{3}})", _korean_days),
        (r"(?<![가-힣\d])(?P<scale>[십백천]?[만억조]|[백천])\s?(?P<other>원|명|개|달러|건|대)", _korean_scale),
    )
)


def quantities(text: str) -> list[Quantity]:
    """Quantities by position in the text; each stretch of text is read once, dates and times first."""
    found: list[tuple[int, Quantity]] = []
    for pattern, read in _PATTERNS:
        for match in pattern.finditer(text):
            found.extend((match.start(), quantity) for quantity in read(match))
        text = pattern.sub(lambda match: "\0" * len(match[0]), text)
    return [quantity for _, quantity in sorted(found, key=lambda item: item[0])]
