"""One OpenAI-compatible server: its address, the bodies of requests, and single exchanges."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal

import orjson

from runner.errors import InputError, Problem
from runner.llm.address import HOST, address_problem, expected_form
from runner.llm.limiter import Limiter, limiter_of
from runner.llm.loose_json import parse_loosely
from runner.llm.messages import ChatRequest, Message
from runner.llm.reply_body import decode_text
from runner.llm.settings import ProviderSettings
from runner.llm.transport import AddressError, Response, Server, Transport, transport_to
from runner.llm.verdict import StatusError
from runner.system.redaction import learn_variable, redact, redacted_bytes

OPENAI = "https://api.openai.com/v1"
SECRET = 16  # characters; a shorter key may be an ordinary word


class Provider:
    """Settings as in conf/provider. `timeout_s` is for one exchange. The key is read on first use."""

    def __init__(self, name: str, settings: ProviderSettings, *, timeout_s: float, max_concurrency: int) -> None:
        self.name, self.settings = name, settings
        self._timeout_s = timeout_s
        self._ceiling = min(max_concurrency, settings.get("max_concurrency") or max_concurrency)
        self._transport: Transport | None = None
        self._hidden = b""  # the key, if it is too long to be an ordinary word
        self._changing: dict[str, tuple[list[str], dict[str, str], dict[str, Any]]] = {}  # by model
        self.is_miscounting = False  # a warning is printed once

    # --- what conf says ---------------------------------------------------------------------------

    @cached_property
    def _url(self) -> str:
        return self.settings.get("base_url") or os.environ.get("OPENAI_BASE_URL") or OPENAI

    @cached_property
    def address(self) -> str:
        """The URL as it is displayed and stored."""
        return self._url.rstrip("/")

    @property
    def _key(self) -> str:
        """The API key; empty where none is configured."""
        learn_variable(self.settings.get("api_key_env") or "")
        return os.environ.get(self.settings.get("api_key_env") or "", "").strip()

    @property
    def _url_key(self) -> str:
        """The configuration key or the variable that the URL comes from."""
        return f"provider.{self.name}.base_url" if self.settings.get("base_url") else "OPENAI_BASE_URL"

    def address_problem(self) -> Problem | None:
        """The fault of the URL. conf checks a URL that it holds itself; this also covers one from the environment."""
        message = address_problem(self._url)
        return Problem(self._url_key, message) if message else None

    def problem(self) -> Problem | None:
        """The problem that keeps this server from being used."""
        key, variable = self._key, self.settings.get("api_key_env")
        if variable is None or (key and key.isascii() and key.isprintable()):
            return None
        fault = "holds characters that no key has" if key else "is not set"
        return Problem(
            f"provider.{self.name}.api_key_env",
            f"the environment variable {variable} {fault}; it holds the key for {self.address} "
            f"(provider.{self.name}.api_key_env=NAME names another one, null sends none; cache=replay needs none)",
        )

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens per minute are limited."""
        return self.settings.get("tokens_per_minute") is not None

    def limiter(self) -> Limiter:
        """The limiter that all models of this server and key share."""
        settings = self.settings
        return limiter_of(
            self._url,
            self._key,
            ceiling=self._ceiling,
            requests_per_minute=settings.get("requests_per_minute"),
            tokens_per_minute=settings.get("tokens_per_minute"),
        )

    def changes(self, model: str) -> Mapping[str, Any]:
        """The parameters that conf omits from requests to a model, and those that it adds."""
        changes = {
            "leave_out": self._omitted_names(model),
            "rename": self._of_model("rename", model),
            "response_format": self._format(model) if self.settings.get("response_format") else "",
            "add": self._added_parameters(model),
        }
        return {name: change for name, change in changes.items() if change}

    def _omitted_names(self, model: str) -> list[str]:
        patterns = self.settings.get("leave_out") or {}
        return sorted({name for pattern, names in patterns.items() if fnmatchcase(model, pattern) for name in names})

    def _added_parameters(self, model: str) -> dict[str, Any]:
        return self._of_model("add", model)

    def _of_model(self, setting: Literal["add", "rename"], model: str) -> dict[str, Any]:
        merged_fields: dict[str, Any] = {}
        for pattern, fields in (self.settings.get(setting) or {}).items():
            if fnmatchcase(model, pattern):
                merged_fields |= fields
        return merged_fields

    def _format(self, model: str) -> str:
        formats = self.settings.get("response_format") or {}
        fitting = [pattern for pattern in formats if fnmatchcase(model, pattern)]
        return formats[max(fitting, key=len)] if fitting else "json_schema"

    # --- an exchange ------------------------------------------------------------------------------

    def body(self, model: str, request: ChatRequest) -> dict[str, Any]:
        """The JSON to send for a chat."""
        body: dict[str, Any] = {
            "model": model,
            "messages": list(map(_message, request.messages)),
            "max_tokens": request.max_tokens,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed
        if request.schema is not None:
            schema = {"name": "answer", "strict": True, "schema": request.schema}
            kind = self._format(model)
            body["response_format"] = {"type": kind, **({"json_schema": schema} if kind == "json_schema" else {})}
        if request.functions:
            body["tools"] = [{"type": "function", "function": asdict(function)} for function in request.functions]
        return self._adapt_body(model, body)

    def embedding_body(self, model: str, texts: Sequence[str], dimensions: int | None) -> dict[str, Any]:
        """The JSON to send for vectors."""
        body = {"model": model, "input": list(map(replace_surrogates, texts)), "encoding_format": "float"}
        return self._adapt_body(model, body | ({} if dimensions is None else {"dimensions": dimensions}))

    def _adapt_body(self, model: str, body: dict[str, Any]) -> dict[str, Any]:
        """The body with the parameters that conf adds, without those that it omits, and with those that it renames.
        Where `max_tokens` is omitted, its newer name is used."""
        if model not in self._changing:
            self._changing[model] = (
                self._omitted_names(model),
                self._of_model("rename", model),
                self._added_parameters(model),
            )
        left_out, names, added = self._changing[model]
        if "max_tokens" in left_out and "max_tokens" in body:
            body["max_completion_tokens"] = body["max_tokens"]
        kept = {names.get(name, name): value for name, value in body.items() if name not in left_out}
        return kept | added

    def connect(self) -> Transport:
        """Create the transport, before the first exchange. Raises InputError where something is missing."""
        if self._transport is None:
            if problem := self.address_problem() or self.problem():
                raise InputError(str(problem))
            key = self._key
            self._hidden = key.encode() if len(key) >= SECRET else b""
            server = Server(self._url, key or "none", self.settings, self._timeout_s)
            try:
                self._transport = transport_to(server)
            except AddressError:  # a host name with invalid characters
                raise InputError(f"{self._url_key}: {expected_form(HOST)}") from None
        return self._transport

    async def send(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a body and return the JSON object of the response. Raises the errors of Transport.post, StatusError,
        TimeoutError, and ValueError for an unusable response."""
        transport, content = self.connect(), orjson.dumps(body)
        async with asyncio.timeout(self._timeout_s):  # the timeout of a client holds for each chunk of a slow response
            response = await transport.post(path, content)
        if not response.is_success:
            raise StatusError(response.status, response.content, response.headers)
        reply = self._json(response)
        if not isinstance(reply, dict):
            raise ValueError(f"expected a JSON object, got {str(reply)[:80]!r}")
        return reply

    def _json(self, response: Response) -> Any:
        """Raises ValueError for what is no JSON."""
        try:
            return parse_loosely(self._keyless(response.body))
        except ValueError:
            text = decode_text(response.body, response.charset, errors="strict")
            return parse_loosely(self._keyless(text.encode("utf-8", "replace")))

    async def close(self) -> None:
        """Close the connections; the next request opens others."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    def clean_message(self, message: str) -> str:
        """One line of a server's message, without the API key, which some servers repeat."""
        message = redact(message.replace(self._key, "***") if len(self._key) > 3 else message)
        return re.sub(r"\b(sk-[\w-]{4})[\w*-]{8,}", r"\1***", message)[:500]

    def _keyless(self, body: bytes) -> bytes:
        """A response without the API key. A key shorter than SECRET characters is left: where no key is needed, it may
        be any word."""
        return redacted_bytes(body.replace(self._hidden, b"***") if self._hidden else body)


def _message(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": replace_surrogates(message.text)}
    if message.call_id is not None:
        body["tool_call_id"] = message.call_id
    if message.calls:
        body["content"] = body["content"] or None
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": replace_surrogates(call.arguments)},
            }
            for call in message.calls
        ]
    return body


def replace_surrogates(text: str) -> str:
    """The text with lone surrogates replaced, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
