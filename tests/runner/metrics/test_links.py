"""Measures of suggested links, by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.links import acceptance, first_rank, link_metrics, novelty

EXPECTED = [frozenset({"a", "A"}), frozenset({"b"}), frozenset[str]()]


def test_by_hand() -> None:
    found = link_metrics(["x", "a", "y", "b"], EXPECTED, [1, 3, 5])
    assert found["precision@1"] == 0
    assert found["precision@3"] == 1 / 3
    assert found["precision@5"] == 2 / 5  # of k, also when fewer were suggested
    assert (found["recall@3"], found["recall@5"]) == (1 / 3, 2 / 3)  # the third is no note: it is never found
    assert found["mrr@5"] == 1 / 2
    assert found["map@5"] == pytest.approx((1 / 2 + 2 / 4) / 3)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found["ndcg@5"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)


def test_variants_of_one_concept_count_once() -> None:
    twice = link_metrics(["a", "A", "b"], EXPECTED[:2], [1, 2, 3])
    once = link_metrics(["A", "b"], EXPECTED[:2], [1, 2, 3])
    assert twice == once
    assert (twice["recall@2"], twice["precision@2"], twice["precision@3"]) == (1, 1, 2 / 3)


def test_nothing_suggested_scores_nothing() -> None:
    assert set(link_metrics([], EXPECTED, [5]).values()) == {0.0}


@given(st.lists(st.sampled_from("abcdefA"), unique=True), st.permutations(EXPECTED))
def test_recall_never_falls_with_k_and_the_order_of_concepts_does_not_matter(
    suggested: list[str], expected: list[frozenset[str]]
) -> None:
    found = link_metrics(suggested, expected, [1, 2, 3, 4])
    recalls = [found[f"recall@{k}"] or 0 for k in (1, 2, 3, 4)]
    assert recalls == sorted(recalls)
    assert found == link_metrics(suggested, EXPECTED, [1, 2, 3, 4])


def test_novelty_and_acceptance() -> None:
    assert novelty(["a", "b", "c", "d"], {"b", "z"}) == 0.75
    assert novelty([], {"b"}) is None
    assert acceptance(["a", "b", "c", "d"], {"a", "d", "z"}, {"c"}) == 2 / 3
    assert acceptance(["a"], {"b"}, {"c"}) is None


def test_the_first_rank() -> None:
    assert first_rank(["x", "A", "b"], EXPECTED) == 2
    assert first_rank(["x"], EXPECTED) is None
