"""Summaries by a chat model of any OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Unpack

from pydantic import Field

from runner.domains.memory.context import render_turn
from runner.domains.memory.records import Bounds, ChatTurn, Entity, Summary
from runner.domains.memory.shortening import shorten_text
from runner.llm.fencing import Item, fence_fields
from runner.llm.messages import ChatRequest, Message
from runner.llm.models import Models
from runner.llm.prompts import Prompt, prompt, prompt_by_name
from runner.llm.sampling import Sampling, SamplingSettings
from runner.llm.tokens import count_tokens
from runner.records import Context
from runner.text.language import Language, detect_language

_TEXT = {"type": "string"}
_ENTITY = {
    "type": "object",
    "properties": {"key": _TEXT, "value": _TEXT},
    "required": ["key", "value"],
    "additionalProperties": False,
}
SUMMARY_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"memory": _TEXT, "entities": {"type": "array", "items": _ENTITY}},
    "required": ["memory", "entities"],
    "additionalProperties": False,
}
SHORTER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"memory": _TEXT},
    "required": ["memory"],
    "additionalProperties": False,
}


class OpenaiSummariser:
    """Memory, entities and turns reach the model as fenced data in one user message, in Korean or English, as the
    conversation is. Of a turn over `max_turn_tokens` the end is left out. A reply without a memory, where there was
    one, cannot be used: it would forget everything."""

    def __init__(
        self,
        *,
        models: Models,
        model: str = "openai:gpt-5-nano",
        max_turn_tokens: Annotated[int, Field(ge=1)] = 1500,
        prompt: str | None = None,
        **sampling: Unpack[SamplingSettings],
    ) -> None:
        self.model = models.model(model, "summariser")
        self.sampling = Sampling(**SamplingSettings(max_tokens=2048) | sampling)
        self.max_turn_tokens = max_turn_tokens
        self._prompt = prompt

    @cached_property
    def prompt(self) -> Prompt:
        """Raises InputError when it is a file that cannot be used."""
        return prompt_by_name(self._prompt or "summary", ("summary",), "memory.summariser.prompt")

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {**self.model.provenance, "prompt": self.prompt.digest, "shorten": prompt("summary_shorten").digest}

    async def summarise(
        self,
        memory: str,
        entities: Sequence[Entity],
        turns: Sequence[ChatTurn],
        language: str | None,
        bounds: Bounds,
    ) -> Summary:
        """Raises what `Model.ask_for_json` does."""
        spoken = _language(language, "\n".join(f"{turn.user}\n{turn.assistant}" for turn in turns))
        data: Mapping[str, str | Sequence[Item]] = {
            "memory": memory,
            "entities": "\n".join(f"{entity.key}: {entity.value}" for entity in entities),
            "turns": [self._as_context(turn, spoken) for turn in turns],
        }
        request = self._request(self.prompt, data, spoken, bounds, SUMMARY_SCHEMA)
        return await self.model.ask_for_json(request, lambda reply: _summary(reply, had_memory=bool(memory.strip())))

    async def shorten(self, memory: str, bounds: Bounds, language: str | None) -> str:
        spoken = _language(language, memory)
        request = self._request(prompt("summary_shorten"), {"memory": memory}, spoken, bounds, SHORTER_SCHEMA)
        return await self.model.ask_for_json(request, lambda reply: _memory(reply, had_memory=True))

    def _as_context(self, turn: ChatTurn, language: Language) -> Context:
        text = shorten_text(render_turn(turn, language), self.max_turn_tokens, count_tokens)
        return Context(f"turn-{turn.number}", text, " ".join(turn.said_at.split()))

    def _request(
        self,
        prompt: Prompt,
        data: Mapping[str, str | Sequence[Item]],
        language: Language,
        bounds: Bounds,
        schema: Mapping[str, Any],
    ) -> ChatRequest:
        limits = {"max_sentences": str(bounds.max_sentences), "max_tokens": str(bounds.max_tokens)}
        messages = Message("system", prompt.system(language, **limits)), Message("user", fence_fields(data, language))
        return self.sampling.request(messages, schema)


# --- reading replies; a ValueError says why a reply cannot be used ------------------------------------


def _summary(reply: Mapping[str, Any], *, had_memory: bool) -> Summary:
    entities = reply.get("entities")
    if not isinstance(entities, list):
        raise ValueError(f"entities: expected a list, got {entities!r}")
    pairs = tuple(_pair(entity, f"entities.{at}") for at, entity in enumerate(entities))
    return Summary(_memory(reply, had_memory=had_memory), pairs)


def _memory(reply: Mapping[str, Any], *, had_memory: bool) -> str:
    memory = reply.get("memory")
    if not isinstance(memory, str):
        raise ValueError(f"memory: expected a text, got {memory!r}")
    if had_memory and not memory.strip():
        raise ValueError("memory: it is empty, although there was one before")
    if memory.strip() and not _says_something(memory):
        raise ValueError(f"memory: the form was copied, not filled in: {memory!r}")
    return memory


def _pair(entity: Any, place: str) -> tuple[str, str]:
    """A (key, value) pair. A value may be a number where a server does not follow the schema."""
    if not isinstance(entity, Mapping):
        raise ValueError(f"{place}: expected an object, got {entity!r}")
    key, value = entity.get("key"), entity.get("value")
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(key, str) or not isinstance(value, str):
        raise ValueError(f"{place}: expected a key and a value, got {entity!r}")
    if not _says_something(key):
        raise ValueError(f"{place}: the form was copied, not filled in: {entity!r}")
    return key, value


def _says_something(text: str) -> bool:
    """Small models copy the form with its dots, which would take the place of all that was known."""
    return any(letter.isalnum() for letter in text)


def _language(language: str | None, text: str) -> Language:
    known: dict[str | None, Language] = {"ko": "ko", "en": "en"}
    return known.get(language) or detect_language(text)
