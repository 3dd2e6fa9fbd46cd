import numpy as np
import pytest

from runner.compare.differences import Difference
from runner.compare.slices import slices_of
from tests.comparison_runs import cases, paired, snapshot

NONE = float("nan")


def difference(one: dict, other: dict, name: str = "recall_at_k", **columns: dict) -> Difference:
    """`one` and `other` map ids to values; `columns` of cases of both runs, as pairs."""
    sides = [
        snapshot(
            cases(
                sorted(values), {name: [values[id] for id in sorted(values)]}, **{k: v[i] for k, v in columns.items()}
            )
        )
        for i, values in enumerate((one, other))
    ]
    return paired(*sides).differences([name])[name]


def test_over_pairs_that_both_runs_scored() -> None:
    found = difference({"a": 0.0, "b": 0.5, "c": NONE}, {"a": 1.0, "b": 0.5, "d": 1.0})
    assert found.numbers is not None
    assert (found.numbers.n, found.numbers.baseline, found.numbers.candidate) == (2, 0.25, 0.75)
    assert (found.left_out, found.failed_baseline, found.failed_candidate) == (0, 0, 0)


def test_a_case_that_failed_in_one_run_is_left_out_and_counted() -> None:
    """Else a run that fails on hard questions would look better."""
    found = difference({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": NONE}, failed=[(), ("b",)])
    assert found.numbers is not None
    assert (found.numbers.n, found.numbers.difference, found.left_out) == (1, 0.0, 1)
    assert (found.failed_baseline, found.failed_candidate) == (0, 1)


def test_a_judgement_that_failed_and_is_excluded() -> None:
    found = difference(
        {"a": 1.0, "b": 0.5}, {"a": 1.0, "b": NONE}, "mean_faithfulness", unscored=[{}, {"mean_faithfulness": {"b": 1}}]
    )
    assert found.numbers is not None
    assert (found.numbers.n, found.left_out, found.failed_candidate) == (1, 1, 1)


def test_a_judgement_that_failed_and_counts_as_zero() -> None:
    found = difference(
        {"a": 1.0, "b": 0.5}, {"a": 1.0, "b": 0.0}, "mean_faithfulness", unscored=[{}, {"mean_faithfulness": {"b": 1}}]
    )
    assert found.numbers is not None
    assert (found.numbers.n, found.numbers.difference) == (2, -0.25)
    assert (found.left_out, found.failed_candidate) == (0, 1)


def test_both_failed() -> None:
    found = difference({"a": NONE}, {"a": NONE}, unscored=[{"recall_at_k": {"a": 1}}, {"recall_at_k": {"a": 1}}])
    assert found.numbers is None
    assert (found.left_out, found.failed_baseline, found.failed_candidate) == (1, 1, 1)


def test_a_metric_that_applies_in_one_run_only_weighs_nothing_in_the_other() -> None:
    """Precision of "no answer here": 1 of 2 calls of the baseline, 1 of 1 of the candidate."""
    found = difference({"a": 1.0, "b": 0.0, "c": NONE}, {"a": 1.0, "b": NONE, "c": NONE}, "unanswerable_precision")
    assert found.numbers is not None
    assert (found.numbers.n, found.numbers.baseline, found.numbers.candidate) == (2, 0.5, 1.0)
    assert found.left_out == 0 and found.mcnemar is None
    back = difference({"a": 1.0, "b": NONE, "c": NONE}, {"a": 1.0, "b": 0.0, "c": NONE}, "unanswerable_precision")
    assert back.numbers is not None
    assert (back.numbers.n, back.numbers.baseline, back.numbers.candidate) == (2, 1.0, 0.5)


def test_weights() -> None:
    """F1 of 2 tp / (predicted + actual): 2/4 against 4/5."""
    weights = [{"unanswerable_f1": {"a": 2.0}}, {"unanswerable_f1": {"a": 2.0, "b": 2.0}}]
    found = difference(
        {"a": 1.0, "b": 0.0, "c": 0.0}, {"a": 1.0, "b": 1.0, "c": 0.0}, "unanswerable_f1", weights=weights
    )
    assert found.numbers is not None
    assert (found.numbers.baseline, found.numbers.candidate) == (0.5, 0.8)


def test_a_case_that_weighs_more_in_both_runs() -> None:
    twice = [{"unanswerable_f1": {"a": 2.0}}] * 2
    found = difference({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}, "unanswerable_f1", weights=twice)
    assert found.numbers is not None and found.mcnemar is None
    assert (found.numbers.baseline, found.numbers.candidate) == (2 / 3, 1 / 3)


def test_yes_and_no() -> None:
    found = difference({"a": 1.0, "b": 1.0, "c": 0.0}, {"a": 0.0, "b": 1.0, "c": 0.0}, "hit_rate_at_5")
    assert found.mcnemar is not None
    assert (found.mcnemar.lost, found.mcnemar.won, found.mcnemar.p) == (1, 0, 1.0)
    assert difference({"a": 1.0, "b": 0.5}, {"a": 0.0, "b": 0.5}).mcnemar is None


def test_noise_of_a_judge() -> None:
    """Two cases with standard errors .03 and .04 in each run: sqrt(.0009 + .0016 + .0009 + .0016) / 2 for the
    difference of the two means."""
    noise = [{"mean_faithfulness": {"a": 0.03, "b": 0.04}}] * 2
    found = difference({"a": 1.0, "b": 0.5}, {"a": 0.5, "b": 0.5}, "mean_faithfulness", noise=noise)
    assert found.judge_noise == pytest.approx(1.96 * np.sqrt(0.005) / 2)
    assert difference({"a": 1.0}, {"a": 0.5}, "mean_faithfulness").judge_noise is None


def test_a_metric_does_not_change_when_another_is_asked_for_too() -> None:
    ids = [f"{number:02d}" for number in range(30)]
    random = np.random.default_rng(1)
    one, other = (
        snapshot(cases(ids, {"recall_at_k": random.random(30), "mrr": [NONE, *random.random(29)]})) for _ in range(2)
    )
    runs = paired(one, other)
    both = runs.differences(["recall_at_k", "mrr"])
    assert both["mrr"] == paired(one, other).differences(["mrr"])["mrr"]
    assert both["mrr"] is runs.differences(["mrr"])["mrr"]  # worked out once
    assert both["mrr"].numbers is not None and both["mrr"].numbers.n == 29


def test_slices_are_those_of_the_candidate() -> None:
    ids = ["a", "b", "c"]
    columns = {"language": ["ko", "en", None], "difficulty": ["easy", "easy", "hard"], "tags": [["t"], ["t", "t"], []]}
    one = snapshot(cases(ids, {"mrr": [0, 0, 0]}, language=["en", "en", "en"]))
    runs = paired(one, snapshot(cases(ids, {"mrr": [1, 0, 0]}, **columns)))
    found = {(dimension, value): mask.tolist() for dimension, value, mask in slices_of(runs)}
    assert found == {
        ("language", "en"): [False, True, False],
        ("language", "ko"): [True, False, False],
        ("difficulty", "easy"): [True, True, False],
        ("difficulty", "hard"): [False, False, True],
        ("tag", "t"): [True, True, False],
    }
    assert [dimension for dimension, _ in found] == ["language", "language", "difficulty", "difficulty", "tag"]
    korean = runs.differences(["mrr"], np.array(found["language", "ko"]))["mrr"].numbers
    assert korean is not None and (korean.n, korean.difference) == (1, 1.0)
