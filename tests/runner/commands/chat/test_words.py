from typing import Any

import pytest

from runner.commands.chat.talk import ChatAnswer, GeneratorInput
from runner.commands.chat.words import (
    COMMANDS,
    context_text,
    entities_text,
    help_text,
    judgement_text,
    memory_text,
    say,
    sources,
    usage_lines,
)
from runner.domains.memory.context import ContextBuilder
from runner.domains.memory.records import ChatTurn, Entity, MemoryContent, SessionState
from runner.llm.tokens import counter
from runner.records import Answer, Judgement, Query
from runner.words.wording import wording

ASKED = Query("chat", "?", True, {})
BUILDER = ContextBuilder(recent_tokens=12, encoding="o200k_base")
TURNS = (ChatTurn("Hi.", "Hello.", number=1), ChatTurn("The budget is $10.", "Noted.", number=2, said_at="2026-11-02"))
DETAILS: dict[str, Any] = {
    "overall": 84.5,
    "empty": False,
    "scores": {
        "relevance": {"score": 9.0, "reason": "It is there."},
        "completeness": {"score": 8, "reason": "Nearly all."},
        "accuracy": {"score": 7.5, "reason": "A number is off.", "types": ["number"]},
        "noise": {"score": 1, "reason": "", "types": []},
    },
    "helpful_info": ["The budget is $10."],
    "missing_info": [],
    "summary": "It helps.",
}


def test_every_command_has_its_words() -> None:
    keys = [key for key in wording("en", "chat").texts if key.startswith("command.")]
    assert keys == [f"command.{name}" for name in COMMANDS]


def test_help_names_every_command() -> None:
    lines = help_text("ko").splitlines()
    assert [line.split()[0] for line in lines[:7]] == [
        "/eval", "/memory", "/entities", "/context", "/forget", "/help", "/quit",
    ]  # fmt: skip
    assert lines[0].startswith("/eval QUESTION       QUESTION에 대한")
    assert help_text("en").splitlines()[-1] == "to send a line that begins with /, type //"


def test_a_session_with_and_without_a_summary() -> None:
    assert memory_text(SessionState(), "en") == "nothing is remembered"
    assert memory_text(SessionState(TURNS[:1]), "en") == (
        "no summary yet\nturns not in the summary: 1\n  turn 1\n    User: Hi.\n    Assistant: Hello."
    )
    kept = SessionState(TURNS, "예산은 10달러.\n인사함.", last_turn=1)  # the first turn is in the summary
    assert memory_text(kept, "ko") == (
        "요약(1번째 턴까지):\n  예산은 10달러.\n  인사함.\n요약되지 않은 턴: 1개\n  2번째 턴\n"
        "    사용자: The budget is $10.\n    어시스턴트: Noted."
    )


def test_entities() -> None:
    assert entities_text(SessionState(), "en") == "no entities"
    state = SessionState(entities=(Entity("budget", "$10", 2), Entity("지역", "서울", 3)))
    assert entities_text(state, "en") == "budget: $10 (turn 2)\n지역: 서울 (turn 3)"


def test_a_context_by_section() -> None:
    assert context_text(None, "en") == "nothing has been asked yet"
    built = BUILDER.build(MemoryContent("A summary.", recent=TURNS), "How much?")
    assert context_text(GeneratorInput(ASKED, built), "en") == (
        "[memory] 3 / 500 tokens\n  A summary.\n"
        "[entities] 0 / 200 tokens\n"
        "[recent] 12 / 12 tokens; left out: the end of 1 turn, 1 turn\n  # 2026-11-02\n  User: The budget is […]\n"
        "[retrieved] 0 / 1,500 tokens\n"
        "[question] 3 / 100 tokens\n  How much?\n"
        "total: 18 tokens"
    )
    messages = (("system", "Be kind."), ("user", f"<memory>{built.memory_text}</memory><q>How much?</q>"))
    sent = ContextBuilder(system_tokens=2, encoding="o200k_base").add_prompt(built, messages)
    lines = context_text(GeneratorInput(ASKED, sent, messages=messages), "en").splitlines()
    n_user = counter("o200k_base")(messages[1][1])
    assert lines[:2] == ["[system] 3 / 2 tokens; 1 over the budget", "  Be kind."]
    fences = 3 + n_user - (3 + 18)
    assert lines[-1] == (
        f"total: {3 + n_user} tokens are sent to the model in 2 messages, {fences} of them fence the sections"
    )
    whole = BUILDER.build(MemoryContent(is_budgeted=False), "?")
    assert context_text(GeneratorInput(ASKED, whole), "ko").splitlines()[0] == "[memory] 0 / 예산 없음 토큰"


def test_a_judgement() -> None:
    assert judgement_text(Judgement(0.845, details=DETAILS), "en") == (
        "overall: 84.5 / 100\n"
        "relevance: 9 / 10  It is there.\n"
        "completeness: 8 / 10  Nearly all.\n"
        "accuracy: 7.5 / 10 (number)  A number is off.\n"
        "noise: 1 / 10\n"
        "helpful:\n  - The budget is $10.\n"
        "missing: -\n"
        "summary: It helps."
    )


def test_a_judgement_of_an_empty_memory_says_so() -> None:
    nothing = {name: {"score": 0, "reason": "비어 있음"} for name in DETAILS["scores"]}
    details = {"overall": 10.0, "empty": True, "scores": nothing, "missing_info": ["예산"]}
    assert judgement_text(Judgement(0.1, details=details), "ko") == (
        "전체 점수: 10.0 / 100 (메모리가 비어 있음)\n"
        "관련성: 0 / 10  비어 있음\n완전성: 0 / 10  비어 있음\n정확성: 0 / 10  비어 있음\n노이즈: 0 / 10  비어 있음\n"
        "도움 되는 정보: -\n빠진 정보:\n  - 예산\n한 줄 평가: -"
    )


def test_sources_are_the_pieces_that_are_cited_in_one_short_line_each() -> None:
    recent = (*TURNS, ChatTurn("예산이 늘었어요. " * 20, number=3))
    built = ContextBuilder().build(MemoryContent(recent=recent), "예산?")
    said = ChatAnswer(Answer("…", citations=(3, 2, 9, 0)), GeneratorInput(ASKED, built))
    long, dated = sources(said)
    assert dated == "  [2] turn-2, 2026-11-02: 사용자: The budget is $10. 어시스턴트: Noted."
    assert long == "  [3] turn-3: 사용자: " + "예산이 늘었어요. " * 4 + "예산이 늘었어요.…"  # 16 + 4 x 17 + 16 columns


@pytest.mark.parametrize(
    ("live", "cached", "line"),
    [
        ({"requests": 3, "input_tokens": 1000, "output_tokens": 234, "usd": 0.00123}, 0,
         "generator openai:m: 3 requests, 1,234 tokens, $0.0012"),
        ({"requests": 0, "input_tokens": 0, "output_tokens": 0, "usd": None}, 2,
         "generator openai:m: 0 requests, 0 tokens, cost unknown; 2 answered from the cache"),
    ],
)  # fmt: skip
def test_what_was_asked_of_models(live: dict[str, Any], cached: int, line: str) -> None:
    usage = {"usage": {"generator": {"openai:m": {"live": live, "cached": {"requests": cached}}}}}
    assert list(usage_lines(usage, "en")) == [line]
    assert list(usage_lines({}, "en")) == []
    korean = "generator openai:m: 요청 3건, 토큰 1,234개, $0.0012"
    assert list(usage_lines(usage, "ko")) == [
        korean if live["requests"] else "generator openai:m: 요청 0건, 토큰 0개, 비용 알 수 없음, 캐시 응답 2건"
    ]


def test_words_have_places_for_what_they_are_about() -> None:
    assert say("unknown", "ko", name="x") == "/x 명령은 없습니다"
