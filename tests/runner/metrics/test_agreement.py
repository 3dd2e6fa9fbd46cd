"""Agreement of raters: published and hand-worked numbers, and other people's implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from runner.metrics.agreement import (
    Confusion,
    alpha_of,
    alpha_terms,
    auc,
    cohen_kappa,
    confusion,
    krippendorff_alpha,
    pooled_sd,
)

NO = math.nan

# Four observers, twelve units: section D of Krippendorff (2011), whose alpha for interval data is 0.849.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
        [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
    ]
).T


def test_alpha_of_the_published_example():
    assert krippendorff_alpha(PUBLISHED) == pytest.approx(0.849, abs=5e-4)
    assert krippendorff_alpha(PUBLISHED + 1e7) == pytest.approx(0.849, abs=5e-4)


def test_alpha_by_hand():
    """Two cases of two votes, 0 and 1, 1 and 1, and one vote without a partner. Pairs within cases differ by
    1, 1, 0, 0 (both orders): observed 2 / 4. Of the 12 ordered pairs of the four votes 0 1 1 1, 6 differ:
    expected 6 / 12. No better than chance."""
    votes = np.array([[0.0, 1.0, NO], [1.0, NO, 1.0], [0.3, NO, NO]])
    assert krippendorff_alpha(votes) == pytest.approx(0.0)
    assert krippendorff_alpha(np.array([[0.0, 0.0], [1.0, 1.0]])) == 1.0
    # 0 and 1, 1 and 0: observed 1, expected 8 / 12
    assert krippendorff_alpha(np.array([[0.0, 1.0], [1.0, 0.0]])) == pytest.approx(-0.5)


@pytest.mark.parametrize(
    "votes",
    [np.zeros((0, 3)), [[0.7, NO], [NO, 0.2]], [[0.7, 0.7, 0.7], [0.7, 0.7, NO]], [[NO, NO]]],
    ids=["no cases", "one vote a case", "equal votes", "no votes"],
)
def test_alpha_that_is_not_defined(votes):
    assert krippendorff_alpha(np.array(votes, dtype=float)) is None


@pytest.mark.parametrize("seed", range(20))
def test_alpha_against_krippendorff(seed):
    random = np.random.default_rng(seed)
    votes = np.clip(random.random((30, 1)) + random.normal(0, 0.3, (30, 5)), 0, 1).round(int(random.integers(1, 9)))
    votes[random.random(votes.shape) < 0.4] = NO
    import krippendorff

    expected = krippendorff.alpha(votes.T, level_of_measurement="interval")
    assert krippendorff_alpha(votes) == pytest.approx(expected, abs=1e-12)


def test_alpha_from_sums_over_any_cases_is_that_of_those_cases():
    terms = alpha_terms(PUBLISHED)
    assert float(alpha_of(terms[:5].sum(axis=0))) == pytest.approx(krippendorff_alpha(PUBLISHED[:5]))
    twice = krippendorff_alpha(np.vstack([PUBLISHED, PUBLISHED[:4]]))
    assert alpha_of(np.array([terms.sum(axis=0) + terms[:4].sum(axis=0), terms[2] + terms[3]])) == pytest.approx(
        [twice, NO], nan_ok=True
    )


matrices = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(2, 4)), elements=st.sampled_from([NO, 0.0, 0.1, 0.7, 1.0])
)


@given(matrices, st.floats(0.5, 4), st.floats(-10, 10))
def test_alpha_knows_neither_unit_nor_origin_nor_order(votes, unit, origin):
    alpha, moved = krippendorff_alpha(votes), krippendorff_alpha(origin - unit * votes[::-1, ::-1])
    assert (alpha is None) == (moved is None)
    if alpha is not None:
        assert alpha <= 1
        assert moved == pytest.approx(alpha, abs=1e-6)


def test_pooled_sd():
    """0 and 1 deviate by .5 each, three votes by 0, a vote by itself says nothing: sqrt((.5 + 0) / (1 + 2))."""
    votes = np.array([[0.0, 1.0, NO], [0.7, 0.7, 0.7], [NO, NO, 0.2]])
    assert pooled_sd(votes) == pytest.approx(math.sqrt(0.5 / 3))
    assert pooled_sd(votes[1:]) == 0.0
    assert pooled_sd(votes[2:]) is None
    whole = np.random.default_rng(1).random((9, 4))
    assert pooled_sd(whole) == pytest.approx(math.sqrt(np.mean(np.var(whole, axis=1, ddof=1))))


def test_decisions_against_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(4)
    for _ in range(20):
        judge, human = np.round(random.random(30), 1), np.round(random.random(30), 1)
        said, is_so = judge >= 0.5, human >= 0.7
        counts = confusion(judge, human, 0.5, 0.7)
        assert counts.sensitivity == pytest.approx(metrics.recall_score(is_so, said))
        assert counts.specificity == pytest.approx(metrics.recall_score(~is_so, ~said))
        assert counts.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(is_so, said))
        assert counts.macro_f1 == pytest.approx(metrics.f1_score(is_so, said, average="macro"))
        assert auc(judge, is_so) == pytest.approx(metrics.roc_auc_score(is_so, judge))


def test_decisions_of_one_kind_only():
    all_good = Confusion(3, 0, 1, 0)
    assert (all_good.sensitivity, all_good.specificity) == (0.75, None)
    assert (all_good.balanced_accuracy, all_good.macro_f1) == (None, None)
    assert Confusion(0, 2, 3, 0).macro_f1 == 0.0
    assert auc(np.array([0.1, 0.9]), np.array([True, True])) is None


def test_kappa_by_hand():
    """20 both yes, 5 yes and no, 10 no and yes, 15 both no: observed .7; expected .5 * .6 + .5 * .4 = .5."""
    first, second = codes((1, 1, 20), (1, 0, 5), (0, 1, 10), (0, 0, 15))
    assert cohen_kappa(first, second, 2) == pytest.approx(0.4)


def test_weighted_kappa_by_hand():
    """(0, 2) costs 4, (1, 1) and (2, 2) nothing. Every first category meets every second one once in three:
    first 0, 1, 2, second 2, 1, 2 cost (4 + 1 + 4 + 1 + 0 + 1 + 0 + 1 + 0) / 3 = 4 in all by chance."""
    first, second = codes((0, 2, 1), (1, 1, 1), (2, 2, 1))
    assert cohen_kappa(first, second, 3, "quadratic") == pytest.approx(1 - 4 / 4)
    assert cohen_kappa(first, second, 3) == pytest.approx(1 - (1 / 3) / (1 - 1 / 3 * 1 / 3 - 1 / 3 * 2 / 3))


def test_kappa_that_is_not_defined():
    nobody = np.array([], dtype=np.intp)
    assert cohen_kappa(nobody, nobody, 2) is None
    assert cohen_kappa(*codes((1, 1, 9)), 2) is None
    assert cohen_kappa(*codes((1, 0, 9)), 2) == 0.0


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("weights", ["equal", "quadratic"])
def test_kappa_against_scikit_learn(seed, weights):
    random = np.random.default_rng(seed)
    first = random.integers(0, 4, 40)
    second = np.where(random.random(40) < 0.5, first, random.integers(0, 4, 40))
    from sklearn.metrics import cohen_kappa_score  # here, for it takes a second to import

    expected = cohen_kappa_score(first, second, labels=range(4), weights=None if weights == "equal" else weights)
    assert cohen_kappa(first, second, 4, weights) == pytest.approx(expected)


def test_confusion():
    judged, human = np.array([0.9, 0.5, 0.6, 0.1, 0.0]), np.array([1.0, 0.3, 0.2, 0.75, 0.0])
    assert confusion(judged, human, 0.5, 0.5) == Confusion(1, 2, 1, 1)
    assert confusion(judged, human, 0.05, 0.75) == Confusion(2, 2, 0, 1)
    third = np.array([1 / 3 + 1 / 3 + 1 / 3 - 2 / 3])  # a hair below 1/3
    assert confusion(third, third, 1 / 3, 1 / 3) == Confusion(1, 0, 0, 0)


def codes(*cells: tuple[int, int, int]):
    """Two raters from (first, second, how often)."""
    pairs = np.array([(first, second) for first, second, count in cells for _ in range(count)], dtype=np.intp)
    return pairs[:, 0], pairs[:, 1]
