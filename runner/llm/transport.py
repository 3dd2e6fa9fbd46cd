"""How a request reaches an OpenAI-compatible server, and how its answer returns. A transport carries bytes: its callers
decide what a request contains, when it is sent again and how an answer is read."""

from __future__ import annotations

import codecs
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies

from runner.llm.settings import ProviderSettings
from runner.llm.verdict import LostError, UnsendableError, causes

if TYPE_CHECKING:
    from ssl import SSLContext

    from aiohttp import ClientSession
    from yarl import URL

CONNECT_S = 10.0
# As the openai client has them.
CONNECTIONS = 1000
KEPT_S = 5.0  # an idle connection
ENCODINGS = ("gzip", "deflate")
CUSTOM_HEADERS = "OPENAI_CUSTOM_HEADERS"

GZIP = 16 + zlib.MAX_WBITS
OPENAI_KEY = "OPENAI_API_KEY"  # whose organisation and project the environment names


@dataclass(frozen=True, slots=True)
class Server:
    """`key`: `none` for a server without keys. `timeout_s`: of one exchange."""

    url: str
    key: str
    settings: ProviderSettings
    timeout_s: float

    @property
    def connect_s(self) -> float:
        """How long a connection may take to come about."""
        return min(self.timeout_s / 2, CONNECT_S)

    @property
    def is_openai(self) -> bool:
        """Whether the key is that of OpenAI's own variable: the other variables of that name belong to it."""
        return self.settings.get("api_key_env") == OPENAI_KEY


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, whatever its status. `headers`: case of names does not matter. `body`: without a content encoding."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status is neither an error nor a redirection."""
        return 200 <= self.status < 300

    @property
    def charset(self) -> str:
        """That the server declares, else UTF-8."""
        return _charset(self.headers)

    @property
    def content(self) -> object:
        """The body of an error: its JSON value, or its text where it is no JSON."""
        text = self.body.decode(self.charset, "replace").strip()
        with suppress(ValueError, RecursionError):
            return json.loads(text)
        return text


class Transport(Protocol):
    """One server, in one event loop at a time."""

    async def post(self, path: str, content: bytes) -> Response:
        """The answer to JSON, which is sent once, redirections not followed. Raises LostError, UnsendableError,
        TimeoutError and, of what is no HTTP, what the client raises."""

    async def close(self) -> None:
        """Let connections go."""


class AddressError(ValueError):
    """The address has a host that no name server knows how to look for."""


def transport_to(server: Server) -> Transport:
    """The transport to a server: aiohttp, unless the server needs the openai client. Raises AddressError."""
    return OpenaiTransport(server) if needs_client(server) else AiohttpTransport(server)


def needs_client(server: Server) -> bool:
    """Whether the openai client must send the requests: it was chosen (`client: openai`), the key is sent in another
    header or the address has a query (Azure), its host has letters beyond ASCII, there is a proxy, or the environment
    adds headers to what the client sends."""
    settings = server.settings
    is_unusual = bool(settings.get("key_header") or settings.get("query")) or not server.url.isascii()
    is_chosen = settings.get("client") == "openai"
    return is_chosen or is_unusual or CUSTOM_HEADERS in os.environ or has_proxy(server.url)


def has_proxy(url: str) -> bool:
    """Whether the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) names a proxy for the scheme of the address.
    NO_PROXY counts where it names the host itself, or all."""
    parts, proxies = urlsplit(url), getproxies()
    without = {host.strip().lower() for host in proxies.get("no", "").split(",")}
    return not without & {"*", parts.hostname} and any(proxies.get(name) for name in (parts.scheme, "all"))


class AiohttpTransport:
    """Sends by aiohttp alone, at a fraction of the processor time of the openai client, without its types and its
    headers about itself. Requests and results are the same otherwise."""

    def __init__(self, server: Server) -> None:
        import aiohttp  # noqa: F401  what takes long is no part of the first request

        self._server, self._tls = server, _tls(server.url)
        self._base = server.url if server.url.endswith("/") else f"{server.url}/"
        self._session: ClientSession | None = None
        self._urls: dict[str, URL] = {}  # by path

    async def post(self, path: str, content: bytes) -> Response:
        from aiohttp import ClientConnectionError, ClientPayloadError, NonHttpUrlClientError

        try:
            session = self._session or self._connect()
            async with session.post(self._url(path), data=content, allow_redirects=False) as response:
                body = await response.read()
        except (ClientConnectionError, ClientPayloadError) as error:
            raise LostError from error
        except (ValueError, NonHttpUrlClientError) as error:
            raise UnsendableError from error
        codings = response.headers.getall("Content-Encoding", ())
        return Response(response.status, response.headers, _decode(body, codings) if codings else body)

    def _url(self, path: str) -> URL:
        """Raises ValueError."""
        from yarl import URL

        if path not in self._urls:
            self._urls[path] = URL(self._base + path.lstrip("/"))
        return self._urls[path]

    def _connect(self) -> ClientSession:
        from aiohttp import ClientSession, ClientTimeout, CookieJar, TCPConnector

        self._session = ClientSession(
            headers=_headers(self._server),
            connector=TCPConnector(limit=CONNECTIONS, keepalive_timeout=KEPT_S, ssl=self._tls),
            cookie_jar=CookieJar(unsafe=True),  # a server of one's own may be at an address without a name
            timeout=ClientTimeout(sock_connect=self._server.connect_s),  # the whole exchange is timed by who asks
            auto_decompress=False,
        )
        return self._session

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _tls(url: str) -> SSLContext | bool:
    """The certificates of the openai client: SSL_CERT_FILE, SSL_CERT_DIR, or those of the system."""
    if url[:5].lower() != "https":
        return True
    import httpx2

    return httpx2.create_ssl_context()


def _headers(server: Server) -> dict[str, str]:
    """The headers. Raises ValueError for characters that no header may contain."""
    from importlib.metadata import version

    headers = {
        "Authorization": f"Bearer {server.key}",
        "Accept": "application/json",
        "Accept-Encoding": ", ".join(ENCODINGS),
        "Connection": "keep-alive",
        "Content-Type": "application/json",
        "User-Agent": f"AsyncOpenAI/Python {version('openai')}",  # which gateways let through
    }
    named = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"} if server.is_openai else {}
    headers |= {name: os.environ[variable] for name, variable in named.items() if variable in os.environ}
    for value in headers.values():
        value.encode("ascii")
    return headers


def _decode(body: bytes, codings: Sequence[str]) -> bytes:
    """A body without its content encodings; unknown ones, which no request allows, are ignored. Raises LostError."""
    for name in reversed(",".join(codings).lower().split(",")):
        try:
            if name.strip() == "gzip":
                body = zlib.decompressobj(GZIP).decompress(body)
            elif name.strip() == "deflate":
                body = _inflate(body)
        except zlib.error as error:
            raise LostError from error
    return body


def _inflate(body: bytes) -> bytes:
    """Some servers leave out the frame of zlib."""
    try:
        return zlib.decompressobj().decompress(body)
    except zlib.error:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body)


class OpenaiTransport:
    """Sends by the openai client, which knows more kinds of servers and networks."""

    def __init__(self, server: Server) -> None:
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient, Timeout

        header = server.settings.get("key_header")
        try:
            self._client = AsyncOpenAI(
                api_key=server.key,
                base_url=server.url,
                default_headers={header: server.key} if header else None,
                default_query=server.settings.get("query") or None,
                http_client=DefaultAioHttpClient(follow_redirects=False),  # the key and prompts are for this server
                timeout=Timeout(server.timeout_s, connect=server.connect_s),
                max_retries=0,
            )
        except httpx2.InvalidURL as error:
            raise AddressError from error
        if not server.is_openai:
            self._client.organization = self._client.project = None
        self._has_header = bool(header)

    async def post(self, path: str, content: bytes) -> Response:
        import httpx2
        from aiohttp import ClientResponseError
        from openai import APIConnectionError, APIStatusError, Omit

        headers = {"Authorization": Omit()} if self._has_header else {}
        try:
            response = await self._client.post(
                path, content=content, cast_to=httpx2.Response, options={"headers": headers}
            )
        except APIStatusError as error:
            response = error.response
        except APIConnectionError as error:  # among which the client puts some that never left
            if isinstance(error.__cause__, ClientResponseError):  # an answer that is no HTTP: openai 3.0 wraps it
                raise error.__cause__ from error.__cause__.__cause__
            is_ours = any(isinstance(cause, ValueError | httpx2.UnsupportedProtocol) for cause in causes(error))
            raise (UnsendableError if is_ours else LostError) from error
        except ValueError as error:
            raise UnsendableError from error
        return Response(response.status_code, response.headers, response.content)

    async def close(self) -> None:
        await self._client.close()


def _charset(headers: Mapping[str, str]) -> str:
    message = Message()
    message["Content-Type"] = headers.get("Content-Type", "")
    name = message.get_content_charset("utf-8")
    try:
        codecs.lookup(name)
    except LookupError:
        return "utf-8"
    return name
