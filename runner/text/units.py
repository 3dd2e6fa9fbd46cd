"""Units, multipliers, months and number words of Korean and English."""

from __future__ import annotations

from collections.abc import Iterator

# base unit, factor, names: decimal prefixes throughout, so 1 GB is 1000 MB.
_TABLE = """
second 1 second seconds sec secs 초
second 0.001 ms millisecond milliseconds 밀리초
second 60 minute minutes min mins 분
second 3600 hour hours hr hrs h 시간
second 86400 day days 일 일간
second 604800 week weeks 주 주일 주간
month 1 month months 개월 달
month 12 year years yr yrs 년 년간
month 120 decade decades
month 1200 century centuries 세기
date.month 1 월
% 1 % percent percentage 퍼센트 프로
byte 1 byte bytes 바이트
byte 1e3 kb 킬로바이트
byte 1e6 mb 메가바이트 메가
byte 1e9 gb 기가바이트 기가
byte 1e12 tb 테라바이트 테라
won 1 원 won krw ₩
dollar 1 달러 dollar dollars usd $ 불
dollar 0.01 cent cents
euro 1 유로 euro euros eur €
yen 1 엔 yen jpy ¥
pound 1 파운드 gbp £
metre 1 m meter meters metre metres 미터
metre 1e3 km kilometer kilometers kilometre kilometres 킬로미터
metre 0.01 cm 센티미터 센티
metre 0.001 mm 밀리미터
mile 1 mile miles mi 마일
foot 1 foot feet ft
gram 1 g gram grams 그램
gram 1e3 kg kilogram kilograms 킬로그램 킬로
gram 0.001 mg 밀리그램
litre 1 l liter liters litre litres 리터
litre 0.001 ml 밀리리터
celsius 1 °c ℃ 도
fahrenheit 1 °f ℉
hertz 1 hz
hertz 1e3 khz
hertz 1e6 mhz
hertz 1e9 ghz
quarter 1 분기
count 1 개 명 번 회 권 장 마리 대 잔 곳 사람 배 가지 건 차례 살 세 층 편 석 쪽 페이지 인 점 위 항목 단계 팀 학년 등급
"""


def _read(table: str) -> Iterator[tuple[str, tuple[str, float]]]:
    for line in table.split("\n"):
        base, *fields = line.split() or [""]
        yield from ((name, (base, float(fields[0]))) for name in fields[1:])


UNITS: dict[str, tuple[str, float]] = dict(_read(_TABLE))  # name -> (base unit, factor)

MULTIPLIERS = {
    "조": 1e12, "억": 1e8, "만": 1e4, "천": 1e3, "백": 1e2, "십": 1e1,
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "bn": 1e9, "k": 1e3,
}  # fmt: skip

MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11,
    "dec": 12,
}  # fmt: skip

NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip

KOREAN_ONES = {
    "한": 1, "하나": 1, "두": 2, "둘": 2, "세": 3, "셋": 3, "네": 4, "넷": 4, "다섯": 5, "여섯": 6, "일곱": 7,
    "여덟": 8, "아홉": 9,
}  # fmt: skip
KOREAN_TENS = {"열": 10, "스물": 20, "스무": 20, "서른": 30, "마흔": 40, "쉰": 50, "예순": 60, "일흔": 70}
KOREAN_DAYS = {
    "하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "엿새": 6, "이레": 7, "열흘": 10, "보름": 15, "일주일": 7,
}  # fmt: skip
