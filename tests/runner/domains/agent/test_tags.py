from __future__ import annotations

import pytest

from runner.domains.agent.tags import chunk_tags, guide_type, has_steps
from runner.records import Chunk, Corpus, Document


@pytest.mark.parametrize(
    "text",
    [
        "1. Open the page.\n2. Press save.",
        "(1) 엽니다\n(2) 저장합니다",
        "1단계 로그인\n2단계 저장",
        "Step 1: open\nStep 2: close",
        "① 열기\n② 닫기",
        "First open the page and then press save.",
        "You must first get it:\n\nget foo\n\nThen build it.",
        "먼저 설정을 열고, 그런 다음 저장합니다.",
    ],
)
def test_steps_to_follow(text: str) -> None:
    assert has_steps(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1. Only one.",
        "Kept for 13 months.",
        "먼저 온 사람이 앉습니다.",
        "2024. 1. 5에 시작",
        "1.5 million\n2.4 million",
        "13.1 Where\n13.2 Who",
        "The first edition was sold, then lost.",
        "First of all it is next to the house.",
    ],
)
def test_no_steps(text: str) -> None:
    assert not has_steps(text)


@pytest.mark.parametrize(
    ("title", "text", "kind"),
    [
        ("로그인이 안 될 때", "1. 엽니다\n2. 닫습니다", "troubleshooting"),
        ("Error E-102", "text", "troubleshooting"),
        ("화면이 안 보여요", "text", "troubleshooting"),
        ("보안 설정", "1. 엽니다\n2. 닫습니다", "how_to"),
        ("안보 정책", "1. 엽니다\n2. 닫습니다", "how_to"),
        ("제안되는 예산", "1. 엽니다\n2. 닫습니다", "how_to"),
        ("SSO 개요", "1. 엽니다\n2. 닫습니다", "concept"),
        ("What is a budget?", "text", "concept"),
        ("Create a budget", "1. Open\n2. Save", "how_to"),
        ("Limits", "| a | b |\n|---|---|\n| 1 | 2 |", "reference"),
        ("예산", "예산은 한 달 동안 쓸 금액입니다.", "concept"),
    ],
)
def test_kinds_of_guides(title: str, text: str, kind: str) -> None:
    assert guide_type(title, text) == kind


def test_a_chunk_has_the_tags_of_its_document_and_its_own() -> None:
    text = "1. Open\n2. SaveThe end."
    document = Document("d", text, "T", "en", {"doc_type": "guide", "has_steps": False, "team": ["a", "b"]})
    chunks = [Chunk("d#0", "d", text[:14], 0, 14, ("T", "Steps")), Chunk("d#1", "d", text[14:], 14, 22)]
    tags = chunk_tags(Corpus([document], chunks, ""))
    shared = {"doc_type": "guide", "team": ["a", "b"], "language": "en"}
    assert tags == {
        "d#0": {**shared, "has_steps": True, "section": "T > Steps"},
        "d#1": {**shared, "has_steps": False, "section": ""},
    }
