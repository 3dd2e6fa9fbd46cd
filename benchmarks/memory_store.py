"""What the embedded store costs: 5,000 sessions of 20 turns, and 20 writers who add 10,000 turns to one session.

    python benchmarks/memory_store.py [SESSIONS [TURNS]]

The baseline is the same number of plain commands of redis-py (RPUSH of the same turn), sent to the same server by the
same number of tasks. It numbers no turn, expires nothing and would keep a turn twice where an answer is lost.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

import numpy as np
import psutil
from redis.asyncio import Redis

from plugins.memory.store.embedded import EmbeddedStore
from runner.memory import embedded_server
from runner.memory.records import ChatTurn, SessionKey
from runner.memory.redis_link import settings_of
from runner.memory.stored import turn_of

TASKS = 32
WRITERS, WRITTEN = 20, 10_000
TURN = ChatTurn(
    "11월 AWS 비용을 서비스별로 나눠서 보여 주고, 지난달보다 많이 늘어난 것부터 알려 줄래? " * 2,
    "11월 AWS 총 비용은 $12,500이고, EC2가 65%인 $8,125로 가장 큽니다. 지난달보다 1,300달러 늘었습니다. " * 3,
)
Work = Callable[[int, int], Awaitable[object]]


async def timed(work: Work, sessions: int, turns: int, tasks: int) -> tuple[float, np.ndarray]:
    """Seconds in all, and milliseconds of each turn. A session is served by one task, turn by turn."""
    latencies = []
    rest = iter(range(sessions))

    async def serve() -> None:
        for session in rest:
            for turn in range(turns):
                started = time.perf_counter()
                await work(session, turn)
                latencies.append((time.perf_counter() - started) * 1000)

    started = time.perf_counter()
    await asyncio.gather(*(serve() for _ in range(tasks)))
    return time.perf_counter() - started, np.array(latencies)


def line(name: str, seconds: float, latencies: np.ndarray) -> float:
    p50, p95, p99 = np.percentile(latencies, [50, 95, 99])
    rate = len(latencies) / seconds
    print(f"  {name:<34} {rate:>9,.0f} turns/s   p50 {p50:6.2f} ms   p95 {p95:6.2f} ms   p99 {p99:6.2f} ms")
    return rate


def memory(server: embedded_server.Server) -> float:
    """Resident memory of the server in MB."""
    return psutil.Process(server.pid).memory_info().rss / 1e6


async def many_sessions(store: EmbeddedStore, server: embedded_server.Server, sessions: int, turns: int) -> None:
    client = Redis(unix_socket_path=str(server.socket), **settings_of(30.0))
    payload = turn_of(TURN)

    def append(session: int, _: int) -> Awaitable[object]:
        return store.append(SessionKey("acme", f"session-{session}"), TURN)

    def plain(session: int, _: int) -> Awaitable[object]:
        return client.rpush(f"plain:{session}", payload)

    print(f"{sessions:,} sessions x {turns} turns of {len(payload):,} bytes")
    for tasks, count in ((1, max(1, sessions // 20)), (TASKS, sessions)):
        await client.flushall()
        before = memory(server)
        base = line(f"plain redis-py, {tasks} in flight", *await timed(plain, count, turns, tasks))
        used = memory(server) - before
        await client.flushall()
        before = memory(server)
        rate = line(f"embedded store, {tasks} in flight", *await timed(append, count, turns, tasks))
        print(f"  ratio {rate / base:.2f}; server memory +{memory(server) - before:,.0f} MB (plain +{used:,.0f} MB)")
    reads = await timed(lambda session, _: store.read(SessionKey("acme", f"session-{session}")), sessions, 1, TASKS)
    line(f"reading all of a session, {TASKS} in flight", *reads)
    held = [key async for key in store.sessions()]
    complete = [len((await store.read(key)).turns) == turns for key in held]
    print(f"  kept {sum(complete):,} of {sessions:,} sessions with all their turns; server {memory(server):,.0f} MB")
    await client.flushall()
    await client.aclose()


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
    async with store.opened():
        server = embedded_server.acquire()
        await many_sessions(store, server, sessions, turns)
        await one_session(store)
        embedded_server.release(server)


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:]), *(5_000, 20)[len(sys.argv) - 1 :]))
