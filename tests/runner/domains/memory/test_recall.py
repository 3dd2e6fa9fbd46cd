import pytest

from runner.domains.memory.context import ContextBuilder
from runner.domains.memory.recall import (
    Statement,
    asked_words,
    courteous_reply,
    is_question,
    replaces,
    statements,
    tells_something,
)
from runner.domains.memory.records import ChatTurn, Entity, MemoryContent
from runner.records import Context


def test_statements_of_a_built_context_from_the_oldest_to_the_newest() -> None:
    remembered = MemoryContent(
        memory="예산은 2억입니다. 사용자는 AWS를 씁니다.",
        entities=(Entity("provider", "aws", 3), Entity("budget", "2억", 4)),
        recent=(ChatTurn("예산이 늘었어요. 3억이에요.", "네, 3억이군요.\n어시스턴트: 0원", number=9),),
        retrieved=(ChatTurn("예산은 1억이에요", "알겠습니다.", number=1),),
    )
    assert statements(ContextBuilder().build(remembered, "예산은?").contexts) == [
        Statement(1, "예산은 1억이에요"),
        Statement(1, "알겠습니다.", is_reply=True),
        Statement(2, "사용자는 AWS를 씁니다."),  # a summary begins with what is newest
        Statement(2, "예산은 2억입니다."),
        Statement(3, "- provider: aws"),
        Statement(3, "- budget: 2억"),
        Statement(4, "예산이 늘었어요."),
        Statement(4, "3억이에요.", before="예산이 늘었어요."),
        Statement(4, "네, 3억이군요.", is_reply=True),
        Statement(4, "어시스턴트: 0원", before="네, 3억이군요.", is_reply=True),
    ]


def test_speakers_of_a_dialogue_stay_with_what_they_say() -> None:
    said = Context("D1:3", "Melanie: I went camping. It was in June.", "8 May, 2023")
    assert statements([said]) == [
        Statement(1, "Melanie: I went camping."),
        Statement(1, "It was in June.", before="Melanie: I went camping."),
    ]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("지난번 말한 예산 초과 어떻게 됐어?", ["예산", "초과"]),
        ("처음에 말한 AWS 비용이 얼마였지?", ["AWS", "비용이"]),
        ("우리 강아지 이름이 뭐였더라?", ["강아지", "이름이"]),
        ("내 생일이 언제라고 했지?", ["생일이"]),
        ("아까 말한 예산 초과 상황 다시 설명해줘", ["예산", "초과"]),
        ("말레이시아 다시마 설명회는 우리은행에서 하나요?", ["말레이시아", "다시마", "설명회는", "우리은행에서"]),
        ("서버2의 11월 비용은 $1,200 넘었어?", ["서버", "비용은", "넘었어", "2", "11", "1,200"]),
        ("What did I say the budget currently is?", ["budget"]),
        ("Can you remind me again which region we use now?", ["region", "use"]),
    ],
)
def test_words_that_an_answer_may_hold(question: str, words: list[str]) -> None:
    assert [word.text for word in asked_words(question)] == words


@pytest.mark.parametrize(
    ("newer", "older", "does"),
    [
        ("예산이 1.5억으로 늘었어요", "예산은 1억이에요", True),
        ("The budget is $15,000.", "The budget is $10,000.", True),
        ("The budget is about 12 people.", "The budget is $10,000.", False),  # another kind of value
        ("We talked about the budget.", "The budget is $10,000.", False),
        ("The region is Tokyo.", "The region is Seoul.", True),
    ],
)
def test_a_newer_value_of_the_same_kind_replaces(newer: str, older: str, does: bool) -> None:
    assert replaces(Statement(2, newer), Statement(1, older)) is does


def test_the_assistant_replaces_nothing_that_the_user_said() -> None:
    user, reply = Statement(1, "The budget is $1."), Statement(2, "The budget is $2.", is_reply=True)
    assert not replaces(reply, user)
    assert replaces(Statement(3, "The budget is $3."), reply)
    assert replaces(Statement(4, "The budget is $4.", is_reply=True), reply)


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("예산은 1억이에요", True),
        ("제 이름은 민수입니다.", True),
        ("오늘 회의했어", True),
        ("My budget is $10,000.", True),
        ("RI coverage is 60%", True),
        ("안녕하세요", True),
        ("고마워!", True),
        ("Hello", True),
        ("Thank you!", True),
        ("안녕하세요, 예산이 얼마예요?", False),
        ("예산 알려줘", False),
        ("예산이 얼마인지 궁금합니다", False),
        ("예산은 얼마예요", False),
        ("예산 기억하나요", False),
        ("예산을 알고 싶어요", False),
        ("예산을 말해 봐", False),
        ("예산을 말씀해 보세요", False),
        ("Tell me the budget.", False),
        ("what is the budget", False),
        ("1월은?", False),
        ("", False),
        ("Analyze the cost of November.", False),
    ],
)
def test_whether_somebody_tells_or_asks(text: str, does: bool) -> None:
    assert tells_something(text) is does


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("예산은 3억이 아니에요.", True),
        ("예산은 3억 아닙니다", True),
        ("예산은 3억이 아니라 4억이에요.", False),
        ("예산은 4억이에요.", False),
        ("The budget is not $300.", True),
        ("The budget isn't $300.", True),
        ("The budget is not $300 but $400.", False),
        ("The budget is $400.", False),
    ],
)
def test_what_something_is_not_replaces_nothing(text: str, does: bool) -> None:
    statement = Statement(2, text)
    assert statement.denies is does
    assert (
        replaces(statement, Statement(1, "예산은 2억이에요." if "예산" in text else "The budget is $200.")) is not does
    )


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("좋아", "네, 알겠습니다."),
        ("응", "네, 알겠습니다."),
        ("ㅋㅋㅋ", "네, 알겠습니다."),
        ("고마워", "천만에요."),
        ("안녕하세요", "안녕하세요."),
        ("오늘 춥네", "네, 그렇군요."),
        ("너무 졸려", "네, 그렇군요."),
        ("계약을 연장했음", "알겠습니다."),
        ("ok", "Understood."),
        ("thanks a lot!", "You're welcome."),
        ("Good morning", "Hello."),
        ("it is cold today", "I see."),
        ("My budget is $10,000.", "Noted."),
    ],
)
def test_what_asks_for_nothing_gets_a_courteous_reply(text: str, reply: str) -> None:
    assert tells_something(text) and courteous_reply(text) == reply


@pytest.mark.parametrize("text", ["예산", "EC2 비용 줄이는 방법", "어디야?", "다음 회의 언제야", "아마존 요금제"])
def test_a_noun_alone_asks(text: str) -> None:
    assert not tells_something(text)


@pytest.mark.parametrize(
    "text", ["우리 강아지 이름이 보리거든요?", "제가 채식하잖아요?", "my dog is called Pickle, you know?"]
)
def test_a_question_mark_after_what_is_told_asks_nothing(text: str) -> None:
    assert not is_question(text)


def test_a_change_without_a_name_is_of_the_last_value_of_its_kind() -> None:
    turns = [ChatTurn(text, "알겠습니다.", number=n) for n, text in enumerate(TOLD, 1)]
    told = statements(ContextBuilder().build(MemoryContent(recent=tuple(turns)), "예산은?").contexts)
    changed = {statement.text: statement.changed for statement in told if not statement.is_reply}
    assert changed == {TOLD[0]: "", TOLD[1]: "", TOLD[2]: TOLD[0], TOLD[3]: TOLD[0], TOLD[4]: ""}


TOLD = ("예산은 1억이에요", "직원은 12명이에요", "1.5억으로 늘었어", "이제 2억으로 확정됐어요", "3억이면 좋겠다")
