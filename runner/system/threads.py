"""Long synchronous work beside the event loop, in threads that cannot keep the process alive."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from runner.system.stopwatch import note

T = TypeVar("T")


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
        note(waited_s=call.started - call.made)
        return result
    finally:
        if not call.done:
            _lane.abandon(call)


class _Call(Generic[T]):
    def __init__(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments
        self.loop = asyncio.get_running_loop()
        self.result: asyncio.Future[T] = self.loop.create_future()
        self.made = self.started = time.perf_counter()
        self.done = False

    def make(self) -> None:
        if self.result.cancelled():
            return
        self.started = time.perf_counter()
        try:
            outcome: tuple[Any, BaseException | None] = (self.function(*self.arguments), None)
        except BaseException as error:
            outcome = (None, error)
        self.done = True
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
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
        """Nobody waits for this call. If it is being made, its thread serves no other."""
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
