"""How far repeated and panel judgements agree, from the rows of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import krippendorff
import numpy as np
import pytest

from runner.metrics import statistics
from runner.metrics.agreement import krippendorff_alpha, pooled_sd
from runner.metrics.judging import ClampedScores, judging_of, noise_of


def row(**rubrics: dict[str, float | None]) -> dict[str, Any]:
    return {
        "judgements": {
            rubric: {"score": 0.5, "reasoning": "", "error": None, "details": {"votes": votes}}
            for rubric, votes in rubrics.items()
        }
    }


def rows(random: np.random.Generator, n: int) -> Iterator[dict[str, Any]]:
    for _ in range(n):
        truth = random.random()
        votes = {str(repeat): float(truth + random.normal(0, 0.1)) for repeat in (1, 2, 3)}
        yield row(faithfulness=votes)


def test_by_hand():
    """Votes 0 1 and 1 1 (see the test of alpha): no better than chance. Deviations .5 and .5 in the first case
    and none in the second: sqrt(.5 / 2). A vote without a score is one that failed."""
    found = judging_of([row(faithfulness={"1": 0.0, "2": 1.0}), row(faithfulness={"1": 1.0, "2": 1.0})], seed=1)
    entry = found["faithfulness"]
    assert (entry["n"], entry["votes"], entry["failed"]) == (2, 2, 0)
    assert entry["alpha"] == pytest.approx(0.0)
    assert entry["noise_sd"] == 0.5
    more = judging_of(
        [row(faithfulness={"1": 0.0, "2": 1.0, "3": None}), row(faithfulness={"1": None, "2": 1.0})], seed=1
    )
    assert (more["faithfulness"]["n"], more["faithfulness"]["votes"], more["faithfulness"]["failed"]) == (2, 3, 2)


def test_clamped_scores_are_counted_by_rubric():
    clamped = ClampedScores()
    for id, scores in (("b", {"score": 8}), ("a", {"1.score": 8, "2.score": -1}), ("c", {})):
        details = {"clamped": scores} if scores else None
        clamped.add({"id": id, "judgements": {"faithfulness": {"score": 1.0, "details": details}}})
    assert clamped.counts() == {"faithfulness": {"n": 3, "cases": ["a", "b"]}}


def test_rows_without_votes_give_nothing():
    silent = {"judgements": {"faithfulness": {"score": 1.0, "reasoning": "", "error": None, "details": {}}}}
    older = {"judgements": {"faithfulness": {"score": 1.0, "reasoning": "", "error": None, "details": None}}}
    assert judging_of([silent, older, {"judgements": {}}], seed=1) == {}
    found = judging_of([silent, row(faithfulness={"1": 0.2, "2": 0.4})], seed=1)
    assert found["faithfulness"]["n"] == 1


def test_one_vote_or_equal_votes_have_no_alpha():
    one = judging_of([row(a={"1": 0.2}), row(a={"1": 0.9})], seed=1)["a"]
    assert (one["alpha"], one["alpha_low"], one["alpha_high"], one["noise_sd"]) == (None, None, None, None)
    equal = judging_of([row(a={"1": 0.7, "2": 0.7}), row(a={"1": 0.7, "2": 0.7})], seed=1)["a"]
    assert (equal["alpha"], equal["alpha_low"], equal["noise_sd"]) == (None, None, 0.0)
    failed = judging_of([row(a={"1": None, "2": None})], seed=1)["a"]
    assert (failed["n"], failed["failed"], failed["alpha"]) == (1, 2, None)


def test_alpha_and_its_interval_over_cases():
    cases = list(rows(np.random.default_rng(3), 200))
    votes = np.array([list(case["judgements"]["faithfulness"]["details"]["votes"].values()) for case in cases])
    few = judging_of(cases[:40], seed=1)["faithfulness"]  # the oracle takes the square of the number of votes
    assert few["alpha"] == pytest.approx(krippendorff.alpha(votes[:40].T, level_of_measurement="interval"))
    entry = judging_of(cases, seed=1)["faithfulness"]
    assert entry["alpha"] == pytest.approx(krippendorff_alpha(votes))
    assert entry["noise_sd"] == pytest.approx(0.1, abs=0.01)
    random = np.random.default_rng(5)
    resampled = [krippendorff_alpha(votes[random.integers(0, 200, 200)]) for _ in range(300)]
    assert (entry["alpha_low"], entry["alpha_high"]) == pytest.approx(np.quantile(resampled, [0.025, 0.975]), abs=0.008)
    assert judging_of(cases, seed=1)["faithfulness"] == entry
    assert judging_of(cases, seed=2)["faithfulness"]["alpha_low"] != entry["alpha_low"]


def test_the_interval_to_the_last_digit():
    """The same resamples and the alphas without each case, worked out one by one."""
    cases = list(rows(np.random.default_rng(3), 12))
    votes = np.array([list(case["judgements"]["faithfulness"]["details"]["votes"].values()) for case in cases])
    drawn = np.vstack(list(statistics.resampled_counts(12, seed=1))).astype(int)
    resampled = np.array([krippendorff_alpha(np.repeat(votes, counts, axis=0)) for counts in drawn])
    without = np.array([krippendorff_alpha(np.delete(votes, at, axis=0)) for at in range(12)])
    expected = statistics.bca_interval(resampled, krippendorff_alpha(votes), without)
    alone = row(faithfulness={"1": 0.0, "2": None, "3": None})  # says nothing of agreement
    for several in (cases, [alone, *cases, alone]):
        entry = judging_of(several, seed=1)["faithfulness"]
        assert (entry["alpha_low"], entry["alpha_high"]) == pytest.approx(expected)


def test_nineteen_of_twenty_intervals_cover_the_alpha_of_very_many_cases():
    """Variance of truth 1/12, of noise .01: alpha of infinitely many cases is (1/12) / (1/12 + .01)."""
    truth = (1 / 12) / (1 / 12 + 0.01)
    found = [judging_of(rows(np.random.default_rng(seed), 60), seed=1)["faithfulness"] for seed in range(120)]
    assert 0.91 <= np.mean([entry["alpha_low"] <= truth <= entry["alpha_high"] for entry in found]) <= 0.98


def test_a_panel():
    votes = [{"lexical": 0.2, "openai": 0.4}, {"lexical": 0.9, "openai": 0.9}, {"lexical": None, "openai": 0.1}]
    entry = judging_of([row(faithfulness=each) for each in votes], seed=1)["faithfulness"]
    assert entry["alpha"] == krippendorff_alpha(np.array([[0.2, 0.4], [0.9, 0.9], [np.nan, 0.1]]))
    assert "judges" not in entry
    names = {"lexical": "local:org/a", "openai": "local:org/b"}  # no repeats of one judge
    renamed = [row(faithfulness={names[judge]: score for judge, score in each.items()}) for each in votes]
    assert judging_of(renamed, seed=1)["faithfulness"] == entry


def test_repeats_of_a_panel_are_kept_apart_from_the_differences_of_its_judges():
    """a says the same every time, b wavers; each judge stands for the mean of what it said."""
    votes = [
        {"a/1": 0.2, "a/2": 0.2, "local:org/b/1": 0.4, "local:org/b/2": 0.8, "c": 0.3},
        {"a/1": 0.9, "a/2": None, "local:org/b/1": 0.5, "local:org/b/2": 0.7, "c": None},
    ]
    entry = judging_of([row(faithfulness=each) for each in votes], seed=1)["faithfulness"]
    means = np.array([[0.2, 0.6, 0.3], [0.9, 0.6, np.nan]])
    assert entry["alpha"] == pytest.approx(krippendorff_alpha(means))
    assert entry["noise_sd"] == pytest.approx(pooled_sd(means))
    assert (entry["n"], entry["votes"], entry["failed"]) == (2, 5, 2)
    assert set(entry["judges"]) == {"a", "local:org/b"}
    assert entry["judges"]["a"]["noise_sd"] == 0.0
    wavering = entry["judges"]["local:org/b"]
    assert wavering["noise_sd"] == pytest.approx(pooled_sd(np.array([[0.4, 0.8], [0.5, 0.7]])))
    assert (wavering["n"], wavering["votes"], wavering["failed"]) == (2, 2, 0)


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ({"1": 0.4, "2": 0.6}, 0.1),  # standard deviation .1414 over the root of 2
        ({"1": 0.4, "2": 0.6, "3": None}, 0.1),
        ({"1": 0.5}, None),
        ({"1": 0.5, "2": None}, None),
        ({}, None),
        ({"first": 0.2, "second": 0.8}, None),  # two judges that were asked once: their disagreement is no noise
        ({"first/1": 0.4, "first/2": 0.6, "second/1": 0.4, "second/2": 0.6}, 0.1 / 2**0.5),  # the mean of both
        ({"first/1": 0.4, "first/2": 0.6, "second": 0.4}, None),
    ],
)
def test_by_how_much_a_score_would_move(votes: dict[str, float | None], expected: float | None) -> None:
    found = noise_of(row(faithfulness=votes)["judgements"])
    assert found == ({} if expected is None else {"faithfulness": pytest.approx(expected)})
