"""A small RAG service as somebody else would write it: FastAPI over the corpus of tests.small_data.

    with serving_answers() as service:
        ...  # service.url, service.asked, service.answered, service.faults

It knows the right document of each question; /old answers from another one. `hold_after`: from the question after so
many on, no answer is sent until `gate` is set, and none to who has gone.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

from tests.small_data import CORPUS, QUERIES

TEXTS = {str(document["id"]): str(document["text"]) for document in CORPUS}
GOLD = {query["query"]: query["expected_notes"] for query in QUERIES}
NOTHING = {True: "I could not find this in the documents.", False: "문서에 해당 내용이 없습니다."}


class Question(BaseModel):
    model_config = {"extra": "forbid"}

    question: str
    history: list[dict[str, str]] | None = None
    top_k: int = 1
    shift: int = 0


class RagService:
    """`faults`: answers instead of the real one, one a question: a status with headers, or bytes of a body with status
    200; None is none. `reply`: makes another reply of the real one. `respond`: answers
    questions that are not of tests.small_data. `token`: that must be sent."""

    def __init__(self) -> None:
        self.url = ""
        self.reset()

    def reset(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answered: Counter[str] = Counter()
        self.keys: dict[str, list[str]] = {}
        self.faults: deque[tuple[int, dict[str, str]] | bytes | None] = deque()
        self.reply: Any = None
        self.respond: Callable[[str], dict[str, Any]] | None = None
        self.token: str | None = None
        self.hold_after: int | None = None
        self.gate = threading.Event()
        self.in_flight = self.most_in_flight = 0
        self.delay_s = 0.0

    async def ask(self, request: Request, question: Question, shift: int) -> Response:
        self.asked.append(question.model_dump(exclude_none=True))
        self.keys.setdefault(question.question, []).append(request.headers.get("Idempotency-Key", ""))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._answer(request, question, shift + question.shift)
        finally:
            self.in_flight -= 1

    async def _answer(self, request: Request, question: Question, shift: int) -> Response:
        if self.token is not None and request.headers.get("Authorization") != self.token:
            return JSONResponse({"detail": f"{request.headers.get('Authorization')} is no key"}, status_code=401)
        fault = self.faults.popleft() if self.faults else None
        if isinstance(fault, bytes):
            return Response(fault, media_type="application/json")
        if fault is not None:
            return JSONResponse({"detail": "not now"}, status_code=fault[0], headers=fault[1])
        if self.hold_after is not None and len(self.asked) > self.hold_after:
            while not self.gate.is_set():
                await asyncio.sleep(0.01)
            if await request.is_disconnected():
                return Response(status_code=499)
        await asyncio.sleep(self.delay_s)
        self.answered[question.question] += 1
        if self.respond is not None:
            return JSONResponse(self.respond(question.question))
        reply = answer(question.question, question.top_k, shift)
        return JSONResponse(reply if self.reply is None else self.reply(reply))


def answer(question: str, top_k: int = 1, shift: int = 0) -> dict[str, Any]:
    """From the gold document, or the one so many places behind it. `question (2)` is the same question."""
    ids, gold = list(TEXTS), GOLD[re.sub(r" \(\d+\)$", "", question)]
    if not gold:
        return {"answer": NOTHING[question.isascii()], "contexts": []}
    first = (ids.index(gold[0]) + shift) % len(ids)
    found = [ids[(first + place) % len(ids)] for place in range(top_k)]
    contexts = [{"id": id, "text": TEXTS[id], "score": 1 / rank} for rank, id in enumerate(found, start=1)]
    return {"answer": TEXTS[found[0]], "contexts": contexts, "usage": {"input_tokens": 100, "output_tokens": 10}}


def app_of(service: RagService) -> FastAPI:
    app = FastAPI()

    @app.post("/ask")
    async def ask(request: Request, question: Question) -> Response:
        return await service.ask(request, question, 0)

    @app.post("/old")
    async def old(request: Request, question: Question) -> Response:
        return await service.ask(request, question, 1)

    @app.get("/search")
    async def search(request: Request, q: str) -> Response:
        return await service.ask(request, Question(question=q), 0)

    @app.post("/stream")
    async def stream(question: Question) -> StreamingResponse:
        service.asked.append(question.model_dump(exclude_none=True))
        reply = answer(question.question)

        async def events() -> AsyncIterator[str]:
            for word in reply["answer"].split(" "):
                yield f"data: {json.dumps({'delta': word + ' '}, ensure_ascii=False)}\n\n"
            yield f"event: end\ndata: {json.dumps({'contexts': reply['contexts']}, ensure_ascii=False)}\n\n"
            yield "data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    return app


@contextmanager
def serving_answers() -> Iterator[RagService]:
    """In a thread of this process."""
    service = RagService()
    config = uvicorn.Config(app_of(service), host="127.0.0.1", port=0, log_level="critical", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    service.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield service
    finally:
        service.gate.set()
        server.should_exit = True
        thread.join(10)
