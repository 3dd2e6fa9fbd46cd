"""On a clock that jumps: the laws hold whatever the server says and when."""

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.llm.limiter import Ending, Limiter, Rates, limiter_of, sharing_rates
from runner.llm.presence import is_present
from tests import virtual_time


def limiter(**settings: Any) -> Limiter:
    """On the clock of the loop."""
    return Limiter(**{"ceiling": 4, "clock": asyncio.get_running_loop().time, **settings})


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: how long it takes, after which share of that the server has it, how it ends, how long the server then
    wants to be left alone."""

    takes_s: float
    ending: Ending = "answered"
    retry_after_s: float | None = None
    tokens: int = 1
    reaches: float = 0.0


@dataclass(frozen=True, slots=True)
class Sent:
    number: int
    at: float
    reached_at: float
    tokens: int
    in_flight: int
    allowed: float


async def sent(limiter: Limiter, asked: Sequence[Asked]) -> list[Sent]:
    """All of them at once, in the order in which they were let through."""
    loop, log = asyncio.get_running_loop(), []

    async def send(number: int, one: Asked) -> None:
        ticket = await limiter.acquire(one.tokens)
        at = loop.time()
        reached_at = at + one.reaches * one.takes_s
        log.append(Sent(number, at, reached_at, one.tokens, limiter.in_flight, limiter.allowed))
        await asyncio.sleep(one.takes_s)
        limiter.release(ticket, one.ending, retry_after_s=one.retry_after_s)
        assert 1 <= limiter.allowed <= limiter.ceiling

    await asyncio.gather(*(send(number, one) for number, one in enumerate(asked)))
    assert limiter.in_flight == 0
    return log


SECONDS = st.floats(0.001, 30)
REQUESTS = st.lists(
    st.builds(
        Asked,
        takes_s=SECONDS,
        ending=st.sampled_from(["answered", "answered", "throttled", "failed"]),
        retry_after_s=st.none() | SECONDS,
        tokens=st.integers(1, 100),
        reaches=st.floats(0, 1),
    ),
    max_size=40,
)


@given(REQUESTS, st.integers(1, 8))
def test_never_more_in_flight_than_allowed_and_first_come_first_served(asked: list[Asked], ceiling: int) -> None:
    async def main() -> list[Sent]:
        return await sent(limiter(ceiling=ceiling), asked)

    log = virtual_time.run(main())
    assert [one.number for one in log] == list(range(len(asked)))
    assert all(one.in_flight <= max(1, int(one.allowed)) <= ceiling for one in log)


@given(REQUESTS, st.integers(1, 6), st.integers(50, 300))
def test_limits_of_a_minute_hold_over_every_60_seconds_as_the_server_sees_it(
    asked: list[Asked], requests: int, tokens: int
) -> None:
    async def main() -> list[Sent]:
        return await sent(limiter(requests_per_minute=requests, tokens_per_minute=tokens), asked)

    log = virtual_time.run(main())
    for first in log:
        window = [one for one in log if first.reached_at <= one.reached_at < first.reached_at + 60]
        assert len(window) <= requests
        assert sum(one.tokens for one in window) <= tokens or len(window) == 1


def test_a_minute_is_not_wasted_either() -> None:
    async def main() -> list[float]:
        return [one.at for one in await sent(limiter(requests_per_minute=2), [Asked(1.0)] * 5)]

    assert virtual_time.run(main()) == pytest.approx([0, 0, 61, 61, 122])


def test_a_request_beyond_the_tokens_of_a_minute_goes_alone() -> None:
    async def main() -> list[float]:
        asked = [Asked(1.0, tokens=80), Asked(1.0, tokens=500), Asked(1.0, tokens=10)]
        return [one.at for one in await sent(limiter(tokens_per_minute=100), asked)]

    assert virtual_time.run(main()) == pytest.approx([0, 61, 122])


def test_tokens_of_a_minute_may_all_be_used() -> None:
    async def main() -> list[float]:
        asked = [Asked(1.0, tokens=50), Asked(1.0, tokens=50), Asked(1.0, tokens=1)]
        return [one.at for one in await sent(limiter(tokens_per_minute=100), asked)]

    assert virtual_time.run(main()) == pytest.approx([0, 0, 61])


def test_tokens_of_a_minute_that_is_over_count_no_more() -> None:
    async def main() -> list[float]:
        asked = [Asked(1.0, tokens=60), Asked(1.0, tokens=60), Asked(1.0, tokens=30)]
        return [one.at for one in await sent(limiter(tokens_per_minute=100), asked)]

    assert virtual_time.run(main()) == pytest.approx([0, 61, 61])


def test_who_gives_up_does_not_wait_for_the_minute_to_pass() -> None:
    async def main() -> list[float]:
        one, loop = limiter(requests_per_minute=1), asyncio.get_running_loop()
        one.release(await one.acquire(1), "answered")
        is_over, passed = False, []

        async def wait() -> None:
            ticket = await one.acquire(1, lambda: is_over)
            passed.append(loop.time())
            one.release(ticket, "failed")

        waiting = asyncio.gather(wait(), wait())
        await asyncio.sleep(5)
        is_over = True
        one.look_again()
        await waiting
        return passed

    assert virtual_time.run(main()) == pytest.approx([5, 5])


def test_one_more_for_each_round_of_answers_and_half_as_many_when_throttled() -> None:
    async def main() -> None:
        one = limiter(ceiling=16)
        tickets = [await one.acquire(1) for _ in range(16)]
        one.release(tickets[0], "throttled")
        assert one.allowed == 8
        for ticket in tickets[1:8]:
            one.release(ticket, "throttled")  # they were sent before the first was heard
        assert one.allowed == 8
        for ticket in tickets[8:]:
            one.release(ticket, "failed")
        assert one.allowed == 8
        late = await one.acquire(1)
        one.release(late, "throttled")
        assert one.allowed == 4
        for _ in range(4):
            one.release(await one.acquire(1), "answered")
        assert 4.8 < one.allowed <= 5

    virtual_time.run(main())


def test_nobody_asks_before_the_time_that_the_server_has_named() -> None:
    async def main() -> list[float]:
        one, loop = limiter(), asyncio.get_running_loop()
        ticket = await one.acquire(1)
        one.release(ticket, "throttled", retry_after_s=7.5)
        at = []
        for _ in range(2):
            one.release(await one.acquire(1), "answered")
            at.append(loop.time())
        return at

    assert virtual_time.run(main()) == pytest.approx([7.5, 7.5])


def test_a_refusal_that_names_no_time_shortens_none_that_was_named() -> None:
    async def main() -> float:
        one, loop = limiter(), asyncio.get_running_loop()
        named, later = await one.acquire(1), await one.acquire(1)
        one.release(named, "throttled", retry_after_s=7.5)
        one.release(later, "throttled")
        one.release(await one.acquire(1), "answered")
        return loop.time()

    assert virtual_time.run(main()) == pytest.approx(7.5)


def test_a_refusal_that_names_no_time_holds_nobody_up() -> None:
    async def main() -> float:
        one, loop = limiter(), asyncio.get_running_loop()
        one.release(await one.acquire(1), "throttled")
        one.release(await one.acquire(1), "answered")
        return loop.time()

    assert virtual_time.run(main()) == 0


def test_who_need_not_wait_gets_a_ticket_at_once_and_nobody_else_does() -> None:
    async def main() -> None:
        one = limiter(ceiling=1)
        first = one.try_acquire(1)
        assert first is not None and one.try_acquire(1) is None
        waiting = asyncio.create_task(one.acquire(1))
        await asyncio.sleep(1)
        one.release(first, "answered")
        assert one.try_acquire(1) is None  # somebody came before
        one.release(await waiting, "answered")
        assert one.try_acquire(1) is not None

    virtual_time.run(main())


class Server:
    """Bears `capacity` requests at once and throttles all beyond."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.busy = capacity, 0
        self.answered = self.throttled = 0

    async def ask(self) -> Ending:
        if self.busy >= self.capacity:
            self.throttled += 1
            await asyncio.sleep(0.01)
            return "throttled"
        self.busy += 1
        await asyncio.sleep(1.0)
        self.busy -= 1
        self.answered += 1
        return "answered"


def test_a_storm_settles_near_what_the_server_bears() -> None:
    async def main() -> tuple[Server, float]:
        server, one = Server(5), limiter(ceiling=64)

        async def ask() -> None:
            ending: Ending = "throttled"
            while ending == "throttled":
                ticket = await one.acquire(1)
                ending = await server.ask()
                one.release(ticket, ending)

        await asyncio.gather(*(ask() for _ in range(1000)))
        return server, asyncio.get_running_loop().time()

    server, elapsed_s = virtual_time.run(main())
    assert server.answered == 1000
    assert server.throttled < 200  # 64 at first, then one now and then
    assert elapsed_s < 1.5 * 1000 / 5


def test_who_is_cancelled_in_line_lets_the_next_one_pass() -> None:
    async def main() -> None:
        one = limiter(ceiling=1)
        ticket = await one.acquire(1)
        waiting = [asyncio.create_task(one.acquire(1)) for _ in range(3)]
        await asyncio.sleep(1)
        waiting[0].cancel()
        await asyncio.sleep(1)
        one.release(ticket, "answered")
        done, _ = await asyncio.wait(waiting[:2])
        assert waiting[0].cancelled()
        assert waiting[1] in done
        assert one.in_flight == 1
        one.release(waiting[1].result(), "answered")
        await waiting[2]

    virtual_time.run(main())


def test_what_was_learnt_outlives_an_event_loop_but_what_was_in_flight_does_not() -> None:
    one = Limiter(ceiling=8)

    async def left_behind() -> None:
        one.release(await one.acquire(1), "throttled")
        for _ in range(4):
            await one.acquire(1)

    async def next_run() -> None:
        assert one.allowed == 4
        for _ in range(4):
            await one.acquire(1)
        assert one.in_flight == 4

    asyncio.run(left_behind())
    asyncio.run(next_run())


def test_a_request_of_an_earlier_event_loop_counts_for_a_minute_more() -> None:
    now = [0.0]
    one = Limiter(ceiling=8, requests_per_minute=1, clock=lambda: now[0])

    async def ticket() -> int | None:
        return one.try_acquire(1)

    assert asyncio.run(ticket()) is not None
    tickets = []
    for now[0] in (10.0, 69.0, 70.0):
        tickets.append(asyncio.run(ticket()))
    assert [ticket is not None for ticket in tickets] == [False, False, True]


KEYS = itertools.count()


def shared(key: str, ceiling: int = 8, **limits: Any) -> Limiter:
    defaults = {"requests_per_minute": None, "tokens_per_minute": None}
    return limiter_of("http://127.0.0.1:1/v1", key, ceiling=ceiling, **{**defaults, **limits})


def test_one_limiter_for_a_server_and_a_key() -> None:
    key = f"key-{next(KEYS)}"
    assert shared(key) is shared(key)
    assert shared(key) is not shared(f"{key}-other")
    assert shared(key) is not shared(key, requests_per_minute=10)
    limits = {"ceiling": 8, "requests_per_minute": None, "tokens_per_minute": None}
    assert shared(key) is not limiter_of("http://127.0.0.1:2/v1", key, **limits)  # type: ignore[arg-type]


def test_a_run_with_another_ceiling_goes_on_with_what_was_learnt() -> None:
    key = f"key-{next(KEYS)}"

    async def main() -> None:
        one = shared(key, 8)
        one.release(await one.acquire(1), "throttled")
        assert one.allowed == 4
        assert shared(key, 16).allowed == 8
        assert shared(key, 1).allowed == 1

    asyncio.run(main())


# --- over processes -------------------------------------------------------------------------------


def test_processes_share_the_requests_of_a_minute(tmp_path: Path) -> None:
    """One that asks while the other is idle gets all of them; what a process that is gone had in flight comes back."""
    now = [1000.0]
    one, other = (Rates(tmp_path, clock=lambda: now[0]) for _ in range(2))
    numbers = [one.take("a", 1, 3, None) for _ in range(3)]
    assert [wait_s for wait_s, _ in numbers] == [0.0] * 3
    assert other.take("a", 1, 3, None) == (0.5, None)
    assert other.take("b", 1, 3, None)[0] == 0.0
    assert other.take("c", 70, None, 100)[0] == 0.0 == one.take("d", 700, None, 100)[0]  # alone, it may be longer
    assert one.take("c", 31, None, 100)[1] is None and one.take("c", 30, None, 100)[1] is not None
    one.hand_back(numbers[0][1] or 0)
    now[0] += 59.9
    assert other.take("a", 1, 3, None) == (pytest.approx(0.1), None)
    now[0] += 0.2
    assert other.take("a", 1, 3, None)[0] == 0.0
    one.close()  # with two in flight
    assert other.take("a", 1, 3, None)[1] is None
    now[0] += 60.1
    assert [other.take("a", 1, 3, None)[0] for _ in range(2)] == [0.0, 0.0]
    assert other.take("a", 1, 3, None) == (0.5, None)
    other.close()


async def test_a_limiter_asks_the_others(tmp_path: Path) -> None:
    other = Rates(tmp_path)
    limits = {"ceiling": 9, "requests_per_minute": 2, "tokens_per_minute": None}
    with sharing_rates(tmp_path):
        shared = limiter_of("http://shared", "key", **limits)
        assert shared is limiter_of("http://shared", "key", **limits)
        first = await shared.acquire(1)
        assert (await shared.acquire(1), shared.in_flight) == (first + 1, 2)
        shared.release(first, "answered")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(shared.acquire(1), 0.05)
    rows = other._database.read(lambda rows: rows.execute("SELECT * FROM sent ORDER BY id").fetchall())
    assert [back_at is None or abs(back_at - time.time()) < 60 for *_, back_at in rows] == [True, True]
    assert [back_at is None for *_, back_at in rows] == [False, True] and "key" not in str(rows)
    assert [is_present(tmp_path, owner) for *_, owner, _ in rows] == [False, False]  # so that they end for others
    assert limiter_of("http://shared", "key", **limits) is not shared
    other.close()
