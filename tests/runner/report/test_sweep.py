import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from rich.cells import cell_len

from runner import report
from runner.errors import InputError
from runner.report.sweep import View, read_sweep
from tests.model_runs import JUDGE, used
from tests.run_folders import dump, estimate, write_stopped_sweep, write_sweep_folder
from tests.shown_panels import lines_of


def shown(folder: Path, width: int = 80) -> list[str]:
    return lines_of(report.sweep_panels(folder), width)


def with_retrievers(folder: Path) -> Path:
    """The sweep over k = 3, 5 with a retriever for each."""
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    for cell, retriever in zip(head["cells"], ("keyword", "semantic"), strict=True):
        cell["overrides"].append(f"retriever={retriever}")
    dump(folder / "sweep.json", head)
    return folder


def fail_second(folder: Path) -> Path:
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    head["status"] = "partial"
    head["cells"][1] |= {"status": "failed", "exit_code": 3, "error_message": "judge | down"}
    dump(folder / "sweep.json", head)
    return folder


def test_the_table_shows_what_differs_and_the_main_metrics(tmp_path: Path) -> None:
    text = [" ".join(line.split()) for line in shown(write_sweep_folder(tmp_path / "s", (3, 5, 10)))]
    assert text[0] == "Sweep s"
    assert "k Recall@k nDCG@k MRR Faithfulness Relevancy" in text
    start = text.index("3 0.3000 0.7800 0.7200 0.8250 0.5800")
    assert text[start + 1] == "[.25 .35] [.73 .83] [.67 .77] [.78 .88] [.53 .63]"
    assert text[start + 4] == "10 *1.0000 0.7800 0.7200 0.8250 0.5800"


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
    view = View({run: {"stale_present": estimate(value, 5)} for run, value in (("0", 0.4), ("1", 0.1), ("2", 0.3))})
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


def test_a_run_that_never_started_has_no_numbers(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    shutil.rmtree(folder / "1")
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    head["cells"][1] |= {"status": "pending", "error_message": None}
    dump(folder / "sweep.json", head)
    assert any(line.split() == ["5", "not", "run"] for line in shown(folder))
    report.write_sweep(folder)
    assert "| 1 | k=5 | not run |  |" in (folder / "summary.md").read_text(encoding="utf-8")


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
    start = text.index("k Requests Tokens Cost (USD) From cache Saved (USD)")
    assert text[start + 2 :][:2] == ["3 1,124 1.21 M $0.0132 2,000 $0.0410", "5 1,124 1.21 M $0.0132 2,000 $0.0410"]
    assert "Total 2,248 2.42 M $0.0264 4,000 $0.0820" in text
    written = (folder / "summary.md").read_text(encoding="utf-8")
    assert "| 0 | 3 | 1,124 | 1.21 M | \\$0.0132 | 2,000 | \\$0.0410 |" in written
    assert "| **Total** |  | **2,248** | **2.42 M** | **\\$0.0264** | **4,000** | **\\$0.0820** |" in written
    (first, _) = csv.DictReader((folder / "cells.csv").read_text(encoding="utf-8").splitlines())
    assert [first[name] for name in ("cost_usd", "cost_saved_usd", "requests_live", "requests_cached")] == [
        "0.0132", "0.041", "1124", "2000",
    ]  # fmt: skip
    assert (first["input_tokens"], first["output_tokens"]) == ("1159000", "51000")


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "They may be billed all the same, up to $0.0030 for up to 1,500 tokens, and a budget counts them as"),
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
    assert "| 0 | 3 | 1,124 | 1.21 M | at least \\$0.0121 |" in (folder / "summary.md").read_text(encoding="utf-8")
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


def test_runs_that_stopped_are_compared_over_the_cases_that_all_have_finished(tmp_path: Path) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: [1, 2, 3, 4], 5: [2, 1, 4]})
    report.write_sweep(folder)
    text = [" ".join(line.split()) for line in shown(folder)]
    assert "The runs have not finished the same cases (k=3: 4 of 10, k=5: 3 of 10)" in " ".join(text)
    assert "3 0.2333 – – 1.0000 1.0000" in text  # (.1 + .2 + .4) / 3
    assert "5 *0.4667 – – 1.0000 1.0000" in text
    assert sum(line.startswith("k Recall@k") for line in text) == 1
    assert any(line.startswith("The same command goes on with what is left") for line in text)
    written = (folder / "summary.md").read_text(encoding="utf-8")
    assert "These are means over the 3 cases that all of them have finished." in written
    assert re.search(r"\| 1 \| 5 \| partial \| \*\*0\.47\*\* \[[^]]+\] \(3\) \| –", written)
    assert "| 1 | k=5 | partial | budget.usd=1 is spent (0.9980 used) |" in written
    assert written.index("> **The same command goes on") < written.index("0 of 2 runs completed.")
    paired = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["paired"]
    assert (paired["n"], paired["done"]) == (3, {"0": 4, "1": 3})


def test_completed_runs_keep_their_own_means_beside_a_run_that_stopped(tmp_path: Path) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: range(10), 5: range(10), 10: [1, 2]})
    report.write_sweep(folder)
    text = [" ".join(line.split()) for line in shown(folder)]
    first, second = text.index("5 *0.5000 0.7800 0.7200 0.8250 0.5800"), text.index("5 *0.3000 – – 1.0000 1.0000")
    assert first < text.index("10 partial") < second < text.index("10 0.1500 – – 1.0000 1.0000")
    written = (folder / "summary.md").read_text(encoding="utf-8")
    assert "| 2 | 10 | partial | – |" in written
    assert "| 2 | 10 | partial | 0.15 [0.10, 0.20] (2) |" in written


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


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a sweep folder: no sweep\.json in it"):
        report.write_sweep(tmp_path)
