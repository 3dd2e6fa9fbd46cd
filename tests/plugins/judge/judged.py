"""What a model judge is sent, and what it is to say."""

import json
from typing import Any

from plugins.judge.openai import OpenaiJudge
from runner.llm.models import Models
from runner.records import Context, Judgement
from tests.services.models_replies import Reply, completion
from tests.services.models_server import ModelsServer

CONTEXTS = [
    Context("a#0", "환불은 구매 후 30일 이내에 가능합니다.", "환불 정책"),
    Context("b#0", "Refunds take 5 business days. The office is in Seoul."),
]
FIELDS = {
    "question": "How long do refunds take?",
    "answer": "Refunds take 5 business days [2]. The office is in Busan.",
    "contexts": CONTEXTS,
    "language": "en",
}


def says(server: ModelsServer, *contents: Any) -> None:
    """One content after the other, the last one for ever; text as it is, anything else as JSON."""
    texts = [content if isinstance(content, str) else json.dumps(content) for content in contents]
    asked: list[str] = []

    def respond(body: dict[str, Any]) -> Reply:
        asked.append(body["model"])
        return completion(body, texts[min(len(asked), len(texts)) - 1])

    server.respond = respond


async def judged(models: Models, judge: OpenaiJudge, rubric: str = "faithfulness", **fields: Any) -> Judgement:
    async with models.open():
        return await judge.judge(rubric, {**FIELDS, **fields})


def system_of(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def user_of(body: dict[str, Any]) -> str:
    return str(body["messages"][1]["content"])
