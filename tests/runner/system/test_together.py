import asyncio

import pytest

from runner.system.threads import gather_all


class Cleaning:
    """Work that waits, and cleans up for `seconds` when it is ended."""

    def __init__(self) -> None:
        self.begun, self.cleaned = 0, list[float]()

    async def work(self, seconds: float) -> None:
        self.begun += 1
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(seconds)
            self.cleaned.append(seconds)


async def fails(error: BaseException) -> None:
    await asyncio.sleep(0.01)
    raise error


async def test_what_is_cancelled_cleans_up_to_the_end_though_others_are_done_with_it_earlier() -> None:
    cleaning = Cleaning()
    task = asyncio.create_task(gather_all(cleaning.work(seconds) for seconds in (0.04, 0.0, 0.02)))
    while cleaning.begun < 3:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaning.cleaned == [0.0, 0.02, 0.04]


async def test_the_first_that_fails_ends_all_and_is_raised() -> None:
    cleaning = Cleaning()
    with pytest.raises(ValueError, match="first"):
        await gather_all([cleaning.work(0.01), fails(ValueError("first")), cleaning.work(0.02)])
    assert cleaning.cleaned == [0.01, 0.02]


async def test_a_cancellation_that_nobody_asked_for_is_told_after_a_failure() -> None:
    with pytest.raises(asyncio.CancelledError):
        await gather_all([fails(asyncio.CancelledError())])
    with pytest.raises(ValueError, match="worse"):
        await gather_all([fails(asyncio.CancelledError()), fails(ValueError("worse"))])


async def test_all_that_ends_well_is_waited_for() -> None:
    done: list[int] = []

    async def work(number: int) -> None:
        await asyncio.sleep(number / 100)
        done.append(number)

    await gather_all(work(number) for number in (2, 0, 1))
    await gather_all([])
    assert done == [0, 1, 2]
