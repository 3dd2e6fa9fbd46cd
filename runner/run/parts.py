"""Splits questions by a hash of the id, in the same way in every run and process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TypeVar

from runner.config.options import SearchOptions
from runner.errors import InputError
from runner.protocols import Case
from runner.system.spool import Part

CaseT = TypeVar("CaseT", bound=Case)


def place_of(id: str, purpose: str) -> float:
    """The hash of an id as a number in 0..1. Splits for different `purpose`s are independent."""
    digest = blake2b(id.encode("utf-8", "surrogatepass"), digest_size=6, person=purpose.encode()).digest()
    return float(int.from_bytes(digest, "big") / 2**48)


def is_held_out(id: str, share: float) -> bool:
    """Whether a search that holds out this share of the questions holds out this one."""
    return place_of(id, "search") < share


def of_search(cases: Sequence[CaseT], search: SearchOptions) -> Sequence[CaseT]:
    """The questions that a search sees, or those that it holds out. Raises InputError where there are none."""
    if search.questions == "all":
        return cases
    takes_held_out = search.questions == "held_out"
    part = _part_where(cases, lambda case: is_held_out(case.id, search.holdout) == takes_held_out)
    if not part:
        what = "held out" if takes_held_out else "left to search with"
        raise InputError(f"search.holdout={search.holdout:g}: of {len(cases)} questions, none is {what}")
    return part


def _part_where(cases: Sequence[CaseT], is_wanted: Callable[[CaseT], bool]) -> Sequence[CaseT]:
    return Part(cases, [place for place, case in enumerate(cases) if is_wanted(case)])
