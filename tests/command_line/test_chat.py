"""The command as a process of its own: lines go in through a pipe, against real servers on loopback."""

import unicodedata

import pytest

from runner.text.refusals import REFUSAL
from tests.command_line.chatting import LOCAL, Chat, after_hosts, asking, piped
from tests.services.models_server import ModelsServer

# --- without a model ------------------------------------------------------------------------------


def test_a_korean_conversation(chat: Chat) -> None:
    said = "AWS 비용이 1.2억이에요\n예산은 1억이에요\n\n \n예산이 1.5억으로 늘었어요\n현재 예산이 얼마야?\n대표는?\n"
    assert chat(said) == (
        0,
        f"알겠습니다.\n알겠습니다.\n알겠습니다.\n예산이 1.5억으로 늘었어요 [3]\n{REFUSAL['ko']}\n",
        "",
    )


def test_an_english_conversation_without_a_last_line_break(chat: Chat) -> None:
    said = "The budget is $10,000.\nThe region is Seoul.\nThe budget went up to $15,000.\nWhat is the budget?"
    assert chat(said, LOCAL) == (0, "Noted.\nNoted.\nNoted.\nThe budget went up to $15,000. [3]\n", "")


def test_letters_in_pieces_wide_letters_other_line_ends_and_bytes_that_are_no_text() -> None:
    """Through a pipe, as it is."""
    said = ["\ufeff예산은 １억이에요", unicodedata.normalize("NFD", "예산은 얼마예요?"), "\u200b", "예산은?"]
    given = "\r\n".join(said).encode() + b"\r\nbudget \xff\xfe?\r\n"
    code, out, err = piped(given, LOCAL)
    assert (code, err) == (0, "")
    assert out == f"알겠습니다.\n예산은 １억이에요 [1]\n예산은 １억이에요 [1]\n{REFUSAL['en']}\n"


def test_turns_that_leave_the_window_are_summarised_in_the_background(chat: Chat) -> None:
    facts = "".join(f"서버{n}의 비용은 {n}00만 원이에요\n" for n in range(1, 5))
    words = (LOCAL, "memory.window=1", "memory.update_every=2", "language=ko")
    code, out, err = chat(f"{facts}서버1의 비용은?\n/quit\n예산?\n", *words)
    assert (code, err) == (0, "")
    assert "100만 원" in out.splitlines()[-1] and "400" not in out.splitlines()[-1]
    code, out, err = chat(f"{facts}/eval 서버1의 비용은?\n/memory\n/entities\n", *words)
    assert (code, err) == (0, "")
    assert "요약(2번째 턴까지):\n" in out
    assert "요약되지 않은 턴: 2개\n  3번째 턴\n    사용자: 서버3의 비용은 300만 원이에요\n" in out


# --- commands -------------------------------------------------------------------------------------


def test_commands_show_judge_and_forget(chat: Chat) -> None:
    said = "예산은 1억이에요\n예산은?\n/context\n/eval 예산이 얼마야?\n/entities\n/forget\n/memory\n/context\n예산은?\n"
    code, out, err = chat(said, LOCAL, "context.encoding=o200k_base")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:2] == ["알겠습니다.", "예산은 1억이에요 [1]"]
    assert lines[2:11] == [
        "[memory] 0 / 500 tokens",
        "[entities] 0 / 200 tokens",
        "[recent] 21 / 1,500 tokens",
        "  사용자: 예산은 1억이에요",
        "  어시스턴트: 알겠습니다.",
        "[retrieved] 0 / 1,500 tokens",
        "[question] 4 / 100 tokens",
        "  예산은?",
        "total: 25 tokens",
    ]
    judged = [line.partition(":")[0] for line in lines[11:] if not line.startswith(" ")]
    assert judged[:8] == [
        "overall", "relevance", "completeness", "accuracy", "noise", "helpful", "missing", "summary",
    ]  # fmt: skip
    assert lines[-5:] == [
        "no entities", "forgotten", "nothing is remembered", "nothing has been asked yet", REFUSAL["ko"],
    ]  # fmt: skip


def test_an_empty_memory_is_judged_without_a_model_and_scores_ten(server: ModelsServer, chat: Chat) -> None:
    words = asking(server, "judge=openai", "judge.model=local:judge")
    code, out, err = chat("/eval What is the budget?\n", *words)
    assert (code, server.count, after_hosts(err)) == (0, 0, "")
    assert out.startswith("overall: 10.0 / 100 (the memory is empty)\nrelevance: 0 / 10")


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("/evla x", "error: no command /evla; did you mean '/eval'?"),
        ("/", "error: no command /"),
        ("/메모리", "error: no command /메모리"),
    ],
)
def test_an_unknown_command_lists_those_that_there_are(typed: str, first: str, chat: Chat) -> None:
    code, out, err = chat(f"{typed}\nHello\n", LOCAL)
    assert (code, out) == (0, "Hello.\n")
    assert err.splitlines()[0] == first
    assert [line.split()[0] for line in err.splitlines()[1:8]] == [
        "/eval", "/memory", "/entities", "/context", "/forget", "/help", "/quit",
    ]  # fmt: skip


def test_a_command_without_its_question(chat: Chat) -> None:
    assert chat("/eval\n//eval is a command\n", LOCAL) == (
        0, "Noted.\n", "error: /eval needs a question: /eval QUESTION\n",
    )  # fmt: skip
