"""A sweep that was stopped compares the cases that all of its runs have finished."""

import json
import re
import shutil
from pathlib import Path

from runner import report
from tests.run_folders import write_stopped_sweep
from tests.runner.report.sweeps import shown


def test_runs_that_stopped_are_compared_over_the_cases_that_all_have_finished(tmp_path: Path) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: [1, 2, 3, 4], 5: [2, 1, 4]})
    report.write_sweep(folder)
    text = [" ".join(line.split()) for line in shown(folder)]
    assert "The runs have not finished the same cases (k=3: 4 of 10, k=5: 3 of 10)" in " ".join(text)
    assert "3 0.2333 – – 1.0000 1.0000 –" in text  # (.1 + .2 + .4) / 3
    assert "5 *0.4667 – – 1.0000 1.0000 –" in text
    assert sum(line.startswith("k Recall@k") for line in text) == 1
    assert any(line.startswith("Run the same command again to resume") for line in text)
    written = (folder / "summary.md").read_text(encoding="utf-8")
    assert "These are means over the 3 cases that all of them have finished." in written
    assert re.search(r"\| 1 \| 5 \| partial \| \*\*0\.47\*\* \[[^]]+\] \(3\) \| –", written)
    assert "| 1 | k=5 | partial | budget.usd=1 is spent (0.9980 used) |" in written
    assert written.index("> **Run the same command again") < written.index("0 of 2 runs completed.")
    paired = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["paired"]
    assert (paired["n"], paired["done"]) == (3, {"0": 4, "1": 3})


def test_completed_runs_keep_their_own_means_beside_a_run_that_stopped(tmp_path: Path) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: range(10), 5: range(10), 10: [1, 2]})
    report.write_sweep(folder)
    text = [" ".join(line.split()) for line in shown(folder)]
    first, second = (
        text.index("5 *0.5000 0.7800 0.7200 0.8250 0.5800 0.8000"),
        text.index("5 *0.3000 – – 1.0000 1.0000 –"),
    )
    assert first < text.index("10 partial") < second < text.index("10 0.1500 – – 1.0000 1.0000 –")
    written = (folder / "summary.md").read_text(encoding="utf-8")
    assert "| 2 | 10 | partial | – |" in written
    assert "| 2 | 10 | partial | 0.15 [0.02, 0.87] (2) |" in written


def test_runs_that_stopped_after_the_same_cases(tmp_path: Path) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: [1, 2], 5: [2, 1]})
    assert "The runs have all finished the same 2 cases; these are means over those." in shown(folder)


def test_runs_that_have_no_case_in_common_have_no_numbers(tmp_path: Path) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: [1, 2], 5: [3]})
    text = " ".join(shown(folder))
    assert "No case was finished by all runs (k=3: 2 of 10, k=5: 1 of 10)" in text
    assert text.count("Recall@k") == 1
    assert not re.search(r"[^(]0\.\d{4}", text.partition("Cost of the models")[0])


def test_a_completed_run_keeps_its_means_beside_one_that_has_no_case_in_common_with_it(tmp_path: Path) -> None:
    text = " ".join(" ".join(shown(write_stopped_sweep(tmp_path / "s", {3: range(10), 5: [77]}))).split())
    assert "No case was finished by all runs (k=3: 10 of 10, k=5: 1 of 10)" in text
    assert "3 0.3000 0.7800 0.7200 0.8250 0.5800" in text
    assert text.count("Recall@k") == 1


def test_a_stopped_sweep_whose_runs_are_gone_is_told_from_the_earlier_summary(tmp_path: Path) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: [1, 2, 3, 4], 5: [2, 1, 4]}, "ko")
    report.write_sweep(folder)
    before = shown(folder)
    shutil.rmtree(folder / "0")
    shutil.rmtree(folder / "1")
    assert shown(folder) == before
