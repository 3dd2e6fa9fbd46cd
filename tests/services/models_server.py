"""A server on loopback that speaks OpenAI's chat completions and embeddings, and misbehaves on demand.

    with serving_models(latency_ms=100, faults=Faults(server_error=0.05)) as server:
        ...  # server.url, server.requests, server.count

In a process of its own, which prints the address and serves /counters (DELETE resets them) and /requests:

    python -m tests.services.models_server --port 0 --latency-ms 100 --faults '{"server_error": 0.05}'
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from tests.services.models_faults import Faults, applies, faulted, refused
from tests.services.models_replies import Reply, chat, digest, embeddings, error

ROOT = Path(__file__).resolve().parents[2]
KEPT = 20_000  # bodies and headers of the latest requests
JSON = {"Content-Type": "application/json"}


@dataclass
class Counts:
    """Of chat completions and embeddings. Answered: as asked, without a fault. Times are of one steady clock."""

    requests: int = 0
    answered: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    arrivals: Counter[str] = field(default_factory=Counter)  # by digest of the body
    answers: Counter[str] = field(default_factory=Counter)  # by digest of the body
    in_flight: int = 0
    max_in_flight: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    first_s: float | None = None  # arrival of the first request
    last_s: float | None = None  # last byte of the last answer handed to the socket

    @property
    def span_s(self) -> float:
        return (self.last_s or 0.0) - (self.first_s or 0.0)


class ModelsServer:
    """`respond` is asked before anything else; what it leaves as None is answered as usual."""

    def __init__(
        self,
        *,
        latency_ms: float = 0.0,
        faults: Faults | None = None,
        api_key: str | None = None,
        refuses: Sequence[str] = (),
    ) -> None:
        self.latency_s, self.faults, self.api_key, self.refuses = latency_ms / 1000, faults, api_key, tuple(refuses)
        self.url = ""
        self.respond: Callable[[dict[str, Any]], Reply | None] | None = None
        self.reset()

    def reset(self) -> None:
        """Forgets all that came; the plan of faults starts again too."""
        self.counts = Counts()
        self.requests: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self.headers: deque[Mapping[str, str]] = deque(maxlen=KEPT)
        self.paths: deque[str] = deque(maxlen=KEPT)  # with what is asked of them

    def renew(self) -> None:
        """Forgets also how it was to answer: at once, what it answers by itself, to everybody."""
        self.reset()
        self.respond, self.latency_s = None, 0.0
        self.api_key, self.faults, self.refuses = None, None, ()

    @property
    def count(self) -> int:
        return self.counts.requests

    def noted(self) -> Counts:
        """Once all is counted: clients have their answers a little before."""
        while self.counts.in_flight:
            time.sleep(0.001)
        return self.counts

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/counters":
            return self._counters(request.method)
        if request.path == "/requests":
            return web.Response(body=orjson.dumps(list(self.requests)), headers=JSON)
        if (request.method, request.path) == ("GET", "/v1/models"):
            return web.Response(body=_models(), headers=JSON)
        if request.method != "POST" or request.path not in ("/v1/chat/completions", "/v1/embeddings"):
            return web.Response(status=404, text="Not Found")
        counts = self.counts
        counts.requests += 1
        counts.in_flight += 1
        counts.max_in_flight = max(counts.max_in_flight, counts.in_flight)
        try:
            return await self._exchange(request, counts, time.perf_counter())
        finally:
            counts.in_flight -= 1

    async def _exchange(self, request: web.BaseRequest, counts: Counts, arrived: float) -> web.StreamResponse:
        if counts.first_s is None:
            counts.first_s = arrived
        data = await request.content.read()
        self.paths.append(request.path_qs)
        reply, fault, key = self._reply(request.headers, data, counts)
        counts.bytes_in += len(data)
        wait = arrived + self.latency_s + reply.delay_s - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        response = await _sent(request, reply)
        counts.last_s = time.perf_counter()
        counts.statuses[0 if reply.cut else reply.status] += 1
        counts.bytes_out += len(reply.body)
        if fault is None and reply.status == 200 and reply.cut is None:
            counts.answered += 1
            counts.answers[key] += 1
        return response

    def _reply(self, headers: Mapping[str, str], data: bytes, counts: Counts) -> tuple[Reply, str | None, str]:
        """With the fault and the digest of the body."""
        body, key = orjson.loads(data), digest(data)
        arrival = counts.arrivals[key]
        counts.arrivals[key] += 1
        self.requests.append(body)
        self.headers.append(headers)
        if self.respond is not None and (scripted := self.respond(body)) is not None:
            return scripted, None, key
        if self.api_key is not None and headers.get("Authorization") != f"Bearer {self.api_key}":
            return _wrong_key(), None, key
        for parameter in self.refuses:
            if parameter in body:
                return refused(parameter, body), None, key
        good = embeddings(body) if "input" in body else chat(body)
        fault = self.faults.fault(key, arrival) if self.faults else None
        if self.faults is None or fault is None or not applies(fault, body):
            return good, None, key
        counts.faults[fault] += 1
        return faulted(fault, body, good, self.faults), fault, key

    def _counters(self, method: str) -> web.Response:
        if method == "DELETE":
            self.reset()
        shown = {**vars(self.counts), "span_s": self.counts.span_s}
        return web.Response(body=orjson.dumps(shown, option=orjson.OPT_NON_STR_KEYS), headers=JSON)


async def _sent(request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
    transport = request.transport
    if reply.cut == "headers" and transport is not None:
        transport.abort()
        return web.Response()
    headers = {**JSON, "x-request-id": f"req_{digest(reply.body)}", "openai-processing-ms": "1", **reply.headers}
    if reply.cut is None:
        response = web.Response(status=reply.status, body=reply.body, headers=headers)
        await response.prepare(request)
        await response.write_eof()
        return response
    half = web.StreamResponse(status=reply.status, headers={**headers, "Content-Length": str(len(reply.body))})
    await half.prepare(request)
    await half.write(reply.body[: len(reply.body) // 2])
    if transport is not None:
        transport.close()
    return half


def _models() -> bytes:
    model = {"id": "test-model", "object": "model", "created": 1_750_000_000, "owned_by": "loopback"}
    return orjson.dumps({"object": "list", "data": [model]})


def _wrong_key() -> Reply:
    return error(401, "Incorrect API key provided.", kind="invalid_request_error", code="invalid_api_key")


# --- in a thread, in a process ----------------------------------------------------------------------


async def _started(server: ModelsServer, port: int) -> web.ServerRunner:
    runner = web.ServerRunner(
        web.Server(server.handle, access_log=None, handler_cancellation=True), shutdown_timeout=0.05
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    return runner


@contextmanager
def serving_models(
    *,
    latency_ms: float = 0.0,
    faults: Faults | None = None,
    api_key: str | None = None,
    refuses: Sequence[str] = (),
    port: int = 0,
) -> Iterator[ModelsServer]:
    """Serves from a thread. `api_key`: every other one gets 401. `refuses`: parameters that get 400."""
    server = ModelsServer(latency_ms=latency_ms, faults=faults, api_key=api_key, refuses=refuses)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        runner = asyncio.run_coroutine_threadsafe(_started(server, port), loop).result()
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@dataclass(frozen=True, slots=True)
class ModelsProcess:
    url: str
    pid: int

    def counters(self, *, reset: bool = False) -> dict[str, Any]:
        """The fields of `Counts` and `span_s`; with `reset`, those of a fresh start."""
        return dict(self._fetched("counters", "DELETE" if reset else "GET"))

    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the latest requests."""
        return list(self._fetched("requests", "GET"))

    def _fetched(self, name: str, method: str) -> Any:
        request = urllib.request.Request(self.url.removesuffix("v1") + name, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)


@contextmanager
def models_process(*, latency_ms: float = 0.0, faults: Faults | None = None) -> Iterator[ModelsProcess]:
    """Serves from a process of its own, for measurements and for clients that are killed."""
    command = [sys.executable, "-m", "tests.services.models_server", "--latency-ms", str(latency_ms)]
    if faults is not None:
        command += ["--faults", json.dumps(asdict(faults))]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError("the models server did not start")
            yield ModelsProcess(url, process.pid)
        finally:
            process.terminate()


async def _serve(server: ModelsServer, port: int) -> None:
    runner = await _started(server, port)
    print(server.url, flush=True)  # noqa: T201
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.services.models_server")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--api-key")
    parser.add_argument("--refuses", nargs="*", default=(), metavar="PARAMETER")
    parser.add_argument("--faults", type=json.loads, default=None, help="fields of Faults, as JSON")
    chosen = parser.parse_args()
    server = ModelsServer(
        latency_ms=chosen.latency_ms,
        faults=None if chosen.faults is None else Faults(**chosen.faults),
        api_key=chosen.api_key,
        refuses=chosen.refuses,
    )
    asyncio.run(_serve(server, chosen.port))


if __name__ == "__main__":
    main()
