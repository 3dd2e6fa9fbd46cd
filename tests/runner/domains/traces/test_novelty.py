import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from runner.domains.traces.novelty import VectorCache
from runner.errors import InputError

Vector = NDArray[np.float32]
EAST, NORTH = (1.0, 0.0), (0.0, 1.0)


def vector(*values: float) -> Vector:
    return np.array(values, dtype=np.float32)


def test_the_nearest_one_counts() -> None:
    cache = VectorCache(dimensions=2)
    assert cache.nearest(vector(*EAST)) is None
    assert cache.novelty(vector(*EAST)) == 0.5
    assert cache.novelty(vector(*NORTH)) == 1.0
    assert cache.novelty(vector(3.0, 4.0)) == pytest.approx(0.2)  # cosines .6 and .8
    assert cache.novelty(vector(-1.0, 0.0)) == pytest.approx(1.0)
    assert len(cache) == 4


def test_first_in_first_out() -> None:
    cache = VectorCache(max_elements=2, dimensions=2)
    for each in (EAST, NORTH, NORTH):
        cache.add(vector(*each))
    assert len(cache) == 2
    assert cache.nearest(vector(*EAST)) == 0.0
    cache.add(vector(*EAST))
    assert cache.nearest(vector(*EAST)) == 1.0


def test_a_vector_stays_while_it_is_younger_than_the_ttl() -> None:
    now = 0.0
    cache = VectorCache(max_elements=3, dimensions=2, ttl_ms=1000, clock=lambda: now)
    cache.add(vector(*EAST))
    now = 500.0
    cache.add(vector(*NORTH))
    now = 999.0
    assert cache.nearest(vector(*EAST)) == 1.0
    now = 1000.0  # added at 0 is not after 1000 - 1000
    assert cache.nearest(vector(*EAST)) == 0.0
    assert len(cache) == 1
    now = 1500.0
    assert cache.nearest(vector(*EAST)) is None
    assert cache.novelty(vector(*EAST)) == 0.5


def test_norms_and_missing_dimensions_change_no_cosine() -> None:
    cache = VectorCache(dimensions=3)
    cache.add(vector(0.0, 20.0))
    assert cache.nearest(vector(0.0, 0.5)) == 1.0
    assert cache.nearest(vector(0.0, 0.0)) == 0.0
    with pytest.raises(InputError, match=r"novelty\.dimensions: 3, but the embedder's vectors have 4"):
        cache.nearest(vector(1.0, 0.0, 0.0, 0.0))
    with pytest.raises(InputError, match=r"novelty: the embedder's vectors have 2 numbers, and one has 3"):
        cache.nearest(vector(1.0, 0.0, 0.0))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_vector_that_is_not_finite_is_refused(value: float) -> None:
    cache = VectorCache(dimensions=3)
    with pytest.raises(InputError, match=r"novelty: the embedder made a vector that holds NaN or infinity"):
        cache.add(vector(1.0, value))
    assert len(cache) == 0


@given(
    st.integers(1, 6),
    st.none() | st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([(1, 0), (0, 1), (3, 4), (-1, 0)])), max_size=30),
)
def test_it_is_a_list_that_is_cut(size: int, ttl: int | None, events: list[tuple[int, tuple[int, int]]]) -> None:
    """As the algorithm is written down: keep what is young enough, look, append, cut from the front."""
    now = 0.0
    cache = VectorCache(max_elements=size, dimensions=2, ttl_ms=ttl, clock=lambda: now)
    kept: list[tuple[float, Vector]] = []
    for passed, (x, y) in events:
        now += passed
        one = vector(x, y) / np.float32(np.hypot(x, y))
        kept = [(added, other) for added, other in kept if ttl is None or added > now - ttl]
        expected = max((float(other @ one) for _, other in kept), default=None)
        assert cache.nearest(one) == (None if expected is None else pytest.approx(expected, abs=1e-6))
        cache.add(one)
        kept = [*kept, (now, one)][-size:]
        assert len(cache) == len(kept)
