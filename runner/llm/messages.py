"""What is asked of a chat model, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal[
    "generator", "judge", "summariser", "reranker", "agent", "embedder", "testset", "system", "memory"
]  # on whose behalf
SERVICES: frozenset[Role] = frozenset({"system", "memory"})  # no models: what they cost is for them to say


@dataclass(frozen=True, slots=True)
class Function:
    """Something a model may call. `parameters` is the JSON schema of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call that a model asks for. `arguments` is JSON as the model wrote it, broken perhaps."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """An assistant's may hold `calls`; a tool's says what came of the call `call_id`."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[FunctionCall, ...] = ()
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """`schema` is the JSON schema of the answer, `functions` what the model may call instead of answering. `repeat`
    tells apart answers to one request that are wanted several times; `attempt` those that were asked for again
    because the one before could not be used."""

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
    """Tokens as the server counted them; `cached_input_tokens` are those of `input_tokens` that it had read before."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChatReply:
    """`attempts` sent for it in this run (0: from the cache). `waited_s` stood in line before the last attempt.
    `limit`: tokens that it might have; None where the request named none."""

    text: str
    finish_reason: str | None
    refusal: str | None
    usage: Usage
    calls: tuple[FunctionCall, ...] = ()
    attempts: int = 1
    waited_s: float = 0.0
    limit: int | None = None

    @property
    def cached(self) -> bool:
        """Whether nothing was sent for it."""
        return self.attempts == 0

    @property
    def used_limit(self) -> bool:
        """Whether it ends where it had to, in the middle perhaps."""
        return self.finish_reason == "length" and (self.limit is None or self.usage.output_tokens >= self.limit)

    @property
    def broke_off(self) -> bool:
        """Whether the server says that it had to end there, and it had not."""
        return self.finish_reason == "length" and not self.used_limit
