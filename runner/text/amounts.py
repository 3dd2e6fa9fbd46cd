"""Numbers, amounts, dates and times of day where they stand in a text, in every form in which they are written.

Read from a text in lower case without thousands separators. What two amounts have in common is a value of one kind: an
amount of money, a duration, a size, a count of one counter (3명, 세 명), a date, a time of day, a bare number. A number
is read as a whole: 1억 5천만 is one amount, and so is twenty-five; digits within a word (EC2, v2.3) are not amounts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from runner.text.endings import follows_count
from runner.text.patterns import compile_late
from runner.text.units import KOREAN_DAYS, KOREAN_ONES, KOREAN_TENS, MONTHS, MULTIPLIERS, NUMBER_WORDS, UNITS

Kind = str
DATE, CLOCK, BARE = "date", "clock", ""
DAY, HALF_DAY = 1440, 720  # minutes


@dataclass(frozen=True, slots=True)
class Amount:
    """`values`: what it may be: one number, or of a time of day (17:00, 5시) minutes since midnight, or of a date year,
    month and day (0 where it is not said). `number`: as it is said, without the unit. `kind`: base unit, counter, DATE,
    CLOCK or BARE. `is_spelled`: in letters. `is_large`: written with 만, 억, million and the like."""

    start: int
    end: int
    kind: Kind
    values: tuple[float, ...]
    number: float = 0.0
    is_large: bool = False

    @property
    def family(self) -> Kind:
        """The kind that it can be converted to: miles are metres."""
        return _FAMILIES.get(self.kind, (self.kind, 1.0))[0]

    @property
    def in_family(self) -> float:
        """Its value as one of its family."""
        return self.values[0] * _FAMILIES.get(self.kind, (self.kind, 1.0))[1]

    @property
    def is_measured(self) -> bool:
        """Whether its unit is one of a system of units, or a currency: no counter, date or time of day."""
        return self.kind not in (DATE, CLOCK, BARE, "date.year", "date.decade", "ordinal") and self.kind not in _COUNTED

    def is_same(self, other: Amount) -> bool:
        """Whether `other`, an amount of a text, has the same value. A counter or a currency may be missing on either
        side, a bare number matches the number of any unit, and a year that one of two dates lacks is taken from the
        other."""
        if self.kind == other.kind:
            if self.kind == DATE:
                return all(
                    mine == theirs or not mine or not theirs
                    for mine, theirs in zip(self.values, other.values, strict=True)
                )
            return any(math.isclose(one, two, rel_tol=1e-9) for one in self.values for two in other.values)
        if {self.kind, other.kind} == {"pound", "lb"}:
            return self.values == other.values
        if self.family == other.family:
            return math.isclose(self.in_family, other.in_family, rel_tol=CONVERTED)
        if "kilo" in (self.kind, other.kind) and not _KILO.isdisjoint((self.kind, other.kind)):
            return math.isclose(self.values[0], other.values[0], rel_tol=1e-9)
        if self.kind == "date.year" and other.kind == DATE:
            return self.number == other.values[0]
        if not math.isclose(self.number, other.number, rel_tol=1e-9) or DATE in (self.kind, other.kind):
            return False
        if self.kind == BARE:
            return other.kind != CLOCK
        if other.kind == BARE:
            return self.kind in _COUNTED or (self.kind in _MONEY and (self.is_large or self.number >= 1000))
        return False


CONVERTED = 0.005  # the most by which a value that was converted between systems of units differs
_FAMILIES = {
    "mile": ("metre", 1609.344), "foot": ("metre", 0.3048), "inch": ("metre", 0.0254), "lb": ("gram", 453.592),
    "ounce": ("gram", 28.3495), "pyeong": ("m2", 3.30579), "mph": ("km/h", 1.609344),
}  # fmt: skip

# What UNITS has as one kind or not at all: kind, factor, names. Counters are kinds of their own: 3명 is no 3개.
_MORE = """
people 1 명, 인, 식구, 사람, people, persons, person
age 1 살, 세
times 1 번, 회, 차례, times
thing 1 개
animal 1 마리
machine 1 대
book 1 권
sheet 1 장
cup 1 잔
bottle 1 병
floor 1 층
house 1 채
case 1 건
place 1 곳, 군데
kind 1 가지
score 1 점
team 1 팀
step 1 단계
pair 1 켤레, 쌍
grade 1 학년
page 1 페이지, 쪽
item 1 항목
share 1 인분
multiple 1 배
seat 1 석, 자리
lesson 1 교시
dollar 1.0 bucks, buck
pound 1.0 quid, pounds
litre 0.001 미리, milliliters, 밀리리터, 시시
% 1.0 per cent, pct
month 1.0 달, 개월간
kilo 1.0 킬로, 키로
second 60.0 분
second 3600.0 시간
metre 0.01 센치, centimeters, centimetres
metre 1e3 키로미터, kms
gram 1e3 키로그램, kgs, kilos, kilo
pyeong 1.0 평
byte 1e9 gigs, gig, gigabytes, gigabyte, 지비
byte 1e6 megabytes
byte 1e12 terabytes, terabyte
lb 1.0 lb, lbs
ounce 1.0 oz, ounce, ounces
inch 1.0 inch, inches, 인치, ", ″
fahrenheit 1.0 f, degrees fahrenheit
celsius 1.0 degrees celsius, c, 도
degree 1.0 degrees
km/h 1.0 km/h, kph, km per hour, kilometers per hour
mph 1.0 mph, miles per hour
metre 0.001 millimeters
m2 1.0 제곱미터, ㎡, m², m2
second 604800.0 주일간
age 1.0 y/o, yo, years old, year old, year-old
euro 1.0 유로
gram 0.001 milligrams, milligram, ㎎
gram 1e-6 micrograms, microgram, mcg, µg
gram 1e6 톤, t, tonne, tonnes, ton, tons
amp-hour 1.0 ah
amp-hour 0.001 mah
cup 1.0 cup, cups, 컵
tablespoon 1.0 큰술, 테이블스푼, 숟갈, tbsp, tablespoon, tablespoons
teaspoon 1.0 작은술, 티스푼, tsp, teaspoon, teaspoons
calorie 1.0 kcal, 칼로리, 킬로칼로리, calories
celsius 1.0 °c, degrees c
mmhg 1.0 mmhg
watt 1.0 w, watt, watts, 와트
watt 1e3 kw, kilowatt, kilowatts, 킬로와트
watt 1e6 mw, megawatt, megawatts, 메가와트
"""
_COUNTED = frozenset(
    [
        "people",
        "age",
        "times",
        "thing",
        "animal",
        "machine",
        "book",
        "sheet",
        "cup",
        "bottle",
        "floor",
        "house",
        "case",
        "place",
        "kind",
        "score",
        "team",
        "step",
        "pair",
        "grade",
        "page",
        "item",
        "share",
        "multiple",
        "seat",
        "lesson",
    ]
)
_MONEY = frozenset(("won", "dollar", "euro", "yen", "pound"))


def _units() -> Iterator[tuple[str, tuple[str, float]]]:
    yield from ((name, unit) for name, unit in UNITS.items() if unit[0] not in ("count", "date.month"))
    for line in _MORE.strip().split("\n"):
        kind, factor, names = line.split(maxsplit=2)
        yield from ((name, (kind, float(factor))) for name in names.split(", "))


_UNITS = dict(_units())
_KILO = frozenset(("gram", "metre"))

_SINO = {"일": 1, "이": 2, "삼": 3, "사": 4, "오": 5, "육": 6, "칠": 7, "팔": 8, "구": 9, "영": 0, "공": 0}
_SMALL_SCALES = {"십": 10, "백": 100, "천": 1000}
_LARGE_SCALES = {"만": 10**4, "억": 10**8, "조": 10**12}
_NATIVE_TENS = {**KOREAN_TENS, "여든": 80, "아흔": 90}
_NATIVE_ONES = {**KOREAN_ONES, "석": 3, "서": 3, "넉": 4, "너": 4}
_HALVES = {"반": 0.5, "and a half": 0.5, "½": 0.5}
_FRACTIONS = {"¼": 0.25, "½": 0.5, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}
_WORDS = {**NUMBER_WORDS, "dozen": 12, "a dozen": 12}


def _any(names: object) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))  # type: ignore[call-overload]


_HANGUL_UNIT = _any(name for name in _UNITS if "가" <= name[0] <= "힣")
_LATIN_UNIT = _any(name for name in _UNITS if name[0].isascii() and name[0].isalpha())
_SIGN_UNIT = _any(name for name in _UNITS if not name[0].isalpha() and name not in "$€£¥₩") + "|[$€£¥₩]"
_NUM = r"\d+(?:\.\d+)?"
_BEFORE = r"(?<![\w.])(?<!\d[:/\-])(?<![a-z]-)"
_NATIVE = f"(?:(?:{_any(_NATIVE_TENS)})(?:{_any(_NATIVE_ONES)})?|(?:{_any(_NATIVE_ONES)}))"
_FULL_NATIVE = (
    f"(?:(?:{_any(_NATIVE_TENS)})(?:하나|둘|셋|넷|다섯|여섯|일곱|여덟|아홉)?|하나|둘|셋|넷|다섯|여섯|일곱|여덟|아홉)"
)
_SINO_DIGIT = "[일이삼사오육칠팔구]"
_KOREAN = (
    rf"(?:(?:{_NUM}|{_SINO_DIGIT})\s?[조억만천백십]|[백천십만](?=[조억만천백십일이삼사오육칠팔구원명개]|\s[원명개])|만(?=\s[일이삼사오육칠팔구]?[천백십]))"
    rf"(?:\s?(?:{_NUM}|{_SINO_DIGIT})?\s?[조억만천백십])*(?:\s?(?:{_NUM}(?![\d.])(?!\s?[년월일시분])|"
    rf"{_SINO_DIGIT}(?![가-힣])|(?<=십){_SINO_DIGIT}))?"
)
_HALF_OF_DAY = r"오전|오후|새벽|저녁|밤|아침|낮|점심"
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_ENGLISH_SMALL = _any(NUMBER_WORDS)
_ENGLISH = (
    rf"(?:a (?:hundred|thousand|million|billion|dozen|couple)|half a dozen|(?:{_ENGLISH_SMALL}))"
    rf"(?:[\s-](?:and )?(?:{_ENGLISH_SMALL}|hundred|thousand|million|billion|trillion|dozen)(?![a-z\d]))*|dozen"
)
_ORDINALS = [
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh"),
    *("twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth"),
]
_DAYS_OF_MONTH = {
    **{word: number for number, word in enumerate(_ORDINALS, start=1)},
    **{f"twenty-{word}": 20 + number for number, word in enumerate(_ORDINALS[:9], start=1)},
    "twentieth": 20,
    "thirtieth": 30,
    "thirty-first": 31,
}
_IN_DAY = r"(?P<part>[ap]\.?\s?m(?![a-z0-9])\.?|(?:in the |at )(?:morning|afternoon|evening|night))"
_PATTERNS: tuple[tuple[str, str], ...] = (
    (
        "date",
        r"(?<![\d.\-/])(?P<y>\d{4})\s?[-./]\s?(?P<m>0?[1-9]|1[0-2])\s?[-./]\s?(?P<d>0?[1-9]|[12]\d|"
        r"3[01])\.?(?![\d])",
    ),
    ("date", r"(?<!\d)(?:(?P<y>\d{4}|\d{2})년\s?)(?P<m>\d{1,2})월\s?(?P<d>\d{1,2})일"),
    (
        "date",
        r"(?<![\w./\-])(?P<y>\d{2})\.(?P<m>0?[1-9]|1[0-2])\.(?P<d>0?[1-9]|[12]\d|3[01])\.?(?=\s?\([월화수목금토일]\))",
    ),
    ("date", r"(?<![\w./\-])(?P<m>0?[1-9]|1[0-2])\.\s?(?P<d>0?[1-9]|[12]\d|3[01])\.?\s?(?=\([월화수목금토일]\))"),
    ("sino_date", r"(?<!\d)(?P<m>\d{1,2})월\s?(?P<d>(?:[이삼]?십[일이삼사오육칠팔구]?|[일이삼사오육칠팔구]))일"),
    ("born", r"(?<!\d)(?P<y>\d{4}|\d{2})년생"),
    ("date", r"(?<!\d)(?P<m>\d{1,2})월\s?(?P<d>\d{1,2})일"),
    (
        "sino_date",
        r"(?<![가-힣])(?P<m>십일|십이|[일이삼사오유칠팔구시십])월\s?(?P<d>(?:[이삼]?십[일이삼사오육칠팔구]?|[일이삼사오육칠팔구]))일",
    ),
    ("date", rf"\b{_MONTH}\s+(?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:|\s?[ap]m)(?:\s?,?\s?(?P<y>\d{{4}})\b)?"),
    (
        "date",
        rf"(?<![\w.,])(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?![a-z])(?:\s?,?\s?(?P<y>\d{{4}})\b)?",
    ),
    ("date", r"(?<![a-z\d_./\-])(?P<m>0?[1-9]|1[0-2])/(?P<d>0?[1-9]|[12]\d|3[01])(?:/(?P<y>\d{4}))?(?![a-z\d_/]|\.\d)"),
    ("worded_date", rf"\b(?P<nth>{_any(_DAYS_OF_MONTH)}) (?:of )?{_MONTH}(?![a-z])(?:\s?,?\s?(?P<y>\d{{4}})\b)?"),
    ("worded_date", rf"\b{_MONTH} (?:the )?(?P<nth>{_any(_DAYS_OF_MONTH)})\b(?:\s?,?\s?(?P<y>\d{{4}})\b)?"),
    (
        "ordinal",
        r"\b(?:(?P<d>\d+)(?:st|nd|rd|th)|(?P<word>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|"
        r"tenth|eleventh|twelfth))\b(?! (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))",
    ),
    (
        "clock",
        rf"(?:(?P<half>{_HALF_OF_DAY})\s?)?(?<![\d:.])(?P<h>[01]?\d|2[0-4]):(?P<min>[0-5]\d)(?!:?\d)(?:\s?{_IN_DAY})?",
    ),
    ("clock", rf"(?<![\w.:])(?P<h>1[0-2]|0?[1-9])\.(?P<min>[0-5]\d)\s?{_IN_DAY}"),
    ("clock", rf"(?<![\w.:])(?P<h>1[0-2]|0?[1-9])\s?{_IN_DAY}"),
    ("clock", r"(?<![\w.:])(?P<h>1[0-2]|[1-9])\s?o['’]?\s?clock(?:\s?" + _IN_DAY + ")?"),
    (
        "spoken",
        r"\b(?P<rel>half past|quarter past|quarter to|(?:\d{1,2}|five|ten|twenty) (?:past|to)) "
        rf"(?P<h>\d{{1,2}}|{_ENGLISH_SMALL})\b(?:\s?{_IN_DAY})?",
    ),
    (
        "spoken",
        rf"\b(?P<h>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: (?P<min>thirty|fifteen|"
        rf"forty-five))? (?:o['’]?clock(?: {_IN_DAY})?|(?P<part2>[ap]\.?m(?![a-z0-9])|in the (?:morning|afternoon|"
        rf"evening)))",
    ),
    ("noon", r"\b(?:noon|midday|midnight)\b|(?<![가-힣])(?:정오|자정)"),
    (
        "hour",
        rf"(?:(?<![가-힣])(?P<half>{_HALF_OF_DAY})\s?)?(?<![\d.가-힣])(?:(?P<h>\d{{1,2}})|(?P<native>열한|열두|열|한|두|세|네|"
        rf"다섯|여섯|일곱|여덟|아홉))\s?시(?!간|[가-힣]*(?:스템|작|험|장|내|청|민|도))"
        r"(?:\s?(?:(?P<min>\d{1,2})분|(?P<sino>[일이삼사오]?십[일이삼사오육칠팔구]?|[일이삼사오육칠팔구])\s?분|(?P<bare>반)(?!드|대|장)))?",
    ),
    (
        "half",
        r"(?<![가-힣])(?P<what>반년|반나절|반\s?시간)|\b(?:(?:a )?(?P<of3>fortnight)|half (?:a|an) "
        r"(?P<of>year|hour|day|lit(?:er|re)|mile|kilo|dozen|cup|teaspoon|tablespoon)|(?P<of2>year|hour) and a half)\b",
    ),
    (
        "number",
        rf"(?P<sign>[$€£¥₩]|\b(?:usd|krw|eur|gbp|jpy)\s?)?{_BEFORE}"
        rf"(?P<neg>(?<![\w])[-−]|영하\s?|마이너스\s?|\bminus )?(?P<num>{_KOREAN}|{_NUM}|(?<!\d)\.\d+|[¼½¾⅓⅔](?!\d))"
        r"(?:[\s-]?(?P<scale>hundred|thousand|million|billion|trillion|bn|mil|[kmb](?![a-z0-9]))(?![a-z])|)"
        rf"(?P<andhalf> and a half|½)?(?:\s?-?(?P<latin>{_LATIN_UNIT})(?![a-z0-9/])|\s?(?P<hangul>{_HANGUL_UNIT})|"
        rf"\s?(?P<mark>{_SIGN_UNIT}))?(?P<halfunit>\s?반(?=짜리|정도|쯤|이|을|간|동안|[^가-힣]|$))?",
    ),
    (
        "english",
        rf"(?<![\w-])(?P<words>{_ENGLISH})(?P<andhalf> and a "
        rf"half)?(?![a-z\d]|-[a-z])(?:[\s-](?P<latin>{_LATIN_UNIT})(?![a-z\d]))?|"
        rf"(?<![\w-])(?P<words2>{_ENGLISH})-(?P<latin2>{_LATIN_UNIT})(?![a-z\d])",
    ),
    (
        "sino",
        rf"(?<![가-힣\d])(?P<num>(?:[조억만천백십]|{_SINO_DIGIT}(?=[조억만천백십\s퍼개년월주층킬프학]))[조억만천백십일이삼사오육칠팔구\s]*?(?:쩜|"
        rf"점[일이삼사오육칠팔구])?)\s?(?P<hangul>{_HANGUL_UNIT})",
    ),
    (
        "native",
        rf"(?<![가-힣\d])(?P<num>{_NATIVE})\s?(?P<hangul>{_HANGUL_UNIT}|병|시간)(?P<halfunit>\s?반(?=짜리|정도|쯤|이|을|간|동안|"
        rf"[^가-힣]|$))?",
    ),
    ("alone", rf"(?<![가-힣\d])(?P<num>{_FULL_NATIVE})(?P<rest>[가-힣]*)"),
    ("days", rf"(?<![가-힣])(?P<days>{_any(KOREAN_DAYS)})(?P<rest>[가-힣]*)"),
)
# What a text must hold for a pattern to be worth trying.
_DIGIT, _KOREAN_NUMERAL, _ENGLISH_NUMERAL = (
    re.compile(r"[\d¼½¾⅓⅔]"),
    re.compile("[조억만천백십일이삼사오육칠팔구유시반정자열한두세석서네넉너하둘셋넷다여아스마쉰예루틀흘새레름]"),
    re.compile(
        rf"\b(?:{_ENGLISH_SMALL}|dozen|hundred|thousand|million|{_any(_DAYS_OF_MONTH)}|"
        rf"noon|midday|midnight|half|fortnight|past|to|couple|hour|year)(?![a-z])"
    ),
)
_ONLY_KOREAN = dict.fromkeys(("sino_date", "hour", "sino", "native", "alone", "days"), (_KOREAN_NUMERAL,))
_NEEDS: dict[str, tuple[re.Pattern[str], ...]] = {
    **_ONLY_KOREAN,
    "spoken": (_ENGLISH_NUMERAL,),
    "worded_date": (_ENGLISH_NUMERAL,),
    "english": (_ENGLISH_NUMERAL,),
    "half": (_KOREAN_NUMERAL, _ENGLISH_NUMERAL),
    "noon": (_KOREAN_NUMERAL, _ENGLISH_NUMERAL),
    "ordinal": (_DIGIT, _ENGLISH_NUMERAL),
    "number": (_DIGIT, _KOREAN_NUMERAL),
}
_HINT = compile_late(
    rf"[\d¼½¾⅓⅔]|\b(?:{_ENGLISH_SMALL}|hundred|thousand|million|billion|dozen|noon|midday|midnight|half|quarter|"
    rf"fortnight|{_any(_DAYS_OF_MONTH)})(?![a-z])"
    rf"|[조억만천백십일이삼사오육칠팔구반정자열한두세네석넉하둘셋넷다여아스서마쉰예루틀흘새레름]"
)
_REST = compile_late("[가-힣]*")


@cache
def _compiled_patterns() -> tuple[tuple[str, tuple[re.Pattern[str], ...], re.Pattern[str]], ...]:
    """Each pattern with its name and what a text must hold; compiled when they are needed first."""
    return tuple((name, _NEEDS.get(name, (_DIGIT,)), re.compile(pattern)) for name, pattern in _PATTERNS)


@lru_cache(maxsize=2048)
def amounts(plain: str) -> tuple[Amount, ...]:
    """The amounts by their place; text that was read is not read again as a part of another amount."""
    if not _HINT.search(plain):
        return ()
    readings: list[Amount] = []
    text = plain
    occurs = {needed: needed.search(plain) is not None for needed in (_DIGIT, _KOREAN_NUMERAL, _ENGLISH_NUMERAL)}
    for name, needs, pattern in _compiled_patterns():
        if not any(occurs[needed] for needed in needs):
            continue
        spans = []
        for match in pattern.finditer(text):
            amount = _READERS[name](match)
            if amount is not None and _ends(plain, amount, name):
                readings.append(amount)
                spans.append((amount.start, amount.end))
        for start, end in spans:
            text = text[:start] + "\0" * (end - start) + text[end:]
    return tuple(_join_durations(plain, sorted(readings, key=lambda amount: amount.start)))


def _join_durations(plain: str, parts: list[Amount]) -> Iterator[Amount]:
    """A duration of two units as one: 1시간 30분, 1 year and 6 months."""
    last: Amount | None = None
    for amount in parts:
        if (
            last is not None
            and last.kind == amount.kind
            and amount.kind in ("second", "month")
            and last.values[0] > amount.values[0]
            and plain[last.end : amount.start] in ("", " ", " and ")
        ):
            last = Amount(last.start, amount.end, last.kind, (last.values[0] + amount.values[0],), last.number)
            continue
        if last is not None:
            yield last
        last = amount
    if last is not None:
        yield last


def _ends(plain: str, amount: Amount, name: str) -> bool:
    """Whether nothing but endings follows in Hangul, and no further digit or letter."""
    rest = _REST.match(plain, amount.end)
    after = plain[amount.end : amount.end + 2]
    if name != "born" and rest and rest[0] and not follows_count(rest[0]):
        return False
    if name == "born":
        return True
    return not (after[:1].isalnum() and not "가" <= after[:1] <= "힣") and not (
        after[:1] in ".:" and after[1:2].isdigit() and name in ("number", "hour")
    )


def _date(match: re.Match[str]) -> Amount | None:
    parts = match.groupdict()
    month = MONTHS[parts["name"][:3]] if parts.get("name") else int(parts["m"])
    year, day = int(parts.get("y") or 0), _DAYS_OF_MONTH[parts["nth"]] if "nth" in parts else int(parts["d"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    year = year + 2000 if 0 < year < 100 else year
    return Amount(match.start(), match.end(), DATE, (float(year), float(month), float(day)))


def _sino_date(match: re.Match[str]) -> Amount:
    name = match["m"].replace("유", "육").replace("시", "십").replace("십십", "십")
    return Amount(match.start(), match.end(), DATE, (0.0, _korean_value(name), _korean_value(match["d"])))


def _birth_year(match: re.Match[str]) -> Amount:
    year = int(match["y"])
    year += 0 if year > 100 else 1900 if year > 25 else 2000
    return Amount(match.start(), match.end() - 1, "date.year", (float(year),), float(year))


def _ordinal(match: re.Match[str]) -> Amount:
    number = int(match["d"]) if match["d"] else 1 + _ORDINALS.index(match["word"])
    return Amount(match.start(), match.end(), "ordinal", (float(number),), math.nan)


def _time_of_day(match: re.Match[str], hour: int, minute: int, part: str) -> Amount | None:
    """The times of day that are possible: two where the text does not tell morning from afternoon."""
    if hour > 24 or minute > 59:
        return None
    minutes = (hour % 24) * 60 + minute
    part = part.strip()
    if hour > 12 or (hour == 0 and not part):
        values = [minutes]
    elif part.startswith(("p", "오후", "저녁", "in the after", "in the even", "점심")):
        values = [minutes % HALF_DAY + HALF_DAY]
    elif part.startswith(("밤", "at night")):
        values = [minutes % HALF_DAY + (HALF_DAY if 5 < hour < 12 else 0)]
    elif part == "낮":
        values = [minutes % HALF_DAY + HALF_DAY] if hour < 7 or hour == 12 else [minutes]
    elif part:
        values = [minutes % HALF_DAY]
    else:
        values = [minutes % HALF_DAY, minutes % HALF_DAY + HALF_DAY]
    return Amount(match.start(), match.end(), CLOCK, tuple(float(value) for value in values), float(hour))


def _clock(match: re.Match[str]) -> Amount | None:
    parts = match.groupdict()
    part = parts.get("half") or parts.get("part") or ""
    return _time_of_day(match, int(match["h"]), int(parts.get("min") or 0), part)


def _hour(match: re.Match[str]) -> Amount | None:
    hour = int(match["h"]) if match["h"] else _native_value(match["native"])
    minute = int(match["min"] or 0) or (30 if match["bare"] else int(_korean_value(match["sino"] or "")))
    return _time_of_day(match, int(hour), minute, match["half"] or "")


def _spoken_time(match: re.Match[str]) -> Amount | None:
    parts = match.groupdict()
    hour = int(match["h"]) if match["h"].isdigit() else NUMBER_WORDS[match["h"]]
    relation = parts.get("rel") or ""
    words = relation.split()
    minutes = {"half": 30, "quarter": 15}.get(words[0], 0) if words else 0
    if words and not minutes:
        minutes = int(words[0]) if words[0].isdigit() else NUMBER_WORDS[words[0]]
    if parts.get("min"):
        minutes = {"thirty": 30, "fifteen": 15, "forty-five": 45}[parts["min"]]
    part = parts.get("part") or parts.get("part2") or ""
    if relation.endswith(" to"):
        return _time_of_day(match, (hour - 2) % 12 + 1, 60 - minutes, part) if hour <= 12 else None
    return _time_of_day(match, hour, minutes, part)


def _noon(match: re.Match[str]) -> Amount:
    value = 0.0 if match[0] in ("midnight", "자정") else float(HALF_DAY)
    return Amount(match.start(), match.end(), CLOCK, (value,), 12.0)


def _half(match: re.Match[str]) -> Amount:
    unit = (match["what"] or match["of"] or match["of2"] or match["of3"]).replace(" ", "")
    kind, value = {
        "반년": ("month", 6.0),
        "반나절": ("second", 6 * 3600.0),
        "year": ("month", 6.0),
        "hour": ("second", 1800.0),
        "day": ("second", 43200.0),
        "반시간": ("second", 1800.0),
        "fortnight": ("second", 1209600.0),
        "liter": ("litre", 0.5),
        "litre": ("litre", 0.5),
        "mile": ("mile", 0.5),
        "kilo": ("gram", 500.0),
        "dozen": ("", 6.0),
        "cup": ("cup", 0.5),
        "teaspoon": ("teaspoon", 0.5),
        "tablespoon": ("tablespoon", 0.5),
    }[unit]
    return Amount(match.start(), match.end(), kind, (value * (3 if match["of2"] else 1),), value)


def _number(match: re.Match[str]) -> Amount | None:
    parts = match.groupdict()
    number = _FRACTIONS.get(match["num"]) or _korean_value(match["num"])
    if parts["andhalf"]:
        number += 0.5
    scale = parts["scale"]
    number *= {"m": 1e6, "mil": 1e6, "b": 1e9}.get(scale, MULTIPLIERS.get(scale, 1.0)) if scale else 1.0
    is_large = bool(scale) or not match["num"][-1].isdigit()
    if parts["neg"]:
        number = -number
    unit = parts["latin"] or parts["hangul"] or parts["mark"] or (parts["sign"] or "").strip()
    if unit == '"' and match.string.count('"', 0, match.start()) % 2:  # a quote ends
        bare = _amount_of(match, number, (parts["sign"] or "").strip(), is_large=is_large)
        return replace(bare, end=match.end("mark") - 1)
    if scale == "m" and not (parts["sign"] or unit):  # metres
        number, unit = number / 1e6, "m"
    return _amount_of(match, number, unit, is_large=is_large)


def _amount_of(match: re.Match[str], number: float, unit: str, *, is_large: bool = False) -> Amount:
    half = 0.5 if match.groupdict().get("halfunit") else 0.0
    kind, factor = _UNITS[unit] if unit else (BARE, 1.0)
    bare = math.nan if re.search(r"\d[a-z]+$", match[0]) else number  # 10GB, 10k: no 10
    if unit == "년" and 1000 <= number <= 2999 and not is_large:
        kind = "date.year"
        factor = 1.0
    elif kind == "kilo":
        kind, factor = "kilo", 1e3
    end = match.start() + len(match[0].rstrip())
    start = match.start() + len(match[0]) - len(match[0].lstrip())
    return Amount(start, end, kind, ((number + half) * factor,), bare + half, is_large)


def _english(match: re.Match[str]) -> Amount | None:
    words = match["words"] or match["words2"]
    total = current = 0.0
    for word in re.split(r"[\s-]+", words):
        if word == "half":
            current = 0.5
        elif word == "couple":
            current = 2
        elif word == "dozen":
            current = (current or 1.0) * 12
        elif word == "hundred":
            current = (current or 1.0) * 100
        elif word in MULTIPLIERS:
            total, current = total + (current or 1.0) * MULTIPLIERS[word], 0.0
        else:
            current += NUMBER_WORDS.get(word, 0)
    number = total + current + (0.5 if match["andhalf"] else 0.0)
    return _amount_of(match, number, match["latin"] or match["latin2"] or "")


def _sino(match: re.Match[str]) -> Amount | None:
    return _amount_of(match, _korean_value(match["num"]), match["hangul"], is_large=match["num"][-1] in "조억만천")


def _native(match: re.Match[str]) -> Amount:
    unit = "명" if match["hangul"] == "분" else match["hangul"]
    return _amount_of(match, _native_value(match["num"]), unit if unit in _UNITS else "")


def _alone(match: re.Match[str]) -> Amount | None:
    if not follows_count(match["rest"]) or (
        len(match["num"]) == 1 and match["num"] != "둘" and match["num"] != "셋" and match["num"] != "넷"
    ):
        return None
    number = _native_value(match["num"])
    return Amount(match.start(), match.end("num"), BARE, (number,), number)


def _days(match: re.Match[str]) -> Amount | None:
    if not follows_count(match["rest"]):
        return None
    number = float(KOREAN_DAYS[match["days"]])
    return Amount(match.start(), match.end("days"), "second", (number * 86400,), number)


_READERS = {
    "date": _date,
    "worded_date": _date,
    "sino_date": _sino_date,
    "born": _birth_year,
    "ordinal": _ordinal,
    "clock": _clock,
    "hour": _hour,
    "spoken": _spoken_time,
    "noon": _noon,
    "half": _half,
    "number": _number,
    "english": _english,
    "sino": _sino,
    "native": _native,
    "alone": _alone,
    "days": _days,
}


def _native_value(word: str) -> float:
    for tens, value in _NATIVE_TENS.items():
        if word.startswith(tens):
            return float(value + _NATIVE_ONES.get(word[len(tens) :], 0))
    return float(_NATIVE_ONES.get(word, 0))


_PIECE = compile_late(r"\d+(?:\.\d+)?|\.\d+|[일이삼사오육칠팔구영공]|[조억만천백십]")


def _korean_value(numeral: str) -> float:
    """The value of mixed digits and Korean numerals: 1억 5천만, 삼백오십만, 2.5천."""
    total = group = number = 0.0
    has_number = False
    for piece in _PIECE.findall(numeral):
        if piece in _LARGE_SCALES:
            total += (group + number or 1.0) * _LARGE_SCALES[piece]
            group = number = 0.0
            has_number = False
        elif piece in _SMALL_SCALES:
            group += (number if has_number else 1.0) * _SMALL_SCALES[piece]
            number, has_number = 0.0, False
        else:
            number, has_number = float(_SINO[piece]) if piece in _SINO else float(piece), True
    if total >= 10**8 and group >= 100 and not number and "만" not in numeral:  # 3억 2천: 2천만
        group *= 10**4
    return total + group + number
