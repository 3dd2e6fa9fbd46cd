"""What chat models came to that were asked for one step of something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from runner.llm.ledger import Cost


@dataclass(slots=True)
class Meter:
    """A reply from the cache counts like a live one, so that a step costs the same in every run. `nano_usd` None: a
    price is unknown."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nano_usd: int | None = 0

    @property
    def cost_usd(self) -> float | None:
        return None if self.nano_usd is None else self.nano_usd / 1e9

    def add(self, cost: Cost) -> None:
        self.requests += 1
        self.input_tokens += cost.usage.input_tokens
        self.output_tokens += cost.usage.output_tokens
        self.nano_usd = None if self.nano_usd is None or cost.nano_usd is None else self.nano_usd + cost.nano_usd


_running: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())


@contextmanager
def metering() -> Iterator[Meter]:
    """What is asked in the body, by whatever thread or task it asks through, also for meters around this one."""
    meter = Meter()
    token = _running.set((*_running.get(), meter))
    try:
        yield meter
    finally:
        _running.reset(token)


def note(cost: Cost) -> None:
    """Called once for each reply that somebody gets."""
    for meter in _running.get():
        meter.add(cost)
