"""What the embedded store costs: 5,000 sessions of 20 turns, and 20 writers who add 10,000 turns to one session.

    python benchmarks/memory_store.py [SESSIONS [TURNS]]

The baseline is the same number of plain commands of redis-py (RPUSH of the same turn), sent to the same server by the
same number of tasks, with the same timeout. It numbers no turn, expires nothing and would keep a turn twice where an
answer is lost.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np
from redis.asyncio import Redis

from plugins.memory.store.embedded import EmbeddedStore
from runner.domains.memory import embedded_server
from runner.domains.memory.records import ChatTurn, SessionKey
from runner.domains.memory.redis_link import settings_of
from runner.domains.memory.stored import turn_of

TASKS, ROUNDS = 32, 10
WRITERS, WRITTEN = 20, 10_000
TURN = ChatTurn(
    "11월 AWS 비용을 서비스별로 나눠서 보여 주고, 지난달보다 많이 늘어난 것부터 알려 줄래? " * 2,
    "11월 AWS 총 비용은 $12,500이고, EC2가 65%인 $8,125로 가장 큽니다. 지난달보다 1,300달러 늘었습니다. " * 3,
)
Work = Callable[[int, int], Awaitable[object]]


@dataclass
class Cost:
    """Seconds in all, milliseconds of each turn, and bytes that the server took for them."""

    seconds: float = 0.0
    bytes: int = 0
    latencies: list[float] = field(default_factory=list)

    def line(self, name: str) -> None:
        p50, p95, p99 = np.percentile(self.latencies, [50, 95, 99])
        taken = f"{self.bytes / 1e6:>4,.0f} MB" if self.bytes else ""
        print(f"  {name:<38}{self.rate:>8,.0f} /s   p50 {p50:6.2f}   p95 {p95:6.2f}   p99 {p99:6.2f} ms   {taken}")

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds


async def serve(work: Work, sessions: range, turns: int, tasks: int, cost: Cost) -> None:
    """A session is served by one task, turn by turn."""
    rest = iter(sessions)

    async def task() -> None:
        for session in rest:
            for turn in range(turns):
                started = time.perf_counter()
                await work(session, turn)
                cost.latencies.append((time.perf_counter() - started) * 1000)

    started = time.perf_counter()
    await asyncio.gather(*(task() for _ in range(tasks)))
    cost.seconds += time.perf_counter() - started


async def many_sessions(store: EmbeddedStore, client: Redis, sessions: int, turns: int) -> None:
    payload = turn_of(TURN)

    async def taken() -> int:
        return int((await client.info("memory"))["used_memory"])

    def append(session: int, _: int) -> Awaitable[object]:
        return store.append(SessionKey("acme", f"session-{session}"), TURN)

    def plain(session: int, _: int) -> Awaitable[object]:
        return client.rpush(f"plain:{session}", payload)

    print(f"{sessions:,} sessions x {turns} turns of {len(payload):,} bytes")
    for tasks, count in ((1, max(ROUNDS, sessions // 20)), (TASKS, sessions)):
        await client.flushall()
        costs = {"plain redis-py": Cost(), "embedded store": Cost()}
        for number in range(ROUNDS):  # in turns: what else the machine does slows both
            part = range(count * number // ROUNDS, count * (number + 1) // ROUNDS)
            for cost, work in zip(costs.values(), (plain, append), strict=True):
                before = await taken()
                await serve(work, part, turns, tasks, cost)
                cost.bytes += await taken() - before
        for name, cost in costs.items():
            cost.line(f"{name}, {tasks} in flight")
        base, ours = costs.values()
        print(f"  ratio {ours.rate / base.rate:.2f}")
    reads = Cost()
    await serve(lambda session, _: store.read(SessionKey("acme", f"session-{session}")), range(sessions), 1, 1, reads)
    reads.line("reading a session, 1 in flight")
    held = [key async for key in store.sessions()]
    complete = [len((await store.read(key)).turns) == turns for key in held]
    print(f"  kept {sum(complete):,} of {sessions:,} sessions with all their turns")
    await client.flushall()


async def one_session(store: EmbeddedStore) -> None:
    key = SessionKey("acme", "shared")

    async def writer(name: int) -> list[tuple[int, str]]:
        texts = [f"{name}/{turn}" for turn in range(WRITTEN // WRITERS)]
        return [(await store.append(key, ChatTurn(text)), text) for text in texts]

    started = time.perf_counter()
    acknowledged = dict(pair for pairs in await asyncio.gather(*map(writer, range(WRITERS))) for pair in pairs)
    seconds = time.perf_counter() - started
    kept = {turn.number: turn.user for turn in (await store.read(key)).turns}
    lost = sum(kept.get(number) != text for number, text in acknowledged.items())
    numbers = "1..n" if sorted(kept) == list(range(1, WRITTEN + 1)) else "not 1..n"
    print(f"{WRITERS} writers, {WRITTEN:,} turns on one session: {WRITTEN / seconds:,.0f} turns/s, ", end="")
    print(f"{lost} lost, {len(kept) - len(acknowledged)} kept twice, numbers {numbers}")


async def main(sessions: int, turns: int) -> None:
    store = EmbeddedStore()
    async with store.open():
        server = embedded_server.acquire()
        settings = settings_of(30.0) | {"max_connections": TASKS}  # the store has them share fewer
        client = Redis(unix_socket_path=str(server.socket), **settings)
        await many_sessions(store, client, sessions, turns)
        await one_session(store)
        await client.aclose()
        embedded_server.release(server)


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:]), *(5_000, 20)[len(sys.argv) - 1 :]))
