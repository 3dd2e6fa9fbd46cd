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
