"""How far two orders of the same things agree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from runner.metrics.correlation import spearman

Floats = NDArray[np.float64]
DIGITS = 12  # so that equal orders have exactly 1
Z = 1.959963984540054  # normal quantile of a 95 % interval


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
    rho, tau = spearman(x, y), kendall(x, y)
    rho = None if rho is None else round(rho, DIGITS)
    return RankAgreement(len(x), rho, *interval(rho, len(x), "spearman"), tau, *interval(tau, len(x), "kendall"))


def kendall(x: Floats, y: Floats) -> float | None:
    """Kendall's tau-b, which counts for ties (Kendall, The treatment of ties in ranking problems, Biometrika 33,
    1945). None where one of the measurements does not vary."""
    from scipy.stats import kendalltau

    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return round(float(kendalltau(x, y).statistic), DIGITS)


def interval(value: float | None, n: int, kind: Literal["spearman", "kendall"]) -> tuple[float | None, float | None]:
    """By Fisher's transformation with the variance of Bonett and Wright (Sample size requirements for estimating
    Pearson, Kendall and Spearman correlations, Psychometrika 65, 2000). Needs 5 things; a coefficient of 1 or -1 is
    an interval by itself."""
    if value is None or n < 5:
        return None, None
    if abs(value) == 1:
        return value, value
    variance = (1 + value**2 / 2) / (n - 3) if kind == "spearman" else 0.437 / (n - 4)
    middle, half = math.atanh(value), Z * math.sqrt(variance)
    return math.tanh(middle - half), math.tanh(middle + half)
