"""Pairs of runs with one metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runner.metrics.paired import PairedResult, compare_means


def of_one(
    baseline: Sequence[float] | np.ndarray,
    candidate: Sequence[float] | np.ndarray,
    seed: int = 1,
    *,
    range: tuple[float, float] | None = None,
) -> PairedResult:
    """`range`: lowest and highest value (default: unknown)."""
    columns = np.asarray(baseline)[:, None], np.asarray(candidate)[:, None]
    (found,) = compare_means(*columns, seed=seed, ranges=None if range is None else np.array([range]))
    return found
