"""The door of the server: who may send requests, from which page, and how much.

Host: a name of this machine, or an IP address, which no page can rebind to another one. Origin: a request that changes
something comes from this server's own page, or from no page. Token: in `Authorization: Bearer`, or in the cookie that
the page derives from it; both are compared in constant time, and a client that fails too often has to wait. An idle
connection is closed, so that nobody can block others by holding many.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any, ClassVar
from urllib.parse import urlsplit

import orjson
from uvicorn.protocols.http.h11_impl import H11Protocol

from runner.commands.serve.errors import body

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "runner_session"
SAFE = ("GET", "HEAD", "OPTIONS")
OPEN = ("/sign-in", "/static/")  # without a token
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
SMALL = 1 << 20  # bytes of a request that uploads no file
UPLOAD_S = 600.0
PATIENCE_S = 20.0  # for the head of a request, for the first part of its body, and for who reads an answer
STRANGERS = 5  # times as many failures in all, for an address without one
SLOWEST = 4096  # bytes a second of a body


@dataclass
class Failures:
    """Failed tokens, by address and in all: so many in so many seconds. Addresses that have not failed are admitted
    much longer, so that a few attackers cannot lock everybody out."""

    most: int = 10
    most_in_all: int = 200
    seconds: float = 60.0
    _times: dict[str, deque[float]] = field(default_factory=dict)

    def wait_s(self, address: str) -> float:
        """0 for who may try."""
        now = time.monotonic()
        for name in list(self._times):
            times = self._times[name]
            while times and now - times[0] > self.seconds:
                times.popleft()
            if not times:
                del self._times[name]
        own_times = self._times.get(address, ())
        n_failures = sum(map(len, self._times.values()))
        if len(own_times) >= self.most or n_failures >= self.most_in_all * (1 if own_times else STRANGERS):
            oldest = own_times[0] if own_times else min(times[0] for times in self._times.values())
            return max(1.0, self.seconds - (now - oldest))
        return 0.0

    def add(self, address: str) -> None:
        """A wrong one."""
        self._times.setdefault(address, deque(maxlen=self.most * 2)).append(time.monotonic())


class Guard:
    """Stands before an ASGI application. `hosts`: names that Host may have beside localhost and addresses."""

    def __init__(
        self, app: App, *, token: str | None, hosts: Iterable[str], read_only: bool = False, most_bytes: int = SMALL
    ) -> None:
        self.app, self.read_only, self.most_bytes = app, read_only, most_bytes
        self._token = None if token is None else token.encode()
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self.failures = Failures()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                kept = list(message["headers"])
                names = {name.lower() for name, _ in kept}
                message["headers"] = kept + [
                    (name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in names
                ]
            await send(message)

        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(send_with_headers, *refusal)
            return
        await self._serve_bounded(scope, _BoundedBody(receive, self._body_limit(scope)), send_with_headers)

    async def _serve_bounded(self, scope: Scope, bounded: _BoundedBody, send: Send) -> None:
        """Serve a request whose body is bounded. No reply to a truncated body is sent."""

        async def send_unless_cut(message: MutableMapping[str, Any]) -> None:
            if not bounded.is_cut:
                await send(message)

        try:
            await self.app(scope, bounded.receive, send_unless_cut)
        except Exception:
            if not bounded.is_cut:
                raise
        if bounded.is_cut and bounded.n_bytes > bounded.most:
            message = f"a request has at most {bounded.most:,} bytes"
            await _answer(send, 413, "too_large", message, {"connection": "close"})
        elif bounded.is_cut:
            message = f"a request comes at {SLOWEST:,} bytes a second or faster, and within {UPLOAD_S:g} s"
            await _answer(send, 408, "too_slow", message, {"connection": "close"})

    def _body_limit(self, scope: Scope) -> int:
        return self.most_bytes if scope["path"] == "/evaluation/datasets" else SMALL

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, str, dict[str, str]] | None:
        """(status, code, message, headers)"""
        if not self._knows(headers.get("host", "")):
            return 421, "host", "Host: expected the name under which the server was started, or an address", {}
        if scope["method"] not in SAFE:
            if self.read_only and scope["path"] != "/sign-in":
                return 403, "read_only", "the server was started with --read-only", {}
            if (problem := _cross_site_fault(headers)) is not None:
                return 403, "origin", problem, {}
        elif headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            return 403, "origin", "Sec-Fetch-Site: expected a request of this server's own page", {}
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._body_limit(scope):
            return 413, "too_large", f"a request has at most {self._body_limit(scope):,} bytes", {}
        return self._stranger(scope, headers)

    def _stranger(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, str, dict[str, str]] | None:
        path = scope["path"]
        if self._token is None or (path.startswith(OPEN) and path != "/sign-in"):
            return None
        address = (scope.get("client") or ("",))[0]
        credentials = headers.get("authorization", "")
        if not credentials and path == "/sign-in":
            return None
        if not credentials and hmac.compare_digest(_cookie(headers), self.session.encode()):
            return None  # also while others try tokens: it cannot be guessed
        if credentials.lower().startswith("bearer ") and self.is_token(credentials[7:].strip()):
            return None  # whoever has the token is not locked out by those who guess it
        if (seconds := self.failures.wait_s(address)) > 0:
            retry = {"retry-after": str(round(seconds))}
            return 429, "too_many_failures", "too many wrong tokens; wait, and try again", retry
        if credentials or _cookie(headers):
            self.failures.add(address)
        wants_page = "text/html" in headers.get("accept", "") and scope["method"] == "GET"
        if wants_page and not path.startswith("/evaluation"):
            return 303, "token", "sign in", {"location": "/sign-in"}
        return 401, "token", "expected `Authorization: Bearer TOKEN`", {"www-authenticate": "Bearer"}

    def is_token(self, text: str) -> bool:
        """Whether a text is the token, compared in constant time."""
        return self._token is None or hmac.compare_digest(text.encode("utf-8", "replace"), self._token)

    @property
    def session(self) -> str:
        """The value of the cookie: computed from the token, which cannot be computed from it."""
        return hmac.new(self._token or b"", b"runner serve", hashlib.sha256).hexdigest()

    def _knows(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname if host and not set(host) & set("/\\@?# \t") else None
        except ValueError:  # half of a bracket
            return False
        if name is None:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name.lower() in self._hosts
        return True


def _cross_site_fault(headers: dict[str, str]) -> str | None:
    """The fault of a request that comes from another page; None for any other request. Only browsers send these
    headers."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if site not in (None, "same-origin", "none"):
        return "Sec-Fetch-Site: expected a request of this server's own page"
    if origin is not None and _place(origin) != headers.get("host", "").lower():
        return "Origin: expected a request of this server's own page"
    return None


def _place(origin: str) -> str:
    """Host and port of an origin; empty where it has none, which equals no accepted Host."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _cookie(headers: dict[str, str]) -> bytes:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return b""
    return cookie.value.encode("utf-8", "replace") if cookie else b""


async def _answer(send: Send, status: int, code: str, message: str, headers: dict[str, str]) -> None:
    content = orjson.dumps(body(code, message))
    named = {"content-type": "application/json", "content-length": str(len(content)), **headers}
    start = [(name.encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": content})


@dataclass
class _BoundedBody:
    """A request body without a declared length is counted; one that arrives too slowly is cut off."""

    source: Receive
    most: int
    n_bytes: int = 0
    is_whole: bool = False
    is_cut: bool = False
    began: float = field(default_factory=time.monotonic)

    async def receive(self) -> MutableMapping[str, Any]:
        if self.is_whole:
            return await self.source()  # that the client has gone
        due = min(UPLOAD_S, PATIENCE_S + self.n_bytes / SLOWEST)
        try:
            message = await asyncio.wait_for(self.source(), max(0.0, due - (time.monotonic() - self.began)))
        except TimeoutError:
            self.is_cut = True
            return {"type": "http.disconnect"}
        if message["type"] == "http.request":
            self.n_bytes += len(message.get("body", b""))
            self.is_whole, self.is_cut = not message.get("more_body"), self.n_bytes > self.most
        return {"type": "http.disconnect"} if self.is_cut else message


class Connection(H11Protocol):
    """A connection that is closed when the head of a request does not come, or an answer is not read. Where there are
    many, the one that has been silent for longest makes room."""

    silent: ClassVar[dict[Connection, None]] = {}  # in the order in which they came
    _head: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head; the connection that has been silent for longest is closed where there are many."""
        super().connection_made(transport)
        if len(self.connections) > (self.limit_concurrency or 0) / 2 and self.silent:
            oldest = next(iter(self.silent))
            del self.silent[oldest]
            oldest.transport.abort()
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Stop waiting once the head is whole."""
        super().data_received(data)
        self._wait_for_head()

    def on_response_complete(self) -> None:
        """Wait again where another request has begun."""
        super().on_response_complete()
        if self.conn.trailing_data[0]:  # the beginning of another request
            self._wait_for_head()

    def _wait_for_head(self) -> None:
        is_asked = self.cycle is not None and not self.cycle.response_complete
        if is_asked and self._head is not None:
            self._head.cancel()
            self._head = None
            self.silent.pop(self, None)
        elif not is_asked and self._head is None:
            self._head = self.loop.call_later(PATIENCE_S, self.transport.abort)
            self.silent[self] = None

    def pause_writing(self) -> None:
        """The answer is not read: close the connection unless that changes."""
        super().pause_writing()
        self._reading = self.loop.call_later(PATIENCE_S, self.transport.abort)

    def resume_writing(self) -> None:
        """The answer is read again."""
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection on which no other request came."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(
            PATIENCE_S, self.transport.abort
        )  # the client does not read the reply, so the rest of it is not sent

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its timers."""
        super().connection_lost(exc)
        self.silent.pop(self, None)
        for timer in (self._head, self._reading):
            if timer is not None:
                timer.cancel()
