"""Runs coroutines in the event loop of another thread, so that the memory is updated while a person types."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")

ENOUGH_S = 10.0  # seconds for closing; a thread that hangs ends with the program


class Aside:
    """`open_talk` is entered and left in the loop. On exit it waits for running coroutines, but not after an exception
    or Ctrl-C."""

    def __init__(self, open_talk: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        self._open_talk = open_talk
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._over: Future[None] = Future()
        self._task: asyncio.Task[Any] | None = None
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="chat", daemon=True)

    def __enter__(self) -> Aside:
        self._thread.start()
        try:
            self._loop = self._ready.result()
        except KeyboardInterrupt:
            self._end_at_once()
            raise
        return self

    def __call__(self, coroutine: Coroutine[Any, Any, T], patience_s: float | None = None) -> T:
        """Run a coroutine and return its result. Raises TimeoutError after `patience_s`; the coroutine continues."""
        return self.start(coroutine).result(patience_s)

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine in the loop's thread and return a future of its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._end_at_once()
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        try:
            self._over.result()
        except KeyboardInterrupt:
            self._end_at_once()
            raise

    def _end_at_once(self) -> None:
        if self._task is not None and not self._over.done():
            self._task.get_loop().call_soon_threadsafe(self._task.cancel)
        self._thread.join(ENOUGH_S)

    def _work(self) -> None:
        try:
            asyncio.run(self._run())
        except asyncio.CancelledError:
            self._over.set_result(None)
        except BaseException as error:
            (self._over if self._ready.done() else self._ready).set_exception(error)
        else:
            self._over.set_result(None)

    async def _run(self) -> None:
        self._task = asyncio.current_task()
        async with self._open_talk():
            self._ready.set_result(asyncio.get_running_loop())
            await self._stop.wait()
