"""Pairs of runs with one metric."""

from __future__ import annotations

import numpy as np

from runner import paired
from runner.paired import compare_means


def of_one_seeded(one: np.ndarray, other: np.ndarray, seed: int) -> paired.Paired:
    return compare_means(one[:, None], other[:, None], seed=seed)[0]
