"""A judge's server that costs next to nothing, so that what a client costs can be measured on the same cores.

    python -m tests.services.quick_server           prints its address

Speaks HTTP/1.1 with connections that stay open, one request after the other on each, and answers each POST at once with
a chat completion whose content is the JSON of a judge: a score, which depends on the bytes of the request alone, and a
reasoning. It reads no JSON; every reply was made at the start. A request takes 36 microseconds of processor time, most
of it in calls to the system, and 80 beside clients that use the caches of the same cores; that of
tests.services.models_server takes 280.
"""

from __future__ import annotations

import json
import re
import select
import socket
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCORES = 11  # 0.0, 0.1, … 1.0
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
END = b"\r\n\r\n"
MOST = 1 << 20  # bytes at once


@dataclass(frozen=True, slots=True)
class QuickServer:
    """A process; its addresses end with /v1."""

    url: str
    pid: int


def reply(score: float) -> bytes:
    """A whole HTTP response."""
    content = json.dumps({"reasoning": "The sources say so.", "score": score})
    message = {"role": "assistant", "content": content, "refusal": None}
    body = json.dumps(
        {
            "id": "chatcmpl-quick",
            "object": "chat.completion",
            "created": 1_750_000_000,
            "model": "gpt-4o-mini",
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def wanted(request: bytes) -> int:
    """Bytes of the whole request; 0 as long as its headers are not complete."""
    head = request.find(END)
    if head < 0:
        return 0
    found = LENGTH.search(request, 0, head + len(END))
    return head + len(END) + (int(found[1]) if found else 0)


def serve(listening: socket.socket) -> None:
    """Without an event loop of Python, which would cost as much again."""
    replies = [reply(number / (SCORES - 1)) for number in range(SCORES)]
    connections: dict[int, socket.socket] = {}
    begun: dict[int, bytes] = {}  # of requests that are not complete
    poll = select.epoll()
    poll.register(listening, select.EPOLLIN)
    while True:
        for number, _ in poll.poll():
            if number == listening.fileno():
                connection, _ = listening.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connections[connection.fileno()] = connection
                poll.register(connection, select.EPOLLIN)
                continue
            connection = connections[number]
            try:
                received = connection.recv(MOST)
            except ConnectionError:
                received = b""
            if not received:
                poll.unregister(number)
                connections.pop(number).close()
                begun.pop(number, None)
                continue
            request = begun.pop(number, b"") + received
            if 0 < wanted(request) <= len(request):
                connection.sendall(replies[zlib.crc32(request[request.index(END) :]) % SCORES])
            else:
                begun[number] = request


@contextmanager
def quick_server() -> Iterator[QuickServer]:
    """Serve from a process of its own."""
    command = [sys.executable, "-m", "tests.services.quick_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield QuickServer(process.stdout.readline().strip(), process.pid)
        finally:
            process.terminate()


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", flush=True)  # noqa: T201
        serve(listening)
