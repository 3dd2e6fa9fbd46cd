from typing import Any

import pytest

from runner.compare.flips import Flips, deciding_name, flips_of
from tests.comparison_runs import cases, paired, snapshot

IDS = ["a", "b", "c", "d"]


def flips(one: dict[str, Any], other: dict[str, Any], metrics: list[str], judged: list[str] | None = None) -> Flips:
    sides = [snapshot(cases(IDS, side["values"], **side.get("columns", {}))) for side in (one, other)]
    return flips_of(paired(*sides), metrics, judged or [])


def lost_at(*labels: str | None) -> dict[str, Any]:
    return {"labels": {"lost_at": list(labels)}}


def test_from_right_to_wrong_and_back_the_heaviest_first() -> None:
    one = {"values": {"mrr": [1.0, 1.0, 0.0, 1.0]}, "columns": lost_at("none", "none", "below_k", "none")}
    other = {
        "values": {"mrr": [0.5, 0.0, 1.0, 1.0]},
        "columns": lost_at("wrong_answer", "not_retrieved", "none", "none"),
    }
    found = flips(one, other, ["mrr"])
    assert (found.by, found.right_in_both, found.wrong_in_both) == ("lost_at", 1, 0)
    assert [(flip.id, flip.weight) for flip in found.lost] == [("b", 1.0), ("a", 0.5)]
    assert [(flip.id, flip.kind, flip.weight) for flip in found.won] == [("c", "won", 1.0)]
    assert (found.lost[0].lost_at_baseline, found.lost[0].lost_at_candidate) == ("none", "not_retrieved")
    assert found.lost[0].changes == {"mrr": (1.0, 0.0)}
    assert found.lost[0].judge_noise is False


def test_a_case_that_failed_is_wrong_and_one_without_a_label_is_neither() -> None:
    one = {"values": {"mrr": [1.0] * 4}, "columns": lost_at("none", "none", "none", None)}
    other = {"values": {"mrr": [1.0] * 4}, "columns": {**lost_at(None, "none", None, "none"), "failed": ("a",)}}
    found = flips(one, other, ["mrr"])
    assert [(flip.id, flip.lost_at_candidate) for flip in found.lost] == [("a", "failed")]
    assert found.lost[0].judge_noise is None  # no score of a judge changed, and none of the others
    assert (found.right_in_both, list(found.won)) == (1, [])


def test_the_weight_is_the_mean_change_of_the_metrics_that_apply() -> None:
    one = {"values": {"mrr": [1.0] * 4, "token_f1": [0.5, float("nan"), 0, 0]}, "columns": lost_at(*["none"] * 4)}
    other = {
        "values": {"mrr": [0.0] * 4, "token_f1": [0.25, float("nan"), 0, 0]},
        "columns": lost_at("below_k", "below_k", "none", "none"),
    }
    found = flips(one, other, ["mrr", "token_f1"])
    assert [(flip.id, flip.weight) for flip in found.lost] == [("b", 1.0), ("a", 0.625)]
    assert found.lost[0].changes == {"mrr": (1.0, 0.0)}


@pytest.mark.parametrize(
    ("after", "error", "expected"),
    [
        (0.80, 0.05, True),  # 0.1 is within 1.96 * sqrt(2) * 0.05 = 0.139
        (0.70, 0.05, False),
        (0.80, None, None),  # asked once: nobody knows
    ],
)
def test_flips_within_the_noise_of_a_judge(after: float, error: float | None, expected: bool | None) -> None:
    noise = {} if error is None else {"noise": {"mean_faithfulness": dict.fromkeys(IDS, error)}}
    values = {"mean_faithfulness": [0.9, 0.5, 0.5, 0.5], "mrr": [1.0] * 4}
    one = {"values": values, "columns": {**lost_at("none", *["wrong_answer"] * 3), **noise}}
    other = {
        "values": {**values, "mean_faithfulness": [after, 0.5, 0.5, 0.5]},
        "columns": {**lost_at(*["wrong_answer"] * 4), **noise},
    }
    (flip,) = flips(one, other, ["mrr", "mean_faithfulness"], ["mean_faithfulness"]).lost
    assert flip.judge_noise is expected
    moved = {"values": {**other["values"], "mrr": [0.5, 1, 1, 1]}, "columns": other["columns"]}
    (flip,) = flips(one, moved, ["mrr", "mean_faithfulness"], ["mean_faithfulness"]).lost
    assert flip.judge_noise is False  # the ranking changed too


def test_what_tells_right_from_wrong() -> None:
    ranked, labelled = {"hit_rate_at_k": [1.0], "hit_rate_at_10": [1.0]}, lost_at("none")
    one = snapshot(cases(["a"], ranked, **labelled))
    assert deciding_name(one, one) == "lost_at"
    answered = snapshot(cases(["a"], ranked, **labelled), run={"evaluation_type": "full_rag"})
    assert deciding_name(one, answered) == "hit_rate_at_k"  # of two evaluations, the label means two things
    assert deciding_name(one, snapshot(cases(["a"], ranked), run={"k": 3})) == "hit_rate_at_10"
    assert deciding_name(snapshot(cases(["a"], {"mrr": [1.0]})), one) is None
    told = snapshot(cases(["a"], {**ranked, "right": [0.0]}, **labelled))
    assert deciding_name(told, told) == "right"  # a main metric, before the label


def test_by_a_metric() -> None:
    nan = float("nan")
    one, other = {"values": {"exact_match": [1, 0, 1, nan]}}, {"values": {"exact_match": [0, 1, 1, nan]}}
    found = flips(one, other, ["exact_match"])
    assert (found.by, found.right_in_both, found.wrong_in_both) == ("exact_match", 1, 0)
    three = {"values": {"exact_match": [0, 0.5, 0, nan]}}
    assert flips(three, three, ["exact_match"]).wrong_in_both == 3  # half a match is none
    assert ([flip.id for flip in found.lost], [flip.id for flip in found.won]) == (["a"], ["b"])


def test_nothing_tells_right_from_wrong() -> None:
    assert flips({"values": {"mrr": [1] * 4}}, {"values": {"mrr": [0] * 4}}, ["mrr"]) == Flips(None, 0, 0, (), ())


def test_another_question_is_no_flip() -> None:
    content = {"content": ["text of a", "new", "text of c", "text of d"]}
    one = {"values": {"mrr": [1] * 4}, "columns": lost_at(*["none"] * 4)}
    other = {"values": {"mrr": [1] * 4}, "columns": {**lost_at("below_k", "below_k", "none", "none"), **content}}
    assert [flip.id for flip in flips(one, other, ["mrr"]).lost] == ["a"]


def test_other_labels_are_no_flip_and_count_nowhere() -> None:
    one = {"values": {"mrr": [1] * 4}, "columns": {**lost_at(*["none"] * 4), "gold": ["w", "x", "y", "z"]}}
    other = {
        "values": {"mrr": [1] * 4},
        "columns": {**lost_at("below_k", "below_k", "none", "none"), "gold": ["w", "new", "new", "z"]},
    }
    found = flips(one, other, ["mrr"])
    assert [flip.id for flip in found.lost] == ["a"]
    assert (found.right_in_both, found.wrong_in_both) == (1, 0)
