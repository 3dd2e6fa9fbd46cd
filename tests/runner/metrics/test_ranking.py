"""Ranking measures: by hand, against pytrec_eval, and by the laws they obey."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.ranking import MEASURES, rank_ids, ranking_metrics, relevant_hits, score_rankings, values_at
from tests.trec_eval import measured

CUTOFFS = (1, 2, 3, 5, 10)

grades = st.integers(-2, 4)
judgements = st.dictionaries(st.sampled_from([f"d{n}" for n in range(12)] + ["문서", "가"]), grades, max_size=10)
rankings = st.lists(st.sampled_from([f"d{n}" for n in range(12)] + ["문서", "가", "없음"]), max_size=14, unique=True)
answerable = judgements.filter(lambda relevance: any(grade > 0 for grade in relevance.values()))


def metrics(ranking: list[str], relevance: dict[str, int], *cutoffs: int) -> dict[str, float]:
    values = ranking_metrics(ranking, relevance, cutoffs)
    assert None not in values.values()
    return values  # type: ignore[return-value]


def test_by_hand():
    # ranks:         1    2    3    4
    # grades:        0    2    -    1      one more relevant document (grade 3) was not found
    values = metrics(["a", "b", "c", "d"], {"a": 0, "b": 2, "d": 1, "e": 3}, 1, 3, 4)
    ideal_at_3 = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert values == pytest.approx(
        {
            "precision@1": 0,
            "recall@1": 0,
            "hit_rate@1": 0,
            "ndcg@1": 0,
            "map@1": 0,
            "mrr@1": 0,
            "precision@3": 1 / 3,
            "recall@3": 1 / 3,
            "hit_rate@3": 1,
            "ndcg@3": (2 / math.log2(3)) / ideal_at_3,
            "map@3": (1 / 2) / 3,
            "mrr@3": 1 / 2,
            "precision@4": 2 / 4,
            "recall@4": 2 / 3,
            "hit_rate@4": 1,
            "ndcg@4": (2 / math.log2(3) + 1 / math.log2(5)) / ideal_at_3,
            "map@4": (1 / 2 + 2 / 4) / 3,
            "mrr@4": 1 / 2,
        },
        abs=1e-15,
    )


def test_precision_divides_by_k_when_fewer_came_back():
    assert metrics(["a"], {"a": 1}, 5)["precision@5"] == 0.2


def test_recall_and_map_divide_by_all_relevant_documents_even_beyond_k():
    values = metrics(["a", "b"], {"a": 1, "b": 1, "c": 1, "d": 1}, 2)
    assert (values["recall@2"], values["map@2"], values["ndcg@2"]) == (0.5, 0.5, 1.0)


def test_a_document_listed_twice_counts_once_at_its_best_rank():
    assert metrics(["a", "x", "a", "b"], {"a": 1, "b": 1}, 3) == metrics(["a", "x", "b"], {"a": 1, "b": 1}, 3)
    assert metrics(["a", "a", "b"], {"a": 1, "b": 1}, 2) == metrics(["a", "b"], {"a": 1, "b": 1}, 2)
    assert metrics(["a", "a", "x"], {"a": 1, "b": 1}, 2)["recall@2"] == 0.5


def test_negative_grades_are_no_gain_and_no_loss():
    values = metrics(["bad", "good"], {"bad": -2, "good": 1}, 2)
    assert values["ndcg@2"] == pytest.approx(1 / math.log2(3))
    assert values["precision@2"] == 0.5


def test_no_results_score_zero():
    assert set(metrics([], {"a": 1}, 1, 10).values()) == {0.0}


@pytest.mark.parametrize("relevance", [{}, {"a": 0}, {"a": -1, "b": 0}])
def test_without_a_relevant_document_nothing_applies(relevance):
    assert ranking_metrics(["a"], relevance, (1, 5)) == dict.fromkeys(
        f"{measure.name}@{k}" for k in (1, 5) for measure in MEASURES
    )


def test_ties_are_ordered_by_id_descending_by_bytes():
    scores = {"a": 1.0, "b": 1.0, "Z": 1.0, "é": 1.0, "문서": 1.0, "𝄞": 1.0, "first": 2.0}
    by_bytes = sorted((id for id in scores if id != "first"), key=str.encode, reverse=True)
    assert rank_ids(scores) == ["first", *by_bytes] == ["first", "𝄞", "문서", "é", "b", "a", "Z"]


def test_scores_are_compared_as_float64():
    assert rank_ids({"a": 1.0 + 1e-12, "b": 1.0}) == ["a", "b"]


def test_against_pytrec_eval():
    source = random.Random(7)
    for _ in range(200):
        ids = [f"문서{n}" if n % 3 else f"doc{n}" for n in range(30)]
        qrels = {id: source.choice((0, 0, 0, 1, 2, 3)) for id in source.sample(ids, source.randint(1, 25))}
        ranking = source.sample(ids, source.randint(1, 30))
        if max(qrels.values()) == 0:
            continue
        expected = oracle(qrels, ranking)
        assert metrics(ranking, qrels, *CUTOFFS) == pytest.approx(expected, abs=1e-12)


def oracle(qrels: dict[str, int], ranking: list[str]) -> dict[str, float]:
    """pytrec_eval on scores made from ranks."""
    scores = {id: float(-rank) for rank, id in enumerate(ranking)}
    return measured({"q": qrels}, {"q": scores}, CUTOFFS)["q"]


@given(st.lists(st.tuples(rankings, judgements), min_size=1, max_size=6), st.sets(st.integers(1, 20), min_size=1))
def test_many_queries_at_once_score_as_one_by_one(queries, cutoffs):
    cutoffs = sorted(cutoffs)
    depth = max(1, *(len(ranking) for ranking, _ in queries))
    width = max(1, *(len(relevance) for _, relevance in queries))
    found = np.zeros((len(queries), depth), dtype=np.int64)
    ideal = np.zeros((len(queries), width), dtype=np.int64)
    for row, (ranking, relevance) in enumerate(queries):
        found[row, : len(ranking)] = [relevance.get(id, 0) for id in ranking]
        best = sorted((grade for grade in relevance.values() if grade > 0), reverse=True)
        ideal[row, : len(best)] = best
    together = score_rankings(found, (ideal > 0).sum(axis=1), ideal, cutoffs)
    for row, (ranking, relevance) in enumerate(queries):
        one = ranking_metrics(ranking, relevance, cutoffs)
        row_of_all = {name: column[row] for name, column in together.items()}
        assert row_of_all == pytest.approx(
            {name: math.nan if value is None else value for name, value in one.items()}, abs=1e-12, nan_ok=True
        )


@given(rankings, judgements, st.sets(st.integers(1, 20), min_size=1))
def test_what_was_found_to_a_depth_has_the_values_of_all_cutoffs_above_it(ranking, relevance, cutoffs):
    cutoffs = tuple(sorted(cutoffs))
    deep = values_at(relevant_hits(ranking, relevance, 100), cutoffs)
    assert deep == tuple(ranking_metrics(ranking, relevance, cutoffs).values())


def test_many_queries_without_any_document_or_judgement():
    empty = np.zeros((2, 0), dtype=np.int64)
    values = score_rankings(empty, np.zeros(2, dtype=np.int64), empty, (1, 5))
    assert list(values) == [f"{measure.name}@{k}" for k in (1, 5) for measure in MEASURES]
    assert np.isnan(np.array(list(values.values()))).all()


@given(rankings, answerable)
def test_values_stay_between_0_and_1(ranking, relevance):
    assert all(0 <= value <= 1 + 1e-12 for value in metrics(ranking, relevance, *CUTOFFS).values())


@given(rankings, answerable)
def test_hit_rate_recall_and_reciprocal_rank_never_fall_as_k_grows(ranking, relevance):
    values = metrics(ranking, relevance, *CUTOFFS)
    for name in ("hit_rate", "recall", "mrr", "map"):
        assert all(values[f"{name}@{low}"] <= values[f"{name}@{high}"] for low, high in pairwise(CUTOFFS))


@given(answerable)
def test_the_ideal_ranking_has_ndcg_1(relevance):
    ideal = sorted(relevance, key=relevance.__getitem__, reverse=True)
    values = metrics(ideal, relevance, *CUTOFFS)
    assert all(values[f"ndcg@{k}"] == pytest.approx(1, abs=1e-12) for k in CUTOFFS)


@given(rankings, answerable, st.integers(0, 13))
def test_moving_a_better_document_up_never_lowers_a_measure(ranking, relevance, place):
    if place + 1 >= len(ranking):
        return
    upper, lower = ranking[place], ranking[place + 1]
    if max(0, relevance.get(upper, 0)) >= max(0, relevance.get(lower, 0)):
        return
    swapped = [*ranking[:place], lower, upper, *ranking[place + 2 :]]
    before, after = metrics(ranking, relevance, *CUTOFFS), metrics(swapped, relevance, *CUTOFFS)
    assert all(after[name] >= before[name] - 1e-12 for name in before)


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.sampled_from([0.0, 0.5, 1.0]), max_size=8), st.randoms())
def test_the_order_in_which_tied_documents_come_in_changes_nothing(scores, source):
    shuffled = list(scores.items())
    source.shuffle(shuffled)
    assert rank_ids(dict(shuffled)) == rank_ids(scores)
    assert [id.encode("utf-8", "surrogatepass") for id in rank_ids(scores)] == rank_ids(
        {id.encode("utf-8", "surrogatepass"): score for id, score in scores.items()}
    )
