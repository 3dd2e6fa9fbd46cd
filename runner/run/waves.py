"""Sweeps with a budget advance all runs by a tenth of their cases at a time.

All runs take the same cases in the same order, so their results can be compared case by case when the budget is spent.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from runner.config.compose import Cell
from runner.protocols import Case
from runner.run.state import read_state, write_state
from runner.system.shared import case_ids
from runner.system.spool import Part

WAVES = 10
LIMITS = ("usd", "tokens", "requests", "minutes")

CaseT = TypeVar("CaseT", bound=Case)


@dataclass(frozen=True, slots=True)
class Wave:
    """One pass over all runs, after which the cases up to `number` tenths are done. With a `reason` it is the closing
    pass of a sweep that ended early: no case is run and no model called. Number 0 only prepares."""

    number: int = WAVES
    reason: str | None = None

    @property
    def is_closing(self) -> bool:
        """Whether it only closes a sweep that ended early."""
        return self.reason is not None

    @property
    def sums_up(self) -> bool:
        """Whether runs are aggregated, reported and tracked in this pass."""
        return self.is_closing or self.number == WAVES

    def adds_to(self, n_cases: int) -> bool:
        """Whether it adds a case to a run of `n_cases` cases."""
        return self.sums_up or self._share(n_cases) > Wave(self.number - 1)._share(n_cases)

    def _share(self, n_cases: int) -> int:
        return -(-n_cases * self.number // WAVES)

    def of(self, cases: Sequence[CaseT], seed: int) -> Sequence[CaseT]:
        """The cases of this and all earlier waves, in the order given. Which they are depends on ids and seed alone."""
        if self.number == WAVES:
            return cases
        if self.number == 0:
            return cases[:0]
        ids = case_ids(cases)
        drawn = sorted(ids)
        random.Random(seed).shuffle(drawn)
        chosen = set(drawn[: self._share(len(ids))])
        return Part(cases, [place for place, id in enumerate(ids) if id in chosen])


def waves_of(cells: Sequence[Cell], sweep: Path) -> Sequence[Wave]:
    """One wave; for several runs that call models within a budget, the waves from where the sweep stopped."""
    cfg = cells[0].cfg
    limited = len(cells) > 1 and any(cfg.budget[name] is not None for name in LIMITS)
    if not limited or not any("models" in cell.used for cell in cells):
        return (Wave(),)
    before = read_state(sweep, "wave")
    first = 1 if before is None else before["number"]
    return [Wave(number) for number in range(first, WAVES + 1)]


def current(sweep: Path) -> Wave:
    """The current wave of a sweep; the first one where none was begun."""
    found = read_state(sweep, "wave")
    return Wave() if found is None else Wave(**found)


def begin(wave: Wave, sweep: Path) -> None:
    """Write the current wave of a sweep, for passes in other processes."""
    write_state(sweep, "wave", asdict(wave))
