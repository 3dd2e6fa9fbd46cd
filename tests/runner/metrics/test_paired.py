from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.metrics import paired
from runner.metrics.clusters import Clusters
from runner.metrics.paired import PairedResult, compare_means, compare_weighted, holm
from runner.metrics.power import detectable_share, power_of_shares
from runner.metrics.swaps import ALL_SWAPS, ALPHA, mcnemar_p, swap_p
from tests.runner.paired_scores import of_one


def test_by_hand() -> None:
    """Differences 1, 1, 1, 0: their mean is 3/4, their standard deviation 1/2; of the 8 ways of swapping the three
    that differ, the two extreme ones give as much."""
    found = of_one([0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0])
    assert (found.n, found.baseline, found.candidate, found.difference) == (4, 0.25, 1.0, 0.75)
    assert found.p == 2 / 8
    assert found.effect_size == 1.5
    assert found.detectable() is None  # not even a loss of all four: p would be 2/16
    assert found.low is not None and found.high is not None
    assert -1 <= found.low < 0 < 0.75 < found.high <= 1


def test_as_many_swaps_are_drawn_as_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "_BLOCK", 70 * 13)  # 13 rows a block: the last one is smaller
    blocks = list(paired._signs(70, 28, seed=1))
    assert [block.shape for block in blocks] == [(13, 70), (13, 70), (2, 70)]
    assert set(np.unique(np.vstack(blocks)).tolist()) == {-1.0, 1.0}


def test_nothing_differs() -> None:
    found = of_one([0.5, 1.0, 0.0], [0.5, 1.0, 0.0])
    assert (found.difference, found.low, found.high, found.p) == (0.0, None, None, 1.0)
    assert not found.differs
    assert found.effect_size is None and found.detectable() is None


def test_one_case_and_equal_differences() -> None:
    one = of_one([0.2], [0.7])
    assert (one.n, one.difference, one.p, one.effect_size) == (1, pytest.approx(0.5), 1.0, None)
    assert one.low is None and one.high is None
    equal = of_one([0.0] * 6, [0.25] * 6)
    assert (equal.low, equal.high, equal.p, equal.effect_size) == (None, None, 2 / 2**6, None)


def test_no_change_leaves_room_for_one_more_case_that_changes() -> None:
    """None of n pairs changed: a change of 1 in a share p of cases goes unseen with (1 - p)**n, .025 at the limit."""
    for n in (1, 10, 100, 6000):
        same = of_one([0.5] * n, [0.5] * n, range=(0.0, 1.0))
        assert (same.low, same.high) == (
            pytest.approx(0.025 ** (1 / n) - 1, abs=1e-9),
            pytest.approx(1 - 0.025 ** (1 / n), abs=1e-9),
        )
        assert not same.differs and same.difference == 0


@pytest.mark.parametrize("lost", [0, 1, 2, 5])
def test_the_interval_leaves_out_zero_where_mcnemar_has_p_below_5_percent(lost: int) -> None:
    for won in range(lost, 25):
        pairs = [(1.0, 0.0)] * lost + [(0.0, 1.0)] * won + [(1.0, 1.0)] * 20
        found = of_one(*zip(*pairs, strict=True), range=(0.0, 1.0))  # type: ignore[arg-type]
        assert excludes_zero(found) == (mcnemar_p(lost, won) < 0.05), won


def excludes_zero(found: PairedResult) -> bool:
    assert found.low is not None and found.high is not None
    return found.low > 0 or found.high < 0


def test_an_interval_that_ends_at_the_margin_is_within() -> None:
    found = replace(of_one([0.0, 0.0, 1.0], [1.0, 0.0, 1.0]), low=-0.05, high=0.05)
    assert found.is_within(0.05)
    assert not replace(found, high=0.0501).is_within(0.05) and not replace(found, low=-0.0501).is_within(0.05)


def test_a_range_that_begins_above_zero_is_as_wide_as_from_end_to_end() -> None:
    same = of_one([3.0] * 10, [3.0] * 10, range=(1.0, 5.0))
    assert same.high == pytest.approx(4 * (1 - 0.025 ** (1 / 10)), abs=1e-9)


def test_sums_of_the_same_numbers_in_another_order_are_as_far_from_zero() -> None:
    """Of 50 metrics of which all cases gain, only the two swaps of all or none go as far."""
    gains = np.random.default_rng(3).random((12, 50))
    assert swap_p(gains, seed=1).tolist() == [2 / 2**12] * 50


def test_an_interval_of_a_difference_lies_within_what_a_metric_can_reach() -> None:
    found = of_one([0.0] * 3 + [9.0], [10.0] * 4, range=(0.0, 10.0))
    assert found.low is not None and found.high is not None
    assert -10 <= found.low < 7.75 < found.high <= 10
    assert of_one([0.0] * 4, [12.0] * 4, range=(0.0, 10.0)).low is None  # no range that its values keep to


def test_metrics_do_not_touch_each_other() -> None:
    random = np.random.default_rng(1)
    one, other = random.random((60, 3)), random.random((60, 3))
    together = compare_means(one, other, seed=5)
    assert together[1] == of_one(one[:, 1], other[:, 1], seed=5)


@pytest.mark.parametrize(
    ("chances", "expected"),
    [([], []), ([0.2], [0.2]), ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]), ([0.5, 0.9], [1.0, 1.0])],
)
def test_holm_by_hand(chances: list[float], expected: list[float]) -> None:
    assert holm(chances) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("lost", "won", "p"), [(0, 0, 1.0), (8, 0, 2 / 2**8), (0, 8, 2 / 2**8), (1, 5, 2 * 7 / 64), (3, 3, 1.0)]
)
def test_mcnemar_by_hand(lost: int, won: int, p: float) -> None:
    assert mcnemar_p(lost, won) == pytest.approx(p)


@pytest.mark.parametrize(("lost", "won"), [(2, 9), (20, 41), (0, 60), (33, 33), (480, 520), (480, 521)])
@pytest.mark.parametrize("step", [1.0, 0.1])
def test_mcnemar_is_the_swap_test_of_yes_and_no(lost: int, won: int, step: float) -> None:
    after = np.zeros(2000)
    after[:lost], after[lost : lost + won] = -step, step
    expected = scipy.stats.binomtest(lost, lost + won).pvalue
    assert mcnemar_p(lost, won) == pytest.approx(expected, rel=1e-12)
    assert swap_p((0.3 + after - 0.3)[:, None], seed=1)[0] == pytest.approx(expected, rel=1e-12)


def test_p_does_not_depend_on_the_metrics_beside_it() -> None:
    random = np.random.default_rng(3)
    columns = [np.where(random.random(500) < share, random.normal(0.02, 0.4, 500), 0.0) for share in (0.9, 0.1, 0.5)]
    together = swap_p(np.column_stack(columns), seed=1)
    assert [swap_p(column[:, None], seed=1)[0] for column in columns] == together.tolist()


# --- against scipy --------------------------------------------------------------------------------


def differences_of(kind: str, n: int) -> np.ndarray:
    random = np.random.default_rng(n)
    if kind == "yes or no":
        return random.choice([-1.0, 0.0, 1.0], n, p=[0.12, 0.7, 0.18])
    if kind == "seldom":
        return np.where(random.random(n) < 0.05, random.choice([-0.5, 1.0], n), 0.0)
    return random.normal(0.05, 0.4, n).round(2)


def mean(values: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.mean(values, axis=axis)


@pytest.mark.parametrize("n", [30, 100])
def test_p_of_a_plain_difference_bears_many_comparisons(n: int) -> None:
    """All better by the same: only all signs alike come as far, in 2 of 2^n ways. All better by about the same: none of
    9,999 drawn ones comes as far."""
    assert swap_p(np.full((n, 1), 0.25), seed=1)[0] == 2.0 ** (1 - n)
    found = swap_p(np.linspace(0.25, 0.2501, n)[:, None], seed=1)[0]
    assert found == pytest.approx(2 * math.exp(-n / 2), rel=1e-6)
    assert 2.0 ** (1 - n) < found < 1e-4
    one, weights = np.zeros(n), np.full(n, 3.0)
    weighted = compare_weighted(one, one + 0.25, weights, weights, seed=1)
    assert weighted is not None and weighted.p == pytest.approx(found, rel=1e-6)


def test_a_p_below_what_is_drawn_is_never_below_that_of_all_swaps() -> None:
    """Of whole numbers, the distribution of all 2^40 sums is a product of polynomials."""
    random = np.random.default_rng(5)
    for _ in range(20):
        differences = random.integers(1, 4, 40) * np.where(np.arange(40) == 7, -1, 1)
        ways = np.ones(1)
        for difference in np.abs(differences):
            ways = np.convolve(ways, [0.5, *[0.0] * (2 * difference - 1), 0.5])
        sums = np.arange(len(ways)) - len(ways) // 2
        exact = ways[np.abs(sums) >= abs(differences.sum())].sum()
        assert exact <= swap_p(differences[:, None].astype(float), seed=1)[0] < 1e-4


def test_p_of_few_cases_is_exact() -> None:
    values = np.array([0.3, -0.1, 0.25, 0.0, 0.5, -0.05, 0.4, 0.1, 0.2])
    expected = scipy.stats.permutation_test(
        (values,), mean, permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    assert swap_p(values[:, None], seed=1)[0] == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("kind", ["yes or no", "seldom", "numbers"])
@pytest.mark.parametrize("n", [60, 300, 1500])
def test_p_against_scipy(kind: str, n: int) -> None:
    values = differences_of(kind, n)
    resamples = 9_999 if n < 1000 else 4_999
    with np.errstate(over="ignore"):  # SciPy 1.13 counts the permutations as a float
        expected = scipy.stats.permutation_test(
            (values,),
            mean,
            permutation_type="samples",
            vectorized=True,
            n_resamples=resamples,
            random_state=np.random.default_rng(7),
            batch=500,
        ).pvalue
    error = math.sqrt(max(expected * (1 - expected), 1 / resamples) / resamples)
    assert swap_p(values[:, None], seed=1)[0] == pytest.approx(expected, abs=5 * error + 0.002)


# --- intervals ------------------------------------------------------------------------------------


def interval_of(differences: np.ndarray, seed: int = 1) -> tuple[float, float]:
    zero = np.zeros(len(differences))
    found = of_one(np.maximum(-differences, zero), np.maximum(differences, zero), seed, range=(0.0, 1.0))
    assert found.low is not None and found.high is not None
    return found.low, found.high


def rejected(differences: np.ndarray, shift: float) -> bool:
    return bool(swap_p((differences - shift)[:, None], seed=1)[0] < ALPHA)


def test_the_interval_holds_the_shifts_that_the_swaps_do_not_reject() -> None:
    """24 differences that are about normal: Hall's correction is small, and all differ, so that the same signs are
    drawn for every shift."""
    values = np.random.default_rng(4).normal(0.05, 0.1, 24)
    low, high = interval_of(values)
    assert rejected(values, low - 0.01) and rejected(values, high + 0.01)
    assert not rejected(values, low + 0.005) and not rejected(values, high - 0.005)


def test_many_cases_by_hand() -> None:
    """1,600 differences, of which half are .2 and half 0, and a quarter of these .2 less or more: with the normal
    distribution the ends are m -+ z s / sqrt(n - z^2)."""
    values = np.tile([0.25, 0.15, 0.05, -0.05], 400)
    error = 1.959964 * values.std() / math.sqrt(1600 - 1.959964**2)
    assert interval_of(values) == pytest.approx((0.1 - error, 0.1 + error), abs=2e-5)


def test_few_cases_that_differ_leave_room_for_larger_differences() -> None:
    """Five of 100 cases lost .1 to .3: they do not say how much a case can lose."""
    values = np.zeros(100)
    values[:5] = [-0.1, -0.3, -0.2, -0.25, -0.15]
    low, high = interval_of(values)
    assert low < -0.045 and high > 0.02
    assert high == pytest.approx(-low - 0.02, abs=0.02)


def test_skewed_differences_reach_further_on_their_long_side() -> None:
    values = np.random.default_rng(3).beta(1, 9, 60)
    low, high = interval_of(values)
    assert high - values.mean() > 1.05 * (values.mean() - low)


def test_an_unknown_range_has_an_interval_unless_all_differences_are_equal() -> None:
    found = of_one([0.0] * 30, [float(n) for n in range(30)])
    assert found.low is not None and found.high is not None
    assert 0 < found.low < 14.5 < found.high < 30


def test_detectable_is_the_inverse_power_of_the_test_that_decides() -> None:
    """Of 20 cases one differs: at .131, which 2.80 standard errors would say, a verdict is never reached."""
    one_of_20 = of_one([1.0] * 20, [0.0, *[1.0] * 19], range=(0.0, 1.0))
    assert one_of_20.detectable() == pytest.approx(0.366, abs=0.001)
    assert one_of_20.detectable(tests=4) > one_of_20.detectable()  # type: ignore[operator]
    graded = np.random.default_rng(1).normal(0, 0.1, 100)
    found = of_one(np.full(100, 0.5), 0.5 + graded, range=(0.0, 1.0))
    error = graded.std(ddof=1) / 10
    t, noncentral = scipy.stats.t(99).ppf(0.975), scipy.stats.nct(99, (found.detectable() or 0) / error)
    assert noncentral.sf(t) + noncentral.cdf(-t) == pytest.approx(0.8, abs=0.002)
    assert found.power.finds(found.detectable() or 0) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("n", [2, 5, 6, 7, 8, 9, 11, 20, 100, 3_000])
def test_detectable_shares_of_any_number_of_cases(n: int) -> None:
    """Of five cases not even five losses are found, as p would be 2/32."""
    for differing in {0, 1, n // 2, n}:
        found = detectable_share(differing, n)
        assert (found is None) == (n < 6), (differing, found)
        if found is not None:
            assert (
                power_of_shares(found, differing / n, n) >= 0.8 > power_of_shares(0.99 * found, differing / n, n) - 0.02
            )


def test_a_difference_beyond_all_that_was_seen_is_found() -> None:
    """Five of 100 cases differ by .01: a loss of .05 is more than if all lost that much."""
    found = of_one([0.5] * 100, [0.49] * 3 + [0.51] * 2 + [0.5] * 95, range=(0.0, 1.0))
    assert found.power.finds(0.05) == pytest.approx(1.0) and found.power.finds(1e-5) < 0.05
    assert found.power.finds(0.5) == pytest.approx(1.0) and found.power.finds(1.5) == 0.0


def test_halves_are_no_yes_or_no() -> None:
    """An undecided answer counts half: the swap test decides, not McNemar's of what is above and below."""
    before = np.r_[np.ones(30), np.zeros(30)]
    after = np.r_[np.full(9, 0.5), np.ones(20), 0.0, np.full(4, 1.0), np.zeros(26)]
    found = of_one(before, after, range=(0.0, 1.0))
    assert found.power.differing == 14 and not found.power.is_yes_no
    assert found.p != mcnemar_p(10, 4)
    assert found.low is not None and found.high is not None and found.low < 0 < found.high


# --- clusters -------------------------------------------------------------------------------------


def clustered(n_clusters: int, size: int) -> Clusters:
    found = Clusters.of([str(case // size) for case in range(n_clusters * size)])
    assert found is not None
    return found


def test_whole_clusters_are_swapped() -> None:
    """Seven documents of five questions each, of which all five are lost, or won once: 2 (1 + 7) / 2^7."""
    won = np.repeat([-1.0, -1, -1, -1, -1, -1, 1], 5)[:, None]
    (found,) = compare_means(np.maximum(-won, 0), np.maximum(won, 0), seed=1, clusters=clustered(7, 5))
    assert (found.n, found.n_clusters, found.p) == (35, 7, 16 / 128)
    (alone,) = compare_means(np.maximum(-won, 0), np.maximum(won, 0), seed=1)
    assert alone.p < 1e-4
    assert found.widening == pytest.approx(math.sqrt(5), rel=0.1)


def test_fewer_than_six_clusters_are_not_enough() -> None:
    values = np.ones((60, 1))
    five, six = (
        compare_means(
            0 * values[: 10 * n], values[: 10 * n], seed=1, ranges=np.array([(0.0, 1.0)]), clusters=clustered(n, 10)
        )[0]
        for n in (5, 6)
    )
    assert (five.p, five.is_enough) == (2 / 2**5, False)
    assert five.low is not None and five.low < 0
    assert (six.p, six.is_enough) == (2 / 2**6, True)


# --- laws -----------------------------------------------------------------------------------------


SCORES = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1, max_size=40
)


@given(SCORES)
@settings(max_examples=60, deadline=None)
def test_exchanging_the_runs_turns_the_difference_round(scores: list[tuple[float, float]]) -> None:
    one, other = [first for first, _ in scores], [second for _, second in scores]
    forth, back = of_one(one, other), of_one(other, one)
    assert back.difference == pytest.approx(-forth.difference, abs=1e-12)
    assert back.p == forth.p
    if forth.low is None or forth.high is None:
        assert back.low is None and back.high is None
    else:
        assert (back.low, back.high) == (pytest.approx(-forth.high, abs=1e-9), pytest.approx(-forth.low, abs=1e-9))


@given(SCORES, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_order_of_cases_changes_neither_difference_nor_exact_p(scores, random) -> None:
    mixed = list(scores)
    random.shuffle(mixed)
    before, after = (of_one([a for a, _ in cases], [b for _, b in cases]) for cases in (scores, mixed))
    assert after.difference == pytest.approx(before.difference, abs=1e-12)
    assert after.effect_size == pytest.approx(before.effect_size, abs=1e-9)
    moved = sum(a != b for a, b in scores)
    assert after.p == pytest.approx(before.p, abs=0 if moved <= ALL_SWAPS else 0.03)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_lowers_and_keeps_the_order(chances: list[float]) -> None:
    adjusted = holm(chances)
    assert all(p <= q <= 1 for p, q in zip(chances, adjusted, strict=True))
    ranked = [adjusted[place] for place in sorted(range(len(chances)), key=lambda place: chances[place])]
    assert ranked == sorted(ranked)


@given(SCORES, st.integers(1, 4), st.booleans())
@settings(max_examples=120, deadline=None)
def test_the_interval_excludes_zero_exactly_if_p_is_below_5_percent(
    scores: list[tuple[float, float]], size: int, has_range: bool
) -> None:
    one, other = (np.array(side)[:, None] for side in zip(*scores, strict=True))
    clusters = Clusters.of([str(case // size) for case in range(len(one))])
    ranges = np.array([(0.0, 1.0)]) if has_range else None
    (found,) = compare_means(one, other, seed=1, ranges=ranges, clusters=clusters)
    if found.low is not None:
        assert excludes_zero(found) == (found.p < ALPHA)
        assert found.low <= found.difference <= found.high
