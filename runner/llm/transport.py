"""How a request reaches an OpenAI-compatible server, and what comes back.

A transport carries bytes: what a request says, when it is sent again and what an answer means is for others to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from typing import Protocol

from runner.llm.settings import ProviderSettings
from runner.llm.verdict import LostError, UnsendableError, causes

CONNECT_S = 10.0
OPENAI_KEY = "OPENAI_API_KEY"  # whose organisation and project the environment names


@dataclass(frozen=True, slots=True)
class Server:
    """`key`: `none` where there is none. `timeout_s`: of one exchange."""

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
    def is_fine(self) -> bool:
        """Whether it is no error, nor a redirection."""
        return 200 <= self.status < 300

    @property
    def content(self) -> object:
        """Of an error: the JSON value, or the text where it is none."""
        text = self.body.decode(_charset(self.headers), "replace").strip()
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
    """Raises AddressError."""
    return OpenaiTransport(server)


class OpenaiTransport:
    """By the openai client."""

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
        from openai import APIConnectionError, APIStatusError, Omit

        headers = {"Authorization": Omit()} if self._has_header else {}
        try:
            response = await self._client.post(
                path, content=content, cast_to=httpx2.Response, options={"headers": headers}
            )
        except APIStatusError as error:
            response = error.response
        except APIConnectionError as error:  # among which the client puts some that never left
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
        b"".decode(name)
    except (LookupError, ValueError):
        return "utf-8"
    return name
