"""A chat over documents: what is searched, answered and shown of it, with and without models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.llm.tokens import counter
from tests.command_line.chatting import LOCAL, Chat, asking
from tests.services.models_replies import Reply, completion, error
from tests.services.models_server import ModelsServer

NOTES = {
    "연차": "연차는 1년에 15일이며 팀장이 승인합니다. 남은 연차는 다음 해로 3일까지 넘어갑니다.",
    "출장": "출장비는 하루 5만 원이고 영수증은 돌아온 뒤 7일 안에 냅니다.",
    "보안": "노트북은 90일마다 비밀번호를 바꿔야 합니다.",
}
VAULT = ("dataset=vault", "dataset.notes=노트")
REFUSED = error(400, "no tools here", kind="invalid_request_error")


@pytest.fixture
def notes() -> Path:
    folder = Path("노트")
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / f"{name}.md").write_text(f"---\ntitle: {name}\n---\n# {name}\n\n{text}\n", encoding="utf-8")
    return folder


def test_own_notes_answer_beside_what_was_told(notes: Path, chat: Chat) -> None:
    said = (
        "제 예산은 1억이에요\n출장비는 하루에 얼마인가요?\n영수증은?\n예산은 얼마였죠?\n/context 연차는 며칠인가요?\n"
    )
    code, out, err = chat(said, LOCAL, *VAULT)
    assert (code, err) == (0, "")
    told, paid, _, budget, *context = out.splitlines()
    assert told == "알겠습니다."  # a statement is searched for nowhere
    assert "하루 5만 원" in paid
    assert budget.startswith("제 예산은 1억이에요")
    start = context.index("  [1] 연차.md#0, 연차")
    assert context[start + 1 : start + 4] == ["      # 연차", "      ", context[start + 3]]
    assert "연차는 1년에 15일이며" in context[start + 3]
    assert "searched for: 연차는 며칠인가요?" in context
    calls = context[context.index("searched for: 연차는 며칠인가요?") + 1 :]
    assert calls[0].startswith("  1. search_all(query=“연차는 며칠인가요?”) ")
    assert calls[-1].startswith("  – Stopped: ")
    assert [line.split("]")[0] for line in context if line.startswith("[")] == [
        "[memory", "[entities", "[recent", "[retrieved", "[documents", "[question",
    ]  # fmt: skip


def test_nothing_found_is_said_only_where_the_memory_does_not_answer(notes: Path, chat: Chat) -> None:
    said = "서버실 열쇠는 342번이에요\n서버실 열쇠는 몇 번이에요?\n사내 식당 메뉴는 무엇인가요?\n"
    code, out, _ = chat(said, LOCAL, *VAULT, "memory=window")
    assert code == 0
    _, known, unknown = out.splitlines()[:3]
    assert known == "서버실 열쇠는 342번이에요"
    assert unknown.startswith(("해당 내용은 준비 중입니다.", "관련 문서를 찾지 못했습니다."))
    code, out, _ = chat(said, LOCAL, *VAULT, "memory=window", "fallback=confidence")
    assert code == 0
    assert out.splitlines()[1].startswith(("해당 내용은 준비 중입니다.", "관련 문서를 찾지 못했습니다."))


def test_a_follow_up_is_searched_for_behind_its_question(notes: Path, chat: Chat) -> None:
    said = "출장비는 하루에 얼마인가요?\n/context 연차는?\n"
    assert "searched for: 출장비는 하루에 얼마인가요? 연차는?\n" in chat(said, LOCAL, *VAULT)[1]
    alone = chat(said, LOCAL, *VAULT, "follow_ups=false", "retriever=keyword")[1]
    assert "searched for: 연차는?\n" in alone
    assert "search_all" not in alone  # no agent


def test_files_with_a_bad_line_and_no_questions(chat: Chat) -> None:
    lines = [{"id": "a", "title": "Refunds", "text": "Refunds take 14 days."}, {"id": "a", "text": "twice"}]
    Path("docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    words = (LOCAL, "dataset=jsonl", "dataset.corpus=docs.jsonl", "retriever=hybrid")
    code, out, err = chat("How long do refunds take?\n", *words)
    assert (code, out) == (0, "Refunds take 14 days. [1]\n")
    assert err.startswith("error: docs.jsonl:2: ") and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["retriever=agentic"],
            "retriever: there are no documents to search; choose dataset=vault dataset.notes=FOLDER or dataset=jsonl "
            "dataset.corpus=FILE for your own, or dataset=faq_guide",
        ),
        (["agent=scripted"], "agent: there are no documents to search; "),
        (["dataset=vault"], "dataset.notes: a value is required; give one with dataset.notes=VALUE"),
        (["dataset=faq_guid"], "dataset: no choice 'faq_guid'; did you mean 'faq_guide'?"),
        (["dataset=faq_guide", "k=0"], "k: expected 1 or more, got 0"),
        (["dataset=faq_guide", "fallback=never"], "fallback: expected 'confidence' or 'unanswered', got 'never'"),
        (["dataset=faq_guide", "dataset.faq=f.jsonl"], "dataset.guide: a file is required beside the others"),
    ],
)
def test_what_cannot_be_searched(words: list[str], expected: str, chat: Chat) -> None:
    code, out, err = chat("Hello\n", LOCAL, *words)
    assert (code, out) == (1, "")
    assert expected in err


def test_a_folder_that_is_not_there(chat: Chat) -> None:
    code, out, err = chat("Hello\n", LOCAL, "dataset=vault", "dataset.notes=nowhere")
    assert (code, out) == (2, "")
    assert err == "error: 1 problem in the configuration:\n  dataset.notes: folder not found: nowhere\n"


# --- with models ----------------------------------------------------------------------------------


def copilot(server: ModelsServer) -> list[str]:
    return asking(server, *VAULT, "agent=pydantic_ai", "agent.model=local:agent", "language=ko")


def test_models_search_and_answer_and_all_that_was_sent_is_shown(server: ModelsServer, notes: Path, chat: Chat) -> None:
    def respond(body: dict[str, Any]) -> Reply:
        if body["model"] == "gen":
            return completion(body, "하루 5만 원입니다 [1].")
        if not any(message["role"] == "tool" for message in body["messages"]):
            return completion(body, None, calls=[("search_all", '{"query": "출장비 하루"}')])
        return completion(body, None, calls=[("finish", '{"sufficient": true, "confidence": 0.9}')])

    server.respond = respond
    code, out, err = chat("출장비는 얼마야?\n/context\n", *copilot(server))
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "하루 5만 원입니다 [1]."
    sent = server.requests[-1]["messages"]
    system = [line for line in lines if line.startswith("[system] ")]
    assert len(system) == 1 and all(f"  {line}" in lines for line in sent[0]["content"].splitlines())
    assert "하루 5만 원이고" in sent[1]["content"]
    assert any(line.startswith("  1. search_all(query=“출장비 하루”) ") for line in lines)
    tokens = sum(map(counter("auto"), (message["content"] for message in sent)))
    assert any(line.startswith(f"합계: 모델에 보내는 메시지 2개, {tokens:,}토큰") for line in lines)
    assert " / 1,500 " in system[0]
    uses = [line.split(":")[0] for line in err.splitlines()[1:]]
    assert uses == ["agent local", "generator local"]


def test_an_agent_whose_model_fails_leaves_what_the_memory_knows(server: ModelsServer, notes: Path, chat: Chat) -> None:
    def respond(body: dict[str, Any]) -> Reply:
        return completion(body, "342번입니다.") if body["model"] == "gen" else REFUSED

    server.respond = respond
    code, out, _ = chat("열쇠는 342번이에요\n열쇠는 몇 번이야?\n/context\n", *copilot(server))
    assert code == 0
    assert out.splitlines()[:2] == ["342번입니다."] * 2
    assert "no tools here" in out
