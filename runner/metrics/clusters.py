"""Cases that are not independent: questions of one document, probes of one conversation.

The totals D_g of the G clusters, with n_g of the n cases each, are what varies independently.

- Differences are tested by swapping whole clusters (runner.metrics.swaps)
- The mean of a column has the variance V = sum E_g^2 / (1 - n_g / n) / n^2, E_g = D_g - mean n_g (Bell and McCaffrey,
  Bias reduction in standard errors for linear regression with multi-stage samples, Survey Methodology 28, 2002), whose
  degrees of freedom are those of Bell and McCaffrey, and at most 2 G / (kurtosis of E - 1): where few clusters carry
  the variance, it is known as badly as from few clusters. The mean is as certain as that of n_eff independent cases,

      n_eff = s^2 / V (t(n - 1) / t(df))^2, between 1 and n

  so that a bounded interval counts every case n_eff / n times (Korn and Graubard, Confidence intervals for proportions
  with small expected number of positive counts, Survey Methodology 24, 1998, extended to graded values)
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

AUTO, NONE = "auto", "none"
ORDER = ("group", "conversation", "document")  # of fields, of which `auto` takes the first that a case has
FEWEST_CLUSTERS = 6  # of five, even the most extreme swap has p = 2 / 2**5
LEAST_DF = 1.5
TAIL = 0.025
_NORMAL = NormalDist()


def cluster_key(shared: Mapping[str, str], tags: Sequence[str], choice: str) -> str | None:
    """The cluster of a case.

    Args:
        shared: what the case shares with others, by field.
        tags: of the case.
        choice: AUTO, NONE, or a field, which may be the prefix of a tag: `team` for `team:search`.

    Returns:
        `FIELD:VALUE`; None for a case by itself.
    """
    if choice == NONE:
        return None
    for field in ORDER if choice == AUTO else (choice,):
        if field in shared:
            return f"{field}:{shared[field]}"
    return next((tag for tag in tags if tag.startswith(f"{choice}:")), None) if choice != AUTO else None


def key_number(key: str | None) -> int:
    """A hash of a key in 8 bytes, above 0; 0 for none."""
    return (
        0 if key is None else int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()) | 1
    )


def field_of_keys(keys: Iterable[str | None]) -> str | None:
    """The field that all clusters go by; None where there are several."""
    fields = {key.partition(":")[0] for key in keys if key is not None}
    return fields.pop() if len(fields) == 1 else None


@dataclass(frozen=True, eq=False)
class Clusters:
    """`codes`: the cluster of each case, intp [n_cases] in 0..n-1; each of the `n` clusters has a case."""

    codes: NDArray[np.intp]
    n: int

    @classmethod
    def of(cls, keys: Sequence[Hashable | None]) -> Clusters | None:
        """Number the clusters by their first case.

        Args:
            keys: of the cases; a case without a key (None) is a cluster of its own.

        Returns:
            The clusters; None where every case is one by itself.
        """
        numbers: dict[Hashable, int] = {}
        codes = [numbers.setdefault((place,) if key is None else key, len(numbers)) for place, key in enumerate(keys)]
        return None if len(numbers) == len(keys) else cls(np.array(codes, dtype=np.intp), len(numbers))

    @classmethod
    def of_numbers(cls, numbers: NDArray[np.uint64]) -> Clusters | None:
        """The same for hashes of keys, uint64 [n_cases], 0 for a case without a key."""
        left, codes = np.unique(numbers, return_inverse=True)
        alone = np.flatnonzero(numbers == 0)
        codes = codes.astype(np.intp, copy=False)
        codes[alone] = len(left) + np.arange(len(alone))
        return cls(codes, int(codes.max(initial=-1)) + 1).of_cases(np.arange(len(codes)))

    def of_cases(self, cases: NDArray[np.generic]) -> Clusters | None:
        """The clusters of some of the cases (their places, or a mask), renumbered; None where each is one by itself."""
        codes = self.codes[cases]
        left, codes = np.unique(codes, return_inverse=True)
        return None if len(left) == len(codes) else Clusters(codes.astype(np.intp, copy=False), len(left))

    @cached_property
    def sizes(self) -> Floats:
        """Cases of each cluster, float64 [n]."""
        return np.bincount(self.codes, minlength=self.n).astype(np.float64)

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(self.codes, kind="stable")

    def totals(self, values: Floats) -> Floats:
        """Sums over the cases of each cluster, float64 [n_cases, n_columns] to [n, n_columns]."""
        starts = np.concatenate([[0], np.cumsum(self.sizes.astype(np.intp))[:-1]])
        return np.asarray(np.add.reduceat(values[self._order], starts, axis=0))

    @cached_property
    def key(self) -> bytes:
        """Equal for equal clusters."""
        return self.codes.tobytes()


def effective_shares(values: Floats, clusters: Clusters, weights: Floats | None = None) -> Floats:
    """How much a case counts towards the certainty of the (weighted) mean: n_eff / n of every column.

    Args:
        values: float64 [n_cases, n_columns].
        clusters: of the cases.
        weights: float64 [n_cases, n_columns], > 0 (default: all equal).

    Returns:
        float64 [n_columns], in (0, 1].
    """
    n, n_clusters = len(values), clusters.n
    if n_clusters < 2:
        return np.full(values.shape[1], 1 / n)
    mass = np.ones_like(values) if weights is None else weights / weights.mean(axis=0)
    influence = mass * (values - (mass * values).sum(axis=0) / n)
    totals = clusters.totals(influence)
    share = clusters.sizes / n
    variance = (totals**2 / (1 - share)[:, None]).sum(axis=0) / n**2
    squares = (totals**2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        kurtosis = n_clusters * (totals**4).sum(axis=0) / squares**2
        by_kurtosis = np.maximum(2 * n_clusters / np.maximum(kurtosis - 1, 0.1), LEAST_DF)
        df = np.minimum(_degrees_of_freedom(clusters.sizes), np.nan_to_num(by_kurtosis, nan=LEAST_DF))
        ratio = np.array([t_quantile(1 - TAIL, n - 1) / t_quantile(1 - TAIL, each) for each in df])
        n_effective = influence.var(axis=0) / variance * ratio**2
    n_effective = np.where(np.isfinite(n_effective) & (squares > 0), n_effective, n_clusters)
    return np.asarray(np.clip(n_effective, min(2, n_clusters), n) / n)


def _degrees_of_freedom(sizes: Floats) -> float:
    """tr(M)^2 / tr(M^2) of M = diag(a^2 n_g) - (a n_g)(a n_g)' / n with a^2 = 1 / (1 - n_g / n); G - 1 where all
    clusters have one size."""
    n = sizes.sum()
    square = 1 / (1 - sizes / n)
    diagonal, outer = square * sizes, square * sizes**2 / n
    trace = float((diagonal - outer).sum())
    of_square = float((diagonal**2).sum() - 2 * (diagonal * outer).sum() + outer.sum() ** 2)
    return trace**2 / of_square


@lru_cache(maxsize=4096)
def t_quantile(share: float, df: float) -> float:
    """The quantile of Student's t distribution, by Hill's approximation (Algorithm 396, Communications of the ACM 13,
    1970): six digits from three degrees of freedom on, three below.

    Args:
        share: above .5, below 1.
        df: degrees of freedom, at least 1; need not be whole.

    Returns:
        The value that a share of the distribution lies below.
    """
    tails = 2 * (1 - share)
    if df <= 1:
        return 1 / math.tan(tails * math.pi / 2)
    if df == 2:
        return math.sqrt(2 / (tails * (2 - tails)) - 2)
    a = 1 / (df - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * df
    y = (d * tails) ** (2 / df)
    if y > 0.05 + a:
        x = -_NORMAL.inv_cdf(1 - tails / 2)
        y = x**2
        c += 0.3 * (df - 4.5) * (x + 0.6) if df < 5 else 0.0
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y**2)
    else:
        y = ((1 / (((df + 6) / (df * y) - 0.089 * d - 0.822) * (df + 2) * 3) + 0.5 / (df + 4)) * y - 1) * (df + 1) / (
            df + 2
        ) + 1 / y
    return math.sqrt(df * y)
