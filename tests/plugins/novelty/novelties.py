"""Every way to hold the vectors of novelty, as the same tests run over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from plugins.novelty.local import LocalNovelty
from plugins.novelty.redis import RedisNovelty
from runner.domains.memory.embedded_server import acquire, release
from runner.domains.traces.protocols import Novelty

KINDS = ("local", "redis")
Make = Callable[..., Novelty]


@contextmanager
def running(name: str) -> Iterator[Make]:
    if name == "local":
        yield LocalNovelty
        return
    server = acquire()  # one for all tests

    def make(**settings: Any) -> Novelty:
        return RedisNovelty(**{"url": f"unix://{server.socket}", **settings})

    try:
        yield make
    finally:
        release(server)
