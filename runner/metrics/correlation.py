"""Correlation of two measurements of the same cases.

`weights`, float64 [..., n], are how often each of n cases counts, in as many samples at once as there are leading
dimensions; a case of weight 2 counts as two equal cases. Values are float64 [n], or [..., n] where they differ
between samples. A correlation is NaN in a sample in which one of the measurements does not vary.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_ROUNDING = 1e-20  # of a sum of squares: what is left of equal values once their mean is taken out


def pearson(x: Floats, y: Floats) -> float | None:
    """None where one of the measurements does not vary."""
    return defined(pearsons(x, y, np.ones(len(x))))


def spearman(x: Floats, y: Floats) -> float | None:
    """Pearson of ranks; equal values share the mean of their ranks. None where one does not vary."""
    return defined(spearmans(x, y, np.ones(len(x))))


def defined(value: Floats) -> float | None:
    """A number, None for NaN."""
    return None if math.isnan(value) else float(value)


def pearsons(x: Floats, y: Floats, weights: Floats) -> Floats:
    return within_groups(x, y, np.zeros(np.shape(weights)[-1], dtype=np.intp), weights)


def spearmans(x: Floats, y: Floats, weights: Floats) -> Floats:
    return pearsons(ranks(x, weights), ranks(y, weights), weights)


def within_groups(x: Floats, y: Floats, groups: Codes, weights: Floats) -> Floats:
    """Pearson of what is left when each value is taken from the mean of its group: whether the measurements
    agree on cases of one group, whatever they say of the groups.

    groups   numbers from 0, one a case
    """
    members = (groups[:, None] == np.arange(groups.max(initial=0) + 1)).astype(np.float64)
    left, right = _from_mean(x, members, weights), _from_mean(y, members, weights)
    varies = (_sum(weights, left**2) > _ROUNDING * _sum(weights, x**2)) & (
        _sum(weights, right**2) > _ROUNDING * _sum(weights, y**2)
    )
    scale = np.sqrt(_sum(weights, left**2)) * np.sqrt(_sum(weights, right**2))
    found = np.full(np.shape(varies), np.nan)
    np.divide(_sum(weights, left * right), scale, out=found, where=varies)
    return np.asarray(np.clip(found, -1.0, 1.0))


def ranks_within(values: Floats, groups: Codes, weights: Floats) -> Floats:
    """Ranks among the values of the same group."""
    found = np.empty(np.shape(weights))
    for group in range(int(groups.max(initial=-1)) + 1):
        at = groups == group
        found[..., at] = ranks(values[at], weights[..., at])
    return found


def ranks(values: Floats, weights: Floats) -> Floats:
    """From 1 for the least; equal values share the mean of their ranks. float64 [n], [..., n] -> [..., n]"""
    if len(values) == 0:
        return np.zeros(np.shape(weights))
    order = np.argsort(values, kind="stable")
    is_first = np.concatenate([[True], np.diff(values[order]) != 0])
    counts = np.add.reduceat(weights[..., order], np.flatnonzero(is_first), axis=-1)
    place = np.empty(len(values), dtype=np.intp)
    place[order] = np.cumsum(is_first) - 1
    return np.asarray((np.cumsum(counts, axis=-1) - (counts - 1) / 2)[..., place])


def _from_mean(values: Floats, members: Floats, weights: Floats) -> Floats:
    totals = weights @ members
    means = ((weights * values) @ members) / np.where(totals > 0, totals, 1.0)
    return np.asarray(values - means @ members.T)


def _sum(weights: Floats, values: Floats) -> Floats:
    return np.asarray((weights * values).sum(axis=-1))
