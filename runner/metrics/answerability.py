"""How well a score tells questions that have an answer from those that have none; unanswerable is the positive class.

`scores` float64 [n], higher for answerable; `unanswerable` bool [n].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runner.metrics.agreement import ranks

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def auc(scores: Floats, unanswerable: Flags) -> float:
    """Chance that an answerable question scores higher than an unanswerable one, ties counting half; NaN without
    both."""
    n, n_other = int(unanswerable.sum()), int((~unanswerable).sum())
    if not n or not n_other:
        return float("nan")
    return float(
        (ranks(scores, np.ones(len(scores)))[~unanswerable].sum() - n_other * (n_other + 1) / 2) / (n * n_other)
    )


def f1_below(scores: Floats, unanswerable: Flags, cut: float) -> float:
    """F1 of calling unanswerable what scores below `cut`; 0 where nothing is called or is so."""
    called = scores < cut
    total = int(called.sum() + unanswerable.sum())
    return 2 * int((called & unanswerable).sum()) / total if total else 0.0


def f1_always(unanswerable: Flags) -> float:
    """F1 of calling every question unanswerable."""
    return 2 * int(unanswerable.sum()) / (int(unanswerable.sum()) + len(unanswerable)) if len(unanswerable) else 0.0


def best_cut(scores: Floats, unanswerable: Flags) -> float:
    """The cut with the highest F1, in the middle between two scores; the lowest of those that are equally good."""
    levels = np.unique(scores)
    cuts = [*((levels[:-1] + levels[1:]) / 2), float(levels[-1]) + 1e-6]
    return float(max(cuts, key=lambda cut: (f1_below(scores, unanswerable, float(cut)), -cut)))
