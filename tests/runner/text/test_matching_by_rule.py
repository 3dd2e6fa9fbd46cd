"""Pairs of a value and a text, made by rule: what people hang on a value, and what they say about it that is no fact.

Every value goes into every frame. `pytest -s` prints precision and recall by language and frame; the floors stand a
little below what was reached, with the frames that are known to fail left in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from runner.text.matching import shows

# --- Korean: value, then particle or ending by the last letter (after a consonant / after a vowel) -----------------

KOREAN_VALUES = [
    "김민수",
    "서지안",
    "박은별",
    "이도윤",
    "부산",
    "해운대",
    "제주도",
    "광화문",
    "간호사",
    "회계사",
    "공무원",
    "개발자",
    "마케팅팀",
    "인사팀",
    "필라테스",
    "뜨개질",
    "김치찌개",
    "라떼",
    "월요일",
    "목요일",
    "아이패드",
    "맥북",
    "땅콩",
    "고양이",
]
KOREAN_AMOUNTS = (
    ("1억 5천만 원", ("150,000,000원", "1.5억", "1억 5000만 원", "15,000만 원")),
    ("3,500,000원", ("350만 원", "삼백오십만 원", "350만원")),
    ("20%", ("20퍼센트", "20 %", "이십 퍼센트", "20프로")),
    ("오후 3시", ("15:00", "오후 세 시", "3pm", "15시")),
    ("오전 9시 30분", ("09:30", "9시 반", "오전 9시 반")),
    ("12명", ("열두 명", "12 명", "12분이 아닌 12명")),
    ("25살", ("스물다섯 살", "만 25세")),
    ("2시간", ("두 시간", "120분")),
    ("11월 3일", ("2026-11-03", "2026년 11월 3일", "11/3", "11월3일", "십일월 삼일")),
    ("3kg", ("3킬로", "3,000g", "3 킬로그램")),
    ("6개월", ("여섯 달", "반년", "6달")),
)
KOREAN_ENDINGS = (
    "이야/야 이에요/예요 입니다 이고요/고요 이라서/라서 이래요/래요 이었어요/였어요 이셨습니다/셨습니다 "
    "이거든요/거든요 이잖아/잖아 이네요/네요 이더라고요/더라고요 이죠/죠 인데요 이라니까/라니까 이며/며 임 "
    "입니당 은/는 이/가 을/를 도 만 까지 부터 이랑/랑 하고 밖에 쯤이에요 정도예요 뿐이에요 이라고 해요/라고 해요"
)
KOREAN_STATED = (
    "네, 그건 {}",
    "담당자 말로는 {}",
    "우리 쪽은 {} 맞아요",
    "{} 말고는 없어요",
    "바뀌어서 이제 {}",
    "전에는 달랐지만 지금은 {}",
    "아무리 봐도 {} 틀림없어요",
    "누가 물어보길래 {} 맞다고 했어요",
    "만약 안 되면 말씀드릴게요, {} 그대로예요",
)
KOREAN_NOT_STATED = (
    "{i} 아니에요",
    "{i} 아니라 다른 거예요",
    "{n} 아니고요",
    "{} 말고 다른 걸로 해 주세요",
    "{}였으면 좋겠어요".replace("였", "이었"),
    "{}일 수도 있어요",
    "{}일지도 몰라요",
    "만약 {}이라면 연락 주세요",
    "{}인가요?",
    "{}이에요?",
    "{}인지 모르겠어요",
    "{}일까요?",
    "아마 {} 아닐까 싶어요",
    "{}으로 할까 고민 중이에요",
    "{}이라고 한 적 없어요",
    "{}인 줄 알았는데 다른 거였어요",
    "예전에는 {}이었는데 지금은 달라요",
    "{}은 취소됐어요",
    "{} 대신 다른 걸로 했어요",
    "{}에서 다른 걸로 바뀌었어요",
    "{}이면 좋을 텐데요",
    "{}은 절대 아닙니다",
    "누가 {}이라 그래?",
    "다들 {}으로 알고 계시던데 아닙니다",
)

# --- English -----------------------------------------------------------------------------------------------------

ENGLISH_VALUES = (
    "Grace Liu",
    "Tom Becker",
    "Busan",
    "Lisbon",
    "nurse",
    "data analyst",
    "yoga",
    "gardening",
    "oat milk",
    "sourdough",
    "Monday",
    "next Thursday",
    "ThinkPad X1",
    "KE907",
    "Jira",
    "the 12th",
    "Minji Kim",
    "electrician",
    "ramen",
    "Denver",
)
ENGLISH_AMOUNTS = (
    ("$1.5 million", ("$1,500,000", "1.5 million dollars", "USD 1500000", "$1.5M")),
    ("$40k", ("40,000 dollars", "$40,000", "forty thousand dollars")),
    ("20%", ("20 percent", "twenty percent", "20 per cent")),
    ("3pm", ("15:00", "3 PM", "3:00 pm", "three in the afternoon")),
    ("November 3", ("Nov 3rd", "3 November 2026", "2026-11-03", "the 3rd of November")),
    ("2 hours", ("two hours", "120 minutes")),
    ("25 people", ("twenty-five people", "25 persons")),
    ("10 km", ("ten kilometers", "10km")),
)
ENGLISH_INFLECTED = (
    ("hike", ("hiking", "hikes", "hiked")),
    ("move to Berlin", ("moved to Berlin", "moving to Berlin")),
    ("teach yoga", ("taught yoga", "teaching yoga", "teaches yoga")),
    ("city", ("cities",)),
    ("knife", ("knives",)),
    ("get married", ("got married", "getting married")),
    ("raise chickens", ("raises chickens", "raised a chicken")),
)
ENGLISH_STATED = (
    "It is {}.",
    "{} it is",
    "so yeah it's {} now",
    "We settled on {}.",
    "It used to be different, now it's {}",
    "It is not what you think but {}.",
    "No, {}.",
    "We picked {} and that's final",
    "The answer is {}, no doubt about it.",
    "It's {}, if anyone asks",
    "Didn't I mention that it is {}?",
    "Please note: {}",
    "Still {}, nothing has changed",
    "I'd never have guessed it, but it is {}.",
    "Ask me again and I'll say {}.",
    "It says {} on the form.",
)
ENGLISH_NOT_STATED = (
    "It is not {}.",
    "It isn't {}.",
    "It was never {}.",
    "It's no longer {}.",
    "Anything but {}.",
    "I wish it were {}.",
    "If it's {}, let me know.",
    "Is it {}?",
    "Could it be {}?",
    "It might be {}.",
    "Maybe {}, not sure yet.",
    "We are considering {}.",
    "It used to be {}.",
    "Former choice: {}",
    "Not {}.",
    "Unless it is {} we stay here.",
    "Someone asked whether it's {}.",
    "I was hoping for {}.",
    "{} was cancelled.",
    "{} is one option.",
    "We changed from {} to something else.",
    "We chose this instead of {}.",
    "Everyone thinks it's {}, but it isn't.",
    "It would have been {}.",
)
INSIDE = (
    ("민수", "김민수예요"),
    ("부산", "부산물 처리"),
    ("인도", "인도네시아로 가요"),
    ("5년", "2015년에 입사"),
    ("3시", "3시간 걸려요"),
    ("10", "110개"),
    ("1억", "1억 5천만 원"),
    ("5000만", "1억 5000만 원"),
    ("20%", "120%"),
    ("열 명", "열한 명"),
    ("1월", "11월이에요"),
    ("cat", "concat"),
    ("York", "I live in New York"),
    ("nine", "ninety-nine"),
    ("10", "10.5"),
    ("5", "-5"),
    ("v2", "v2.3"),
    ("3", "3:30"),
    ("$40k", "$40 million"),
    ("Jon", "Jonathan"),
    ("3 dogs", "3 cats"),
    ("9am", "9pm"),
    ("15분", "115분"),
)


@dataclass(frozen=True)
class Pair:
    value: str
    text: str
    language: str
    frame: str
    stated: bool


def ending(value: str, pair: str) -> str:
    closed, _, opened = pair.partition("/")
    return value + (opened if opened and not is_closed(value) else closed)


def is_closed(value: str) -> bool:
    last = value[-1]
    return (ord(last) - ord("가")) % 28 > 0 if "가" <= last <= "힣" else last in "%01367"


def filled(frame: str, value: str) -> str:
    """A Korean frame: what it says with 이 after a consonant has nothing after a vowel."""
    if not is_closed(value):
        for closed, opened in (
            ("이었", "였"),
            ("이라", "라"),
            ("이면", "면"),
            ("이에요", "예요"),
            ("으로", "로"),
            ("은", "는"),
        ):
            frame = frame.replace("{}" + closed, "{}" + opened)
    subject, topic = ("이", "은") if is_closed(value) else ("가", "는")
    return frame.replace("{i}", value + subject).replace("{n}", value + topic).replace("{}", value)


def pairs() -> Iterator[Pair]:
    spoken = [(value, value) for value in KOREAN_VALUES]
    spoken += [(value, form) for value, forms in KOREAN_AMOUNTS for form in (value, *forms)]
    for value, form in spoken:
        for each in KOREAN_ENDINGS.split(" "):
            yield Pair(value, f"그건 {ending(form, each)}", "ko", each, True)
        yield from (Pair(value, filled(frame, form), "ko", frame, True) for frame in KOREAN_STATED)
        yield from (Pair(value, filled(frame, form), "ko", frame, False) for frame in KOREAN_NOT_STATED)
    said = [(value, value) for value in ENGLISH_VALUES]
    said += [(value, form) for value, forms in ENGLISH_AMOUNTS for form in (value, *forms)]
    for value, form in said:
        yield from (Pair(value, frame.format(form), "en", frame, True) for frame in ENGLISH_STATED)
        yield from (Pair(value, frame.format(form), "en", frame, False) for frame in ENGLISH_NOT_STATED)
    for value, forms in ENGLISH_INFLECTED:
        yield from (Pair(value, f"They {form} every year.", "en", "inflected", True) for form in forms)
    for value, text in INSIDE:
        yield Pair(value, text, "ko" if any("가" <= each <= "힣" for each in text) else "en", "inside another", False)
    values = [(value, form) for value, form in spoken if value == form]
    for value, _ in values:
        yield from (
            Pair(value, f"그건 {ending(other, '이에요/예요')}", "ko", "another value", False)
            for other, _ in values
            if other != value
        )


PAIRS = tuple(pairs())
FLOORS = {"ko": (0.97, 0.97), "en": (0.97, 0.97)}  # precision, recall


def test_there_are_enough_of_both() -> None:
    assert sum(pair.stated for pair in PAIRS) >= 2000 <= sum(not pair.stated for pair in PAIRS)


@pytest.mark.parametrize("language", FLOORS)
def test_precision_and_recall(language: str) -> None:
    of_language = [(pair, shows(pair.text, [pair.value])) for pair in PAIRS if pair.language == language]
    shown = [pair for pair, is_shown in of_language if is_shown]
    stated = [pair for pair, _ in of_language if pair.stated]
    precision = sum(pair.stated for pair in shown) / len(shown)
    recall = sum(pair.stated for pair in shown) / len(stated)
    wrong: dict[str, list[Pair]] = {}
    for pair, is_shown in of_language:
        if is_shown != pair.stated:
            wrong.setdefault(pair.frame, []).append(pair)
    sys.stdout.write(f"{language}: {len(of_language)} pairs, precision {precision:.4f}, recall {recall:.4f}\n")
    for frame, some in sorted(wrong.items(), key=lambda item: -len(item[1])):
        sys.stdout.write(f"  {len(some):4d} {frame}: {some[0].value} <- {some[0].text}\n")
    assert (precision, recall) >= FLOORS[language] and recall >= FLOORS[language][1]
