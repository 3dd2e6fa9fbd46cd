"""Requests to chat models and their replies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from runner.text.reply import Reply, is_limit, read_reply

Role = Literal[
    "system", "memory", "generator", "judge", "summariser", "reranker", "agent", "embedder", "testset"
]  # what a request is made for, in the order of reports
SERVICES: frozenset[Role] = frozenset({"system", "memory"})  # services, not models: they report their own cost


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a model may call. `parameters`: the JSON schema of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call that a model asks for. `arguments`: JSON as the model wrote it, possibly invalid."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the assistant may hold `calls`; one of a tool holds the result of the call `call_id`."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[FunctionCall, ...] = ()
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """`schema` is the JSON schema of the answer, `functions` what the model may call instead of answering. `repeat`
    numbers several wanted replies to one request; `attempt` counts retries after a reply that could not be used."""

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None = None
    seed: int | None = None
    schema: Mapping[str, Any] | None = None
    functions: tuple[Function, ...] = ()
    repeat: int = 0
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; `cached_input_tokens`: the part of `input_tokens` that came from the server's
    prompt cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChatReply:
    """`text`: as the server sent it (`read` takes it apart). `attempts`: requests sent for it in this run (0: from the
    cache). `waited_s`: time in the queue before the last attempt, `repeated_s`: its part from the first attempt on,
    `took_s`: of the last attempt, from sending it to its reply. `limit`: the most tokens allowed; None where the
    request named no limit. `thought`: what the server sent apart from the text, as `reasoning_content`."""

    text: str
    finish_reason: str | None
    refusal: str | None
    usage: Usage
    calls: tuple[FunctionCall, ...] = ()
    attempts: int = 1
    waited_s: float = 0.0
    limit: int | None = None
    thought: str = ""
    took_s: float = 0.0
    repeated_s: float = 0.0

    def read(self, question: str = "") -> Reply:
        """The answer of the reply to a question, apart from thoughts and the like."""
        return read_reply(self.text, question, thought=self.thought, cut_off=is_limit(self.finish_reason))

    @property
    def cached(self) -> bool:
        """Whether it came from the cache."""
        return self.attempts == 0

    @property
    def used_limit(self) -> bool:
        """Whether it reached its token limit, and may be incomplete."""
        return self.finish_reason == "length" and (self.limit is None or self.usage.output_tokens >= self.limit)

    # Written out, as each reply is changed and `dataclasses.replace` takes four times as long.

    def as_live(
        self, usage: Usage, attempts: int, limit: int | None, *, waited_s: float, took_s: float, repeated_s: float
    ) -> ChatReply:
        """The reply as one that has just arrived."""
        told = self.text, self.finish_reason, self.refusal, usage, self.calls
        return ChatReply(*told, attempts, waited_s, limit, self.thought, took_s, repeated_s)

    def within(self, limit: int | None) -> ChatReply:
        """The reply as it would be to a request with this limit."""
        if limit == self.limit:
            return self
        told = self.text, self.finish_reason, self.refusal, self.usage, self.calls
        times = self.took_s, self.repeated_s
        return ChatReply(*told, self.attempts, self.waited_s, limit, self.thought, *times)

    @property
    def broke_off(self) -> bool:
        """Whether the server says that it reached the token limit, although it is shorter."""
        return self.finish_reason == "length" and not self.used_limit


class Digest(bytes):
    """The digest of a request, in place of the request itself where that is no longer needed."""


def request_digest(request: bytes) -> bytes:
    """SHA-256 of everything a reply depends on, made once for all that ask for it while the request is under way: the
    cache, the meters and the log of calls."""
    return request if type(request) is Digest else _sha256(request)


@lru_cache(maxsize=256)
def _sha256(request: bytes) -> bytes:
    return hashlib.sha256(request).digest()
