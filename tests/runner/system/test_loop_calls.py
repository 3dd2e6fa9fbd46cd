"""Coroutines that threads have run in an event loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError

import pytest

from runner.system.threads import LoopCalls, finish, in_thread


def test_a_coroutine_that_waits_for_nothing_is_finished_without_a_loop() -> None:
    async def add(one: int, other: int) -> int:
        return one + other

    async def waits() -> int:
        await asyncio.sleep(0)
        return 1

    assert finish(add(1, 2)) == 3
    with pytest.raises(RuntimeError, match="no event loop runs here"):
        finish(waits())


async def test_a_thread_gets_results_and_errors() -> None:
    async def loop_of() -> asyncio.AbstractEventLoop:
        await asyncio.sleep(0)
        return asyncio.get_running_loop()

    async def fail() -> None:
        raise ValueError("no")

    async with LoopCalls() as calls:
        assert await in_thread(lambda: calls.run(loop_of())) is asyncio.get_running_loop()
        with pytest.raises(ValueError, match="no"):
            await in_thread(lambda: calls.run(fail()))


async def test_no_coroutine_outlives_the_calls() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        began.set()
        try:
            await asyncio.sleep(0)
        finally:
            ended.set()

    async with LoopCalls() as calls:
        task = asyncio.create_task(in_thread(lambda: calls.run(wait())))
        await began.wait()
    assert ended.is_set()
    with pytest.raises(CancelledError):
        await task
    with pytest.raises(CancelledError):
        await in_thread(lambda: calls.run(wait()))
