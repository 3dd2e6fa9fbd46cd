import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.agreement import DIGITS, RankAgreement, interval, kendall, rank_agreement


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_kendall_by_hand() -> None:
    # 10 pairs: (3, 2) and (5, 4) are the other way round, 8 are not
    assert kendall(floats(1, 2, 3, 4, 5), floats(1, 3, 2, 5, 4)) == pytest.approx((8 - 2) / 10)
    # 3 pairs, one of them tied on the right: 2 in order / sqrt(3 * 2)
    assert kendall(floats(1, 2, 3), floats(1, 2, 2)) == pytest.approx(2 / math.sqrt(6))


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(-2, 2) | st.integers(0, 3)), min_size=2, max_size=70))
def test_kendall_is_that_of_scipy(pairs: list[tuple[int, float]]) -> None:
    x, y = floats(*[pair[0] for pair in pairs]), floats(*[pair[1] for pair in pairs])
    found = kendall(x, y)
    if found is None:
        assert np.ptp(x) == 0 or np.ptp(y) == 0
    else:
        assert found == round(float(scipy.stats.kendalltau(x, y).statistic), DIGITS)


def test_without_differences_there_is_no_order() -> None:
    assert kendall(floats(1, 1, 1), floats(1, 2, 3)) is None
    assert kendall(floats(1), floats(2)) is None
    assert rank_agreement(floats(1, 1, 1), floats(1, 2, 3)) == RankAgreement(3, *[None] * 6)


def test_intervals_by_hand() -> None:
    low, high = interval(0.5, 28, "spearman")  # atanh .5 = .5493, variance 1.125 / 25 = .045, half width .4158
    assert (low, high) == (pytest.approx(0.1327, abs=5e-4), pytest.approx(0.7467, abs=5e-4))
    low, high = interval(0.0, 441, "kendall")  # variance .437 / 437 = .001, half width .06198
    assert (low, high) == (pytest.approx(-0.0619, abs=5e-5), pytest.approx(0.0619, abs=5e-5))
    assert interval(0.5, 4, "kendall") == interval(None, 100, "kendall") == (None, None)
    assert interval(1.0, 10, "kendall") == (1.0, 1.0)


def test_equal_orders_agree_wholly() -> None:
    """To the last digit: the interval of exactly 1 is 1 by itself."""
    found = rank_agreement(floats(0.1, 0.2, 0.5, 0.9, 1.0), floats(1, 2, 3, 4, 5))
    assert found == RankAgreement(5, *[1.0] * 6)


def test_two_things_have_an_order_but_no_interval() -> None:
    assert rank_agreement(floats(1, 2), floats(7, 3)) == RankAgreement(2, -1.0, None, None, -1.0, None, None)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=40))
def test_turning_one_order_round_turns_the_sign(pairs: list[tuple[int, int]]) -> None:
    x, y = floats(*[pair[0] for pair in pairs]), floats(*[pair[1] for pair in pairs])
    found, turned = kendall(x, y), kendall(x, -y)
    assert (found is None) == (turned is None)
    if found is not None and turned is not None:
        assert found == pytest.approx(-turned, abs=1e-12)
        assert kendall(y, x) == pytest.approx(found, abs=1e-12)
