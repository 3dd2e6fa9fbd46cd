import asyncio
import time

from runner.run.inflight import LAG_PERIOD_S, Flight, LoopLag, tell_when_quiet


def test_the_slowest_come_first_and_idle_places_are_left_out() -> None:
    flight = Flight()
    now = time.perf_counter()
    for case, stage, seconds in [
        ("a", "run", 5),
        (None, "run", 99),
        ("b", "judge", 31),
        ("c", "run", 7),
        ("d", "run", 1),
    ]:
        place = flight.place()
        place.case, place.stage, place.since = case, stage, now - seconds
    assert flight.slowest() == "b (judge, 31 s), c (run, 7 s), a (run, 5 s)"


def test_the_patient_are_told_again_and_only_of_what_lasts() -> None:
    told: list[float] = []

    async def main() -> None:
        moved = time.perf_counter()
        enough = asyncio.Event()

        def tell(seconds: float) -> None:
            nonlocal moved
            told.append(seconds)
            if len(told) == 2:
                moved = time.perf_counter()
            if len(told) == 3:
                enough.set()

        async with tell_when_quiet(lambda: moved, tell, 0.05):
            await asyncio.wait_for(enough.wait(), 120)

    asyncio.run(main())
    first, again, after_a_move = told
    assert first >= 0.05 and again >= first + 0.05 and after_a_move >= 0.05


def test_nobody_is_told_of_what_is_quick() -> None:
    async def main() -> None:
        async with tell_when_quiet(time.perf_counter, lambda seconds: told.append(seconds), 0.01):
            await asyncio.sleep(0.05)

    told: list[float] = []
    asyncio.run(main())
    assert told == []


async def test_the_lag_of_the_loop_is_how_late_it_wakes_a_task() -> None:
    lag = LoopLag()
    assert lag.mean_ms is None
    async with lag.measure():
        await asyncio.sleep(0)
        time.sleep(LAG_PERIOD_S + 0.2)  # noqa: ASYNC251  work that blocks the loop
        await asyncio.sleep(0.01)
    assert lag.mean_ms is not None and lag.mean_ms >= 190
