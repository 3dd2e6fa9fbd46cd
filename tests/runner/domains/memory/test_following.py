import pytest

from runner.domains.memory.copilot import goes_on, search_text
from runner.domains.memory.records import ChatTurn, MemoryContent


@pytest.mark.parametrize(
    "question",
    [
        *(
            "1월은?",
            "그럼 RDS는요?",
            "그건 어떻게 설정해요?",
            "그 링크는 언제 만료돼요?",
            "거기에도 같은 규칙이 적용되나요?",
        ),
        *(
            "And January?",
            "What about OAuth tokens for apps?",
            "How do I turn it on for everybody?",
            "How long is that?",
        ),
        *("How do I set that up?", "Do those cost extra on the Team plan?"),
    ],
)
def test_questions_that_cannot_stand_alone(question: str) -> None:
    assert goes_on(question)


@pytest.mark.parametrize(
    "question",
    [
        "11월 비용을 분석해 줘",
        "휴지통의 파일은 며칠 뒤에 지워지나요?",
        "그룹 정책으로 앱을 배포할 수 있나요?",
        "이건희 회장은 누구인가요?",
        "How do I set up alerts that warn me?",
        "Which systems does the desktop client support?",
        "Is there a free trial period?",
    ],
)
def test_questions_that_can(question: str) -> None:
    assert not goes_on(question)


def turns(*said: str) -> MemoryContent:
    return MemoryContent(recent=tuple(ChatTurn(text, number=number) for number, text in enumerate(said, 1)))


def test_a_question_stands_behind_the_one_that_it_goes_on_with() -> None:
    said = turns("디스크 용량을 분석해 줘", "11월 비용을 분석해 줘", "12월은?", "예산은 1억이에요.")
    assert search_text("1월은?", said) == "11월 비용을 분석해 줘 1월은?"  # no statement, and no question that goes on


def test_a_question_that_can_stand_alone_does() -> None:
    said = turns("11월 비용을 분석해 줘")
    assert search_text("휴지통의 파일은 며칠 뒤에 지워지나요?", said) == "휴지통의 파일은 며칠 뒤에 지워지나요?"


def test_what_is_not_remembered_word_for_word_is_not_gone_on_with() -> None:
    assert search_text("And January?", MemoryContent("The user asked about the costs of November.")) == "And January?"
    assert search_text("And January?", turns("The budget is $10,000.")) == "And January?"
