"""What the models of a sweep have cost."""

import csv
import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from runner import report
from tests.model_runs import JUDGE, used
from tests.run_folders import dump, write_stopped_sweep, write_sweep_folder
from tests.runner.report.sweeps import shown, with_retrievers


def test_a_completed_sweep_without_models_says_nothing_of_them_and_of_going_on(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    report.write_sweep(folder)
    text = "".join(shown(folder)) + (folder / "summary.md").read_text(encoding="utf-8")
    assert not any(word in text for word in ("Cost", "Warning", "same command"))
    assert "cost_usd" not in (folder / "cells.csv").read_text(encoding="utf-8")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert "paired" not in summary
    assert summary["cells"][0]["timing"].keys() == {"latency"}


def test_what_each_run_has_cost(tmp_path: Path) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: range(10), 5: range(10)})
    report.write_sweep(folder)
    text = [" ".join(line.split()) for line in shown(folder)]
    start = text.index("k USD a case Requests Tokens Cost (USD) From cache Saved (USD)")
    assert text[start + 2 :][:2] == [
        "3 $0.0020 1,124 1.21 M $0.0132 2,000 $0.0410",
        "5 $0.0020 1,124 1.21 M $0.0132 2,000 $0.0410",
    ]
    assert "Total 2,248 2.42 M $0.0264 4,000 $0.0820" in text
    written = (folder / "summary.md").read_text(encoding="utf-8")
    assert "| 0 | 3 | \\$0.0020 | 1,124 | 1.21 M | \\$0.0132 | 2,000 | \\$0.0410 |" in written
    assert "| **Total** |  |  | **2,248** | **2.42 M** | **\\$0.0264** | **4,000** | **\\$0.0820** |" in written
    (first, _) = csv.DictReader((folder / "cells.csv").read_text(encoding="utf-8").splitlines())
    assert [first[name] for name in ("cost_usd", "cost_saved_usd", "requests_live", "requests_cached")] == [
        "0.0132", "0.041", "1124", "2000",
    ]  # fmt: skip
    assert (first["input_tokens"], first["output_tokens"]) == ("1159000", "51000")
    assert (first["case_cost_usd"], first["case_tokens"]) == ("0.002", "105.0")


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "They may still be billed (up to $0.0030 for up to 1,500 tokens), and a budget counts them as"),
        ("ko", "응답이 없어도 청구될 수 있으며(최대 $0.0030, 최대 1,500 토큰)"),
    ],
)
def test_attempts_without_an_answer_that_may_be_billed(tmp_path: Path, language: str, sentence: str) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: range(10), 5: range(10)}, language)
    report.write_sweep(folder)
    assert sentence not in " ".join(" ".join(shown(folder)).split())
    for cell in "01":
        summary = json.loads((folder / cell / "summary.json").read_text(encoding="utf-8"))
        summary["timing"]["usage"]["judge"][JUDGE]["unanswered"] = used(1, 700, 50, 0.0015)
        dump(folder / cell / "summary.json", summary)
    report.write_sweep(folder)
    assert sentence in " ".join(" ".join(shown(folder)).split())
    assert sentence in (folder / "summary.md").read_text(encoding="utf-8").replace("\\", "")
    assert sentence in (folder / "report.html").read_text(encoding="utf-8")


def test_an_unknown_price_leaves_its_cell_empty(tmp_path: Path) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: range(10), 5: range(10)})
    summary = json.loads((folder / "0" / "summary.json").read_text(encoding="utf-8"))
    summary["timing"]["usage"]["generator"]["openai:gpt-4o"]["live"]["usd"] = None
    dump(folder / "0" / "summary.json", summary)
    report.write_sweep(folder)
    assert "| 0 | 3 | \\$0.0020 | 1,124 | 1.21 M | at least \\$0.0121 |" in (folder / "summary.md").read_text(
        encoding="utf-8"
    )
    (first, second) = csv.DictReader((folder / "cells.csv").read_text(encoding="utf-8").splitlines())
    assert (first["cost_usd"], second["cost_usd"]) == ("", "0.0132")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_costs_fit_eighty_columns(tmp_path: Path, language: str) -> None:
    folder = with_retrievers(write_stopped_sweep(tmp_path / "s", {3: [1, 2], 5: [2]}, language))
    assert max(map(cell_len, shown(folder))) <= 80


def test_the_same_judge_warns_once(tmp_path: Path) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: range(10), 5: range(10)})
    report.write_sweep(folder)
    for text in ("\n".join(shown(folder)), (folder / "summary.md").read_text(encoding="utf-8")):
        assert text.count("Warning: instructions hidden") == 1
