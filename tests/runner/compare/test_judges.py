from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.compare.cells import open_cells
from runner.compare.judges import MOST, judges
from tests.judged_folders import write_judged

N = 24
STRICT = [0.0] * 12 + [1.0] * 12
MILD = [0.2 + 0.02 * place for place in range(12)] + [1.0] * 12


def judged(folder: Path, scores: Mapping[str, Sequence[float | None]], ks: Sequence[int] = ()) -> list[dict[str, Any]]:
    write_judged(folder, scores, ks=ks)
    return judges(folder, open_cells(folder, map(str, range(len(scores)))))


def test_agreement_of_two_judges_over_the_same_answers(tmp_path: Path) -> None:
    (group,) = judged(tmp_path / "s", {"judge=strict": list(STRICT), "judge=mild": list(MILD)})
    (rubric,) = group["rubrics"]
    assert (group["folders"], group["n"], group["other_answers"]) == (["0", "1"], N, 0)
    assert rubric["means"] == pytest.approx({"0": 0.5, "1": 0.655})
    (beside,) = rubric["beside"]
    assert beside["bias"] == pytest.approx(0.155)
    assert beside["ci_low"] < 0.155 < beside["ci_high"]
    assert 0.8 < beside["spearman"] < 1.0
    assert 0.7 < rubric["alpha"] < 1.0


def test_the_answers_on_which_they_differ_most_come_first(tmp_path: Path) -> None:
    (group,) = judged(tmp_path / "s", {"judge=strict": list(STRICT), "judge=mild": list(MILD)})
    most = group["most"]
    assert [each["id"] for each in most] == [f"q-{place:02}" for place in range(11, -1, -1)]
    assert most[0]["scores"] == pytest.approx([0.0, 0.42])
    assert (most[0]["question"], most[0]["answer"]) == ("Question 11?", "Answer 11.")
    (group,) = judged(tmp_path / "t", {"judge=strict": [0.0] * N, "judge=other": [1.0] * N})
    assert len(group["most"]) == MOST == 20


def test_a_failed_score_and_another_answer_count_for_nothing(tmp_path: Path) -> None:
    scores = {"judge=strict": [None, *STRICT[1:]], "judge=mild": list(MILD)}
    (group,) = judged(tmp_path / "s", scores)
    (rubric,) = group["rubrics"]
    assert (group["n"], rubric["n"], rubric["failed"]) == (N, N - 1, {"0": 1, "1": 0})
    path = tmp_path / "s" / "1" / "per_item.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("Answer 3.", "Something else."), encoding="utf-8")
    (group,) = judges(tmp_path / "s", open_cells(tmp_path / "s", ["0", "1"]))
    assert (group["n"], group["other_answers"], group["rubrics"][0]["n"]) == (N - 1, 1, N - 2)
    assert "q-03" not in [each["id"] for each in group["most"]]


def test_a_rubric_that_was_not_asked_of_a_case_did_not_fail(tmp_path: Path) -> None:
    folder = write_judged(tmp_path / "s", {"judge=a": STRICT, "judge=b": MILD})
    for number in range(2):
        path = folder / str(number) / "per_item.jsonl"
        first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join([first.replace('"faithfulness": {', '"tone": {'), *rest]), encoding="utf-8")
    (group,) = judges(folder, open_cells(folder, ["0", "1"]))
    counts = [(rubric["name"], rubric["n"], rubric["failed"]["0"]) for rubric in group["rubrics"]]
    assert counts == [("tone", 1, 0), ("faithfulness", N - 1, 0)]


def test_three_judges_stand_beside_the_first(tmp_path: Path) -> None:
    (group,) = judged(tmp_path / "s", {"judge=a": list(STRICT), "judge=b": list(MILD), "judge=c": list(STRICT)})
    beside = group["rubrics"][0]["beside"]
    assert [(each["folder"], round(each["bias"], 3)) for each in beside] == [("1", 0.155), ("2", 0.0)]
    assert beside[1]["spearman"] == pytest.approx(1.0)


def test_one_judge_and_other_systems_are_no_group(tmp_path: Path) -> None:
    assert judged(tmp_path / "s", {"judge=a": list(STRICT)}) == []
    assert judged(tmp_path / "t", {"judge=a": list(STRICT), "judge=b": list(MILD)}, ks=(3, 5)) == []
