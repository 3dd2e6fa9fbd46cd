"""Limits the requests in flight to one server, and their rate."""

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
    """Requests start in order of arrival. The number in flight adapts to the server: one more for each round of
    answers, half as many when the server throttles (additive increase, multiplicative decrease, as in TCP; Chiu and
    Jain, 1989), between 1 and `ceiling`.

    `requests_per_minute` and `tokens_per_minute` hold over every 60 seconds as the server counts them: a request may
    have reached the server at any time before its answer came, so it counts until 60 seconds after that. A request that
    alone exceeds `tokens_per_minute` is sent on its own.
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
        self._sent: dict[int, int] = {}  # ticket -> tokens, of the requests in flight
        self._recent: deque[tuple[float, int]] = deque()  # (time of the answer, tokens)
        self._counted_tokens = 0  # of the tokens in flight and of the recent ones
        self._not_before = float("-inf")
        self._next_ticket = self._first_after_cut = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    async def acquire(self, tokens: int, gives_up: Callable[[], bool] = lambda: False) -> int:
        """Wait until a request of so many tokens may be sent, and return the ticket for `release`. A request for which
        `gives_up` returns true (checked at `look_again`) stops waiting."""
        self._attach()
        async with self._turn:
            while not gives_up() and (delay_s := self._delay_s(tokens)) != 0:
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(delay_s):
                        await self._changed.wait()
            return self._started(tokens)

    def look_again(self) -> None:
        """Make all that wait check `gives_up`."""
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
        """Change the ceiling for another run; a limit that was learnt below it stays."""
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
        """Seconds until the next check: 0 where the request may be sent, None where another request must end first."""
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
        """Whether one more request of so many tokens would exceed a limit per minute."""
        counted = len(self._sent) + len(self._recent)
        is_crowded = self._per_minute is not None and counted >= self._per_minute
        is_wordy = self._tokens_per_minute is not None and self._counted_tokens + tokens > self._tokens_per_minute
        return counted > 0 and (is_crowded or is_wordy)

    def _attach(self) -> None:
        """Bind the limiter to the running event loop; requests in flight of an earlier loop are forgotten."""
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
    """The limiter of a server and a key, one per process. What it has learnt is kept between runs."""
    place = (url, hashlib.sha256(key.encode()).hexdigest(), requests_per_minute, tokens_per_minute)
    if place not in _limiters:
        _limiters[place] = Limiter(
            ceiling=ceiling, requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute
        )
    _limiters[place].limit_to(ceiling)
    return _limiters[place]
