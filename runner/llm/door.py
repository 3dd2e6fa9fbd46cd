"""What all models of a run share: the cache, the ledger, and the requests in flight."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from runner.llm.cache import ReplyCache
from runner.llm.calls import CallLog
from runner.llm.ledger import Cost, Ledger
from runner.llm.messages import ChatReply
from runner.llm.rehearsal import Rehearsal
from runner.llm.replies import reply_from_json
from runner.llm.settings import Budget, CacheMode

PATIENCE_S = 0.05  # between two checks whether another process has its reply


class Door:
    """`folder` holds the ledger; None keeps it in memory. With a `rehearsal` no request is sent."""

    def __init__(self, cache_dir: Path, mode: CacheMode, folder: Path | None, budget: Budget) -> None:
        self.cache = ReplyCache(cache_dir, mode, lambda: self.ledger.sweep, lambda: self.ledger.command)
        self.stored_in = str(cache_dir.absolute()), mode
        self.limits_usd = budget.get("usd") is not None
        self.cell = "."
        self.rehearsal: Rehearsal | None = None
        self.calls: CallLog | None = None
        self._folder, self._budget = folder, budget
        self._tasks: set[asyncio.Task[ChatReply]] = set()
        self._requests: dict[bytes, asyncio.Task[ChatReply]] = {}
        self._under_way: dict[int, tuple[str, float]] = {}
        self._numbers = count()
        self._tokens = self._nano_usd = self._unpriced = 0

    @cached_property
    def ledger(self) -> Ledger:
        """Where requests and cost of the run or sweep are counted."""
        return Ledger(self._folder, self._budget)

    async def once(self, request: bytes, fetch: Callable[[], Coroutine[Any, Any, ChatReply]]) -> tuple[ChatReply, bool]:
        """The reply, and whether it came from an identical request in flight. When its caller is cancelled, a request
        stays in flight and its reply is stored."""
        if (shared := self._requests.get(request)) is not None:
            return await asyncio.shield(shared), True
        task = asyncio.create_task(fetch())
        self._tasks.add(task)
        if self.cache.stores:
            self._requests[request] = task
        task.add_done_callback(lambda done: self._finish(request, done))
        return await asyncio.shield(task), False

    async def fetch(self, label: str, request: bytes, ask: Callable[[], Coroutine[Any, Any, ChatReply]]) -> ChatReply:
        """The reply that `ask` gets, or that another process got."""
        number = self._begin(label)
        try:
            while True:
                is_ours, stored = self.cache.claim(request)
                if stored is not None:
                    return reply_from_json(stored)
                if is_ours:
                    break
                await asyncio.sleep(PATIENCE_S)
            try:
                return await ask()
            except BaseException:
                self.cache.give_up(request)
                raise
        finally:
            del self._under_way[number]

    def _finish(self, request: bytes, task: asyncio.Task[ChatReply]) -> None:
        self._tasks.discard(task)
        self._requests.pop(request, None)
        if not task.cancelled():
            task.exception()  # the callers that waited have the error of the task; perhaps there were none

    @contextmanager
    def list_in_flight(self, label: str) -> Iterator[None]:
        """List the label among the requests in flight while the block runs."""
        number = self._begin(label)
        try:
            yield
        finally:
            del self._under_way[number]

    def _begin(self, label: str) -> int:
        number = next(self._numbers)
        self._under_way[number] = (label, time.monotonic())
        return number

    def slowest(self, limit: int) -> list[str]:
        """The oldest requests in flight with their seconds, at most `limit` lines."""
        now = time.monotonic()
        oldest = sorted(self._under_way.values(), key=lambda entry: entry[1])[:limit]
        return [f"{label}, {now - started:.0f} s" for label, started in oldest]

    def note_live(self, cost: Cost) -> None:
        """Add the cost of a request that was sent."""
        self._tokens += cost.usage.input_tokens + cost.usage.output_tokens
        self._nano_usd += cost.nano_usd or 0
        self._unpriced += cost.nano_usd is None

    def describe_spending(self, tokens: str) -> str:
        """The cost of this process so far, for the progress line; `tokens` is a format of the token count."""
        if not self._tokens:
            return ""
        usd = "" if self._unpriced else f"${self._nano_usd / 1e9:.4f}, "
        return usd + tokens.format(self._tokens)

    async def close(self) -> None:
        """Cancel the requests in flight."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.cache.close()
        self.ledger.close()
