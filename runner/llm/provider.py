"""One OpenAI-compatible server: what it is sent, and how it is asked until it answers."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit, urlunsplit

import orjson

from runner.errors import EvaluationError, InputError, Problem, StopRunError
from runner.llm.limiter import Limiter, limiter_of
from runner.llm.messages import ChatRequest
from runner.llm.retry import ATTEMPTS, Verdict, pause_s, verdict_on
from runner.llm.settings import ProviderSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI = "https://api.openai.com/v1"
HOPELESS = 8  # requests in a row that were given up, after which the server is taken for broken


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """`content` is what was read; `waited_s` was spent before the attempt that brought it."""

    content: T
    attempts: int
    waited_s: float


class Provider:
    """Settings as in conf/provider. `timeout_s` is for one attempt. The key is read when it is first needed."""

    def __init__(self, name: str, settings: ProviderSettings, *, timeout_s: float, max_concurrency: int) -> None:
        self.name, self.settings = name, settings
        self._timeout_s = timeout_s
        self._ceiling = min(max_concurrency, settings.get("max_concurrency") or max_concurrency)
        self._client: AsyncOpenAI | None = None
        self._refused: dict[str, set[str]] = {}  # model -> parameters that its server did not take
        self._given_up = 0

    @property
    def _url(self) -> str:
        return self.settings.get("base_url") or os.environ.get("OPENAI_BASE_URL") or OPENAI

    @property
    def address(self) -> str:
        """The URL as it may be shown and kept: without user, password and parameters."""
        parts = urlsplit(self._url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))

    @property
    def key(self) -> str:
        """Raises InputError when the variable that holds it is not set."""
        if problem := self.key_problem():
            raise InputError(str(problem))
        variable = self.settings.get("api_key_env")
        return "none" if variable is None else os.environ[variable].strip()

    def key_problem(self) -> Problem | None:
        variable = self.settings.get("api_key_env")
        if variable is None or os.environ.get(variable, "").strip():
            return None
        return Problem(
            f"provider.{self.name}.api_key_env",
            f"the environment variable {variable} is not set; it holds the key for {self.address} "
            f"(provider.{self.name}.api_key_env=NAME names another one, null sends none; cache=replay needs none)",
        )

    @property
    def counts_tokens(self) -> bool:
        return self.settings.get("tokens_per_minute") is not None

    def changes(self, model: str) -> Mapping[str, Any]:
        """What conf leaves out of requests to a model, and adds to them."""
        left_out, added = self._left_out(model), self._added(model)
        return {**({"leave_out": left_out} if left_out else {}), **({"add": added} if added else {})}

    def body(self, model: str, request: ChatRequest) -> dict[str, Any]:
        """The JSON to send, without the parameters that conf leaves out."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": message.role, "content": _sendable(message.text)} for message in request.messages],
            "max_tokens": request.max_tokens,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed
        if request.schema is not None:
            schema = {"name": "answer", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return _without(body, self._left_out(model)) | self._added(model)

    async def ask(
        self, path: str, body: Mapping[str, Any], tokens: int, read: Callable[[Mapping[str, Any]], T]
    ) -> Answered[T]:
        """What `read` makes of the JSON object that comes back; an answer that it cannot read is asked for again.
        Raises StopRunError for what is wrong for all requests, EvaluationError for what is wrong with this one."""
        limiter, client = self._limiter(), self._open()
        model = str(body["model"])
        started = time.perf_counter()
        attempt = 0
        while True:
            attempt += 1
            await limiter.acquire(tokens)
            sent = time.perf_counter()
            try:
                sendable = _without(body, self._refused.get(model, ()))
                content = read(await self._once(client, path, sendable))
            except Exception as error:
                verdict = verdict_on(error)
                limiter.release(throttled=verdict.kind == "throttled", retry_after_s=verdict.after_s)
                if verdict.kind == "drop" and self._learn(model, verdict.parameter, body):
                    attempt -= 1
                    continue
                self._raise_if_final(verdict, attempt, model)
                await asyncio.sleep(pause_s(attempt, verdict.after_s))
            except BaseException:
                limiter.release()
                raise
            else:
                limiter.release()
                self._given_up = 0
                return Answered(content, attempt, sent - started)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # --- inside -----------------------------------------------------------------------------------

    async def _once(self, client: AsyncOpenAI, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        import httpx2

        async with asyncio.timeout(self._timeout_s):
            response = await client.post(path, body=body, cast_to=httpx2.Response)
        content = orjson.loads(response.content)
        if not isinstance(content, dict):
            raise ValueError(f"expected a JSON object, got {str(content)[:80]!r}")
        return content

    def _raise_if_final(self, verdict: Verdict, attempt: int, model: str) -> None:
        where = f"{self.name}:{model} at {self.address}"
        if verdict.kind == "stop":
            raise StopRunError(f"{where}: {self._readable(verdict.message)}")
        if verdict.kind in ("fail", "drop"):
            raise EvaluationError(f"{where}: {self._readable(verdict.message)}")
        if attempt < ATTEMPTS:
            return
        self._given_up += 1
        message = f"{where}: {self._readable(verdict.message)} (asked {attempt} times)"
        if verdict.down or self._given_up >= HOPELESS:
            raise StopRunError(message)
        raise EvaluationError(message)

    def _learn(self, model: str, parameter: str | None, body: Mapping[str, Any]) -> bool:
        """Leave a refused parameter out from now on. False when it was left out already."""
        refused = self._refused.setdefault(model, set())
        if parameter is None or parameter in refused:
            return False
        if parameter not in body and parameter != "max_completion_tokens":
            return False
        refused.add(parameter)
        return True

    def _left_out(self, model: str) -> list[str]:
        patterns = self.settings.get("leave_out") or {}
        return sorted({name for pattern, names in patterns.items() if fnmatchcase(model, pattern) for name in names})

    def _added(self, model: str) -> dict[str, Any]:
        added: dict[str, Any] = {}
        for pattern, fields in (self.settings.get("add") or {}).items():
            if fnmatchcase(model, pattern):
                added |= fields
        return added

    def _limiter(self) -> Limiter:
        settings = self.settings
        return limiter_of(
            self._url,
            self.key,
            ceiling=self._ceiling,
            requests_per_minute=settings.get("requests_per_minute"),
            tokens_per_minute=settings.get("tokens_per_minute"),
        )

    def _open(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI, DefaultAioHttpClient

            self._client = AsyncOpenAI(
                api_key=self.key,
                base_url=self._url,
                http_client=DefaultAioHttpClient(),
                timeout=self._timeout_s,
                max_retries=0,
            )
        return self._client

    def _readable(self, message: str) -> str:
        """Without the key, which some servers repeat."""
        key = os.environ.get(self.settings.get("api_key_env") or "", "").strip()
        shown = message.replace(key, "***") if len(key) > 3 else message
        return re.sub(r"\b(sk-[\w-]{4})[\w*-]{8,}", r"\1***", shown)[:500]


def _sendable(text: str) -> str:
    """UTF-8 has no lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _without(body: Mapping[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    """`max_tokens` that is left out is sent by its newer name."""
    kept = {name: value for name, value in body.items() if name not in left_out}
    if "max_tokens" in left_out and "max_tokens" in body and "max_completion_tokens" not in left_out:
        kept["max_completion_tokens"] = body["max_tokens"]
    return kept
