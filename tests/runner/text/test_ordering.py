from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runner.text.ordering import best, byte_ranks


def test_ids_rank_by_their_bytes() -> None:
    ids = ["b", "가", "a", "é", "Z", "😀"]
    assert [ids[place] for place in np.argsort(byte_ranks(ids))] == sorted(ids, key=str.encode)


def test_ties_go_to_the_higher_id_also_at_the_end_of_the_ranking() -> None:
    ids = ["a", "b", "c", "d"]
    scores = np.array([1.0, 0.5, 0.5, 0.5])
    assert [ids[place] for place in best(scores, byte_ranks(ids), 2)] == ["a", "d"]


@given(
    st.lists(st.tuples(st.text(max_size=3), st.integers(-2, 2)), unique_by=lambda hit: hit[0], max_size=12),
    st.integers(0, 15),
    st.sampled_from([-np.inf, -1.0, 0.0]),
)
def test_best_is_a_sort_cut_at_depth(hits: list[tuple[str, int]], depth: int, above: float) -> None:
    ids = [id for id, _ in hits]
    places = best(np.array([float(score) for _, score in hits]), byte_ranks(ids), depth, above=above)
    ordered = sorted(hits, key=lambda hit: (hit[1], hit[0].encode("utf-8", "surrogatepass")), reverse=True)
    assert [ids[place] for place in places] == [id for id, score in ordered if score > above][:depth]


@given(
    st.lists(st.integers(-3, 9), min_size=40, max_size=200),
    st.integers(1, 6),
    st.sampled_from([-np.inf, 0.0, 8.0]),
)
def test_best_of_so_many_that_a_part_of_them_tells_what_cannot_be(
    given_scores: list[int], depth: int, above: float
) -> None:
    ranks = np.random.default_rng(len(given_scores)).permutation(len(given_scores))
    places = best(np.array(given_scores, dtype=np.float64), ranks, depth, above=above)
    ordered = sorted(range(len(ranks)), key=lambda place: (given_scores[place], ranks[place]), reverse=True)
    assert places.tolist() == [place for place in ordered if given_scores[place] > above][:depth]
