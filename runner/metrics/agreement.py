"""Whether raters, a judge and people, or two measurements agree on the same cases: agreement and correlation.

Votes are float64 [n_cases, n_raters], NaN where a rater said nothing.

`weights` of a correlation, float64 [..., n], are how often each of n cases counts, in as many samples at once as there
are leading dimensions; a case of weight 2 counts as two equal cases. Values are float64 [n], or [..., n] where they
differ between samples. A correlation is NaN in a sample in which one of the measurements does not vary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

# Of a sum of squares: what is left of equal values once their mean is taken out.
_ROUNDING = 1e-12  # of votes
_NO_VARIANCE = 1e-20  # of measurements
DIGITS = 12  # of a correlation of ranks, so that equal orders have exactly 1
Z = 1.959963984540054  # normal quantile of a 95 % interval


def krippendorff_alpha(votes: Floats) -> float | None:
    """Krippendorff's alpha of votes, for interval data: differences are squared.

    Krippendorff, Computing Krippendorff's alpha-reliability (2011).

    Args:
        votes: float64 [n_cases, n_votes], NaN for a missing vote. Cases with fewer than two votes do not count.

    Returns:
        1 for perfect agreement, 0 for what chance would give, negative for less; None where no case has two votes or
        all votes are equal.
    """
    alpha = float(alpha_of(alpha_terms(votes).sum(axis=0)))
    return None if math.isnan(alpha) else alpha


def alpha_terms(votes: Floats) -> Floats:
    """The terms that each case adds to alpha.

    Args:
        votes: float64 [n_cases, n_votes], NaN for a missing vote.

    Returns:
        float64 [n_cases, 4]: the number of votes m, their sum, the sum of their squares (both from the first vote of
        all, so that equal votes leave exact zeros), and m/(m - 1) times the sum of squared deviations within the case.
        All 0 for a case with fewer than two votes.
    """
    has_vote = ~np.isnan(votes)
    origin = votes[has_vote][0] if has_vote.any() else 0.0
    shifted = np.where(has_vote, votes - origin, 0.0)
    m = has_vote.sum(axis=1)
    terms = np.column_stack(
        [m, shifted.sum(axis=1), (shifted**2).sum(axis=1), _within(votes) * m / np.maximum(m - 1, 1)]
    )
    terms[m < 2] = 0.0
    return terms


def alpha_of(sums: Floats) -> Floats:
    """Alpha from sums of `alpha_terms` over cases.

    Observed disagreement is 2 W / n, expected 2 S / (n - 1), with W the sum of the fourth column and S the sum
    of squared deviations of all n votes from their mean.

    Args:
        sums: float64 [..., 4].

    Returns:
        float64 [...]; NaN where alpha is not defined.
    """
    n, total, squares, within = np.moveaxis(sums, -1, 0)
    spread = squares - total**2 / np.maximum(n, 1)
    defined = spread > _ROUNDING * squares
    alpha: Floats = np.full(np.shape(n), np.nan)
    np.divide((n - 1) * within, n * spread, out=alpha, where=defined)
    return np.asarray(1 - alpha)


def pooled_sd(votes: Floats) -> float | None:
    """How far votes on one case lie from each other.

    Args:
        votes: float64 [n_cases, n_votes], NaN for a missing vote.

    Returns:
        The root of the mean variance within cases, each weighted by its votes less one; None where no case has two
        votes.
    """
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
    """Agreement of two raters beyond what their shares of categories would give.

    Cohen, A coefficient of agreement for nominal scales (1960); Weighted kappa (1968).

    Args:
        first: categories 0..categories-1, one a case.
        second: those of the other rater, for the same cases.
        categories: their number.
        weights: what a disagreement costs: the same for any two categories, or the square of their distance.

    Returns:
        1 for perfect agreement, 0 for chance; None without cases, and where both put every case into the same one
        category.
    """
    table = np.bincount(first * categories + second, minlength=categories**2).reshape(categories, categories)
    at = np.arange(categories)
    apart = np.abs(at[:, None] - at)
    cost = apart**2 if weights == "quadratic" else apart > 0
    by_chance = float((cost * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
    return 1 - float((cost * table).sum()) * len(first) / by_chance if by_chance else None


@dataclass(frozen=True, slots=True)
class Confusion:
    """A judge's yes and no against people's. A share is None where it is one of nothing."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @property
    def sensitivity(self) -> float | None:
        """How many of those that people call good the judge calls good."""
        return _share(self.true_positive, self.false_negative)

    @property
    def specificity(self) -> float | None:
        """How many of those that people call bad the judge calls bad."""
        return _share(self.true_negative, self.false_positive)

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean of both; .5 for a judge that says the same of all, or by chance."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return (self.sensitivity + self.specificity) / 2

    @property
    def macro_f1(self) -> float | None:
        """The mean of F1 of yes and F1 of no; None where people never, or only, say yes."""
        if self.balanced_accuracy is None:
            return None
        wrong = self.false_positive + self.false_negative
        f1 = [2 * right / (2 * right + wrong) if right else 0.0 for right in (self.true_positive, self.true_negative)]
        return sum(f1) / 2


def _share(count: int, others: int) -> float | None:
    return count / (count + others) if count + others else None


def confusion(judge: Floats, human: Floats, judge_from: float, human_from: float) -> Confusion:
    """Count how two raters agree on yes and no.

    Args:
        judge: scores of the judge, one a case.
        human: scores of people, for the same cases.
        judge_from: the score from which the judge says yes; a score that is less by rounding only counts as yes.
        human_from: the same for people.

    Returns:
        The four counts.
    """
    said, is_so = reaches(judge, judge_from), reaches(human, human_from)
    counts = np.bincount(2 * said.astype(np.intp) + is_so, minlength=4)
    true_negative, false_negative, false_positive, true_positive = (int(count) for count in counts)
    return Confusion(true_positive, false_positive, false_negative, true_negative)


def auc(scores: Floats, is_positive: NDArray[np.bool_]) -> float | None:
    """The area under the ROC curve: how often one of the positive cases has a higher score than one of the others, with
    half a point for equal scores (Mann and Whitney's U).

    Args:
        scores: float64 [n].
        is_positive: bool [n].

    Returns:
        0..1, .5 for chance; None without cases of both kinds.
    """
    n_positive = int(is_positive.sum())
    n_pairs = n_positive * (len(scores) - n_positive)
    if n_pairs == 0:
        return None
    total = float(ranks(scores, np.ones(len(scores)))[is_positive].sum())
    return (total - n_positive * (n_positive + 1) / 2) / n_pairs


def reaches(values: Floats, threshold: float) -> NDArray[np.bool_]:
    """Args:
        values: of any shape.
        threshold: a value that is less by rounding only (1e-9) reaches it.

    Returns:
        bool, shape of `values`.
    """
    return np.asarray(values >= threshold - 1e-9)


# --- correlation ------------------------------------------------------------------------------------


def pearson(x: Floats, y: Floats) -> float | None:
    """Pearson's correlation.

    Args:
        x: [n].
        y: [n].

    Returns:
        -1..1; None where one of the measurements does not vary.
    """
    return nan_to_none(pearsons(x, y, np.ones(len(x))))


def spearman(x: Floats, y: Floats) -> float | None:
    """Spearman's correlation: Pearson's of ranks, where equal values share the mean of their ranks.

    Args:
        x: [n].
        y: [n].

    Returns:
        -1..1; None where one of the measurements does not vary.
    """
    return nan_to_none(spearmans(x, y, np.ones(len(x))))


def nan_to_none(value: Floats) -> float | None:
    """A number, None for NaN."""
    return None if math.isnan(value) else float(value)


def pearsons(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Pearson's r for many weightings of the same cases at once, as a bootstrap needs it.

    Args:
        x: float64 [n_cases] or [..., n_cases], such as ranks by weighting.
        y: the same.
        weights: float64 [..., n_cases]; how often each case counts.

    Returns:
        float64 [...], -1 to 1; NaN where x or y does not vary.
    """
    return within_groups(x, y, np.zeros(np.shape(weights)[-1], dtype=np.intp), weights)


def spearmans(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Spearman's rho, as `pearsons` of the weighted ranks; equal values share the mean of their ranks."""
    return pearsons(ranks(x, weights), ranks(y, weights), weights)


def within_groups(x: Floats, y: Floats, groups: Codes, weights: Floats) -> Floats:
    """Pearson's correlation of what is left when each value is taken from the mean of its group: whether the
    measurements agree on cases of one group, whatever they say of the groups.

    Args:
        x: float64 [n].
        y: float64 [n].
        groups: numbers from 0, one a case.
        weights: float64 [..., n], as for `pearsons`.

    Returns:
        float64 [...], -1..1; NaN where one of the measurements does not vary within groups.
    """
    members = (groups[:, None] == np.arange(groups.max(initial=0) + 1)).astype(np.float64)
    x_deviations, y_deviations = _deviations(x, members, weights), _deviations(y, members, weights)
    varies = (_sum(weights, x_deviations**2) > _NO_VARIANCE * _sum(weights, x**2)) & (
        _sum(weights, y_deviations**2) > _NO_VARIANCE * _sum(weights, y**2)
    )
    scale = np.sqrt(_sum(weights, x_deviations**2)) * np.sqrt(_sum(weights, y_deviations**2))
    found = np.full(np.shape(varies), np.nan)
    np.divide(_sum(weights, x_deviations * y_deviations), scale, out=found, where=varies)
    return np.asarray(np.clip(found, -1.0, 1.0))


def ranks_within(values: Floats, groups: Codes, weights: Floats) -> Floats:
    """Ranks among the values of the same group."""
    ranked = np.empty(np.shape(weights))
    for group in range(int(groups.max(initial=-1)) + 1):
        at = groups == group
        ranked[..., at] = ranks(values[at], weights[..., at])
    return ranked


def ranks(values: Floats, weights: Floats) -> Floats:
    """Args:
        values: float64 [n].
        weights: float64 [..., n], how often each value counts.

    Returns:
        float64 [..., n], from 1 for the least; equal values share the mean of their ranks.
    """
    if len(values) == 0:
        return np.zeros(np.shape(weights))
    order = np.argsort(values, kind="stable")
    is_first = np.concatenate([[True], np.diff(values[order]) != 0])
    counts = np.add.reduceat(weights[..., order], np.flatnonzero(is_first), axis=-1)
    place = np.empty(len(values), dtype=np.intp)
    place[order] = np.cumsum(is_first) - 1
    return np.asarray((np.cumsum(counts, axis=-1) - (counts - 1) / 2)[..., place])


def _deviations(values: Floats, members: Floats, weights: Floats) -> Floats:
    totals = weights @ members
    means = ((weights * values) @ members) / np.where(totals > 0, totals, 1.0)
    return np.asarray(values - means @ members.T)


def _sum(weights: Floats, values: Floats) -> Floats:
    return np.asarray((weights * values).sum(axis=-1))


# --- agreement of two orders of the same things -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """Coefficients with their 95 % intervals; None where one of the orders has no differences, and where there are
    too few things for an interval."""

    n: int
    spearman: float | None
    spearman_low: float | None
    spearman_high: float | None
    kendall: float | None
    kendall_low: float | None
    kendall_high: float | None


def rank_agreement(x: Floats, y: Floats) -> RankAgreement:
    """Spearman's rho and Kendall's tau-b of two measurements.

    Args:
        x: [n].
        y: [n].

    Returns:
        Each with its 95 % interval; None where one of the measurements does not vary.
    """
    rho, tau = spearman(x, y), kendall(x, y)
    rho = None if rho is None else round(rho, DIGITS)
    return RankAgreement(len(x), rho, *interval(rho, len(x), "spearman"), tau, *interval(tau, len(x), "kendall"))


def kendall(x: Floats, y: Floats) -> float | None:
    """Kendall's tau-b, which counts for ties (Kendall, The treatment of ties in ranking problems, Biometrika 33, 1945).

    Args:
        x: [n].
        y: [n].

    Returns:
        -1..1; None where one of the measurements does not vary.
    """
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    by_y = np.argsort(y, kind="stable")
    ranks = np.empty(len(y), np.int64)
    ranks[by_y] = np.arange(len(y))
    x_changes, y_changes = x[1:] != x[:-1], y[1:] != y[:-1]
    n_pairs, n_tied_in_both = math.comb(len(x), 2), _tied_pairs(x_changes | y_changes)
    n_tied_in_x, n_tied_in_y = _tied_pairs(x_changes), _tied_pairs(np.diff(y[by_y]) != 0)
    excess = n_pairs - n_tied_in_x - n_tied_in_y + n_tied_in_both - 2 * _inversions(ranks)
    tau = excess / math.sqrt(n_pairs - n_tied_in_x) / math.sqrt(n_pairs - n_tied_in_y)
    return round(min(1.0, max(-1.0, tau)), DIGITS)


def _tied_pairs(changes: NDArray[np.bool_]) -> int:
    """Pairs of equal values among sorted ones. `changes` [n - 1]: whether a value is another than the one before."""
    lengths = np.diff(np.flatnonzero(np.concatenate(([True], changes, [True]))))
    return int((lengths * (lengths - 1) // 2).sum())


def _inversions(ranks: NDArray[np.int64]) -> int:
    """Pairs of which the earlier has the higher rank. `ranks` [n]: each of 0..n-1 once. Sorts by one bit at a time from
    the highest on, so that ranks which are equal above the bit form groups of one size."""
    size = 1 << (len(ranks) - 1).bit_length()
    ranks = np.concatenate([ranks, np.arange(len(ranks), size)])
    n_inversions, half = 0, size // 2
    while half:
        is_upper = ranks & half != 0
        n_groups = size // (2 * half)
        n_in_earlier_groups = half * half * math.comb(n_groups, 2)
        n_inversions += int(np.cumsum(is_upper)[~is_upper].sum()) - n_in_earlier_groups
        lower, upper = ranks[~is_upper].reshape(-1, half), ranks[is_upper].reshape(-1, half)
        ranks, half = np.hstack([lower, upper]).ravel(), half // 2
    return n_inversions


def interval(value: float | None, n: int, kind: Literal["spearman", "kendall"]) -> tuple[float | None, float | None]:
    """The 95 % interval of a coefficient by Fisher's transformation, with the variance of Bonett and Wright (Sample
    size requirements for estimating Pearson, Kendall and Spearman correlations, Psychometrika 65, 2000).

    Args:
        value: the coefficient, -1..1.
        n: the number of things that were measured.
        kind: of the coefficient.

    Returns:
        (low, high); None for fewer than 5 things. A coefficient of 1 or -1 is an interval by itself.
    """
    if value is None or n < 5:
        return None, None
    if abs(value) == 1:
        return value, value
    variance = (1 + value**2 / 2) / (n - 3) if kind == "spearman" else 0.437 / (n - 4)
    middle, half = math.atanh(value), Z * math.sqrt(variance)
    return math.tanh(middle - half), math.tanh(middle + half)
