"""How many requests may be on their way to one server, and how fast new ones may follow."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

MINUTE_S = 60.0
SLOWEST_PAUSE_S = 600.0


class Limiter:
    """Requests start in the order in which they came. Their number in flight adapts to what the server bears:
    one more for each round of answers, half as many when it says that it is too much (additive increase,
    multiplicative decrease, as TCP does; Chiu and Jain, 1989), between 1 and `ceiling`.

    `requests_per_minute` and `tokens_per_minute` hold over every stretch of 60 seconds.
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
        self._requests_per_minute, self._tokens_per_minute = requests_per_minute, tokens_per_minute
        self._clock = clock
        self._sent: deque[tuple[float, int]] = deque()
        self._tokens_sent = 0
        self._not_before = self._last_cut = float("-inf")
        self._loop: asyncio.AbstractEventLoop | None = None

    async def acquire(self, tokens: int) -> None:
        """Returns when a request of so many tokens may be sent; `release` must follow."""
        self._attach()
        async with self._turn:
            while (delay := self._delay(tokens)) > 0:
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(delay, SLOWEST_PAUSE_S)):
                        await self._changed.wait()
        self.in_flight += 1
        if self._requests_per_minute or self._tokens_per_minute:
            self._sent.append((self._clock(), tokens))
            self._tokens_sent += tokens

    def release(self, *, throttled: bool = False, retry_after_s: float | None = None) -> None:
        """The request came back. `throttled`: the server said that it was one too many."""
        self.in_flight -= 1
        if throttled:
            self._cut(retry_after_s)
        else:
            self.allowed = min(self.ceiling, self.allowed + 1 / self.allowed)
        self._changed.set()

    def _cut(self, retry_after_s: float | None) -> None:
        """Answers to one burst cut once: they all speak of the same crowd."""
        now = self._clock()
        if now >= self._not_before and now - self._last_cut >= 1.0:
            self.allowed, self._last_cut = max(1.0, self.allowed / 2), now
        if retry_after_s is not None:
            self._not_before = max(self._not_before, now + min(retry_after_s, SLOWEST_PAUSE_S))

    def _delay(self, tokens: int) -> float:
        """Seconds until it is worth asking again; 0 when the request may go."""
        now = self._clock()
        while self._sent and self._sent[0][0] <= now - MINUTE_S:
            self._tokens_sent -= self._sent.popleft()[1]
        if now < self._not_before:
            return self._not_before - now
        if self.in_flight >= int(self.allowed):
            return SLOWEST_PAUSE_S
        crowded = self._requests_per_minute is not None and len(self._sent) >= self._requests_per_minute
        wordy = self._tokens_per_minute is not None and self._tokens_sent + tokens > self._tokens_per_minute
        if self._sent and (crowded or wordy):
            return max(0.001, self._sent[0][0] + MINUTE_S - now)
        return 0.0

    def _attach(self) -> None:
        """What waiting is made of belongs to one event loop; a run has its own."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self.in_flight = loop, 0
            self._turn, self._changed = asyncio.Lock(), asyncio.Event()


_limiters: dict[tuple[str, str], Limiter] = {}


def limiter_of(
    base_url: str, key: str, *, ceiling: int, requests_per_minute: int | None, tokens_per_minute: int | None
) -> Limiter:
    """The one limiter of a server and a key in this process. What it has learnt outlives a run; limits that
    were set anew begin anew."""
    place = (base_url, hashlib.sha256(key.encode()).hexdigest())
    limits = (ceiling, requests_per_minute, tokens_per_minute)
    known = _limiters.get(place)
    if known is None or (known.ceiling, known._requests_per_minute, known._tokens_per_minute) != limits:
        known = _limiters[place] = Limiter(
            ceiling=ceiling, requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute
        )
    return known
