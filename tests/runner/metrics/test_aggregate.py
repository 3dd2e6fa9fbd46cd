"""From rows to the numbers of a summary."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from runner.metrics.aggregate import aggregate, cost, latency
from runner.metrics.catalogue import built_in_catalogue
from runner.records import RoleCost, Row, Timing
from tests.intervals import mean_interval

NOTHING = {"value": None, "n": 0, "n_scored": 0, "ci_low": None, "ci_high": None, "value_scored": None}


def row(id: str = "q", status: str = "ok", **fields: object) -> Row:
    return Row(**{"id": id, "status": status, "metrics": {}, "output": None, "latency_ms": None, **fields})


def metric(rows: list[Row], name: str = "m") -> dict[str, float | int | None]:
    return aggregate(rows, built_in_catalogue(), seed=1)["metrics"][name]


def test_the_four_states_of_a_metric():
    rows = [
        row(metrics={"m": 1.0}),
        row(metrics={"m": 0.5}),
        row(metrics={"m": 0.0}, unscored=("m",)),  # a failed judgement that counts as zero
        row(metrics={"m": None}, unscored=("m",)),  # a failed judgement that is left out
        row(status="failed", unscored=("m",)),  # a failed case
        row(metrics={"m": None}),  # not applicable
        row(),
    ]
    found = metric(rows)
    assert (found["n"], found["n_scored"]) == (5, 2)
    assert (found["value"], found["value_scored"]) == (0.5, 0.75)
    assert (found["ci_low"], found["ci_high"]) == (None, None)  # too few without a range
    many = metric(rows * 10)
    assert (many["ci_low"], many["ci_high"]) == mean_interval(np.tile([1.0, 0.5, 0.0], 10), seed=1)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_unscored(value):
    found = metric([row(metrics={"m": 1.0}), row(metrics={"m": value})])
    assert (found["value"], found["n"], found["n_scored"]) == (1.0, 2, 1)


def test_a_metric_that_applies_to_no_case_still_appears():
    assert metric([row(metrics={"m": None})]) == NOTHING


def test_a_metric_that_could_never_be_scored():
    assert metric([row(status="timeout", unscored=("m",))]) == {**NOTHING, "n": 1}


def test_equal_cases_of_a_metric_without_a_range_have_no_interval():
    assert metric([row(metrics={"m": 0.7})]) == {
        "value": 0.7,
        "n": 1,
        "n_scored": 1,
        "ci_low": None,
        "ci_high": None,
        "value_scored": 0.7,
    }
    found = metric([row(metrics={"m": 0.1})] * 3)
    assert (found["value"], found["ci_low"], found["ci_high"]) == (0.1, None, None)


@pytest.mark.parametrize("name", ["recall_at_k", "recall_at_5", "chunk/recall_at_5", "mrr", "unanswerable_f1"])
def test_equal_cases_of_a_metric_with_a_range_have_an_interval_with_a_width(name):
    """Of 10 cases that are all 1 the lower limit p has p**10 = .025."""
    found = metric([row(metrics={name: 1.0})] * 10, name)
    assert (found["ci_low"], found["ci_high"]) == (pytest.approx(0.025**0.1, abs=1e-9), 1.0)


def test_weights():
    rows = [
        row(metrics={"m": 1.0}, weights={"m": 2.0}),
        row(metrics={"m": 0.0}),
        row(metrics={"m": 0.0}, unscored=("m",)),
        row(metrics={"m": 1.0}, weights={"m": 0.0}),  # no weight: not applicable
    ]
    found = metric(rows)
    assert (found["value"], found["value_scored"]) == (2 / 4, 2 / 3)
    assert (found["n"], found["n_scored"]) == (3, 2)
    many = metric(rows * 10)
    assert (many["ci_low"], many["ci_high"]) == mean_interval(
        np.tile([1.0, 0.0, 0.0], 10), np.tile([2.0, 1.0, 1.0], 10), seed=1
    )


def test_means_of_judgements_have_the_names_of_the_summary():
    rows = [row(metrics={"faithfulness": 0.5, "answer_relevancy": None}, unscored=("answer_relevancy",))]
    found = aggregate(rows, built_in_catalogue(), seed=1)["metrics"]
    assert list(found) == ["mean_faithfulness", "mean_answer_relevancy"]
    assert found["mean_answer_relevancy"]["n"] == 1


def test_slices():
    rows = [
        row(metrics={"m": 1.0, "keyword/m": 1.0}, language="ko", difficulty="easy", tags=("a", "b", "a")),
        row(metrics={"m": 0.0, "keyword/m": 1.0}, language="en", tags=("b",)),
        row(metrics={"m": None}, language="en"),
        row(status="failed", unscored=("m",), language="ko"),
    ]
    slices = aggregate(rows, built_in_catalogue(), seed=1)["slices"]
    assert list(slices) == ["language", "difficulty", "tag"]
    assert list(slices["language"]) == ["en", "ko"]  # sorted
    assert list(slices["difficulty"]) == ["easy"]
    assert list(slices["tag"]) == ["a", "b"]
    assert [(s["m"]["value"], s["m"]["n"]) for s in slices["language"].values()] == [(0.0, 1), (1.0, 2)]
    assert [(s["m"]["value"], s["m"]["n"]) for s in slices["tag"].values()] == [(1.0, 1), (0.5, 2)]
    assert "keyword/m" not in slices["tag"]["a"]  # legs are not sliced


def test_a_slice_of_all_cases_has_the_numbers_of_the_whole():
    rows = [row(metrics={"m": n / 9, "keyword/m": 1.0}, tags=("all",), language="ko") for n in range(10)]
    found = aggregate(rows, built_in_catalogue(), seed=1)
    assert found["slices"]["tag"]["all"] == {"m": found["metrics"]["m"]}
    assert found["slices"]["language"]["ko"] == {"m": found["metrics"]["m"]}
    assert found["metrics"]["keyword/m"]["value"] == 1.0


def test_metrics_of_different_cases_do_not_disturb_each_other():
    values = np.random.default_rng(1).random(30)
    both = [
        row(metrics={"m": value, "other": value if place % 3 else None}, language="ko")
        for place, value in enumerate(values)
    ]
    alone = [row(metrics={"m": value}, language="ko") for value in values]
    assert metric(both) == metric(alone)
    assert (metric(both)["ci_low"], metric(both)["ci_high"]) == mean_interval(values, seed=1)


def test_blocks_change_nothing_and_neither_do_estimates_of_another_run(monkeypatch):
    """Rows name different metrics, have weights and lack scores, in turn."""
    rows = [
        row(metrics={"a": n % 7 / 7, "b": None if n % 5 else 1.0}, language="ko")
        if n % 3
        else row(metrics={"b": n % 2, "a": None, "c": 3.0 * n}, unscored=("a",), weights={"c": 1 + n % 2, "gone": 2})
        for n in range(1100)
    ]
    known = {}
    whole = aggregate(rows, built_in_catalogue(), seed=1, shared_estimates=known)
    monkeypatch.setattr("runner.metrics.aggregate.BLOCK", 1)
    assert json.dumps(aggregate(rows, built_in_catalogue(), seed=1)) == json.dumps(whole)
    assert (whole["metrics"]["a"]["n"], whole["metrics"]["a"]["n_scored"]) == (1100, 733)
    values = [float(3 * n) for n in range(0, 1100, 3) for _ in range(1 + n % 2)]
    assert whole["metrics"]["c"]["value"] == pytest.approx(sum(values) / len(values))
    monkeypatch.setattr("runner.metrics.statistics.mean_intervals", None)  # what is known is not worked out again
    assert json.dumps(aggregate(rows, built_in_catalogue(), seed=1, shared_estimates=known)) == json.dumps(whole)
    with pytest.raises(TypeError):
        aggregate(rows, built_in_catalogue(), seed=2, shared_estimates=known)


def test_counts_and_cases():
    rows = [
        row(labels={"lost_at": "none", "pattern": "ideal"}),
        row(labels={"lost_at": "below_k"}, metrics={"m": 0.0}, unscored=("m",)),
        row(labels={"lost_at": "none"}),
        row(status="failed", unscored=("m",)),
        row(status="timeout"),
    ]
    found = aggregate(rows, built_in_catalogue(), seed=1, total=8)
    assert found["counts"] == {"lost_at": {"below_k": 1, "none": 2}, "pattern": {"ideal": 1}}
    assert [list(counts) for counts in found["counts"].values()] == [["below_k", "none"], ["ideal"]]  # sorted
    assert found["cases"] == {"total": 8, "ok": 3, "failed": 1, "timeout": 1, "pending": 3, "unscored": 1}
    assert aggregate(rows, built_in_catalogue(), seed=1)["cases"]["pending"] == 0


def test_no_rows():
    assert aggregate([], built_in_catalogue(), seed=1) == {
        "cases": {"total": 0, "ok": 0, "failed": 0, "timeout": 0, "pending": 0, "unscored": 0},
        "metrics": {},
        "slices": {"language": {}, "difficulty": {}, "tag": {}},
        "counts": {},
    }


def test_rows_and_their_json_give_the_same_bytes():
    rows = [
        row(
            id=str(n),
            metrics={"m": n / 7, "f1": float(n % 2)},
            weights={"f1": 2.0} if n % 3 else {},
            language="ko" if n % 2 else None,
            tags=("t",),
            labels={"lost_at": "none"},
            timings={"retrieval": Timing(n * 1.5, n % 2 == 0)},
            latency_ms=2.0 * n,
        )
        for n in range(25)
    ]
    lines = [json.loads(json.dumps(asdict(one))) for one in rows]
    assert json.dumps(aggregate(iter(rows), built_in_catalogue(), seed=1)) == json.dumps(
        aggregate(iter(lines), built_in_catalogue(), seed=1)
    )
    assert latency(rows) == latency(lines)


def test_latency_counts_live_timings_of_stages_and_whole_cases_that_ended_well():
    rows = [
        row(timings={"retrieval": Timing(10.0), "generation": Timing(100.0)}, latency_ms=111.0),
        row(timings={"retrieval": Timing(20.0), "generation": Timing(1.0, live=False)}, latency_ms=21.0),  # cached
        row(timings={"retrieval": Timing(40.0)}, latency_ms=41.0),
        row(status="timeout", timings={"retrieval": Timing(30.0)}, latency_ms=5000.0),
        row(status="failed"),
    ]
    assert latency(rows) == {
        "case": {"p50_ms": 76.0, "p95_ms": pytest.approx(107.5), "n": 2},
        "generation": {"p50_ms": 100.0, "p95_ms": 100.0, "n": 1},
        "retrieval": {"p50_ms": 25.0, "p95_ms": pytest.approx(38.5), "n": 4},
    }


def test_second_attempts_are_counted_apart_and_are_no_replies_from_a_cache():
    rows = [
        row(timings={"system": Timing(100.0)}, latency_ms=100.0),
        row(timings={"system": Timing(102.0, live=False, repeated_ms=702.0)}, latency_ms=102.0),
        row(timings={"system": Timing(1.0, live=False)}, latency_ms=1.0),  # from the cache
    ]
    expected = {"p50_ms": 100.0, "p95_ms": 100.0, "n": 1, "n_repeated": 1, "p95_repeated_ms": pytest.approx(671.9)}
    assert latency(rows) == {"case": expected, "system": expected}
    assert latency(rows[2:])["case"] == {"p50_ms": None, "p95_ms": None, "n": 0}


def test_cost_is_that_of_cases_that_ended_well_and_unknown_with_one_unknown_price():
    judge = [RoleCost(2, 100, 10, 0.25), RoleCost(1, 50, 5, 0.5)]
    rows = [
        row(cost={"judge": judge[0], "generator": RoleCost(1, 7, 3, 0.125)}),
        row(cost={"judge": judge[1], "generator": RoleCost(1, 8, 4, None)}),
        row(),  # called no model
        row(status="failed", cost={"judge": RoleCost(9, 900, 90, 9.0)}),
    ]
    assert cost(rows) == {
        "cases": 3,
        "roles": {
            "generator": {"requests": 2, "input_tokens": 15, "output_tokens": 7, "usd": None},
            "judge": {"requests": 3, "input_tokens": 150, "output_tokens": 15, "usd": 0.75},
        },
    }
    assert cost([json.loads(json.dumps(asdict(one))) for one in rows]) == cost(rows)
    assert cost([row()]) == {}


def test_a_stage_that_was_not_timed_is_no_latency_of_zero():
    rows = [row(timings={"retrieval": Timing(None)}), row(timings={"retrieval": Timing(4.0)}, latency_ms=4.0)]
    assert latency(rows)["retrieval"] == {"p50_ms": 4.0, "p95_ms": 4.0, "n": 1}


def test_latency_without_live_timings():
    assert latency([row(timings={"retrieval": Timing(1.0, live=False)})]) == {
        "case": {"p50_ms": None, "p95_ms": None, "n": 0}
    }


def test_undecided_cases_are_counted_beside_the_mean_of_the_others():
    """Two right, one wrong, two undecided, one whose judge failed; of the Korean ones only an undecided one."""
    values = {"a": 1.0, "b": 1.0, "c": 0.0, "d": None, "e": None, "f": None}
    rows = [
        {
            "id": id,
            "metrics": {"right": value},
            "labels": {"right_by": "undecided" if id in "de" else "words"},
            "unscored": ["right"] if id == "f" else [],
            "language": "ko" if id == "e" else "en",
        }
        for id, value in values.items()
    ]
    summary = aggregate(rows, built_in_catalogue(), seed=1)
    right = summary["metrics"]["right"]
    assert (right["n"], right["n_scored"], right["undecided"]) == (6, 3, 2)
    assert [right[name] for name in ("value", "if_lowest", "if_highest")] == [2 / 3, 0.4, 0.8]
    korean = summary["slices"]["language"]["ko"]["right"]
    assert [korean[name] for name in ("value", "n", "undecided", "if_lowest", "if_highest")] == [None, 1, 1, 0.0, 1.0]


def test_a_metric_that_is_not_shown_has_no_undecided_cases():
    row = {"id": "a", "metrics": {"recall_at_k": 1.0}, "labels": {"right_by": "undecided"}}
    assert "right" not in aggregate([row], built_in_catalogue(), seed=1)["metrics"]


def test_cases_of_one_document_count_together():
    """Eight documents of five equal cases, and two cases without one."""
    rows = [row(f"q{n}", metrics={"right": float(n // 5 % 2)}, clusters={"document": f"d{n // 5}"}) for n in range(40)]
    rows += [row(f"r{n}", metrics={"right": 1.0}, tags=("team:search",)) for n in range(2)]
    whole, apart = (aggregate(rows, built_in_catalogue(), seed=1, cluster=choice) for choice in ("auto", "none"))
    assert "clusters" not in apart
    assert {**whole["clusters"], "widening": None} == {"field": "document", "n": 8, "n_alone": 2, "widening": None}
    widths = [each["metrics"]["right"]["ci_high"] - each["metrics"]["right"]["ci_low"] for each in (whole, apart)]
    assert whole["clusters"]["widening"] == pytest.approx(widths[0] / widths[1]) and widths[0] > 1.8 * widths[1]
    assert whole["metrics"]["right"]["value"] == apart["metrics"]["right"]["value"]
    by_team = aggregate(rows, built_in_catalogue(), seed=1, cluster="team")["clusters"]
    assert (by_team["field"], by_team["n"], by_team["n_alone"]) == ("team", 1, 40)


def test_estimates_that_runs_share_go_by_their_clusters():
    known: dict = {}
    rows = [
        row(f"q{n}", metrics={"right": float(n // 4 % 3 > 0)}, clusters={"document": f"d{n // 4}"}) for n in range(40)
    ]
    first = aggregate(rows, built_in_catalogue(), seed=1, shared_estimates=known)
    apart = aggregate(rows, built_in_catalogue(), seed=1, shared_estimates=known, cluster="none")
    assert apart["metrics"] == aggregate(rows, built_in_catalogue(), seed=1, cluster="none")["metrics"]
    assert apart["metrics"] != first["metrics"]
