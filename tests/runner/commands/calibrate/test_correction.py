"""The mean of a run, corrected for the bias of its judge."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.commands.calibrate.agreement import Pairs
from runner.commands.calibrate.correction import correction_of, demand_same_judge, without_models
from runner.commands.calibrate.numbers import NOT_RANDOM, selection_warnings, wording_in
from runner.errors import InputError, NotComparableError
from runner.metrics.corrected_mean import corrected_mean
from runner.system.folder import open_run
from tests.run_folders import row, write_run
from tests.runner.commands.calibrate.rated import rated

JUDGE = {"_target_": "plugins.judge.openai.OpenaiJudge", "model": "openai:x", "seed": 1, "models": {"cache": "use"}}

ANSWERS = [rated("a", 1.0), rated("b", 0.5), rated("c", 0.0), rated("d", 0.5, group="c")]
SCORES = {"a": 1.0, "b": 1.0, "c": 0.5, "d": 0.5}
PAIRS = Pairs.of("faithfulness", ANSWERS, SCORES)


def judged(id: str, score: float | None, question: str = "q", answer: str = "a", **changes: Any) -> dict[str, Any]:
    error = None if score is not None else "no JSON in the reply"
    judgement = {"score": score, "reasoning": "", "error": error, "details": {}}
    given = {"judgements": {"faithfulness": judgement}, "output": {"query": question, "answer": answer}}
    return row(id, **{**given, **changes})


def test_answers_of_the_run_that_are_labelled_are_not_counted_twice(tmp_path: Path) -> None:
    rows = [
        judged("1", 1.0),
        judged("2", 0.75),
        judged("3", 0.25),
        judged("4", None),
        judged("5", 0.9, question=" question  a\n", answer="answer a"),  # labelled; the judge of the run said .9
        judged("6", 0.5, judgements={}),  # not judged by this rubric
        {"id": "7", "status": "failed"},
    ]
    run = open_run(write_run(tmp_path, rows=rows))
    found = correction_of("faithfulness", PAIRS, run)
    expected = corrected_mean(PAIRS.human, PAIRS.judge, np.array([1.0, 0.75, 0.25]), PAIRS.groups)
    assert expected is not None
    assert found["corrected"]["value"] == expected.value
    assert (found["corrected"]["low"], found["corrected"]["high"]) == (expected.low, expected.high)
    assert found["labels_alone"]["value"] == 0.5
    assert found["mean_judge"] == pytest.approx((1 + 0.75 + 0.25 + 0.9) / 4)
    counts = {name: found[name] for name in ("n_labelled", "n_groups", "n_others", "n_shared", "n_failed")}
    assert counts == {"n_labelled": 4, "n_groups": 3, "n_others": 3, "n_shared": 1, "n_failed": 1}


def test_labels_that_are_no_random_part_of_the_run_are_noticed(tmp_path: Path) -> None:
    """Twelve labels of answers that the judge calls good, of a run of which it calls half bad."""
    run = open_run(write_run(tmp_path, rows=[judged(str(at), float(at % 2), f"q{at}") for at in range(100)]))
    answers = [rated(str(at), 1.0) for at in range(12)]
    good, mixed = (
        correction_of("faithfulness", Pairs.of("faithfulness", answers, scores), run)
        for scores in ({str(at): 1.0 for at in range(12)}, {str(at): float(at % 2) for at in range(12)})
    )
    assert good["random_part_p"] < NOT_RANDOM < mixed["random_part_p"]
    assert list(selection_warnings({"faithfulness": mixed}, wording_in("en"))) == []
    (warning,) = selection_warnings({"faithfulness": good}, wording_in("en"))
    assert "not a random part of this run: their mean score by the judge is 1.00, that of the other answers 0.50" in (
        warning
    )
    assert good["corrected"]["low"] < 0.5 < good["labels_alone"]["low"]  # nobody labelled what the judge calls bad


def test_too_few_answers_to_correct(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path, rows=[judged("1", 0.25)]))
    found = correction_of("faithfulness", PAIRS, run)
    assert (found["corrected"], found["labels_alone"]["value"], found["mean_judge"]) == (None, 0.5, 0.25)


def test_a_run_whose_answers_are_all_labelled(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path, rows=[judged("1", 0.9, question="question a", answer="answer a")]))
    found = correction_of("faithfulness", PAIRS, run)
    assert (found["n_others"], found["n_shared"], found["mean_judge"], found["corrected"]) == (0, 1, 0.9, None)


def test_a_run_without_a_score(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path, rows=[judged("1", None)]))
    with pytest.raises(InputError) as caught:
        correction_of("faithfulness", PAIRS, run)
    assert str(caught.value) == f"run: {tmp_path} has no answer with a score of faithfulness"


def test_the_judge_of_the_run_must_be_the_same(tmp_path: Path) -> None:
    judge = {**JUDGE, "models": {"cache": "none"}, "health": False, "on_failure": "exclude"}
    run = open_run(write_run(tmp_path / "a", {"config": {"judge": judge}}))
    demand_same_judge(run, JUDGE)
    with pytest.raises(NotComparableError) as caught:
        demand_same_judge(run, {**JUDGE, "model": "openai:y", "repeats": 3})
    assert str(caught.value) == (
        f"run: {tmp_path}/a was judged by another judge:\n"
        "  judge.model: openai:x in the run, openai:y here\n"
        "  judge.repeats: None in the run, 3 here"
    )


def test_of_another_kind_of_judge_the_settings_are_not_listed(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path, {"config": {"judge": JUDGE}}))
    with pytest.raises(NotComparableError) as caught:
        demand_same_judge(run, {"_target_": "plugins.judge.lexical.LexicalJudge", "supported": 0.5})
    assert str(caught.value).splitlines()[1:] == [
        "  judge._target_: plugins.judge.openai.OpenaiJudge in the run, plugins.judge.lexical.LexicalJudge here"
    ]


def test_judges_of_a_panel_are_compared_one_by_one(tmp_path: Path) -> None:
    panel = {"_target_": "panel", "judges": {"first": JUDGE, "second": JUDGE}}
    run = open_run(write_run(tmp_path, {"config": {"judge": panel}}))
    with pytest.raises(NotComparableError, match=r"judge\.judges\.second\.seed: 1 in the run, 2 here"):
        demand_same_judge(run, {**panel, "judges": {"first": JUDGE, "second": {**JUDGE, "seed": 2}}})
    other_door = {**JUDGE, "models": {"cache": "none"}}
    demand_same_judge(run, {**panel, "judges": {"first": other_door, "second": JUDGE}})
    assert "models" not in without_models(panel)["judges"]["first"]


def test_a_run_without_a_judge(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        demand_same_judge(open_run(write_run(tmp_path)), JUDGE)
    assert str(caught.value) == f"run: {tmp_path} has no judge; give a run of full_rag"


def test_a_run_whose_rows_are_damaged(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path, rows=[judged("1", 1.0, judgements={"faithfulness": [1.0]})]))
    with pytest.raises(InputError, match=f"^{re.escape(str(tmp_path))}: its files are damaged or were edited "):
        correction_of("faithfulness", PAIRS, run)
