"""Correlation of two measurements of the same cases, None where one of them does not vary.

`weights` are how often each case counts (default: once); a case of weight 2 counts as two equal cases.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_ROUNDING = 1e-20  # of a sum of squares: what is left of equal values once their mean is taken out


def pearson(x: Floats, y: Floats, weights: Floats | None = None) -> float | None:
    return within_groups(x, y, np.zeros(len(x), dtype=np.intp), weights)


def spearman(x: Floats, y: Floats, weights: Floats | None = None) -> float | None:
    """Pearson of ranks; equal values share the mean of their ranks."""
    return pearson(ranks(x, weights), ranks(y, weights), weights)


def within_groups(x: Floats, y: Floats, groups: Codes, weights: Floats | None = None) -> float | None:
    """Pearson of what is left when each value is taken from the mean of its group: whether the measurements
    agree on cases of one group, whatever they say of the groups.

    groups   numbers from 0, one a case
    """
    mass = np.ones(len(x)) if weights is None else weights
    left, right = _from_mean(x, groups, mass), _from_mean(y, groups, mass)
    spreads = float(mass @ left**2), float(mass @ right**2)
    if spreads[0] <= _ROUNDING * (mass @ x**2) or spreads[1] <= _ROUNDING * (mass @ y**2):
        return None
    correlation = float(mass @ (left * right)) / math.sqrt(spreads[0]) / math.sqrt(spreads[1])
    return min(max(correlation, -1.0), 1.0)


def ranks_within(values: Floats, groups: Codes, weights: Floats | None = None) -> Floats:
    """Ranks among the values of the same group."""
    found = np.empty(len(values))
    for group in range(int(groups.max(initial=-1)) + 1):
        at = groups == group
        found[at] = ranks(values[at], None if weights is None else weights[at])
    return found


def ranks(values: Floats, weights: Floats | None = None) -> Floats:
    """From 1 for the least; equal values share the mean of their ranks."""
    _, place = np.unique(values, return_inverse=True)
    counts = np.bincount(place, weights)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def _from_mean(values: Floats, groups: Codes, mass: Floats) -> Floats:
    totals = np.bincount(groups, mass)
    means = np.bincount(groups, mass * values) / np.where(totals > 0, totals, 1.0)
    return np.asarray(values - means[groups])
