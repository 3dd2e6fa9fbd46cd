"""Sessions in a Redis: the MemoryStore of every store that talks to one.

Each request is one script over the three keys of a session, so nobody sees half of a change. A request without an
answer is repeated in a way that is never carried out twice. The loss of a session that this process knows is noticed:
the server evicted it, or was restarted without it. So is the loss of confirmed turns and summaries that a replica lacks
after a failover.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from runner.domains.memory.protocols import Committed
from runner.domains.memory.records import ChatTurn, Entity, SessionKey, SessionState
from runner.domains.memory.redis_link import Link, Vitals
from runner.domains.memory.stored import (
    encode_key,
    entities_of,
    keys_of,
    last_number_of,
    lease_of,
    session_of,
    state_of,
    turn_of,
)
from runner.errors import EvaluationError, StopRunError


class ConfirmedState(NamedTuple):
    """The confirmed state of a session. `until`: it exists at least until then; `number`: of its last turn."""

    generation: str
    until: float = 0.0
    number: int = 0
    version: int = 0


class RedisSessions:
    """The common part of all stores of a Redis; they differ in `connect`, which makes the link on first use."""

    def __init__(self, connect: Callable[[], Awaitable[Link]], *, ttl_hours: float) -> None:
        self._connect = connect
        self._ttl_ms = max(1, round(ttl_hours * 3_600_000))
        self._users = 0
        self._link: Link | None = None
        self._vitals: Vitals | None = None
        self._confirmed: dict[SessionKey, ConfirmedState] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        if not self._users:
            self._opening = asyncio.Lock()  # of the loop that runs now
        self._users += 1
        try:
            async with self._opening:
                if self._link is None:
                    await self._open()
            yield
        finally:
            self._users -= 1
            if not self._users and self._link is not None:
                link, self._link = self._link, None
                self._confirmed.clear()
                await link.close()

    async def _open(self) -> None:
        link = await self._connect()
        try:
            self._vitals = await link.vitals()
        except BaseException:
            await link.close()
            raise
        self._link = link

    @property
    def link(self) -> Link:
        """The open link. Raises RuntimeError outside of `open`."""
        if self._link is None:
            raise RuntimeError("a store is used within open()")
        return self._link

    async def append(self, key: SessionKey, turn: ChatTurn, *, keep: int | None = None) -> int:
        started, before = time.monotonic(), self._confirmed.get(key)
        random = secrets.token_hex(20)
        settings = (turn_of(turn), random[:32], self._ttl_ms, -1 if keep is None else keep)
        reply = await self.link.run("append", keys_of(key), *settings, repeat=[random[32:], 0])
        number, generation = int(reply[0]), reply[1].decode()
        await self._miss(key, generation)
        self._demand(before, generation, number=number - 1)
        self._know(key, generation, started, number=number)
        return number

    async def read(self, key: SessionKey, *, touch: bool = True) -> SessionState:
        started, before = time.monotonic(), self._confirmed.get(key)
        reply = await self.link.run("read", keys_of(key), self._ttl_ms if touch else "")
        try:
            state = state_of(reply)
        except (AttributeError, RecursionError, TypeError, ValueError) as error:
            raise EvaluationError(
                f"{self.link.place.name}: the session {key.session!r} of {key.tenant!r} is damaged "
                f"({type(error).__name__}: {error}); python -m runner clean --tenant NAME --idle HOURS deletes it"
            ) from None
        await self._miss(key, state.generation)
        number = last_number_of(reply)
        self._demand(before, state.generation, number=number, version=state.version)
        if touch and reply:
            self._know(key, state.generation, started, number=number, version=state.version)
        return state

    async def commit(
        self,
        key: SessionKey,
        *,
        version: int,
        generation: str,
        up_to_turn: int,
        memory: str,
        entities: Sequence[Entity],
        keep_turns: bool = False,
    ) -> Committed:
        started = time.monotonic()
        condition = (version, generation, up_to_turn, int(keep_turns))
        change = (encode_key(memory), entities_of(entities), self._ttl_ms, secrets.token_hex(4))
        reply = (await self.link.run("commit", keys_of(key), *condition, *change)).decode()
        confirmed = self._confirmed.get(key)
        if reply == "ok":
            self._know(key, generation, started, version=version + 1)
        elif reply == "gone" and confirmed is not None and confirmed.generation == generation:
            await self._miss(key, "")
        return reply  # type: ignore[no-any-return]

    async def lease(self, key: SessionKey, holder: str, for_s: float) -> bool:
        milliseconds = max(1, round(for_s * 1000)) if for_s > 0 else 0
        return bool(await self.link.run("lease", [lease_of(key)], holder, milliseconds))

    async def delete(self, key: SessionKey) -> None:
        await self.link.delete([*keys_of(key), lease_of(key)])
        self._confirmed.pop(key, None)

    async def sessions(self) -> AsyncIterator[SessionKey]:
        keys = set()
        async for name in self.link.names():
            key = session_of(name)
            if key is not None and key not in keys:
                keys.add(key)
                yield key

    async def _clean(self, key: SessionKey, idle_hours: float | None, *, dry_run: bool) -> str:
        """The result of `clean` of a store that outlives its process."""
        limit = -1 if idle_hours is None else round(idle_hours * 3_600_000)
        return (await self.link.run("clean", keys_of(key), limit, int(not dry_run))).decode()  # type: ignore[no-any-return]

    # --- what must not have gone ----------------------------------------------------------------------

    def _know(self, key: SessionKey, generation: str, started: float, *, number: int = 0, version: int = 0) -> None:
        before = self._confirmed.get(key)
        if before is not None and before.generation == generation:
            number, version = max(number, before.number), max(version, before.version)
        self._confirmed[key] = ConfirmedState(generation, started + self._ttl_ms / 1000, number, version)

    def _demand(
        self, before: ConfirmedState | None, generation: str, *, number: int, version: int | None = None
    ) -> None:
        """Raises StopRunError where a session has less than what was confirmed before the request was sent."""
        if before is None or before.generation != generation:
            return
        if number < before.number or (version is not None and version < before.version):
            raise StopRunError(
                f"{self.link.place.name} has lost what it had confirmed: a replica that did not have it yet took over. "
                "Run the same command again to resume"
            )

    async def _miss(self, key: SessionKey, generation: str) -> None:
        """Raises StopRunError where a session with time left was replaced or is missing, and the server has lost data
        since. Otherwise it was deleted on purpose, which is fine."""
        confirmed = self._confirmed.get(key)
        if confirmed is None or generation == confirmed.generation:
            return
        del self._confirmed[key]
        before = self._vitals
        if time.monotonic() >= confirmed.until or before is None:
            return
        now = await self.link.vitals(waits=True)
        place = self.link.place
        if now.evicted > before.evicted:
            raise StopRunError(f"{place.name} has thrown away a session to make room; {place.full}")
        if now.processes - before.processes:
            raise StopRunError(f"{place.name} was started again and does not have what it was given; {place.lost()}")
