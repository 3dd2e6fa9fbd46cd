import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from runner.system.stopwatch import stopwatch
from runner.system.threads import compute, in_thread


@pytest.mark.parametrize("call", [compute, in_thread])
def test_results_and_errors_come_back(call: Callable[..., Any]) -> None:
    assert asyncio.run(call(divmod, 7, 2)) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(call(divmod, 7, 0))


def test_calls_are_made_one_after_the_other_beside_the_loop() -> None:
    at_once = most = 0

    def work() -> str:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        time.sleep(0.01)
        at_once -= 1
        return threading.current_thread().name

    async def main() -> list[str]:
        return await asyncio.gather(*(compute(work) for _ in range(5)))

    names = asyncio.run(main())
    assert most == 1 and set(names) == {"compute"}


def test_standing_in_line_is_told_apart_from_working() -> None:
    async def one() -> tuple[float, float]:
        started = time.perf_counter()
        with stopwatch() as watch:
            await compute(time.sleep, 0.05)
        return watch.waited_s, time.perf_counter() - started

    async def main() -> list[tuple[float, float]]:
        return await asyncio.gather(*(one() for _ in range(3)))

    for place, (waited, whole) in enumerate(sorted(asyncio.run(main()))):
        assert waited >= 0.05 * place - 0.001
        assert whole - waited >= 0.05


def test_a_call_that_hangs_holds_up_no_other() -> None:
    hang = threading.Event()

    async def main() -> list[int]:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await compute(hang.wait)
        return [await compute(abs, -number) for number in range(3)]

    assert asyncio.run(main()) == [0, 1, 2]
    hang.set()
    assert asyncio.run(compute(abs, -9)) == 9


def test_a_call_that_was_cancelled_while_it_waited_is_not_made() -> None:
    made: list[int] = []

    async def main() -> None:
        first = asyncio.create_task(compute(time.sleep, 0.1))
        await asyncio.sleep(0.02)
        second = asyncio.create_task(compute(made.append, 2))
        await asyncio.sleep(0.02)
        second.cancel()
        await first
        await compute(made.append, 3)

    asyncio.run(main())
    assert made == [3]
