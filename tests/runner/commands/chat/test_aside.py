import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from runner.commands.chat.aside import Aside
from runner.errors import EvaluationError, StopRunError


class Place:
    """What is entered in the loop; leaving it waits for `work`, as a memory does."""

    def __init__(self, opening: Exception | None = None, closing: Exception | None = None) -> None:
        self.events: list[str] = []
        self.opening, self.closing = opening, closing
        self.work: asyncio.Task[None] | None = None

    def open(self) -> AbstractAsyncContextManager[None]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        if self.opening is not None:
            raise self.opening
        self.events.append("opened")
        try:
            yield
            if self.work is not None:
                await self.work
            if self.closing is not None:
                raise self.closing
        finally:
            self.events.append("closed")

    async def begin(self, seconds: float) -> None:
        self.work = asyncio.create_task(self._worked(seconds))

    async def _worked(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self.events.append("worked")


async def doubled(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def failing() -> None:
    raise EvaluationError("no")


def test_coroutines_run_in_one_loop_beside_the_program() -> None:
    place = Place()
    seen = []

    async def where() -> None:
        seen.append((threading.current_thread().name, id(asyncio.get_running_loop())))

    with Aside(place.open) as aside:
        aside(where())
        aside(where())
        assert aside(doubled(21)) == 42
        with pytest.raises(EvaluationError, match="no"):
            aside(failing())
    assert len(set(seen)) == 1
    assert seen[0][0] != threading.current_thread().name
    assert place.events == ["opened", "closed"]


def test_work_goes_on_while_nothing_is_asked_and_is_waited_for_at_the_end() -> None:
    place = Place()
    with Aside(place.open) as aside:
        aside(place.begin(0.05))
        assert place.events == ["opened"]
    assert place.events == ["opened", "worked", "closed"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StopRunError("over")])
def test_an_error_ends_the_work_at_once(error: BaseException) -> None:
    place = Place(closing=EvaluationError("hides nothing"))
    with pytest.raises(type(error)), Aside(place.open) as aside:
        aside(place.begin(3600))
        raise error
    assert place.events == ["opened", "closed"]


def test_what_cannot_be_opened_or_closed_is_raised() -> None:
    with pytest.raises(StopRunError, match="down"), Aside(Place(opening=StopRunError("down")).open):
        raise AssertionError
    with pytest.raises(EvaluationError, match="late"), Aside(Place(closing=EvaluationError("late")).open):
        pass


def test_waiting_has_an_end() -> None:
    with Aside(Place().open) as aside:
        started = aside.start(asyncio.sleep(3600))
        with pytest.raises(TimeoutError):
            aside(asyncio.sleep(3600), 0.01)
        assert not started.done()
    with pytest.raises(CancelledError):
        started.result()
