"""A plain openai client, and what a test asks with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.services.models_server import ModelsServer

if TYPE_CHECKING:
    from openai import AsyncOpenAI

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number"}, "reasoning": {"type": "string"}},
    "required": ["score", "reasoning"],
    "additionalProperties": False,
}
JUDGED: dict[str, Any] = {
    "response_format": {"type": "json_schema", "json_schema": {"name": "judgement", "strict": True, "schema": SCHEMA}}
}


@asynccontextmanager
async def client(server: ModelsServer, key: str = "sk-test", timeout_s: float = 10) -> AsyncIterator[AsyncOpenAI]:
    from openai import AsyncOpenAI, DefaultAioHttpClient

    http = DefaultAioHttpClient()
    async with AsyncOpenAI(
        base_url=server.url, api_key=key, http_client=http, max_retries=0, timeout=timeout_s
    ) as opened:
        yield opened


async def ask(opened: AsyncOpenAI, text: str = "Is it so?", **more: Any) -> Any:
    return await opened.chat.completions.create(
        model="test-model", messages=[{"role": "user", "content": text}], **more
    )


async def content(opened: AsyncOpenAI, text: str = "Is it so?", **more: Any) -> str:
    return str((await ask(opened, text, **more)).choices[0].message.content)
