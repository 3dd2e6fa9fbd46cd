"""What all models of a run share: the cache, the ledger, and the requests that are under way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from runner.errors import StopRunError
from runner.llm.cache import ReplyCache
from runner.llm.ledger import Account, Ledger
from runner.llm.messages import ChatReply, Usage
from runner.llm.rehearsal import Rehearsal
from runner.llm.settings import Budget, CacheMode

PATIENCE_S = 0.05  # between two looks at what is left of a budget that others hold


class Door:
    """`folder` holds the ledger; None keeps it in memory. With a `rehearsal` nothing is asked."""

    def __init__(self, cache_dir: Path, mode: CacheMode, folder: Path | None, budget: Budget) -> None:
        self.cache = ReplyCache(cache_dir, mode)
        self.cell = "."
        self.rehearsal: Rehearsal | None = None
        self._folder, self._budget = folder, budget
        self._ledger: Ledger | None = None
        self._tasks: set[asyncio.Task[ChatReply]] = set()
        self._shared: dict[bytes, asyncio.Task[ChatReply]] = {}
        self._under_way: dict[int, tuple[str, float]] = {}
        self._numbers = count()
        self._tokens = self._nano_usd = self._unpriced = 0

    @property
    def ledger(self) -> Ledger:
        if self._ledger is None:
            self._ledger = Ledger(self._folder, self._budget)
        return self._ledger

    async def reserve(self, account: Account, tokens: int, nano_usd: int | None) -> int | None:
        """Waits while requests under way hold what is left. None without a budget. Raises BudgetSpentError."""
        ledger = self.ledger
        if not ledger.is_limited:
            return None
        if self._budget.get("usd") and nano_usd is None:
            provider, _, name = account.model.partition(":")
            raise StopRunError(
                f"budget.usd is set and the price of {account.model} is unknown; give it with "
                f"provider.{provider}.prices.usd_per_million.{name}={{input: …, output: …}}, or limit budget.tokens"
            )
        while (reservation := ledger.reserve(account, tokens, nano_usd)) is None:
            await asyncio.sleep(PATIENCE_S)
        return reservation

    async def once(self, request: bytes, fetch: Callable[[], Coroutine[Any, Any, ChatReply]]) -> tuple[ChatReply, bool]:
        """The reply, and whether an identical request that was under way brought it. A caller that is cancelled
        leaves the request under way: what it brings is kept."""
        shared = None if self.cache.mode == "none" else self._shared.get(request)
        if shared is not None:
            return await asyncio.shield(shared), True
        task = asyncio.create_task(fetch())
        self._tasks.add(task)
        self._shared[request] = task
        task.add_done_callback(lambda done: self._finished(request, done))
        return await asyncio.shield(task), False

    def _finished(self, request: bytes, task: asyncio.Task[ChatReply]) -> None:
        self._tasks.discard(task)
        if self._shared.get(request) is task:
            del self._shared[request]
        if not task.cancelled():
            task.exception()  # whoever waited for it has it; perhaps nobody does any more

    @contextmanager
    def under_way(self, label: str) -> Iterator[None]:
        number = next(self._numbers)
        self._under_way[number] = (label, time.monotonic())
        try:
            yield
        finally:
            del self._under_way[number]

    def slowest(self, limit: int) -> list[str]:
        now = time.monotonic()
        oldest = sorted(self._under_way.values(), key=lambda entry: entry[1])[:limit]
        return [f"{label}, {now - started:.0f} s" for label, started in oldest]

    def note_live(self, usage: Usage, nano_usd: int | None) -> None:
        self._tokens += usage.input_tokens + usage.output_tokens
        self._nano_usd += nano_usd or 0
        self._unpriced += nano_usd is None

    def spent(self) -> str:
        if not self._tokens:
            return ""
        usd = "" if self._unpriced else f"${self._nano_usd / 1e9:.4f}, "
        return f"{usd}{self._tokens:,} tokens"

    async def close(self) -> None:
        """Ends what is still under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.cache.close()
        if self._ledger is not None:
            self._ledger.close()
