"""calibration.md and its panels, from a folder whose numbers were written by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.commands.calibrate.numbers import findings, wording_of_calibration
from runner.commands.calibrate.report import panels, render, write
from tests.calibration_folders import FAITHFULNESS, RESULT, estimate, write_calibration
from tests.run_folders import HOSTILE, merged
from tests.shown_panels import lines_of

# What other sections show, which have tests of their own, is left out of the golden files.
ALONE: dict[str, Any] = {
    **{name: value for name, value in RESULT.items() if name != "judging"},
    "timing": {"created_at": "2026-01-02T03:04:05Z", "elapsed_s": 2.5},
}


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_whole_of_it(tmp_path: Path, golden: Callable[[str, str], None], language: str) -> None:
    write_calibration(tmp_path)
    text = render(tmp_path, merged(ALONE, {"config": {"report": {"language": language}}}))
    golden(f"report/calibration.{language}.md", text)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_panels_fit_eighty_columns(golden: Callable[[str, str], None], language: str) -> None:
    text = printed(merged(ALONE, {"config": {"report": {"language": language}}}))
    golden(f"report/calibration.{language}.txt", text)


def test_votes_and_cost_are_those_of_a_run(tmp_path: Path) -> None:
    text = rendered(tmp_path)
    assert "0.9000 | [0.8500, 0.9500] | 0.0400 |" in text
    assert "| judge | openai:x | 20 | 1 | 9,000 | 800 |" in text
    assert "0.9000 [0.85, 0.95]" in printed(RESULT)


def test_nothing_breaks_out_of_its_place(tmp_path: Path) -> None:
    text = rendered(tmp_path)
    assert "<script>" not in text
    assert "\u202e" not in text
    rows = [re.sub(r"\\.", "", line) for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows if "m2" in row.replace(" ", "")} == {7}
    assert HOSTILE.splitlines()[0] not in text


def test_a_calibration_that_ended_early(tmp_path: Path) -> None:
    changes = {
        "status": "partial",
        "exit_code": 3,
        "error_message": "the key is refused",
        "cases": {"ok": 5, "pending": 7},
        "baseline": True,
    }
    head = rendered(tmp_path, changes).partition("## ")[0]
    assert "> **Reason: the key is refused**" in head
    assert "> Run the same command again to resume" in head
    assert "> Baselines without a language model: judge=openai." in head
    assert "12 (ok 5, failed 0, timeout 0, not run 7)" in rendered(tmp_path, changes)


def test_a_rubric_of_which_nothing_was_judged_has_no_numbers(tmp_path: Path) -> None:
    none = {"rubrics": {"faithfulness": {"n_judged": 0, "n_failed": 12, "n_groups": 0, "worst": []}}}
    section = rendered(tmp_path, none).partition("## Faithfulness\n\n")[2].partition("\n\n## ")[0]
    counted = "Judged 0 of 12 answers (groups: 0). Not judged: 12; left out of all numbers below."
    assert section == counted
    assert "Pearson" not in printed(merged(RESULT, none)).partition("Answer Relevancy")[0]


def test_without_a_run_there_is_nothing_to_correct(tmp_path: Path) -> None:
    without = {name: value for name, value in ALONE.items() if name not in ("run", "corrected")}
    write_calibration(tmp_path)
    text = render(tmp_path, without)
    assert "corrected" not in text
    assert "Mean of the run" not in printed(without)


def test_labels_that_are_not_from_the_run(tmp_path: Path) -> None:
    text = rendered(tmp_path, {"corrected": {"faithfulness": {"n_shared": 0}}, "run": {"status": "partial"}})
    assert "None of the labelled answers is from this run." in text
    assert "This run did not finish" in text


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        ({}, ["person_ahead", "separates", "harsh"]),
        ({"bias": estimate(0.3)}, ["person_ahead", "separates", "kind"]),
        ({"bias": estimate(0.01)}, ["person_ahead", "separates", "fair"]),
        ({"bias": {"value": 0.1, "low": 0.0, "high": 0.2}}, ["person_ahead", "separates", "fair"]),
        ({"bias": {"value": -0.1, "low": -0.2, "high": 0.0}}, ["person_ahead", "separates", "fair"]),
        ({"bias": estimate(0.3, None)}, ["person_ahead", "separates"]),
        ({"within_system": None}, ["person_ahead", "harsh"]),
        ({"within_system": {"pearson": estimate(0.77)}}, ["person_ahead", "harsh"]),
        ({"people": {"one_left_out": {"difference": estimate(0.01)}}}, ["person_close", "separates", "harsh"]),
        ({"people": {"one_left_out": {"difference": estimate(-0.2)}}}, ["person_behind", "separates", "harsh"]),
        ({"people": {"alpha": estimate(0.03)}}, ["labels_unrelated", "separates", "harsh"]),
        ({"people": None}, ["separates", "harsh"]),
        ({"pearson": estimate(0.04), "people": None, "within_system": None}, ["unrelated", "harsh"]),
        ({"pearson": estimate(-0.6)}, ["opposed", "harsh"]),
        ({"pearson": estimate(None), "people": None, "within_system": None}, ["undefined", "harsh"]),
        ({"pearson": estimate(0.9, None), "people": None}, ["harsh"]),
        (
            {"pearson": estimate(0.9, None), "bias": estimate(0.3, None), "people": None, "within_system": None},
            ["too_few"],
        ),
    ],
)
def test_what_the_numbers_amount_to(changes: dict[str, Any], sentences: list[str]) -> None:
    entry = {**merged(FAITHFULNESS, changes), **{name: None for name, value in changes.items() if value is None}}
    say = wording_of_calibration(RESULT)
    bias = f"{abs(entry['bias']['value']):.2f}"
    assert list(findings(entry, say)) == [say(f"calibration.{name}", bias=bias) for name in sentences]


def rendered(folder: Path, changes: dict[str, Any] | None = None) -> str:
    write(write_calibration(folder, changes))
    return (folder / "calibration.md").read_text(encoding="utf-8")


def printed(result: dict[str, Any]) -> str:
    lines = lines_of(panels(result))
    assert all(len(line) <= 80 for line in lines)
    return "\n".join([*lines, ""])
