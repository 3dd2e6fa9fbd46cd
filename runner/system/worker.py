"""Calls with a deadline, for code that cannot be interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


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
            threading.Thread(target=_serve, args=(self._calls,), name="worker", daemon=True).start()
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


def _serve(calls: SimpleQueue[Any]) -> None:
    while (task := calls.get()) is not None:
        function, outcome = task
        try:
            outcome.put((function(), None))
        except BaseException as error:  # whatever it is, it belongs to the caller
            outcome.put((None, error))
