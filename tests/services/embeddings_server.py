"""A server on loopback that speaks OpenAI's `/v1/embeddings`, notes what it is asked and can misbehave.

A text becomes [number of letters, number of a's, 1.0]. Its instructions: `status` and `message` of every
answer, `raw` to send something else than an embedding, `drop` to close the connection, `shuffle` to
answer in another order, `delay_s`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class EmbeddingsServer:
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    status: int = 200
    message: str = ""
    raw: Any = None
    drop: bool = False
    shuffle: bool = False
    delay_s: float = 0.0

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request["input"]]

    def answer(self, request: dict[str, Any]) -> Any:
        if self.status != 200:
            return {"error": {"message": self.message, "type": "invalid_request_error"}}
        if self.raw is not None:
            return self.raw
        data = [
            {"object": "embedding", "index": n, "embedding": [float(len(text)), float(text.count("a")), 1.0]}
            for n, text in enumerate(request["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return {
            "object": "list",
            "model": request["model"],
            "data": data[::-1] if self.shuffle else data,
            "usage": usage,
        }


@contextmanager
def serving() -> Iterator[EmbeddingsServer]:
    state = EmbeddingsServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path != "/v1/embeddings" or state.drop:
                self.close_connection = True
                return
            state.requests.append(json.loads(body))
            state.keys.append(self.headers["Authorization"])
            time.sleep(state.delay_s)
            answer = json.dumps(state.answer(state.requests[-1])).encode()
            self.send_response(state.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a client that has gone away

    with Server(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
