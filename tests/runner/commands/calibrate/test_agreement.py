"""The numbers of a calibration: by hand, against scipy, and by simulation."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import krippendorff
import numpy as np
import pytest
import scipy

from runner.commands.calibrate.agreement import Settings, _estimate, agreement_of
from runner.data.ratings import UNIT, RatedAnswer, Scale
from runner.metrics.agreement import pearsons, spearmans
from runner.metrics.statistics import bca_interval, resampled_counts
from tests.intervals import mean_interval
from tests.runner.commands.calibrate.rated import rated

SETTINGS: dict[str, Any] = {"scale": UNIT, "judge_from": 0.5, "human_from": 0.5, "seed": 42}


def agreement(answers: list[RatedAnswer], scores: dict[str, float | None], **settings: Any) -> dict[str, Any]:
    return agreement_of("faithfulness", answers, scores, Settings(**{**SETTINGS, **settings}))


# People: 1, .5, 0, .75; the judge: .9, .6, .2, .3
ANSWERS = [rated("a", 1.0, 1.0), rated("b", 0.75, 0.25), rated("c", 0.0, 0.0), rated("d", 0.5, 1.0)]
SCORES = {"a": 0.9, "b": 0.6, "c": 0.2, "d": 0.3}


def test_by_hand():
    found = agreement(ANSWERS, SCORES)
    human, judge = [1, 0.5, 0, 0.75], [0.9, 0.6, 0.2, 0.3]
    assert (found["n"], found["n_judged"], found["n_failed"], found["n_groups"]) == (4, 4, 0, 4)
    assert found["mean_human"] == 0.5625
    assert found["mean_judge"] == 0.5
    assert found["bias"]["value"] == pytest.approx(-0.0625)
    assert found["pearson"]["value"] == pytest.approx(scipy.stats.pearsonr(judge, human).statistic)
    assert found["spearman"]["value"] == pytest.approx(0.8)  # ranks 4 3 1 2 and 4 2 1 3: 1 - 6 * 2 / 60
    assert found["confusion"] == {
        "true_positive": 2,
        "false_positive": 0,
        "false_negative": 1,
        "true_negative": 1,
    }
    assert found["kappa"] == pytest.approx((0.75 - 0.5) / (1 - 0.5))
    assert (found["sensitivity"], found["specificity"]) == (2 / 3, 1.0)
    assert found["balanced_accuracy"] == pytest.approx(5 / 6)
    assert found["macro_f1"] == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert found["auc"] == 1.0  # .2 is below .9, .6 and .3
    assert [miss["id"] for miss in found["worst"]] == ["d", "c", "a", "b"]  # off by .45, .2, .1, .1
    assert found["worst"][0] == {"id": "d", "judge": 0.3, "human": 0.75}


def test_thresholds_of_judge_and_people():
    found = agreement(ANSWERS, SCORES, judge_from=0.3, human_from=0.75)
    assert list(found["confusion"].values()) == [2, 1, 0, 1]


def test_answers_that_the_judge_failed_on_or_did_not_come_to_count_in_no_number():
    more = [*ANSWERS, rated("e", 0.0), rated("f", 0.0), rated("g", 0.1, ratings={"answer_relevancy": (0.1,)})]
    found = agreement(more, {**SCORES, "e": None, "g": 0.4})
    assert (found["n"], found["n_judged"], found["n_failed"]) == (6, 4, 1)
    same = agreement(ANSWERS, SCORES)
    for name in ("pearson", "spearman", "bias", "kappa", "confusion", "mean_judge", "mean_human", "worst"):
        assert found[name] == same[name]


def test_weighted_kappa_on_the_grades_of_the_scale():
    """Grades 1 2 3 4 of people; of the judge 1 2 3 2: one miss by two grades costs 4. By chance every grade of
    people meets 1, 2, 3, 2: (0+1+4+1 + 1+0+1+0 + 4+1+0+1 + 9+4+1+4) / 4 = 8."""
    answers = [rated(str(n), n / 3) for n in range(4)]
    scores = {"0": 0.1, "1": 0.4, "2": 0.6, "3": 0.3}
    assert agreement(answers, scores, scale=Scale(1, 4))["kappa_quadratic"] == pytest.approx(1 - 4 / 8)
    assert agreement(answers, scores)["kappa_quadratic"] is None
    half = {**scores, "2": 0.5}  # half-way between two grades is the higher one
    assert agreement(answers, half, scale=Scale(1, 4))["kappa_quadratic"] == pytest.approx(1 - 4 / 8)


def test_what_cannot_be_told_is_none():
    nothing = agreement([rated("a", 1.0)], {})
    assert nothing["pearson"] == nothing["bias"] == {"value": None, "low": None, "high": None}
    assert (nothing["kappa"], nothing["mean_judge"], nothing["people"], nothing["worst"]) == (None, None, None, [])
    constant = agreement(ANSWERS, dict.fromkeys(SCORES, 0.7))
    assert constant["pearson"]["value"] is constant["spearman"]["value"] is None
    assert constant["bias"]["value"] == pytest.approx(0.1375)
    one_group = agreement([rated("a", 1.0, group="g"), rated("b", 0.0, group="g")], {"a": 1.0, "b": 0.5})
    assert one_group["pearson"] == {"value": pytest.approx(1.0), "low": None, "high": None}


def test_within_systems():
    """x is better than y for people and judge; among the answers of either the judge has it the wrong way round."""
    people = {"x": (0.8, 0.9), "y": (0.1, 0.2)}
    answers = [rated(f"{s}{n}", value, system=s) for s, values in people.items() for n, value in enumerate(values)]
    found = agreement([*answers, rated("z", 0.5)], {"x0": 0.9, "x1": 0.8, "y0": 0.2, "y1": 0.1, "z": 0.5})
    assert found["pearson"]["value"] > 0.9
    assert found["within_system"]["n"] == 4
    assert found["within_system"]["pearson"]["value"] == pytest.approx(-1.0)
    assert found["within_system"]["spearman"]["value"] == pytest.approx(-1.0)
    for system, mean in (("x", 0.85), ("y", 0.15)):
        entry = {"n": 2, "pearson": -1.0, "spearman": -1.0, "mean_judge": mean, "mean_human": mean}
        assert found["slices"]["system"][system] == pytest.approx(entry)
    assert agreement(ANSWERS, SCORES)["within_system"] is None


def test_languages_stand_side_by_side_where_there_are_several():
    both = [rated("a", 1.0, language="ko"), rated("b", 0.5, language="ko"), rated("c", 0.0, language="en")]
    found = agreement(both, SCORES)["slices"]
    assert {language: entry["n"] for language, entry in found["language"].items()} == {"ko": 2, "en": 1}
    assert found["language"]["en"]["pearson"] is None
    assert agreement(both[:2], SCORES)["slices"] == {"system": {}, "language": {}}


def test_people_among_themselves():
    answers = [*ANSWERS, rated("e", 0.25), rated("f", 1.0, 0.5, 0.0)]
    found = agreement(answers, {**SCORES, "e": 0.9, "f": 0.4})["people"]
    votes = [[1, 1], [0.75, 0.25], [0, 0], [0.5, 1], [0.25, math.nan], [1, 0.5]]
    votes = np.array([[*each, math.nan] for each in votes[:5]] + [[1, 0.5, 0]])
    assert found["alpha"]["value"] == pytest.approx(krippendorff.alpha(votes.T, level_of_measurement="interval"))
    assert (found["n"], found["ratings"]) == (5, 3)
    left_out = found["one_left_out"]
    first, others, judge = [1, 0.75, 0, 0.5, 1], [1, 0.25, 0, 1, 0.25], [0.9, 0.6, 0.2, 0.3, 0.4]
    person, in_place = scipy.stats.pearsonr(first, others).statistic, scipy.stats.pearsonr(judge, others).statistic
    assert left_out["n"] == 5
    assert left_out["person"]["value"] == pytest.approx(person)
    assert left_out["judge"]["value"] == pytest.approx(in_place)
    assert left_out["difference"]["value"] == pytest.approx(in_place - person)


def test_two_ratings_and_two_groups_are_enough():
    found = agreement(ANSWERS[:2], SCORES)
    assert found["people"]["ratings"] == 2
    assert found["bias"]["low"] is not None


def test_the_bias_has_the_interval_of_a_mean():
    random = np.random.default_rng(4)
    human, judge = random.random(30), random.random(30) ** 4
    answers = [rated(str(n), float(value)) for n, value in enumerate(human)]
    found = agreement(answers, {str(n): float(value) for n, value in enumerate(judge)})["bias"]
    assert (found["low"], found["high"]) == pytest.approx(mean_interval(judge - human, seed=42))


def test_whole_groups_are_resampled():
    """Each answer four times in its group tells no more than once; taken for independent answers, it would."""
    random = np.random.default_rng(1)
    truth = random.random(30)
    answers = [rated(str(n), float(truth[n])) for n in range(30)]
    scores = {str(n): float(truth[n] + random.normal(0, 0.4)) for n in range(30)}
    copies = [(f"{n}/{copy}", n) for n in range(30) for copy in range(4)]
    again = {id: scores[str(n)] for id, n in copies}
    grouped = agreement([rated(id, float(truth[n]), group=str(n)) for id, n in copies], again)
    careless = agreement([rated(id, float(truth[n])) for id, n in copies], again)
    once = agreement(answers, scores)
    for name in ("pearson", "bias"):
        assert grouped[name] == {key: pytest.approx(value) for key, value in once[name].items()}
        assert width(careless[name]) < 0.7 * width(once[name])


@pytest.mark.parametrize("name", ["pearson", "spearman", "bias"])
def test_intervals_are_those_of_scipy(name):
    random = np.random.default_rng(4)
    human = random.random(60)
    judge = human + random.normal(0.1, 0.3, 60)
    found = agreement(
        [rated(str(n), float(value)) for n, value in enumerate(human)],
        {str(n): float(value) for n, value in enumerate(judge)},
    )[name]
    statistic = {
        "pearson": lambda x, y: scipy.stats.pearsonr(x, y).statistic,
        "spearman": lambda x, y: scipy.stats.spearmanr(x, y).statistic,
        "bias": lambda x, y: (x - y).mean(),
    }[name]
    expected = scipy.stats.bootstrap(
        (judge, human),
        statistic,
        paired=True,
        vectorized=False,
        method="BCa",
        n_resamples=2000,
        random_state=np.random.default_rng(2),
    ).confidence_interval
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high), abs=0.1 * width(found))


def test_an_interval_leaves_out_one_group_at_a_time():
    human = [0.0] * 12
    judge = [n**3 / 11**3 for n in range(12)]  # lopsided, so that the acceleration tells
    scores = {str(n): value for n, value in enumerate(judge)}
    found = agreement([rated(id, 0.0) for id in scores], scores)["bias"]
    off = np.subtract(judge, human)
    drawn = np.concatenate(list(resampled_counts(len(off), seed=42)))
    without = np.array([np.delete(off, at).mean() for at in range(len(off))])
    expected = bca_interval(drawn @ off / len(off), off.mean(), without)
    assert (found["low"], found["high"]) == pytest.approx(expected)


def test_nearly_all_intervals_cover_the_correlation_of_very_many_answers():
    """A judge with the correlation .8, on 25 groups of two answers."""
    random = np.random.default_rng(8)
    covered = 0
    for _ in range(40):
        human = np.repeat(random.normal(size=25), 2) + random.normal(size=50)
        judge = human + random.normal(0, math.sqrt(2) * 0.75, 50)
        found = _estimate(partial(pearsons, judge, human), np.repeat(np.arange(25), 2), 1)
        covered += found["low"] <= 0.8 <= found["high"]
    assert covered >= 35


def test_the_same_seed_gives_the_same_numbers():
    human = np.random.default_rng(1).random(20)
    judge, groups = human**3, np.arange(20)
    first, second, third = (
        _estimate(partial(spearmans, judge + human % 0.1, human), groups, seed) for seed in (1, 1, 2)
    )
    assert first == second != third


def width(estimate: dict[str, float]) -> float:
    return estimate["high"] - estimate["low"]
