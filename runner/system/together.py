"""Work side by side in one loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any


async def together(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Returns when all has ended well. When one raises, or this is cancelled, the others are cancelled, once: what
    they clean up then is not cut off, as it is where asyncio.gather is cancelled and its tasks are told so again."""
    tasks = [asyncio.create_task(each) for each in work]
    if not tasks:
        return
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in sorted(done, key=asyncio.Task.cancelled):
        task.result()
