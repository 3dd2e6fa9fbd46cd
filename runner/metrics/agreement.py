"""Whether several raters, or a judge and people, say the same of the same cases.

Votes are float64 [n_cases, n_raters], NaN where a rater said nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_ROUNDING = 1e-12  # of a sum of squares: what is left of equal values once their mean is taken out


def krippendorff_alpha(votes: Floats) -> float | None:
    """1 perfect agreement, 0 what chance would give, negative worse than chance; differences are squared
    (interval data). Cases with fewer than two votes say nothing about agreement and do not count. None where
    no case has two votes or all votes are equal.

    Krippendorff, Computing Krippendorff's alpha-reliability (2011).
    """
    alpha = float(alpha_of(alpha_terms(votes).sum(axis=0)))
    return None if math.isnan(alpha) else alpha


def alpha_terms(votes: Floats) -> Floats:
    """What each case adds to alpha, float64 [n_cases, 4]: votes m, their sum, the sum of their squares (both
    from the first vote of all, so that equal votes leave exact zeros), and m/(m - 1) times the sum of squared
    deviations within the case. All 0 for a case with fewer than two votes."""
    given = ~np.isnan(votes)
    origin = votes[given][0] if given.any() else 0.0
    shifted = np.where(given, votes - origin, 0.0)
    m = given.sum(axis=1)
    terms = np.column_stack(
        [m, shifted.sum(axis=1), (shifted**2).sum(axis=1), _within(votes) * m / np.maximum(m - 1, 1)]
    )
    terms[m < 2] = 0.0
    return terms


def alpha_of(sums: Floats) -> Floats:
    """Alpha from sums of `alpha_terms` over cases, float64 [..., 4] -> [...]; NaN where it is not defined.

    Observed disagreement is 2 W / n, expected 2 S / (n - 1), with W the sum of the fourth column and S the sum
    of squared deviations of all n votes from their mean.
    """
    n, total, squares, within = np.moveaxis(sums, -1, 0)
    spread = squares - total**2 / np.maximum(n, 1)
    defined = spread > _ROUNDING * squares
    alpha: Floats = np.full(np.shape(n), np.nan)
    np.divide((n - 1) * within, n * spread, out=alpha, where=defined)
    return np.asarray(1 - alpha)


def pooled_sd(votes: Floats) -> float | None:
    """How far votes on one case lie from each other: the root of the mean variance within cases, each weighted
    by its votes less one. None where no case has two votes."""
    freedom = np.maximum((~np.isnan(votes)).sum(axis=1) - 1, 0).sum()
    return float(math.sqrt(_within(votes).sum() / freedom)) if freedom else None


def _within(votes: Floats) -> Floats:
    """Sum of squared deviations from the mean of each case, float64 [n_cases]; exact 0 where its votes are equal."""
    m = (~np.isnan(votes)).sum(axis=1)
    least = np.min(votes, axis=1, where=~np.isnan(votes), initial=np.inf)
    shifted = np.nan_to_num(votes - np.where(m > 0, least, 0.0)[:, None])
    return np.asarray(np.maximum((shifted**2).sum(axis=1) - shifted.sum(axis=1) ** 2 / np.maximum(m, 1), 0.0))


def cohen_kappa(
    first: Codes, second: Codes, categories: int, weights: Literal["equal", "quadratic"] = "equal"
) -> float | None:
    """Agreement of two raters beyond what their shares of categories would give: 1 perfect, 0 chance. None
    without cases, and where both put every case into the same one category.

    first, second   numbers of categories 0..categories-1, one a case
    weights         what a disagreement costs: the same for any two categories, or the square of their distance

    Cohen, A coefficient of agreement for nominal scales (1960); Weighted kappa (1968).
    """
    table = np.bincount(first * categories + second, minlength=categories**2).reshape(categories, categories)
    at = np.arange(categories)
    apart = np.abs(at[:, None] - at)
    cost = apart**2 if weights == "quadratic" else apart > 0
    by_chance = float((cost * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
    return 1 - float((cost * table).sum()) * len(first) / by_chance if by_chance else None


@dataclass(frozen=True, slots=True)
class Confusion:
    """A judge's yes and no against people's."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int


def confusion(judged: Floats, human: Floats, judge_from: float, human_from: float) -> Confusion:
    """Yes from a threshold on (a score that is less by rounding only counts as yes)."""
    said, is_so = reaches(judged, judge_from), reaches(human, human_from)
    counts = np.bincount(2 * said.astype(np.intp) + is_so, minlength=4)
    true_negative, false_negative, false_positive, true_positive = (int(count) for count in counts)
    return Confusion(true_positive, false_positive, false_negative, true_negative)


def reaches(values: Floats, threshold: float) -> NDArray[np.bool_]:
    return np.asarray(values >= threshold - 1e-9)
