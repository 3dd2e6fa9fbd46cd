import asyncio
import time

import pytest

from runner.stopwatch import deadline, in_line, note, stopwatch


def test_waiting_is_taken_off_and_a_cached_part_makes_the_whole_not_live() -> None:
    with stopwatch() as watch:
        time.sleep(0.02)
        note(waited_s=0.015)
    assert 5 <= watch.ms < (time.perf_counter() - watch.started) * 1000
    assert watch.live and watch.timing.live
    with stopwatch() as watch:
        note(live=False)
        note(live=True)
    assert not watch.live and not watch.timing.live


def test_what_an_inner_stage_notes_counts_for_both_and_not_the_other_way() -> None:
    with stopwatch() as outer:
        note(waited_s=1.0)
        with stopwatch() as inner:
            note(waited_s=2.0, live=False)
        with stopwatch() as other:
            pass
    assert (outer.waited_s, inner.waited_s, other.waited_s) == (3.0, 2.0, 0.0)
    assert (outer.live, inner.live, other.live) == (False, False, True)


def test_without_a_stopwatch_a_note_is_for_nobody() -> None:
    note(waited_s=1.0, live=False)
    with stopwatch() as watch:
        pass
    assert (watch.waited_s, watch.live) == (0.0, True)


def test_tasks_of_a_stage_note_on_its_stopwatch() -> None:
    async def part() -> None:
        note(waited_s=0.5)

    async def main() -> float:
        with stopwatch() as watch:
            await asyncio.gather(part(), part())
        return watch.waited_s

    assert asyncio.run(main()) == 1.0


def test_a_deadline_ends_what_takes_too_long() -> None:
    async def main() -> None:
        async with deadline(0.01):
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_standing_in_line_takes_nothing_of_the_time_also_in_tasks_that_overlap() -> None:
    async def wait(seconds: float) -> None:
        with in_line():
            await asyncio.sleep(seconds)

    async def main() -> None:
        async with deadline(0.1):
            await asyncio.gather(wait(0.2), wait(0.3))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await asyncio.sleep(60)

    asyncio.run(main())


def test_after_standing_in_line_the_rest_of_the_time_goes_on() -> None:
    async def main() -> None:
        async with deadline(0.05):
            with in_line():
                await asyncio.sleep(0.1)
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_what_outlives_its_case_and_what_has_none_may_stand_in_line() -> None:
    async def wait(until: asyncio.Event) -> str:
        with in_line():
            await until.wait()
        return "done"

    async def main() -> list[str]:
        event = asyncio.Event()
        async with deadline(60):
            outlives = asyncio.create_task(wait(event))
            await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(event.set)
        return [await outlives, await wait(event)]

    assert asyncio.run(main()) == ["done", "done"]
