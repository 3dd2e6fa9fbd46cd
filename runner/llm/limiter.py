"""Limits the requests in flight to one server, and their rate."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from runner.llm.presence import Presence, is_present
from runner.system.database import Database
from runner.system.redaction import mark

MINUTE_S = 60.0
LOOK_S = 0.5  # between checks whether requests of other processes have ended
RATES_FILE = "rates.sqlite"
SCHEMA = """
CREATE TABLE sent (id INTEGER PRIMARY KEY, server TEXT NOT NULL, tokens INTEGER NOT NULL, owner TEXT NOT NULL,
    back_at REAL)
"""

Ending = Literal["answered", "throttled", "failed"]


class Rates:
    """The requests that several processes have sent to servers in the last minute, in one file in a shared folder.
    `clock`: seconds that are the same for all of them."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder, self._clock = folder, clock
        self._database = Database(folder / RATES_FILE, SCHEMA, is_replaceable=True)
        self._presence: Presence | None = None

    def take(
        self, server: str, tokens: int, requests_per_minute: int | None, tokens_per_minute: int | None
    ) -> tuple[float, int | None]:
        """Take a place for a request: (0, a number to hand back when the request has ended), or (seconds to wait before
        the next try, None). A request counts until a minute after it ended, as in Limiter."""
        if self._presence is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._presence = Presence(self.folder)
        owner = self._presence.name

        def attempt(rows: sqlite3.Connection) -> tuple[float, int | None]:
            now = self._clock()
            rows.execute("DELETE FROM sent WHERE back_at <= ?", (now - MINUTE_S,))
            select = "SELECT COUNT(*), TOTAL(tokens), MIN(back_at) FROM sent WHERE server = ?"
            n_counted, sum_of_tokens, oldest = rows.execute(select, (server,)).fetchone()
            is_crowded = requests_per_minute is not None and n_counted >= requests_per_minute
            is_wordy = tokens_per_minute is not None and sum_of_tokens + tokens > tokens_per_minute
            if n_counted and (is_crowded or is_wordy):
                self._note_gone(rows, now)
                return (LOOK_S if oldest is None else min(LOOK_S, max(0.001, oldest + MINUTE_S - now))), None
            insert = "INSERT INTO sent (server, tokens, owner) VALUES (?, ?, ?)"
            return 0.0, rows.execute(insert, (server, tokens, owner)).lastrowid

        return self._database.write(attempt)

    def hand_back(self, number: int) -> None:
        """The request has come back, or was not sent."""
        self._database.write(
            lambda rows: rows.execute("UPDATE sent SET back_at = ? WHERE id = ?", (self._clock(), number))
        )

    def close(self) -> None:
        """Close the connection; the requests of this process in flight count for one more minute."""
        self._database.close()
        if self._presence is not None:
            self._presence.close()
            self._presence = None

    def _note_gone(self, rows: sqlite3.Connection, now: float) -> None:
        """Mark the requests of processes that no longer exist as ended."""
        found = rows.execute("SELECT DISTINCT owner FROM sent WHERE back_at IS NULL").fetchall()
        for owner in [owner for (owner,) in found if not is_present(self.folder, owner)]:
            rows.execute("UPDATE sent SET back_at = ? WHERE owner = ? AND back_at IS NULL", (now, owner))


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
        rates: Rates | None = None,
        server: str = "",
    ) -> None:
        self._rates, self._server = rates, server
        self._rate_number: int | None = None
        self._numbers: dict[int, int] = {}  # ticket -> number of `rates`
        self.ceiling, self.allowed = ceiling, float(ceiling)
        self.in_flight = 0
        self._per_minute, self._tokens_per_minute = requests_per_minute, tokens_per_minute
        self._clock = clock
        self._tokens_in_flight: dict[int, int] = {}  # ticket -> tokens, of the requests in flight
        self._recent: deque[tuple[float, int]] = deque()  # (time of the answer, tokens)
        self._counted_tokens = 0  # of the tokens in flight and of the recent ones
        self._not_before = float("-inf")
        self._next_ticket = self._first_after_cut = 0
        self._n_waiting = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def try_acquire(self, tokens: int) -> int | None:
        """The ticket of a request of so many tokens that need not wait, as most; None where it has to `acquire` one."""
        self._attach()
        return None if self._n_waiting or self._delay_of_all_s(tokens) != 0 else self._start(tokens)

    async def acquire(self, tokens: int, gives_up: Callable[[], bool] = lambda: False) -> int:
        """Wait until a request of so many tokens may be sent, and return the ticket for `release`. A request for which
        `gives_up` returns true (checked at `look_again`) stops waiting."""
        self._attach()
        self._n_waiting += 1
        try:
            async with self._turn:
                while not gives_up() and (delay_s := self._delay_of_all_s(tokens)) != 0:
                    self._freed.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(delay_s):
                            await self._freed.wait()
                return self._start(tokens)
        finally:
            self._n_waiting -= 1

    def look_again(self) -> None:
        """Make all that wait check `gives_up`."""
        self._freed.set()

    def release(self, ticket: int, ending: Ending, *, retry_after_s: float | None = None) -> None:
        """End a request. `answered` raises the limit a little. `throttled` (the server refused it for its rate) halves
        the limit, once for all requests that were sent before the refusal arrived."""
        self.in_flight -= 1
        self._came_back(ticket)
        if ending == "answered":
            self.allowed = min(self.ceiling, self.allowed + 1 / self.allowed)
        elif ending == "throttled":
            if ticket >= self._first_after_cut:
                self.allowed, self._first_after_cut = max(1.0, self.allowed / 2), self._next_ticket
            self._not_before = max(self._not_before, self._clock() + (retry_after_s or 0.0))
        self._freed.set()

    def limit_to(self, ceiling: int) -> None:
        """Change the ceiling for another run; a limit that was learnt below it stays."""
        if ceiling != self.ceiling:
            self.allowed = max(1.0, self.allowed * ceiling / self.ceiling)
            self.ceiling = ceiling

    def _start(self, tokens: int) -> int:
        self.in_flight += 1
        if self._per_minute or self._tokens_per_minute:
            self._tokens_in_flight[self._next_ticket] = tokens
            self._counted_tokens += tokens
        if self._rate_number is not None:
            self._numbers[self._next_ticket], self._rate_number = self._rate_number, None
        self._next_ticket += 1
        return self._next_ticket - 1

    def _came_back(self, ticket: int) -> None:
        if ticket in self._tokens_in_flight:
            self._recent.append((self._clock(), self._tokens_in_flight.pop(ticket)))
        if self._rates is not None and ticket in self._numbers:
            self._rates.hand_back(self._numbers.pop(ticket))

    def _delay_of_all_s(self, tokens: int) -> float | None:
        """The same as `_delay_s`, with what other processes have sent; at 0 the request is counted for them."""
        delay_s = self._delay_s(tokens)
        if delay_s != 0 or self._rates is None or not (self._per_minute or self._tokens_per_minute):
            return delay_s
        wait_s, self._rate_number = self._rates.take(self._server, tokens, self._per_minute, self._tokens_per_minute)
        return wait_s

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
        n_counted = len(self._tokens_in_flight) + len(self._recent)
        is_crowded = self._per_minute is not None and n_counted >= self._per_minute
        is_wordy = self._tokens_per_minute is not None and self._counted_tokens + tokens > self._tokens_per_minute
        return n_counted > 0 and (is_crowded or is_wordy)

    def _attach(self) -> None:
        """Bind the limiter to the running event loop; requests in flight of an earlier loop are forgotten."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self.in_flight = loop, 0
            for ticket in list(self._tokens_in_flight):
                self._came_back(ticket)
            self._turn, self._freed = asyncio.Lock(), asyncio.Event()


_limiters: dict[tuple[str, str, int | None, int | None, int], Limiter] = {}
_shared_rates: Rates | None = None


@contextmanager
def sharing_rates(folder: Path) -> Iterator[None]:
    """In the body, requests and tokens per minute hold for all processes that name this folder."""
    global _shared_rates
    _shared_rates = rates = Rates(folder)
    try:
        yield
    finally:
        _shared_rates = None
        rates.close()


def limiter_of(
    url: str, key: str, *, ceiling: int, requests_per_minute: int | None, tokens_per_minute: int | None
) -> Limiter:
    """The one limiter of a server and a key in this process. What it has learnt outlives a run."""
    place = (url, hashlib.sha256(key.encode()).hexdigest(), requests_per_minute, tokens_per_minute, id(_shared_rates))
    if place not in _limiters:
        _limiters[place] = Limiter(
            ceiling=ceiling,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            rates=_shared_rates,
            server="" if _shared_rates is None else f"{hashlib.sha256(url.encode()).hexdigest()[:16]} {mark(key)}",
        )
    _limiters[place].limit_to(ceiling)
    return _limiters[place]
