"""A model and a reranker that say what a script tells them, and the questions that they are asked."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plugins.agent.pydantic_ai import PydanticAiAgent
from plugins.reranker.openai import OpenaiReranker
from plugins.retriever.keyword import KeywordRetriever
from plugins.tokenizer.auto import AutoTokenizer
from runner.domains.agent.fallbacks import Fallbacks
from runner.domains.agent.protocols import Reranker
from runner.domains.agent.shelf import Collection, Shelf
from runner.domains.agent.toolbox import Toolbox
from runner.llm.models import Models
from runner.records import Query, Trajectory
from tests.corpora import corpus_of, workspace
from tests.services.models_replies import Reply, completion
from tests.services.models_server import ModelsServer

QUESTION = Query("q", "EC2 비용 줄이는 방법?", True, {}, language="ko")
CORPUS = corpus_of(
    {
        "faq": "EC2 비용은 예약 인스턴스로 줄입니다.",
        "guide": ["비용 절감 가이드. 콘솔을 엽니다.", "인스턴스를 고릅니다.", "예약을 삽니다."],
        "other": "점심 메뉴는 김치찌개입니다.",
    }
)
MESSAGES = {
    "not_ready": {"ko": "해당 내용은 준비 중입니다.", "en": "Not ready yet."},
    "not_found": {"ko": "관련 문서를 찾지 못했습니다.", "en": "No document was found."},
}
FALLBACKS = Fallbacks(MESSAGES, {"ko": [("비용", "/cost")], "en": [("Cost", "/cost")]}, 0.5)  # type: ignore[arg-type, dict-item]
LACKING = {
    "ranked_indices": [1],
    "is_sufficient": False,
    "missing": ["절차"],
    "next_action": None,
    "refined_query": None,
    "confidence": 0.7,
}
ENOUGH = {**LACKING, "is_sufficient": True, "missing": [], "confidence": 0.9}
VERDICT = ("finish", '{"sufficient": true, "confidence": 0.8}')
Call = tuple[str, str]


@dataclass
class Script:
    """`turn(n, offered)`: what the agent's model says in turn n (from 0), given the names of what it may call: calls,
    or a text. `rerank`: what the reranker's model says."""

    turn: Callable[[int, Sequence[str]], Sequence[Call] | str]
    rerank: dict[str, Any] | str = field(default_factory=lambda: dict(LACKING))

    def __call__(self, body: dict[str, Any]) -> Reply:
        if "tools" not in body:
            said = self.rerank if isinstance(self.rerank, str) else json.dumps(self.rerank, ensure_ascii=False)
            return completion(body, said)
        said_before = sum(message["role"] == "assistant" for message in body["messages"])
        turn = self.turn(said_before, [tool["function"]["name"] for tool in body["tools"]])
        return completion(body, turn) if isinstance(turn, str) else completion(body, None, calls=turn)


def search(query: str) -> Call:
    return "search_all", json.dumps({"query": query}, ensure_ascii=False)


def toolbox(folder: Path, reranker: Reranker, question: Query = QUESTION) -> Toolbox:
    base = KeywordRetriever(tokenizer=AutoTokenizer())
    base.index(CORPUS, workspace(folder, base))
    reranker.prepare(CORPUS, workspace(folder))
    shelf = Shelf(CORPUS, base, [Collection(base, 10)])
    return Toolbox(question, shelf=shelf, reranker=reranker, fallbacks=FALLBACKS, max_calls=3)


def run(
    door: Models, folder: Path, *, reranker: Reranker | None = None, question: Query = QUESTION, **settings: Any
) -> Trajectory:
    reranker = reranker or OpenaiReranker(models=door, model="test:r")
    agent = PydanticAiAgent(models=door, model="test:a", **settings)
    return agent.run(question, toolbox(folder, reranker, question))


def asked(server: ModelsServer) -> list[dict[str, Any]]:
    """The requests of the agent."""
    return [body for body in server.requests if "tools" in body]
