"""How a chat model is to answer, as conf says it of every component that asks one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from runner.llm.messages import ChatRequest, Function, Message


class SamplingSettings(TypedDict, total=False):
    """Settings besides `model`: the meaning and default of each is documented at Sampling."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None
    max_tokens: Annotated[int, Field(ge=1)]
    seed: Annotated[int, Field(ge=0)] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """`temperature` and `seed` are not sent where they are None; `max_tokens` is the limit of one reply."""

    temperature: float | None = 0.0
    max_tokens: int = 1024
    seed: int | None = None

    def request(
        self,
        messages: tuple[Message, ...],
        schema: Mapping[str, Any] | None = None,
        functions: tuple[Function, ...] = (),
    ) -> ChatRequest:
        """A request with these settings."""
        return ChatRequest(
            messages,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            seed=self.seed,
            schema=schema,
            functions=functions,
        )
