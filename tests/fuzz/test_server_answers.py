"""What a server of models may answer: a reply that can be used, or an error that says why not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.generator.openai import OpenaiGenerator
from plugins.judge.openai import OpenaiJudge
from plugins.memory.summariser.openai import OpenaiSummariser
from plugins.reranker.openai import OpenaiReranker
from runner.domains.agent.candidate import Candidate
from runner.domains.memory.protocols import Bounds
from runner.domains.memory.records import ChatTurn
from runner.errors import EvaluationError
from runner.llm.models import Models
from runner.llm.retry import Patience
from runner.records import Context, Query
from tests.fuzz.damage import altered, damaged, encoded, values
from tests.fuzz.inputs import FOREIGN, inputs
from tests.services.doors import models, question, score
from tests.services.models_replies import Reply, completion, embeddings
from tests.services.models_server import ModelsServer, serving_models

SHORT = Patience(first_pause_s=0.01, longest_pause_s=0.02, throttled_s=0.1)
QUESTION = Query("q", "How much?", True, {}, language="en")
CANDIDATES = (Candidate("a#0", "It is 1.", "A", {}), Candidate("b#0", "달은 27일", "나", {"doc_type": "faq"}))
FOUND = (Context("a#0", "It is 1.", "A"),)
TURNS = (ChatTurn("예산은 1억이에요.", "네.", number=1),)
ASKED = {"model": "m", "messages": [{"role": "user", "content": "?"}]}
CHAT = orjson.loads(completion(ASKED, '{"score": 0.5, "reasoning": "Fair."}').body)
VECTORS = orjson.loads(embeddings({"model": "m", "input": ["a", "b"], "encoding_format": "float"}).body)
STATUSES = [200, 200, 200, 200, 200, 200, 200, 201, 204, 302, 400, 401, 404, 418, 429, 500, 599]
HEADERS: list[dict[str, str]] = [
    {}, {"Content-Type": "text/html"}, {"Content-Type": "application/json; charset=utf-16"}, {"Retry-After": "soon"},
    {"Retry-After": "-1"}, {"Retry-After": "0"}, {"Retry-After": "999999999999"}, {"Retry-After": "1e400"},
    {"Retry-After": "nan"}, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"},
    {"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, {"Retry-After": "9" * 5000}, {"Content-Encoding": "gzip"},
    {"Content-Encoding": "br"}, {"x-ratelimit-remaining-requests": "0"}, {"retry-after-ms": "x"},
    {"Location": "/v1/chat/completions"}, {"x-should-retry": "true"}, {"Content-Type": ""},
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[ModelsServer]:
    with serving_models() as server:
        yield server


@st.composite
def replies(draw: st.DrawFn, valid: Any) -> Reply:
    """A damaged body, another one, one that says anything, or none."""
    body = draw(
        st.one_of(damaged(encoded(valid)), altered(valid).map(encoded), values().map(encoded), st.binary(max_size=20))
    )
    cut: Any = draw(st.sampled_from([None] * 9 + ["headers", "body"]))
    return Reply(draw(st.sampled_from(STATUSES)), body, draw(st.sampled_from(HEADERS)), cut=cut)


@st.composite
def contents(draw: st.DrawFn) -> Reply:
    """A whole answer, with words of a model that are not what was asked for."""
    good: dict[str, Any] = {"score": 0.5, "reasoning": "Fair.", "claims": [{"claim": "x", "verdict": "supported"}]}
    text = draw(
        st.one_of(
            altered(good).map(lambda value: encoded(value).decode()),
            damaged(encoded(good)).map(lambda data: data.decode("utf-8", "replace")),
            st.text(max_size=40),
        )
    )
    return completion(ASKED, text.encode("utf-8", "replace").decode())


def answered(server: ModelsServer, reply: Reply) -> None:
    server.reset()
    server.respond = lambda body: reply


def told(error: BaseException) -> None:
    assert str(error) and not FOREIGN.search(str(error)), error


async def chatted(server: ModelsServer, folder: Path) -> None:
    door = models(server.url, folder, patience=SHORT, cache="none", timeout_ms=2000)
    async with door.open("0"):
        try:
            found = await door.model("test:m", "judge").ask_for_json(question("1"), score)
        except (EvaluationError, TimeoutError) as error:
            told(error)
        else:
            assert -1 <= found <= 1


async def embedded(server: ModelsServer, folder: Path) -> None:
    door = models(server.url, folder, patience=SHORT, cache="none", timeout_ms=2000)
    async with door.open("0"):
        try:
            found = await door.model("test:m", "embedder").embed(["a", "b"], None)
        except (EvaluationError, TimeoutError) as error:
            told(error)
        else:
            assert [row.dtype for row in found.rows] == ["float64", "float64"]


async def judged(server: ModelsServer, folder: Path, mode: Any) -> None:
    door = models(server.url, folder, patience=SHORT, cache="none", timeout_ms=2000)
    judge = OpenaiJudge(models=door, model="test:m", mode=mode)
    fields = {"question": "Q?", "answer": "A.", "language": "en", "contexts": (Context("1", "A."),)}
    async with door.open("0"):
        try:
            found = await judge.judge("faithfulness", fields)
        except (EvaluationError, TimeoutError) as error:
            told(error)
        else:
            assert (found.score is None) == (found.error is not None)
            assert found.score is None or 0 <= found.score <= 1


def reranker(door: Models) -> OpenaiReranker:
    return OpenaiReranker(models=door, model="test:m")


ASKING: dict[str, tuple[Any, Callable[[Models], Awaitable[object]]]] = {
    "rerank": (
        {
            "ranked_indices": [2, 1], "is_sufficient": False, "missing": ["x"], "next_action": "search_again",
            "refined_query": "y", "confidence": 0.5,
        },
        lambda door: asyncio.to_thread(reranker(door).rerank, QUESTION, CANDIDATES, ("?",)),
    ),
    "summarise": (
        {"memory": "예산은 1억이다.", "entities": [{"key": "예산", "value": "1억"}]},
        lambda door: OpenaiSummariser(models=door, model="test:m").summarise("", (), TURNS, "ko", Bounds(7, 123)),
    ),
    "answer": ("It is 1 [1].", lambda door: OpenaiGenerator(models=door, model="test:m").generate(QUESTION, FOUND)),
}  # fmt: skip


@st.composite
def asked(draw: st.DrawFn) -> tuple[str, Reply]:
    """A role, and what it is told."""
    role = draw(st.sampled_from(sorted(ASKING)))
    good = ASKING[role][0]
    if draw(st.booleans()):
        return role, draw(replies(CHAT))
    value = draw(st.one_of(altered(good), values()) if isinstance(good, dict) else st.one_of(values(), st.text()))
    text = value if isinstance(value, str) else encoded(value).decode()
    return role, completion(ASKED, text.encode("utf-8", "replace").decode())


async def done(server: ModelsServer, folder: Path, role: str) -> None:
    door = models(server.url, folder, patience=SHORT, cache="none", timeout_ms=2000)
    async with door.open("0"):
        try:
            assert await ASKING[role][1](door) is not None
        except (EvaluationError, TimeoutError) as error:
            told(error)


@inputs(15, shrinks=False)
@given(told=asked())
def test_roles(server: ModelsServer, tmp_path: Path, told: tuple[str, Reply]) -> None:
    role, reply = told
    answered(server, reply)
    asyncio.run(done(server, tmp_path, role))


@inputs(20, shrinks=False)
@given(reply=st.one_of(replies(CHAT), contents()))
def test_chat(server: ModelsServer, tmp_path: Path, reply: Reply) -> None:
    answered(server, reply)
    asyncio.run(chatted(server, tmp_path))


@inputs(15, shrinks=False)
@given(reply=replies(VECTORS))
def test_embeddings(server: ModelsServer, tmp_path: Path, reply: Reply) -> None:
    answered(server, reply)
    asyncio.run(embedded(server, tmp_path))


@inputs(15, shrinks=False)
@given(reply=st.one_of(replies(CHAT), contents()), mode=st.sampled_from(["score", "claims"]))
def test_judging(server: ModelsServer, tmp_path: Path, reply: Reply, mode: Any) -> None:
    """A judgement has a number from 0 to 1 or says why it has none."""
    answered(server, reply)
    asyncio.run(judged(server, tmp_path, mode))
