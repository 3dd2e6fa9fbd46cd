"""Slices of pairs by language, difficulty and tag of the candidate's cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from runner.compare.differences import PairedRuns
from runner.compare.snapshots import Bools

DIMENSIONS = ("language", "difficulty", "tag")


def slices_of(runs: PairedRuns) -> Iterator[tuple[str, str, Bools]]:
    """(dimension, value, pairs in it, bool [n_pairs]), in order."""
    cases = runs.candidate.cases
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for pair, place in enumerate(runs.pairing.candidate.tolist()):
        labels = (("language", cases.language[place]), ("difficulty", cases.difficulty[place]))
        tags = (("tag", tag) for tag in dict.fromkeys(cases.tags[place]))
        for dimension, value in (*labels, *tags):
            if value is not None:
                members[dimension, value].append(pair)
    for dimension, value in sorted(members, key=lambda key: (DIMENSIONS.index(key[0]), key[1])):
        yield dimension, value, mask_of(members[dimension, value], len(runs.pairing))


def mask_of(pairs: list[int], n: int) -> Bools:
    """bool [n], true at the places of `pairs`."""
    mask = np.zeros(n, dtype=bool)
    mask[pairs] = True
    return mask
