"""Pairs the cases of two runs.

Cases are paired by id where the question is the same; else by the hash of the question, where each run has exactly one
remaining case with it; remaining cases with the same id but another question are paired and marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.compare.snapshots import Bools, Cases

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pairing:
    """`baseline` and `candidate`: places of paired cases, intp [n_pairs], in an order that is symmetric in the two
    runs. `new_question` and `new_gold` mark pairs with different questions or labels."""

    baseline: Places
    candidate: Places
    by_id: int
    by_content: int
    new_question: Bools
    new_gold: Bools
    only_baseline: Sequence[str]
    only_candidate: Sequence[str]

    def __len__(self) -> int:
        return len(self.baseline)


def pair(baseline: Cases, candidate: Cases) -> Pairing:
    """Pair cases of the same id and content, then of the same content under other ids, then of the same id alone.

    Args:
        baseline: cases of one run.
        candidate: cases of the other run.

    Returns:
        Every case in one pair at most. Pairs of one id whose question or labels differ are marked, not left out.
    """
    baseline_places, candidate_places = _places(baseline.ids), _places(candidate.ids)
    by_id = {baseline_places[id]: candidate_places[id] for id in baseline_places.keys() & candidate_places.keys()}
    same = {
        base: match for base, match in by_id.items() if not _differ(baseline.content[base], candidate.content[match])
    }
    free = (set(baseline_places.values()) - same.keys(), set(candidate_places.values()) - set(same.values()))
    moved = dict(_by_content(baseline, candidate, *free))
    taken = {*same.values(), *moved.values()}
    new = {base: match for base, match in by_id.items() if not (base in same or base in moved) and match not in taken}
    rows = list({**same, **moved, **new}.items())
    rows.sort(key=lambda pair: _order(baseline, candidate, *pair))
    places = np.array(rows, dtype=np.intp).reshape(-1, 2)
    paired = (set(places[:, 0].tolist()), set(places[:, 1].tolist()))
    return Pairing(
        baseline=places[:, 0],
        candidate=places[:, 1],
        by_id=len(same) + len(new),
        by_content=len(moved),
        new_question=np.array([base in new for base, _ in rows], dtype=bool),
        new_gold=np.array(
            [_differ(baseline.gold[base], candidate.gold[match]) for base, match in rows],
            dtype=bool,
        ),
        only_baseline=[id for place, id in enumerate(baseline.ids) if place not in paired[0]],
        only_candidate=[id for place, id in enumerate(candidate.ids) if place not in paired[1]],
    )


def _order(baseline: Cases, candidate: Cases, one: int, other: int) -> tuple[list[str], str]:
    """The order of pairs, symmetric in the two runs; for two cases that exchanged their ids, the question decides."""
    return sorted((baseline.ids[one], candidate.ids[other])), baseline.content[one] or ""


def _places(ids: Sequence[str]) -> dict[str, int]:
    return {id: place for place, id in enumerate(ids)}


def _differ(one: str | None, other: str | None) -> bool:
    """Whether two hashes differ; a case that failed before its hash was known is matched by its id."""
    return one is not None and other is not None and one != other


def _by_content(baseline: Cases, candidate: Cases, left: set[int], right: set[int]) -> Iterable[tuple[int, int]]:
    ones, others = _unique(baseline.content, left), _unique(candidate.content, right)
    return ((ones[content], others[content]) for content in ones.keys() & others.keys())


def _unique(content: Sequence[str | None], places: set[int]) -> Mapping[str, int]:
    """Hash of a question -> its place, for questions that occur once."""
    counted = Counter(content[place] for place in places)
    return {text: place for place in places if (text := content[place]) is not None and counted[text] == 1}
