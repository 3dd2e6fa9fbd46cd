"""The reranker that asks a model, against a real server."""

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plugins.reranker.openai import SCHEMA, OpenaiReranker
from runner.domains.agent.candidate import Candidate
from runner.errors import InputError, ReplyError
from runner.llm.models import Models
from runner.llm.rehearsal import Rehearsal
from runner.llm.structured import IDENTICAL
from runner.records import Assessment, Query, Turn
from tests.services.doors import models
from tests.services.models_replies import Reply, completion
from tests.services.models_server import ModelsServer

QUESTION = Query("q", "EC2 비용 줄이는 방법?", True, {}, language="ko")
CANDIDATES = (
    Candidate("faq#0", "예약 인스턴스를 사면 줄어듭니다.", "비용 FAQ", {"doc_type": "faq"}),
    Candidate("guide#0", "콘솔을 엽니다.", "절감 가이드", {"doc_type": "guide", "section": "시작 > 준비"}),
    Candidate("guide#1", "1. 인스턴스를 고릅니다.", "절감 가이드"),
)
BEST = ("guide#1", "faq#0")  # in what follows
ASKED = ("EC2 비용 줄이는 방법?",)
GOOD = {
    "ranked_indices": [3, 1],
    "is_sufficient": False,
    "missing": ["조건", " "],
    "next_action": "search_again",
    "refined_query": " EC2 예약 인스턴스 절감 ",
    "confidence": 0.85,
}


def says(server: ModelsServer, reply: Mapping[str, Any] | str) -> None:
    text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    server.respond = lambda body: completion(body, text)


def reranker(door: Models, **settings: Any) -> OpenaiReranker:
    return OpenaiReranker(models=door, model="test:m", **settings)


def test_the_reply_is_an_assessment(server: ModelsServer, tmp_path: Path) -> None:
    says(server, GOOD)
    found = reranker(models(server.url, tmp_path)).rerank(QUESTION, CANDIDATES, ASKED)
    assert found == Assessment(
        ranked=BEST,
        sufficient=False,
        confidence=0.85,
        missing=("조건",),
        next_action="search_again",
        refined_query="EC2 예약 인스턴스 절감",
    )


def test_what_the_model_sees(server: ModelsServer, tmp_path: Path) -> None:
    says(server, GOOD)
    question = replace(QUESTION, history=(Turn("user", "AWS를 씁니다."),))
    reranker(models(server.url, tmp_path), max_candidate_tokens=20).rerank(
        question, (*CANDIDATES, Candidate("long", "긴 글입니다. " * 100)), ASKED
    )
    (body,) = server.requests
    system, user = body["messages"]
    assert "당신은 검색 결과" in system["content"]
    assert '"ranked_indices"' in system["content"]
    for text in (
        'name="history" number="1">\nuser: AWS를 씁니다.',
        'name="question">\nEC2 비용 줄이는 방법?',
        'name="asked" number="1">\nEC2 비용 줄이는 방법?',
        'name="candidates" number="1">\n# [faq] 비용 FAQ\n예약 인스턴스를',
        'name="candidates" number="2">\n# [guide] 절감 가이드 > 시작 > 준비\n콘솔을 엽니다.',
        'name="candidates" number="3">\n# 절감 가이드\n1. 인스턴스를',
    ):
        assert text in user["content"]
    assert user["content"].count("긴 글입니다.") < 10
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA


def test_english_questions_get_the_english_prompt(server: ModelsServer, tmp_path: Path) -> None:
    says(server, GOOD)
    question = Query("q", "How do I spend less on EC2?", True, {})
    reranker(models(server.url, tmp_path)).rerank(question, CANDIDATES, ())
    assert "You decide which search results answer a question" in server.requests[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"is_sufficient": True}, Assessment(BEST, True, 0.85, ("조건",))),  # then there is nothing left to do
        ({"next_action": None, "missing": None}, Assessment(BEST, False, 0.85)),
        ({"next_action": "get_section"}, Assessment(BEST, False, 0.85, ("조건",), "get_section")),
        ({"ranked_indices": [], "next_action": None, "confidence": 0}, Assessment((), False, 0.0, ("조건",))),
        ({"confidence": 1}, Assessment(BEST, False, 1.0, ("조건",), "search_again", "EC2 예약 인스턴스 절감")),
    ],
)
def test_replies_that_say_less(
    changes: Mapping[str, Any], expected: Assessment, server: ModelsServer, tmp_path: Path
) -> None:
    says(server, {**GOOD, **changes})
    found = reranker(models(server.url, tmp_path)).rerank(QUESTION, CANDIDATES, ASKED)
    assert found == expected


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ranked_indices": "3, 1"}, "ranked_indices: expected a list, got '3, 1'"),
        ({"ranked_indices": [0, 1]}, "ranked_indices: expected numbers from 1 to 3, got 0"),
        ({"ranked_indices": [1, 4]}, "ranked_indices: expected numbers from 1 to 3, got 4"),
        ({"ranked_indices": [True]}, "ranked_indices: expected numbers from 1 to 3, got True"),
        ({"ranked_indices": [1.0]}, "ranked_indices: expected numbers from 1 to 3, got 1.0"),
        ({"ranked_indices": [2, 1, 2]}, "ranked_indices: 2 is there twice"),
        ({"is_sufficient": "yes"}, "is_sufficient: expected true or false, got 'yes'"),
        ({"is_sufficient": True, "ranked_indices": []}, "is_sufficient: true without any of ranked_indices"),
        ({"confidence": 1.01}, "confidence: expected a number from 0 to 1, got 1.01"),
        ({"confidence": -0.5}, "confidence: expected a number from 0 to 1, got -0.5"),
        ({"confidence": float("nan")}, "confidence: expected a number from 0 to 1, got nan"),
        ({"confidence": float("inf")}, "confidence: expected a number from 0 to 1, got inf"),
        ({"confidence": 10**400}, r"confidence: expected a number from 0 to 1, got 1\.7976931348623157e\+308"),
        ({"confidence": True}, "confidence: expected a number from 0 to 1, got True"),
        ({"confidence": "0.9"}, "confidence: expected a number from 0 to 1, got '0.9'"),
        ({"missing": "steps"}, "missing: expected a list of texts, got 'steps'"),
        ({"missing": [1]}, r"missing: expected a list of texts, got \[1\]"),
        ({"next_action": "ask_user"}, "next_action: expected get_section, search_again or null, got 'ask_user'"),
        ({"next_action": "get_section", "ranked_indices": []}, "next_action: get_section without any"),
        ({"refined_query": None}, "refined_query: expected a text for search_again, got None"),
        ({"refined_query": " "}, "refined_query: expected a text for search_again, got ' '"),
        ({"refined_query": "ec2  비용 줄이는 방법?"}, "refined_query: it was searched for already"),
    ],
)
def test_replies_that_cannot_be_used(
    changes: Mapping[str, Any], reason: str, server: ModelsServer, tmp_path: Path
) -> None:
    says(server, {**GOOD, **changes})
    with pytest.raises(ReplyError, match=reason):
        reranker(models(server.url, tmp_path)).rerank(QUESTION, CANDIDATES, ASKED)
    assert server.count == IDENTICAL + 1  # asked again, and shown once what was wrong with it


def test_a_reply_that_is_repaired(server: ModelsServer, tmp_path: Path) -> None:
    def respond(body: dict[str, Any]) -> Reply:
        is_repair = len(body["messages"]) > 2
        return completion(body, json.dumps(GOOD) if is_repair else '```json\n{"ranked_indices": [1,')

    server.respond = respond
    found = reranker(models(server.url, tmp_path)).rerank(QUESTION, CANDIDATES, ASKED)
    assert found.ranked == BEST


async def test_many_questions_are_asked_side_by_side(server: ModelsServer, tmp_path: Path) -> None:
    says(server, GOOD)
    server.latency_s = 0.1
    door = models(server.url, tmp_path, max_concurrency=8)
    one, loop = reranker(door), asyncio.get_running_loop()
    questions = [replace(QUESTION, text=f"질문 {number}") for number in range(8)]
    async with door.open():
        with ThreadPoolExecutor(one.concurrency) as pool:
            asked = [loop.run_in_executor(pool, one.rerank, each, CANDIDATES, ()) for each in questions]
            await asyncio.gather(*asked)
    assert server.counts.max_in_flight == 8


def test_a_plan_counts_one_request_a_question(tmp_path: Path) -> None:
    door, rehearsal = models("http://127.0.0.1:9/v1", tmp_path), Rehearsal()
    one = reranker(door)
    with door.rehearsing(rehearsal, "0"):
        found = one.rerank(QUESTION, CANDIDATES, ASKED)
    assert (found.ranked, found.sufficient) == (("faq#0", "guide#0", "guide#1"), True)
    (expected,) = rehearsal.expected.values()
    assert expected.live == 1


def test_a_plan_sees_what_is_stored_as_a_run_does(server: ModelsServer, tmp_path: Path) -> None:
    """Replies that were of no use are stored, and asked for anew by a later command."""
    replies = iter([json.dumps(GOOD), *["none"] * (IDENTICAL + 1), json.dumps(GOOD)])
    server.respond = lambda body: completion(body, next(replies))
    first, other = reranker(models(server.url, tmp_path)), replace(QUESTION, text="다른 질문")
    found = first.rerank(QUESTION, CANDIDATES, ASKED)
    with pytest.raises(ReplyError, match="holds no JSON"):
        first.rerank(other, CANDIDATES, ASKED)
    before = server.count
    door, rehearsal = models(server.url, tmp_path), Rehearsal()
    with door.rehearsing(rehearsal, "0"):
        assert reranker(door).rerank(QUESTION, CANDIDATES, ASKED) == found
        reranker(door).rerank(other, CANDIDATES, ASKED)
    (expected,) = rehearsal.expected.values()
    assert (expected.stored, expected.live, rehearsal.n_made_up, server.count) == (1, 1, 1, before)
    later = reranker(models(server.url, tmp_path))
    assert [later.rerank(question, CANDIDATES, ASKED) for question in (QUESTION, other)] == [found, found]
    assert server.count == before + expected.live


def test_a_prompt_of_ones_own(server: ModelsServer, tmp_path: Path) -> None:
    says(server, GOOD)
    own = tmp_path / "rerank.yaml"
    own.write_text("version: 1\nko: 결과를 고르십시오.\n", encoding="utf-8")
    door = models(server.url, tmp_path)
    one = reranker(door, prompt=str(own))
    one.rerank(QUESTION, CANDIDATES, ASKED)
    assert server.requests[0]["messages"][0]["content"].startswith("결과를 고르십시오.")
    assert one.provenance != reranker(door).provenance
    with pytest.raises(InputError, match=r"reranker\.prompt"):
        reranker(door, prompt=str(tmp_path / "none.yaml")).rerank(QUESTION, CANDIDATES, ASKED)
