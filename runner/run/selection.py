"""Selects the cases of a run: one, a sample, or all; in a search, those that it sees or holds out by a hash of the id,
which is the same in every run and process."""

from __future__ import annotations

import random
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from runner.config.options import RunOptions, SearchOptions
from runner.errors import InputError, did_you_mean
from runner.protocols import Case
from runner.records import CaseSet
from runner.system.shared import shared_of
from runner.system.spool import Part


def selected_cases(case_set: CaseSet[Any], options: RunOptions) -> Sequence[Case]:
    """The cases of a run, as `select_cases` has them, once for all cells of a sweep."""
    search = (options.search.questions, options.search.holdout)
    key = (options.case, options.sample, options.takes_all, options.seed, *search)
    return shared_of("cases", case_set.cases, key, lambda: select_cases(case_set.cases, options))


def select_cases(cases: Sequence[Case], options: RunOptions) -> Sequence[Case]:
    """One case, a seeded sample in file order, or all; in a search, the seen or the held-out part of them. Raises
    InputError where none is left."""
    selected = _choose_cases(cases, options)
    return selected if options.case is not None else _of_search(selected, options.search)


def _choose_cases(cases: Sequence[Case], options: RunOptions) -> Sequence[Case]:
    if not cases:
        raise InputError(
            "the data set has no usable case: no questions (dataset.queries), or none without a fault (errors.jsonl)"
        )
    if options.case is not None:
        ids = [case.id for case in cases]
        places = [place for place, id in enumerate(ids) if id == options.case]
        if not places:
            near = did_you_mean(options.case, ids[:10_000])
            raise InputError(f"case: no case has the id '{options.case}'{near if 'did you mean' in near else ''}")
        return Part(cases, places)
    if options.sample is None or options.takes_all:
        return cases
    size = options.sample if isinstance(options.sample, int) else max(1, round(options.sample * len(cases)))
    if size >= len(cases):
        return cases
    return Part(cases, sorted(random.Random(options.seed).sample(range(len(cases)), size)))


def _of_search(cases: Sequence[Case], search: SearchOptions) -> Sequence[Case]:
    """The questions that a search sees, or those that it holds out. Raises InputError where there are none."""
    if search.questions == "all":
        return cases
    takes_held_out = search.questions == "held_out"
    places = [place for place, case in enumerate(cases) if is_held_out(case.id, search.holdout) == takes_held_out]
    if not places:
        what = "held out" if takes_held_out else "left to search with"
        raise InputError(f"search.holdout={search.holdout:g}: of {len(cases)} questions, none is {what}")
    return Part(cases, places)


def is_held_out(id: str, share: float) -> bool:
    """Whether a search that holds out this share of the questions holds out this one."""
    digest = blake2b(id.encode("utf-8", "surrogatepass"), digest_size=6, person=b"search").digest()
    return int.from_bytes(digest, "big") / 2**48 < share
