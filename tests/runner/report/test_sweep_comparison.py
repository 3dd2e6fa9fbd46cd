import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.table import Table

from runner import report
from runner.compare.sweep import compare_sweep
from runner.system.folder import open_sweep
from tests.runner.report.sweeps import shown
from tests.shown_panels import lines_of
from tests.swept_folders import Values, write_swept

N = 40
LOW = [0.5] * N
HIGH = [0.9] * (N // 2) + [0.7] * (N // 2)
UNSURE = [0.5 + (0.3 if n % 2 else -0.28) for n in range(N)]  # mean 0.51
NAMES = ("recall_at_10", "ndcg_at_10", "mrr_at_10", "faithfulness", "answer_relevancy", "answer_correctness")
COLUMNS: dict[str, Values] = dict.fromkeys(NAMES, LOW)


def written(folder: Path, baseline: str = "0") -> Path:
    statuses = {cell["folder"]: cell["status"] for cell in open_sweep(folder)["cells"]}
    report.write_sweep(folder, compare_sweep(folder, statuses, baseline=baseline, seed=42, margin=0.02))
    return folder


def three(folder: Path, **more: Any) -> Path:
    runs = {f"k={k}": {**COLUMNS, "faithfulness": column} for k, column in ((3, LOW), (5, HIGH), (10, UNSURE))}
    return written(write_swept(folder, runs, ks=(3, 5, 10), **more))


def told(folder: Path) -> str:
    return " ".join(" ".join(shown(folder)).split())


def markdown(folder: Path) -> str:
    return (folder / "summary.md").read_text(encoding="utf-8")


def test_the_terminal_table(tmp_path: Path) -> None:
    lines = [" ".join(line.split()) for line in shown(three(tmp_path / "s"))]
    start = lines.index("Compared with k=3")
    assert lines[start + 2] == "k Faithfulness"
    assert lines[start + 4 :][:6] == [
        "5 +0.300 ▲",
        "[+.27 +.33]",
        "p <.001",
        "10 +0.010",
        "[−.09 +.11]",
        "p .870",
    ]  # exactly .8745


def test_what_the_terminal_says_below_the_table(tmp_path: Path) -> None:
    text = told(three(tmp_path / "s"))
    assert "Differences from k=3 over 40 cases that all compared runs have finished." in text
    assert "The same in all of these runs: Recall@10, nDCG@10, MRR@10, Answer Relevancy, Answer Correctness." in text
    assert "Within noise of the best: Faithfulness: k=5." in text
    assert "Pareto front over Faithfulness, k, p95 latency: k=3, k=5. Dominated: k=10 by k=5." in text


def test_summary_md(tmp_path: Path) -> None:
    text = markdown(three(tmp_path / "s"))
    assert "| Faithfulness | 0 | 3 | 40 | 0.5000 |  |  |  |  | baseline | −0.3000 | no |" in text
    assert "| Faithfulness | 1 | 5 | 40 | 0.8000 | +0.3000 | [" in text
    assert "| < 0.001 | 0.0510 | better |  | yes |" in text
    assert "| inconclusive | −0.2900 | no |" in text
    assert "| Run | k | Faithfulness | p95 (ms) | Dominated by |" in text
    assert "| 2 | 10 | 0.5100 | 12.0 | k=5 |" in text


def test_bold_is_every_run_within_noise_of_the_best(tmp_path: Path) -> None:
    near = [value - 0.01 for value in HIGH]
    runs = {"a=1": {"faithfulness": LOW}, "a=2": {"faithfulness": HIGH}, "a=3": {"faithfulness": near}}
    text = markdown(written(write_swept(tmp_path / "s", runs)))
    assert [value in text for value in ("**0.50**", "**0.80**", "**0.79**")] == [False, True, True]
    assert "Bold: within noise of the best run of the column" in text


@pytest.mark.parametrize(
    ("language", "bold", "marked"),
    [
        ("en", "Bold: within noise of the best run", "*: within noise of the best run"),
        ("ko", "굵은 글씨: 열에서 최고와", "*: 열에서 최고와"),
    ],
)
def test_what_is_bold_has_a_mark_where_nothing_is_bold(tmp_path: Path, language: str, bold: str, marked: str) -> None:
    folder = three(tmp_path / "s", language=language)
    assert "*0.8000" in told(folder) and marked in told(folder) and bold not in told(folder)
    panels = report.sweep_panels(folder, bold=True)
    text = " ".join(" ".join(lines_of(panels)).split())
    assert " 0.8000" in text and "*" not in text and bold in text
    cells = [cell for panel in panels if isinstance(panel, Table) for column in panel.columns for cell in column.cells]
    styles = {
        cell.plain.partition("\n")[0]: style
        for cell in cells
        for style in [span.style for span in cell.spans if span.style][:1]
    }
    assert (styles["0.8000"], styles["0.5100"]) == ("bold", "dim")  # the interval below it is dim


def test_without_a_run_that_stands_out_there_is_no_legend(tmp_path: Path) -> None:
    folder = written(write_swept(tmp_path / "s", {f"a={n}": {"faithfulness": HIGH} for n in (1, 2)}))
    page = (folder / "report.html").read_text(encoding="utf-8")
    for text in (told(folder), markdown(folder), page):
        assert "0.80" in text and "within noise of the best run of the column" not in text


def test_summary_json_keeps_the_comparison_when_the_runs_are_gone(tmp_path: Path) -> None:
    folder = three(tmp_path / "s")
    before, first = shown(folder), (folder / "summary.json").read_bytes()
    for number in range(3):
        shutil.rmtree(folder / str(number))
    assert shown(folder) == before
    report.write_sweep(folder)
    assert json.loads((folder / "summary.json").read_bytes())["comparison"] == json.loads(first)["comparison"]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_five_metrics_and_two_long_params_fit_eighty_columns(tmp_path: Path, language: str) -> None:
    names = ("recall_at_k", "ndcg_at_k", "faithfulness", "answer_relevancy", "exact_match", "answer_correctness")
    runs = {
        f"retriever={name}": dict.fromkeys(names, column) for name, column in (("keyword", LOW), ("semantic", HIGH))
    }
    folder = written(write_swept(tmp_path / "s", runs, language=language))
    assert max(map(cell_len, shown(folder))) <= 80
    assert sum(line.count("▲") for line in shown(folder)) == 5 + 1  # and once where it is explained


def test_korean(tmp_path: Path) -> None:
    folder = three(tmp_path / "s", language="ko")
    assert "기준(k=3)과 비교" in told(folder)
    assert "최고와 동급: 충실도 (Faithfulness): k=5." in told(folder)
    assert "## 파레토 최적" in markdown(folder)


def test_what_was_left_out_is_told(tmp_path: Path) -> None:
    folder = three(tmp_path / "s", changes={"k=10": {"status": "partial", "exit_code": 3}})
    assert "Not compared: k=10, which did not finish." in told(folder)
    assert "Not compared: k=10" in markdown(folder)


def test_columns_of_metrics_that_are_not_compared_are_told(tmp_path: Path) -> None:
    runs = {f"a={n}": {"facts_present": column, "stale_present": column} for n, column in enumerate((LOW, HIGH))}
    folder = written(write_swept(tmp_path / "s", runs))
    said = "Not compared or marked, because they are not main metrics: Stale Facts Present."
    assert said in told(folder)
    assert "Compared with a=0" in told(folder)


def test_a_baseline_without_results_is_told(tmp_path: Path) -> None:
    runs = {f"k={k}": {"faithfulness": column} for k, column in ((3, LOW), (5, HIGH), (10, UNSURE))}
    folder = write_swept(tmp_path / "s", runs, changes={"k=5": {"status": "failed", "exit_code": 3}})
    shutil.rmtree(folder / "1")
    assert "k=5 has no results to compare with; k=3 is the baseline instead." in told(written(folder, baseline="1"))


def test_the_html_page_has_both_tables(tmp_path: Path) -> None:
    page = (three(tmp_path / "s") / "report.html").read_text(encoding="utf-8")
    assert "Compared with k=3" in page
    assert "Pareto front" in page


def test_runs_of_several_settings_are_called_by_words_where_they_say_enough(tmp_path: Path) -> None:
    settings = (["retriever=keyword", "k=3", "strict=true"], ["retriever=my_own", "k=5", "strict=false"])
    runs = {f"a={n}": {"faithfulness": column} for n, column in enumerate((LOW, HIGH))}
    folder = write_swept(tmp_path / "s", runs, changes={f"a={n}": {"overrides": settings[n]} for n in (0, 1)})
    assert "Compared with keyword k=3 strict=true" in told(written(folder))
    assert "Faithfulness: my_own k=5 strict=false." in told(folder)


def test_a_run_that_does_not_differ_in_any_case_shows_no_interval(tmp_path: Path) -> None:
    runs = {f"a={n}": {"faithfulness": column} for n, column in ((1, LOW), (2, HIGH), (3, LOW))}
    lines = [" ".join(line.split()) for line in shown(written(write_swept(tmp_path / "s", runs)))]
    assert lines[lines.index("3 0 =") - 1] == "p <.001"


def test_what_runs_over_different_samples_share_is_said_to_be_a_part(tmp_path: Path) -> None:
    """Their means differ in the table, but no case that they share does."""
    column = [0.5] * 20 + [0.9] * 20
    samples = [[*column[:30], *[None] * 10], [*[None] * 10, *column[10:]]]
    runs = {f"seed={seed}": dict.fromkeys(NAMES, sample) for seed, sample in enumerate(samples)}
    text = told(written(write_swept(tmp_path / "s", runs)))
    assert "The same over the 20 cases that all of these runs share: Recall@10" in text
    assert "The same in all of these runs" not in text
