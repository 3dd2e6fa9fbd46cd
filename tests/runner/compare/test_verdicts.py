from dataclasses import replace

import pytest

from runner.compare.verdicts import Adjusted, adjust, holds, main_metrics, overall, verdict
from runner.metrics.catalogue import built_in_catalogue
from runner.metrics.paired import PairedResult
from runner.metrics.power import Power
from tests.runner.paired_scores import of_one

VARIANT = built_in_catalogue().variant


def numbers(low: float, high: float, p: float = 0.001) -> PairedResult:
    power = Power(50, 20 if high > low else 0, 0.5, 0.05, 1.0, is_yes_no=False)
    return PairedResult(50, 0.5, 0.5, (low + high) / 2, low, high, p, None, power)


def adjusted(p: float) -> Adjusted:
    return Adjusted(p, 1)


@pytest.mark.parametrize(
    ("low", "high", "p_holm", "expected"),
    [
        (0.01, 0.20, 0.049, "better"),
        (-0.20, -0.01, 0.049, "worse"),
        (0.01, 0.20, 0.05, "inconclusive"),  # p must be below .05
        (-0.02, 0.02, 0.8, "within_noise"),
        (-0.021, 0.02, 0.8, "inconclusive"),
        (-0.02, 0.0201, 0.8, "inconclusive"),
        (0.001, 0.003, 0.001, "better"),  # small, but certain
        (0.001, 0.003, 0.2, "within_noise"),
        (0.0, 0.0, 1.0, "within_noise"),
    ],
)
def test_verdicts(low: float, high: float, p_holm: float, expected: str) -> None:
    assert verdict(VARIANT("mrr"), numbers(low, high), adjusted(p_holm), margin=0.02) == expected
    opposite = {"better": "worse", "worse": "better"}
    assert verdict(VARIANT("stale_present"), numbers(low, high), adjusted(p_holm), margin=0.02) == opposite.get(
        expected, expected
    )


def test_no_case_differs() -> None:
    """Few cases leave room for a large difference; that the runs agree in all of them is no doubt about it."""
    same = of_one([1.0] * 10, [1.0] * 10, range=(0.0, 1.0))
    assert same.high is not None and same.high > 0.3
    assert verdict(VARIANT("mrr"), same, adjusted(1.0), margin=0.02) == "within_noise"


def test_an_unknown_interval_says_nothing_against_a_difference() -> None:
    """Every case costs two tokens more: nothing tells how far that may be off, and chance it is not."""
    more = of_one([100.0] * 10, [102.0] * 10)
    assert (more.low, more.high) == (None, None)
    assert verdict(VARIANT("context_tokens"), more, adjusted(more.p), margin=0.02) == "worse"
    assert verdict(VARIANT("context_tokens"), more, adjusted(0.2), margin=0.02) == "inconclusive"


@pytest.mark.parametrize(
    ("metric", "inside", "outside"),
    [("mrr", 0.02, 0.03), ("memory_noise", 0.2, 0.3), ("memory_overall", 2.0, 3.0), ("context_tokens", 0.0, 0.001)],
)
def test_the_margin_is_a_share_of_what_a_metric_can_reach(metric: str, inside: float, outside: float) -> None:
    assert verdict(VARIANT(metric), numbers(-inside, inside), adjusted(1.0), margin=0.02) == "within_noise"
    assert verdict(VARIANT(metric), numbers(-inside, outside), adjusted(1.0), margin=0.02) == "inconclusive"


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], "not_comparable"),
        (["within_noise", "within_noise"], "within_noise"),
        (["within_noise", "inconclusive"], "inconclusive"),
        (["better", "inconclusive"], "better"),
        (["within_noise", "worse", "inconclusive"], "worse"),
        (["better", "worse", "within_noise"], "mixed"),
        (["inconclusive", "better", "worse"], "mixed"),
        (["worse", "better", "better"], "worse"),  # what decides is worse, whatever else was gained
        (["inconclusive", "better", "better"], "inconclusive"),
        (["within_noise", "too_few"], "within_noise"),
        (["too_few", "better"], "too_few"),
        (["too_few", "worse"], "worse"),
        (["too_few", "too_few"], "too_few"),
    ],
)
def test_the_verdict_on_two_runs_follows_the_first_metric(verdicts: list, expected: str) -> None:
    assert overall(verdicts, first_holds=False) == expected


def test_what_does_not_harm_the_first_metric_may_be_better_by_another() -> None:
    assert overall(["inconclusive", "better"], first_holds=True) == "better"
    assert overall(["within_noise", "better", "worse"], first_holds=True) == "mixed"


@pytest.mark.parametrize(("low", "high", "expected"), [(-0.02, 0.1, True), (-0.03, 0.1, False), (-0.5, -0.1, False)])
def test_not_worse_by_more_than_the_margin(low: float, high: float, expected: bool) -> None:
    assert holds(VARIANT("right"), numbers(low, high), 0.02) is expected
    assert holds(VARIANT("stale_present"), numbers(-high, -low), 0.02) is expected


def test_what_is_the_same_in_every_case_is_not_worse() -> None:
    assert holds(VARIANT("right"), of_one([1.0] * 10, [1.0] * 10, range=(0.0, 1.0)), 0.02)


def test_fewer_than_ten_pairs_tell_nothing() -> None:
    nine = of_one([0.0] * 9, [1.0] * 9, range=(0.0, 1.0))
    assert (nine.p < 0.05, verdict(VARIANT("right"), nine, adjusted(nine.p), margin=0.02)) == (True, "too_few")
    ten = of_one([0.0] * 10, [1.0] * 10, range=(0.0, 1.0))
    assert verdict(VARIANT("right"), ten, adjusted(ten.p), margin=0.02) == "better"


def test_fewer_than_six_documents_tell_nothing() -> None:
    enough = numbers(0.01, 0.2)
    assert verdict(VARIANT("right"), replace(enough, n_clusters=6), adjusted(0.01), margin=0.02) == "better"
    assert verdict(VARIANT("right"), replace(enough, n_clusters=5), adjusted(0.01), margin=0.02) == "too_few"


def test_metrics_that_are_the_same_in_every_case_do_not_count() -> None:
    same, tested = numbers(0.0, 0.0, p=1.0), numbers(0.01, 0.2, p=0.03)
    assert not same.differs and tested.differs
    assert adjust([same, tested, same]) == [Adjusted(1.0, 1), Adjusted(0.03, 1), Adjusted(1.0, 1)]
    assert adjust([tested, tested]) == [Adjusted(0.06, 2)] * 2


@pytest.mark.parametrize(
    ("comparable", "expected"),
    [
        (["mrr", "recall_at_k", "precision_at_k", "ndcg_at_k"], ["recall_at_k", "ndcg_at_k", "mrr"]),
        (
            [f"{name}_at_{cutoff}" for cutoff in (1, 3, 10) for name in ("recall", "mrr", "ndcg", "map")],
            ["recall_at_10", "ndcg_at_10", "mrr_at_10"],
        ),
        (["token_f1", "mean_faithfulness", "keyword/mrr"], ["mean_faithfulness"]),
        (["mean_faithfulness", "recall_at_k", "right"], ["right", "recall_at_k", "mean_faithfulness"]),
        (["unanswerable_f1", "mrr"], ["mrr"]),  # without unanswerable questions there are only false alarms
        (["unanswerable_f1", "unanswerable_recall"], ["unanswerable_f1"]),
        (["steps", "accuracy"], []),  # nobody says which way they are better
        (["outcome", "steps", "score"], ["outcome", "score"]),
        (
            ["token_f1", "stale_present", "memory_overall", "facts_present"],
            ["facts_present", "memory_overall"],
        ),
        ([], []),
    ],
)
def test_main_metrics(comparable: list[str], expected: list[str]) -> None:
    assert main_metrics(comparable, built_in_catalogue()) == expected


def test_nothing_stands_in_for_main_metrics_that_are_not_comparable() -> None:
    assert main_metrics(["precision_at_5"], built_in_catalogue(), ["recall_at_5", "precision_at_5"]) == []
    assert main_metrics(["precision_at_5"], built_in_catalogue(), ["precision_at_5", "steps"]) == ["precision_at_5"]
