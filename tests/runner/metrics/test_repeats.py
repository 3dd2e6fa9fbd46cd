"""Several answers to one question, by hand."""

from __future__ import annotations

from runner.metrics.metric import Metric
from runner.metrics.repeats import average_scores, deviation, spreads
from runner.records import Scores


def test_means_and_spread() -> None:
    parts = [
        Scores({"right": 1.0, "faithfulness": 0.9, "recall_at_k": None}, labels={"right_by": "declined"}),
        Scores({"right": 0.0, "faithfulness": None, "recall_at_k": None}, unscored=("faithfulness",)),
        Scores({"right": 1.0, "faithfulness": 0.5, "recall_at_k": None}),
    ]
    found = average_scores(parts, ["right", "faithfulness", "not_there"], "right")
    assert found.values["right"] == 2 / 3
    assert found.values["faithfulness"] == 0.7 and found.values["recall_at_k"] is None
    assert round(found.values["right_spread"] or 0, 6) == 0.57735  # of 1, 0, 1
    assert round(found.values["faithfulness_spread"] or 0, 6) == 0.282843
    assert "not_there_spread" not in found.values
    assert found.unscored == ("faithfulness",)
    assert found.labels == {"right_by": "declined", "steady": "some"}


def test_weights_are_those_of_the_answers_that_count() -> None:
    """Declined twice rightly (weight 2), answered once: F1 of the question is 4/5 as of the three alone."""
    declined = Scores({"unanswerable_f1": 1.0}, weights={"unanswerable_f1": 2.0})
    answered = Scores({"unanswerable_f1": 0.0})
    found = average_scores([declined, declined, answered])
    assert (found.values["unanswerable_f1"], found.weights) == (0.8, {"unanswerable_f1": 5 / 3})


def test_whether_it_is_always_right() -> None:
    for values, steady in (((1.0, 1.0), "all"), ((0.0, 0.0), "never"), ((0.0, 1.0), "some")):
        assert average_scores([Scores({"right": value}) for value in values], (), "right").labels == {"steady": steady}
    assert average_scores([Scores({"right": None}), Scores({"right": None})], (), "right").labels == {}


def test_one_value_has_no_spread() -> None:
    assert (deviation([0.5]), deviation([]), deviation([0.5, 0.5])) == (None, None, 0.0)


def test_a_spread_decides_nothing() -> None:
    metric = Metric(
        name="right",
        tells_right=True,
        better="higher",
        label={"en": "Right", "ko": "정답률"},
        main=True,
        headline=0,
        summary="mean_right",
    )
    (spread,) = spreads([metric])
    assert (spread.name, spread.summary, spread.better, spread.main) == (
        "right_spread",
        "mean_right_spread",
        "lower",
        False,
    )
    assert (spread.headline, spread.quality, spread.group) == (None, None, "repeats")
    assert not spread.tells_right
