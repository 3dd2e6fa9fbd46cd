"""A server on loopback that says byte for byte what a test says, and keeps what it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


def http(status: int, body: str | bytes, *headers: str, length: int | None = None) -> bytes:
    """An answer; `length`: what it says to be its length, where that is not so."""
    data = body.encode() if isinstance(body, str) else body
    head = [f"HTTP/1.1 {status} X", f"Content-Length: {length or len(data)}", "Connection: close", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + data


@dataclass(frozen=True)
class Sent:
    """One request: its first line without the version, headers by their names in small letters, and the body."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class RawServer:
    """What it said is over when the connection is: that is what `drip_s` (a byte each so many seconds), `stalls`,
    `resets` and `keeps` change."""

    answers: tuple[bytes, ...]
    drip_s: float = 0.0
    stalls: bool = False
    resets: bool = False
    keeps: bool = False
    url: str = ""
    connections: int = 0
    sent: list[Sent] = field(default_factory=list)
    exchanges: set[asyncio.Task[None] | None] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.exchanges.add(asyncio.current_task())
        try:
            await self._exchange(reader, writer)
            while self.keeps:
                await self._exchange(reader, writer)
            if self.resets:
                await asyncio.sleep(0.02)  # what was sent is read first
                writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError):  # nobody asks any more
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = [line.split(": ", 1) for line in head[1:] if line]
        headers = {name.lower(): value for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.sent.append(Sent(head[0].rpartition(" ")[0], headers, body))
        answer = self.answers[min(len(self.sent), len(self.answers)) - 1]
        for piece in [answer[n : n + 1] for n in range(len(answer))] if self.drip_s else [answer]:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(self.drip_s)
        if self.stalls:
            await reader.read()  # until the client goes


@asynccontextmanager
async def saying(
    *answers: bytes, drip_s: float = 0.0, stalls: bool = False, resets: bool = False, keeps: bool = False
) -> AsyncIterator[RawServer]:
    """The answers in turn, the last one again and again."""
    server = RawServer(answers, drip_s, stalls, resets, keeps)
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as running:
        server.url = f"http://127.0.0.1:{running.sockets[0].getsockname()[1]}/v1"
        try:
            yield server
        finally:
            for exchange in filter(None, server.exchanges):
                exchange.cancel()  # a client may keep its connection
            await asyncio.gather(*filter(None, server.exchanges), return_exceptions=True)
