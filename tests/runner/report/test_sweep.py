"""What the report of a sweep shows of its runs."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from runner import report
from runner.errors import InputError
from runner.metrics.catalogue import built_in_catalogue
from runner.report.sweep import View, read_sweep
from runner.report.sweep_comparison import excess_of_best
from tests.memory_runs import MEMORY
from tests.run_folders import dump, estimate, write_sweep_folder
from tests.runner.report.sweeps import shown, with_retrievers


def fail_second(folder: Path) -> Path:
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    head["status"] = "partial"
    head["cells"][1] |= {"status": "failed", "exit_code": 3, "error_message": "judge | down"}
    dump(folder / "sweep.json", head)
    return folder


def test_the_table_shows_what_differs_and_the_main_metrics(tmp_path: Path) -> None:
    text = [" ".join(line.split()) for line in shown(write_sweep_folder(tmp_path / "s", (3, 5, 10)))]
    assert text[0] == "Sweep s"
    assert "k Recall@k nDCG@k MRR Faithfulness Relevancy Unanswerable F1" in text
    start = text.index("3 0.3000 0.7800 0.7200 0.8250 0.5800 0.8000")
    assert text[start + 1] == "[.25 .35] [.73 .83] [.67 .77] [.78 .88] [.53 .63] [.75 .85]"
    assert text[start + 4] == "10 *1.0000 0.7800 0.7200 0.8250 0.5800 0.8000"


@pytest.mark.parametrize("language", ["en", "ko"])
def test_two_params_fit_eighty_columns_with_whole_intervals(tmp_path: Path, language: str) -> None:
    lines = shown(with_retrievers(write_sweep_folder(tmp_path / "s", language=language)))
    assert max(map(cell_len, lines)) <= 80
    assert sum(line.count("[.73 .83]") for line in lines) == 2
    assert any(line.split()[:3] == ["5", "semantic", "*0.5000"] for line in lines)


def test_a_failed_run_has_its_status_in_place_of_numbers(tmp_path: Path) -> None:
    text = [" ".join(line.split()) for line in shown(fail_second(write_sweep_folder(tmp_path / "s")))]
    assert "5 failed" in text
    assert "k=5: judge | down" in text


def test_the_best_is_the_highest_of_completed_runs_and_only_where_they_differ(tmp_path: Path) -> None:
    (view,) = read_sweep(write_sweep_folder(tmp_path / "s")).views
    assert view.best("recall_at_k") == 0.5
    assert view.best("mrr") is None
    (view,) = read_sweep(fail_second(tmp_path / "s")).views
    assert view.best("recall_at_k") is None


def test_the_best_of_what_is_better_the_lower_is_the_lowest() -> None:
    view = View(
        {run: {"stale_present": estimate(value, 5)} for run, value in (("0", 0.4), ("1", 0.1), ("2", 0.3))},
        built_in_catalogue(),
    )
    assert view.best("stale_present") == 0.1


def test_summary_json(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    report.write_sweep(folder)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert {name: summary[name] for name in ("schema", "id", "experiment", "status", "language", "params")} == {
        "schema": 1,
        "id": "s",
        "experiment": "full_rag",
        "status": "completed",
        "language": "en",
        "params": ["k"],
    }
    first = summary["cells"][0]
    assert (first["folder"], first["run_id"], first["params"], first["k"]) == ("0", "s-0", {"k": 3}, 3)
    assert first["metrics"]["recall_at_k"]["value"] == 0.3
    assert first["baselines"] == ["generator=extractive", "judge=lexical"]


def test_summary_md(tmp_path: Path) -> None:
    folder = fail_second(with_retrievers(write_sweep_folder(tmp_path / "s")))
    report.write_sweep(folder)
    text = (folder / "summary.md").read_text(encoding="utf-8")
    assert "> Baselines without a language model: generator=extractive, judge=lexical." in text
    assert "1 of 2 runs completed." in text
    assert "| 0 | 3 | keyword | completed | 0.30 [0.25, 0.35] (8) |" in text
    assert "| 1 | 5 | semantic | failed | – |" in text
    assert "| 1 | k=5 retriever=semantic | failed | judge \\| down |" in text


def test_the_highest_value_is_bold(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    report.write_sweep(folder)
    text = (folder / "summary.md").read_text(encoding="utf-8")
    assert "| **0.50** [0.45, 0.55] (8) | 0.78 [0.73, 0.83] (8) |" in text
    assert text.count("**") == 2


def test_cells_csv(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    report.write_sweep(folder)
    rows = list(csv.DictReader((folder / "cells.csv").read_text(encoding="utf-8").splitlines()))
    picked = [
        {
            name: found[name]
            for name in ("folder", "k", "recall_at_k", "recall_at_k_ci_low", "mean_faithfulness_n_scored")
        }
        for found in rows
    ]
    assert picked == [
        {
            "folder": "0",
            "k": "3",
            "recall_at_k": "0.3",
            "recall_at_k_ci_low": "0.25",
            "mean_faithfulness_n_scored": "9",
        },
        {
            "folder": "1",
            "k": "5",
            "recall_at_k": "0.5",
            "recall_at_k_ci_low": "0.45",
            "mean_faithfulness_n_scored": "9",
        },
    ]


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    report.write_sweep(folder)
    before = {name: (folder / name).read_bytes() for name in ("summary.json", "summary.md", "cells.csv", "report.html")}
    report.write_sweep(folder)
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_a_run_whose_folder_is_gone_is_told_from_the_earlier_summary(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s", language="ko")
    report.write_sweep(folder)
    before = shown(folder)
    shutil.rmtree(folder / "0")
    shutil.rmtree(folder / "1")
    assert shown(folder) == before


def test_what_a_memory_kept_stays_in_summary_json_when_the_runs_are_gone(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    for number in ("0", "1"):
        summary = json.loads((folder / number / "summary.json").read_text(encoding="utf-8"))
        dump(folder / number / "summary.json", {**summary, "memory": MEMORY})
    report.write_sweep(folder)
    before = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["cells"]
    assert [cell["memory"] for cell in before] == [MEMORY, MEMORY]
    shutil.rmtree(folder / "0")
    shutil.rmtree(folder / "1")
    report.write_sweep(folder)
    assert json.loads((folder / "summary.json").read_text(encoding="utf-8"))["cells"] == before


def test_a_run_that_never_started_has_no_numbers(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    shutil.rmtree(folder / "1")
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    head["cells"][1] |= {"status": "pending", "error_message": None}
    dump(folder / "sweep.json", head)
    assert any(line.split() == ["5", "not", "run"] for line in shown(folder))
    report.write_sweep(folder)
    assert "| 1 | k=5 | not run |  |" in (folder / "summary.md").read_text(encoding="utf-8")


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a sweep folder: no sweep\.json in it"):
        report.write_sweep(tmp_path)


def test_a_damaged_summary_of_a_sweep(tmp_path: Path) -> None:
    """What its runs declared counts; where their folders are gone, nothing else says it."""
    folder = write_sweep_folder(tmp_path / "s", (3, 5))
    (folder / "summary.json").write_text('{"schema": 1, "declared": [{"name": 5}]}', encoding="utf-8")
    assert len(read_sweep(folder).cells) == 2
    for name in "01":
        shutil.rmtree(folder / name)
    with pytest.raises(InputError, match=r"^summary\.json of the sweep: damaged: declared"):
        read_sweep(folder)


@pytest.mark.parametrize("common", [0.0, 0.6])
def test_the_best_of_equal_runs_is_as_much_too_high_as_is_said(common: float) -> None:
    """Ten equal runs over 200 cases, which share the difficulty of the cases or nothing."""
    random, n, runs = np.random.default_rng(7), 200, 10
    shared = random.random((400, n, 1)) < common
    right = np.where(shared, random.random((400, n, 1)) < 0.5, random.random((400, n, runs)) < 0.5).astype(float)
    differences = right[:, :, 1:] - right[:, :, :1]
    widths = 2 * 1.96 * differences.std(axis=1, ddof=1) / np.sqrt(n)
    found = float(np.mean([excess_of_best(list(each), runs) for each in widths]))
    assert found == pytest.approx(float((right.mean(axis=1).max(axis=1) - 0.5).mean()), abs=0.004)
