"""A service on loopback that keeps what it is told of sessions and gives back what shares words with a question.

    with serving_memories(token="Token secret-of-tests") as server:
        ...  # server.url, server.requests, server.sessions, server.faults

In a process of its own, which ends without a word after so many requests:

    python -m tests.services.memory_server --port 8000 --ends-after 20
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from aiohttp import web

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class AfterDoing:
    """`status`: of the answer to a request that was done; None: the connection is lost."""

    status: int | None = None


class MemoryServer:
    """`faults`: (status, headers) to answer with, one a request, before anything is done; None is none, a number is so
    many seconds of silence before an answer, and AfterDoing one that comes when all is done. `ends_after`: the process
    ends with this request. `before_search` is called before each question is answered."""

    def __init__(self, token: str | None = None, ends_after: int | None = None) -> None:
        self.token, self.ends_after = token, ends_after
        self.url = ""
        self.sessions: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self.requests: list[tuple[str, str, Any]] = []
        self.keys: list[str] = []
        self.faults: deque[tuple[int, dict[str, str]] | float | AfterDoing | None] = deque()
        self.reply: Any = None
        self.before_search: Callable[[], None] = lambda: None
        self._done: set[str] = set()  # keys of requests, which are not done again

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else None
        self.requests.append((request.method, request.raw_path, body))
        self.keys.append(request.headers.get("Idempotency-Key", ""))
        if self.ends_after is not None and len(self.requests) > self.ends_after:
            os._exit(9)
        if self.token is not None and request.headers.get("Authorization") != self.token:
            return web.json_response({"detail": f"{request.headers.get('Authorization')} is no key"}, status=401)
        fault = self.faults.popleft() if self.faults else None
        if isinstance(fault, float):
            await asyncio.sleep(fault)
        elif isinstance(fault, AfterDoing):
            self._answer(request, body)
            if fault.status is None and request.transport is not None:
                request.transport.close()
            return web.Response(status=fault.status or 500)
        elif fault is not None:
            return web.json_response({"detail": "not now"}, status=fault[0], headers=fault[1])
        return self._answer(request, body)

    def _answer(self, request: web.BaseRequest, body: Any) -> web.StreamResponse:
        if (request.method, request.path) == ("GET", "/health"):
            return web.json_response({})
        if (request.method, request.path) == ("POST", "/memories"):
            if not self._is_repeat(request):
                self.sessions[body["session"]].append(body)
            return web.json_response({"id": "m1"}, status=201)
        if (request.method, request.path) == ("POST", "/search"):
            self.before_search()
            return web.json_response(self.reply if self.reply is not None else {"results": self._best(body)})
        if request.method == "DELETE":
            return web.Response(status=204 if self.sessions.pop(request.query["session"], None) else 404)
        return web.json_response({"detail": "Not Found"}, status=404)

    def _is_repeat(self, request: web.BaseRequest) -> bool:
        key = request.headers.get("Idempotency-Key")
        is_repeat = key in self._done
        self._done |= {key} if key else set()
        return is_repeat

    def _best(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        asked = set(re.findall(r"\w+", body["query"].lower()))
        texts = [
            ("\n".join(each["content"] for each in told["messages"]), told) for told in self.sessions[body["session"]]
        ]
        scored = [(len(asked & set(re.findall(r"\w+", text.lower()))), text, told) for text, told in texts]
        best = sorted((each for each in scored if each[0]), key=lambda each: -each[0])[: body["limit"]]
        return [{"memory": text, "metadata": told.get("metadata", {}), "score": score} for score, text, told in best]


async def _started(server: MemoryServer, port: int) -> web.ServerRunner:
    runner = web.ServerRunner(web.Server(server.handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    found = runner.addresses[0][1]
    server.url = f"http://127.0.0.1:{found}"
    return runner


@contextmanager
def serving_memories(token: str | None = None) -> Iterator[MemoryServer]:
    """In a thread of this process."""
    server, loop, ready = MemoryServer(token), asyncio.new_event_loop(), threading.Event()

    def serve() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(_started(server, 0))
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


@contextmanager
def memory_process(port: int, ends_after: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """In a process of its own, which has answered once."""
    words = [] if ends_after is None else ["--ends-after", str(ends_after)]
    command = [sys.executable, "-m", "tests.services.memory_server", "--port", str(port), *words]
    process = subprocess.Popen(command, cwd=ROOT)
    for _ in range(200):
        try:
            with urlopen(f"http://127.0.0.1:{port}/health"):
                break
        except OSError:
            time.sleep(0.05)
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ends-after", type=int)
    asked = parser.parse_args()

    async def serve() -> None:
        await _started(MemoryServer(ends_after=asked.ends_after), asked.port)
        await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
