from typing import Any

import pytest

from runner.domains.traces.sums import sums

WEIGHTS = {"complexity": 0.5, "novelty": 0.25, "diversity": 0.25, "outcome": 0.0}


def row(id: str, score: float | None, **output: Any) -> dict[str, Any]:
    kept = {"domain": "code", "weights": WEIGHTS, "rules": [], "rating": None, "scores": {"a": score}, **output}
    dimensions = {"complexity": 0.4, "novelty": 0.8, "diversity": 0.0, "outcome": 1.0}
    return {"id": id, "metrics": {"score": score, **dimensions}, "output": kept}


def of(*rows: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = sums(rows)["trace"]
    return found


def test_distributions_by_domain() -> None:
    scores = (0.0, 0.1, 0.2, 0.3, 0.4)
    found = of(*[row(str(score), score) for score in scores], row("f", 0.9, domain="finance"))["domains"]
    assert list(found) == ["code", "finance"]
    assert found["code"] == {
        "n": 5,
        "mean": pytest.approx(0.2),
        "p10": pytest.approx(0.04),
        "p50": pytest.approx(0.2),
        "p90": pytest.approx(0.36),
    }
    assert found["finance"] == {"n": 1, "mean": 0.9, "p10": 0.9, "p50": 0.9, "p90": 0.9}


def test_shares_are_those_of_the_weighted_sum() -> None:
    other = {"complexity": 0.25, "novelty": 0.25, "diversity": 0.25, "outcome": 0.25}
    # .2 + .2 + 0 + 0 and .1 + .2 + 0 + .25: .3, .4, 0, .25 of .95
    found = of(row("1", 0.4), row("2", 0.55, weights=other))["shares"]
    assert found == {
        "complexity": pytest.approx(0.3 / 0.95),
        "novelty": pytest.approx(0.4 / 0.95),
        "diversity": 0.0,
        "outcome": pytest.approx(0.25 / 0.95),
    }
    nothing = of(row("1", 0.0, weights=dict.fromkeys(WEIGHTS, 0.0)))["shares"]
    assert nothing == dict.fromkeys(WEIGHTS, 0.0)


def test_rules_are_counted_also_those_that_never_fired() -> None:
    found = of(row("1", 0.1, rules=["single_thought", "one_tool"]), row("2", 0.4, rules=["one_tool"]))["rules"]
    assert found == {"single_thought": 1, "recovery_bonus": 0, "one_tool": 2}


def test_sensitivity_is_tau_between_profiles() -> None:
    scores = [(1, 3, 5), (2, 2, 5), (3, 1, 5)]
    found = of(*[row(str(a), 0.5, scores={"a": a, "b": b, "c": c}) for a, b, c in scores])["sensitivity"]
    assert found == {"profiles": ["a", "b", "c"], "tau": [[1.0, -1.0, None], [-1.0, 1.0, None], [None, None, None]]}


def test_agreement_with_ratings_where_there_are_some() -> None:
    # of the 10 pairs of rated traces, (.2, .3) and (.4, .5) are the other way round: tau .6, rho 1 - 6*4/120 = .8
    rated = [row(str(n), n / 10, rating=rating) for n, rating in enumerate((1, 3, 2, 5, 4), start=1)]
    found = of(*rated, row("unrated", 0.0))["agreement"]
    assert (found["n"], found["spearman"], found["kendall"]) == (5, pytest.approx(0.8), pytest.approx(0.6))
    assert found["spearman_low"] < 0.8 < found["spearman_high"]
    assert found["kendall_low"] < 0.6 < found["kendall_high"]
    assert "agreement" not in of(row("1", 0.1, rating=3), row("2", 0.2))
    assert of(row("1", 0.1, rating=3), row("2", 0.2, rating=4))["agreement"]["n"] == 2


def test_outliers_are_far_from_their_domain() -> None:
    # median .52, median distance .02, /.6745 = .0297: .52 - 3.5 * .0297 = .416
    near = [row(str(score), score) for score in (0.50, 0.51, 0.52, 0.54, 0.55)]
    other = [row(f"f{n}", 0.1, domain="finance") for n in range(3)]
    assert of(*near, row("low", 0.41), *other)["outliers"] == ["low"]
    assert of(*near, row("low", 0.43), *other)["outliers"] == []


def test_where_most_are_equal_mean_distances_count() -> None:
    equal = [row(f"s{n}", 0.5) for n in range(9)]
    # mean distance .01, * 1.2533 = .0125; .1 is 8 of them
    assert of(*equal, row("far", 0.6))["outliers"] == ["far"]
    assert of(*equal)["outliers"] == []
    # one of n + 1 away by d: 3.5 * 1.2533 * d / (n + 1) = 4.39 d / (n + 1), which is less than d from n = 4 on
    assert of(*equal[:4], row("far", 0.6))["outliers"] == ["far"]
    assert of(*equal[:3], row("far", 0.6))["outliers"] == []


def test_what_failed_does_not_count() -> None:
    failed = {"id": "x", "metrics": {}, "output": None}
    assert of(row("1", 0.4), failed)["domains"]["code"]["n"] == 1
    assert sums([failed]) == {}


def test_traces_of_unknown_success_are_counted() -> None:
    found = of(row("1", 0.4), row("2", None, success=None), row("3", None, success=True))
    assert found["unknown_success"] == 1
    assert found["domains"]["code"]["n"] == 1
    assert of(row("2", None, success=None)) == {"unknown_success": 1}
    assert "unknown_success" not in of(row("1", 0.4, success=True))


def test_traces_over_the_budget_are_counted_with_and_without_their_embedding() -> None:
    rows = [
        {
            "id": str(n),
            "metrics": {},
            "output": {},
            "timings": {"embedding_share": {"ms": share}, "scoring": {"ms": ms}},
        }
        for n, (share, ms) in enumerate([(99.0, 1.0), (99.5, 1.0), (1.0, 101.0)])
    ]
    assert sums([*rows, {"id": "3", "metrics": {}, "output": {}}])["timing"] == {
        "trace_budget": {"ms": 100, "n": 3, "over": 2, "over_without_embedding": 1}
    }
