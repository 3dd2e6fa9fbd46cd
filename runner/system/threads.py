"""Work side by side: coroutines in one loop, and synchronous work in threads that cannot keep the process alive."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from runner.system.stopwatch import note

T = TypeVar("T")


async def gather_all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all at once; return their results, in order, when all have ended well. When one raises, or this is cancelled,
    the others are cancelled, once: their cleaning up is not interrupted, as it is where asyncio.gather is cancelled and
    cancels its tasks a second time."""
    tasks = [asyncio.create_task(each) for each in work]
    if not tasks:
        return []
    try:
        finished, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in sorted(finished, key=asyncio.Task.cancelled):
        task.result()
    return [task.result() for task in tasks]


# --- beside the event loop ----------------------------------------------------------------------------


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """The result of `function(*arguments)`. When cancelled, the thread is left behind."""
    call = _Call(function, arguments)
    threading.Thread(target=call.make, daemon=True).start()
    return await call.result


async def compute(function: Callable[..., T], *arguments: Any) -> T:
    """The same for the work of one case, one call after the other in one thread: several would only take
    turns. A call that is cancelled while it runs keeps its thread, and the next call gets a new one.
    Standing in line is noted on the stopwatch: it is no part of a latency."""
    call = _Call(function, arguments)
    _lane.put(call)
    try:
        result = await call.result
        note(waited_s=call.started - call.made_at)
        return result
    finally:
        if not call.is_done:
            _lane.abandon(call)


class _Call(Generic[T]):
    def __init__(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments
        self.loop = asyncio.get_running_loop()
        self.result: asyncio.Future[T] = self.loop.create_future()
        self.made_at = self.started = time.perf_counter()
        self.is_done = False

    def make(self) -> None:
        if self.result.cancelled():
            return
        self.started = time.perf_counter()
        try:
            outcome: tuple[Any, BaseException | None] = (self.function(*self.arguments), None)
        except BaseException as error:
            outcome = (None, error)
        self.is_done = True
        with suppress(RuntimeError):  # the loop is closed: there is no waiting caller any more
            self.loop.call_soon_threadsafe(self._settle, *outcome)

    def _settle(self, value: Any, error: BaseException | None) -> None:
        if self.result.done():
            return
        if error is not None:
            self.result.set_exception(error)
        else:
            self.result.set_result(value)


class _Lane:
    """One thread and the calls that wait for it."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call[Any]] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._current: _Call[Any] | None = None

    def put(self, call: _Call[Any]) -> None:
        self._calls.put(call)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="compute", daemon=True)
                self._thread.start()

    def abandon(self, call: _Call[Any]) -> None:
        """Give up a call that has no waiting caller any more. If it is running, its thread serves no other call."""
        with self._lock:
            if self._current is call:
                self._thread = threading.Thread(target=self._serve, name="compute", daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        while True:
            call = self._calls.get()
            with self._lock:
                if threading.current_thread() is not self._thread:
                    self._calls.put(call)
                    return
                self._current = call
            call.make()
            with self._lock:
                if threading.current_thread() is not self._thread:
                    return
                self._current = None


_lane = _Lane()


# --- with a deadline, outside of any event loop -------------------------------------------------------


class Worker:
    """One thread that makes calls for another one, so that it need not wait for them longer than it likes.

    A thread that is late is left behind and ends when its call does; the next call gets a new thread.
    Threads are daemons: they do not keep the process alive.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Any] | None = None

    def call(self, function: Callable[[], T], timeout_s: float) -> T:
        """Returns or raises what `function` does; TimeoutError after `timeout_s`."""
        if self._calls is None:
            self._calls = SimpleQueue()
            threading.Thread(target=_answer, args=(self._calls,), name="worker", daemon=True).start()
        outcome: SimpleQueue[Any] = SimpleQueue()
        self._calls.put((function, outcome))
        try:
            value, error = outcome.get(timeout=timeout_s)
        except Empty:
            self.close()
            raise TimeoutError from None
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let the thread go, at once or after the call it is in."""
        if self._calls is not None:
            self._calls.put(None)
            self._calls = None


def _answer(calls: SimpleQueue[Any]) -> None:
    while (task := calls.get()) is not None:
        function, outcome = task
        try:
            outcome.put((function(), None))
        except BaseException as error:  # any error belongs to the caller
            outcome.put((None, error))


# --- coroutines, from a thread without an event loop --------------------------------------------------


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing. Raises RuntimeError where it does wait."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    coroutine.close()
    raise RuntimeError("the coroutine waits for something, and no event loop runs here")


class LoopCalls:
    """Coroutines that threads run in the event loop of the `async with`. None outlives it: at its end those that still
    run are cancelled, and later calls raise CancelledError."""

    async def __aenter__(self) -> LoopCalls:
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] | None = set()
        return self

    async def __aexit__(self, *error: object) -> None:
        tasks, self._tasks = self._tasks or set(), None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, or its error. Not for the thread of the loop, which it would block."""
        call = self._call(coroutine)
        try:
            return asyncio.run_coroutine_threadsafe(call, self._loop).result()
        finally:  # of one that never began, since the loop was closed
            call.close()
            coroutine.close()

    async def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        if self._tasks is None or task is None:
            raise asyncio.CancelledError
        self._tasks.add(task)
        try:
            return await coroutine
        finally:
            if self._tasks is not None:
                self._tasks.discard(task)


class LoopThread:
    """An event loop in a thread of its own, for connections that live on one. It starts with the first call, and again
    with the first after `close`; it does not keep the process alive."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, or its error. Not for the thread of an event loop, which it would block."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_run_forever, args=(self._loop,), name="loop", daemon=True).start()
            loop = self._loop
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    def close(self) -> None:
        """Ends the thread; what is still under way is cancelled."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
