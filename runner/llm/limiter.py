"""How many requests may be on their way to one server, and how fast new ones may follow."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

MINUTE_S = 60.0

Ending = Literal["answered", "throttled", "failed"]


class Limiter:
    """Requests start in the order in which they came. Their number in flight adapts to what the server bears:
    one more for each round of answers, half as many when it says that it is too much (additive increase,
    multiplicative decrease, as TCP does; Chiu and Jain, 1989), between 1 and `ceiling`.

    `requests_per_minute` and `tokens_per_minute` hold over every stretch of 60 seconds as the server sees it: a
    request may have reached it at any time until it came back, and counts until 60 seconds after that. One of more
    tokens than that goes alone.
    """

    def __init__(
        self,
        *,
        ceiling: int,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ceiling, self.allowed = ceiling, float(ceiling)
        self.in_flight = 0
        self._per_minute, self._tokens_per_minute = requests_per_minute, tokens_per_minute
        self._clock = clock
        self._sent: dict[int, int] = {}  # ticket -> tokens, of those in flight
        self._recent: deque[tuple[float, int]] = deque()  # when they came back, and their tokens
        self._counted_tokens = 0  # of both
        self._not_before = float("-inf")
        self._next_ticket = self._first_after_cut = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    async def acquire(self, tokens: int, gives_up: Callable[[], bool] = lambda: False) -> int:
        """Returns when a request of so many tokens may be sent, with a ticket to `release` it with. One that
        `gives_up`, of which `look_again` tells, waits no longer."""
        self._attach()
        async with self._turn:
            while not gives_up() and (delay_s := self._delay_s(tokens)) != 0:
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(delay_s):
                        await self._changed.wait()
            return self._started(tokens)

    def look_again(self) -> None:
        """Somebody gives up."""
        self._changed.set()

    def release(self, ticket: int, ending: Ending, *, retry_after_s: float | None = None) -> None:
        """End a request. `answered` raises the limit a little. `throttled` (the server refused it as one too many)
        halves the limit, once for all requests that were sent before the refusal arrived."""
        self.in_flight -= 1
        self._came_back(ticket)
        if ending == "answered":
            self.allowed = min(self.ceiling, self.allowed + 1 / self.allowed)
        elif ending == "throttled":
            if ticket >= self._first_after_cut:
                self.allowed, self._first_after_cut = max(1.0, self.allowed / 2), self._next_ticket
            self._not_before = max(self._not_before, self._clock() + (retry_after_s or 0.0))
        self._changed.set()

    def limit_to(self, ceiling: int) -> None:
        """Another run has another ceiling; what was learnt below the old one holds for the new one."""
        if ceiling != self.ceiling:
            self.allowed = max(1.0, self.allowed * ceiling / self.ceiling)
            self.ceiling = ceiling

    def _started(self, tokens: int) -> int:
        self.in_flight += 1
        if self._per_minute or self._tokens_per_minute:
            self._sent[self._next_ticket] = tokens
            self._counted_tokens += tokens
        self._next_ticket += 1
        return self._next_ticket - 1

    def _came_back(self, ticket: int) -> None:
        if ticket in self._sent:
            self._recent.append((self._clock(), self._sent.pop(ticket)))

    def _delay_s(self, tokens: int) -> float | None:
        """How long to wait before asking again: 0 when the request may go, None until another comes back."""
        now = self._clock()
        while self._recent and self._recent[0][0] + MINUTE_S <= now:
            self._counted_tokens -= self._recent.popleft()[1]
        is_full = self._is_full(tokens)
        if self.in_flight >= int(self.allowed) or (is_full and not self._recent):
            return None
        oldest = self._recent[0][0] + MINUTE_S if is_full else now
        wait_s = max(self._not_before, oldest) - now
        return max(0.001, wait_s) if wait_s > 0 else 0.0

    def _is_full(self, tokens: int) -> bool:
        """Whether one more of so many tokens is too much for this minute."""
        counted = len(self._sent) + len(self._recent)
        is_crowded = self._per_minute is not None and counted >= self._per_minute
        is_wordy = self._tokens_per_minute is not None and self._counted_tokens + tokens > self._tokens_per_minute
        return counted > 0 and (is_crowded or is_wordy)

    def _attach(self) -> None:
        """What waiting is made of belongs to one event loop, and so do the requests in flight."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self.in_flight = loop, 0
            for ticket in list(self._sent):
                self._came_back(ticket)
            self._turn, self._changed = asyncio.Lock(), asyncio.Event()


_limiters: dict[tuple[str, str, int | None, int | None], Limiter] = {}


def limiter_of(
    url: str, key: str, *, ceiling: int, requests_per_minute: int | None, tokens_per_minute: int | None
) -> Limiter:
    """The one limiter of a server and a key in this process. What it has learnt outlives a run."""
    place = (url, hashlib.sha256(key.encode()).hexdigest(), requests_per_minute, tokens_per_minute)
    if place not in _limiters:
        _limiters[place] = Limiter(
            ceiling=ceiling, requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute
        )
    _limiters[place].limit_to(ceiling)
    return _limiters[place]
