"""Memories that people graded for a question, beside what the words of both tell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runner.domains.memory.recollection import recollection
from runner.metrics.memory import overall

MEMORIES = Path(__file__).with_name("memories.txt")
BANDS = {"high": (75, 100), "part": (35, 75), "none": (0, 35)}
SPEAKERS = {"ko": ("사용자: ", "어시스턴트: "), "en": ("User: ", "Assistant: ")}


def graded(language: str) -> list[tuple[str, float, str]]:
    """Band, overall score and question of each memory."""
    rows = [line.split(" | ") for line in MEMORIES.read_text(encoding="utf-8").splitlines() if line[:2] == language]
    return [(band, score(question, memory, language), question) for _, band, question, memory in rows]


def score(question: str, memory: str, language: str) -> float:
    user, assistant = SPEAKERS[language]
    lines = [line.replace("U: ", user).replace("A: ", assistant) for line in memory.split(" / ")]
    found = recollection(question, "\n".join(lines), "", (), ())
    return overall(found.relevance, found.completeness, found.accuracy, found.noise)


@pytest.mark.parametrize("language", ["ko", "en"])
def test_scores_stand_in_the_band_and_in_the_order_of_people(language: str) -> None:
    rows = graded(language)
    outside = [row for row in rows if not BANDS[row[0]][0] <= row[1] <= BANDS[row[0]][1]]
    useful = [row[1] for row in rows if row[0] == "high"]
    others = [row[1] for row in rows if row[0] != "high"]
    auc = sum((one > other) + (one == other) / 2 for one in useful for other in others) / len(useful) / len(others)
    sys.stdout.write(f"{language}: {len(rows)} memories, AUC {auc:.3f}, {len(outside)} outside of their band\n")
    assert len(rows) == 30 and auc > 0.95
    assert outside == []


def test_the_ten_turns_of_the_specification() -> None:
    """Spec 000: both amounts help with the budget overrun."""
    lines = [
        "AWS 비용이 1.2억이에요",
        "예산은 1억이에요",
        "RI 커버리지는 60%예요",
        "점심은 국수였어요",
        "회의는 금요일이에요",
    ]
    lines += ["담당자는 김민수예요", "태그 정책을 정리했어요", "보고서는 3장이에요", "EC2를 주로 써요"]
    memory = "\n".join(f"사용자: {line}\n어시스턴트: 알겠습니다." for line in lines)
    question = "아까 말한 예산 초과 상황 다시 설명해줘"
    found = recollection(question, memory, "", (), ())
    assert overall(found.relevance, found.completeness, found.accuracy, found.noise) > 85
    assert found.helpful == ("AWS 비용이 1.2억이에요", "예산은 1억이에요") and found.noise <= 3


@pytest.mark.parametrize(
    ("question", "other", "refusal"),
    [
        ("우리 집 강아지 이름이 뭐지?", "예산은 1억이에요", "제공된 자료에서 이 질문의 답을 찾을 수 없습니다."),
        ("우리 집 강아지 이름이 뭐지?", "예산은 1억이에요", "관련 문서를 찾지 못했습니다. 아래 메뉴를 확인해 주세요."),
        ("What is my dog called?", "The budget is $1.", "I could not find the answer in the documents provided."),
    ],
)
def test_a_memory_is_not_the_better_for_having_been_asked(question: str, other: str, refusal: str) -> None:
    user, assistant = SPEAKERS["ko" if question > "z" else "en"]
    before = f"{user}{other}"
    asked = f"{before}\n{user}{question}\n{assistant}{refusal}"
    assert recollection(question, asked, "", (), ()) == recollection(question, before, "", (), ())


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("올해 비용이 얼마야?", "작년 비용은 2억이었다."),
        ("이번 달 매출이 얼마야?", "지난달 매출은 5천만 원이었다."),
        ("11월 비용이 얼마야?", "10월 비용은 2억이었다."),
        ("What is the cost this year?", "Last year the cost was $200,000."),
    ],
)
def test_what_is_of_another_time_is_an_error_of_time(question: str, memory: str) -> None:
    found = recollection(question, memory, "", (), ())
    assert (found.accuracy, found.inaccuracies, found.noises) == (1, ("time",), ("outdated",))


def test_an_outdated_fact_lowers_the_score_whether_or_not_the_new_one_stands_beside_it() -> None:
    question, now, once = "현재 예산이 얼마야?", ["예산: 1.5억"], ["예산: 1억"]
    memories = (
        "예산은 1.5억이다.",
        "예산은 1억에서 1.5억으로 늘었다.",
        "예산은 1.5억이다. 예산은 1억이다.",
        "예산은 1억이다.",
    )
    found = [recollection(question, memory, "", now, once) for memory in memories]
    scores = [overall(each.relevance, each.completeness, each.accuracy, each.noise) for each in found]
    assert scores[0] == scores[1] == 100 and scores[2] < 65 and scores[3] < 35
    assert [each.noises for each in found] == [(), (), ("outdated",), ("outdated",)]
