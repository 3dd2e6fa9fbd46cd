"""Deadlines, on a clock that jumps."""

import asyncio

import pytest

from runner.system.stopwatch import Alarm, deadline, in_line, note, stopwatch
from tests import virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


def test_what_a_stage_notes_counts_for_the_whole() -> None:
    """And not for the stage beside it."""
    with stopwatch() as whole:
        with stopwatch() as cached:
            note(live=False, waited_s=2.0)
        with stopwatch() as live:
            note(waited_s=1.0)
    assert (cached.live, live.live, whole.live) == (False, True, False)
    assert (cached.waited_s, live.waited_s, whole.waited_s) == (2.0, 1.0, 3.0)


def test_a_deadline() -> None:
    async def main() -> None:
        with deadline(10):
            await asyncio.sleep(9)
        with pytest.raises(TimeoutError), deadline(10):
            await asyncio.sleep(11)
        assert now() == 19

    virtual_time.run(main())


def test_deadlines_on_one_alarm() -> None:
    """Whichever is the earliest, each rings at its own time; one that ended before does not ring."""
    alarm, ended = Alarm(), {}

    async def case(name: str, begins: float, limit: float, seconds: float) -> None:
        await asyncio.sleep(begins)
        try:
            with deadline(limit, alarm):
                await asyncio.sleep(seconds)
            ended[name] = now(), "ok"
        except TimeoutError:
            ended[name] = now(), "timeout"

    async def main() -> None:
        cases = [("late", 0, 30, 99), ("early", 1, 5, 99), ("quick", 2, 9, 1), ("next", 6, 5, 99), ("last", 40, 5, 9)]
        await asyncio.gather(*(case(*each) for each in cases))

    virtual_time.run(main())
    assert ended == {
        "early": (6, "timeout"), "quick": (3, "ok"), "next": (11, "timeout"), "late": (30, "timeout"),
        "last": (45, "timeout"),
    }  # fmt: skip


def test_a_case_that_is_cancelled_when_its_time_is_over_is_cancelled() -> None:
    async def case() -> None:
        with deadline(10):
            await asyncio.sleep(20)

    async def main() -> None:
        task = asyncio.create_task(case())
        asyncio.get_running_loop().call_later(10, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    virtual_time.run(main())


def test_standing_in_line_takes_nothing_of_it() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError), deadline(10):
            await asyncio.sleep(4)
            with in_line():
                await asyncio.sleep(1000)
            await asyncio.sleep(5)
            with in_line():
                await asyncio.sleep(1000)
            await asyncio.sleep(2)
        assert now() == 2010

    virtual_time.run(main())


def test_what_several_tasks_of_a_case_wait_for_counts_once() -> None:
    async def wait(before: float, seconds: float) -> None:
        await asyncio.sleep(before)
        with in_line():
            await asyncio.sleep(seconds)

    async def main() -> None:
        with pytest.raises(TimeoutError), deadline(10):
            await asyncio.gather(wait(1, 100), wait(2, 50), wait(3, 200))  # in line from 1 to 203
            await asyncio.sleep(20)
        assert now() == 212

    virtual_time.run(main())


def test_a_task_that_outlives_its_case_waits_on() -> None:
    async def request() -> float:
        await asyncio.sleep(20)
        with in_line():
            await asyncio.sleep(5)
        return now()

    async def main() -> None:
        with pytest.raises(TimeoutError), deadline(10):
            task = asyncio.create_task(request())
            await asyncio.shield(task)
        with deadline(10):  # the next case, whose time is its own
            await asyncio.sleep(9)
        assert await task == 25

    virtual_time.run(main())


def test_a_task_that_outlives_a_case_that_ended_well() -> None:
    async def request() -> None:
        with in_line():
            await asyncio.sleep(5)
        await asyncio.sleep(20)
        with in_line():
            await asyncio.sleep(5)

    async def main() -> None:
        with deadline(10):
            task = asyncio.create_task(request())
            await asyncio.sleep(1)
        await task
        assert now() == 30

    virtual_time.run(main())


def test_who_is_cancelled_in_line() -> None:
    async def main() -> None:
        async def case() -> None:
            with deadline(10), in_line():
                await asyncio.sleep(100)

        task = asyncio.create_task(case())
        await asyncio.sleep(50)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    virtual_time.run(main())


def test_without_a_deadline_there_is_nothing_to_stop() -> None:
    async def main() -> None:
        with in_line():
            await asyncio.sleep(1)

    virtual_time.run(main())


def test_what_was_asked_for_again_is_timed_with_all_attempts() -> None:
    with stopwatch() as whole, stopwatch() as stage:
        note(waited_s=1.0, live=False, repeated_s=2.0)
    for watch in (whole, stage):
        assert watch.timing.repeated_ms is not None
        assert watch.timing.live is False and watch.timing.repeated_ms >= 2000.0
