"""Pairs of runs with one metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runner.metrics.paired import Paired, compare_means


def of_one(baseline: Sequence[float] | np.ndarray, candidate: Sequence[float] | np.ndarray, seed: int = 1) -> Paired:
    (found,) = compare_means(np.asarray(baseline)[:, None], np.asarray(candidate)[:, None], seed=seed)
    return found
