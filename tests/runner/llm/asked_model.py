"""A request to a model of a server on loopback."""

import asyncio
from typing import Any

from runner.llm.messages import ChatReply
from runner.llm.models import Models
from tests.services.doors import question


async def asked(door: Models, n: int = 1, *, at_once: bool = True, **settings: Any) -> list[ChatReply | Exception]:
    """What came of `n` requests."""
    model = door.model("test:m", "judge")
    async with door.open():
        requests = [model.chat(question(f"{n}", **settings)) for n in range(n)]
        if at_once:
            return await asyncio.gather(*requests, return_exceptions=True)  # type: ignore[return-value]
        return [(await asyncio.gather(each, return_exceptions=True))[0] for each in requests]  # type: ignore[misc]
