from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from runner import report
from runner.compare.sweep import compare_sweep
from runner.system.folder import open_sweep
from tests.model_runs import MODELS_SUMMARY
from tests.run_folders import dump
from tests.runner.report.sweeps import shown
from tests.swept_folders import write_swept

N = 40
SYSTEM, NONE, RANDOM, GOLD = ([value] * N for value in (0.5, 0.2, 0.3, 0.7))


def written(folder: Path) -> Path:
    head = open_sweep(folder)
    statuses = {run["folder"]: run["status"] for kind in ("cells", "references") for run in head[kind]}
    report.write_sweep(folder, compare_sweep(folder, statuses, baseline="0", seed=42, margin=0.02))
    return folder


def swept(folder: Path, **more: Any) -> Path:
    """Faithfulness has its floor in random chunks, answer relevancy in no context; answer correctness has no gap."""
    references = {
        name: {"faithfulness": column, "answer_relevancy": other, "answer_correctness": SYSTEM}
        for name, column, other in (("none", NONE, RANDOM), ("random", RANDOM, NONE), ("gold", GOLD, GOLD))
    }
    runs = {
        f"a={n}": {"faithfulness": column, "answer_relevancy": column, "answer_correctness": SYSTEM}
        for n, column in ((1, SYSTEM), (2, GOLD))
    }
    return written(write_swept(folder, runs, references=references, **more))


def test_the_terminal_table(tmp_path: Path) -> None:
    lines = [" ".join(line.split()) for line in shown(swept(tmp_path / "s"))]
    start = lines.index("Share of the gap closed")
    assert lines[start + 3] == "a Faithfulness Relevancy Correctness"
    assert lines[start + 5 :][:6] == [
        "floor: random 0.3000",
        "floor: no context 0.3000 0.5000",
        "ceiling: gold 0.7000 0.7000 0.5000",
        "",
        "a=1 50 % 50 % too small",
        "a=2 100 % 100 % too small",
    ]


def test_summary_md(tmp_path: Path) -> None:
    text = (swept(tmp_path / "s") / "summary.md").read_text(encoding="utf-8")
    assert "| Metric | n | Floor | Ceiling | p | a=1 | a=2 |" in text
    assert "| Faithfulness | 40 | 0.3000 (random chunks) | 0.7000 (gold context) | < 0.001 | 50 % | 100 % |" in text
    assert "| Answer Relevancy | 40 | 0.3000 (no context) | 0.7000 (gold context) |" in text
    assert (
        "| Answer Correctness | 40 | 0.5000 (no context) | 0.5000 (gold context) | 1.000 | too small | too small |"
        in text
    )
    assert "2 of 2 runs completed." in text


def test_html(tmp_path: Path) -> None:
    assert "Share of the gap closed" in (swept(tmp_path / "s") / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_five_metrics_fit_eighty_columns(tmp_path: Path, language: str) -> None:
    names = ("recall_at_k", "ndcg_at_k", "faithfulness", "answer_relevancy", "exact_match", "answer_correctness")
    columns = {"retriever=keyword": SYSTEM, "retriever=semantic": RANDOM}
    references = {"none": NONE, "random": RANDOM, "gold": GOLD}
    runs, beside = ({key: dict.fromkeys(names, each) for key, each in part.items()} for part in (columns, references))
    folder = written(write_swept(tmp_path / "s", runs, references=beside, language=language))
    assert max(map(cell_len, shown(folder))) <= 80


def test_what_references_cost_is_part_of_the_total(tmp_path: Path) -> None:
    folder = swept(tmp_path / "s")
    for name in ("0", "1", "none", "random", "gold"):
        path = folder / name / "summary.json"
        dump(path, {**MODELS_SUMMARY, "metrics": {}, "cases": {"total": N, "ok": N}})
    text = [" ".join(line.split()) for line in shown(folder)]
    assert "gold $0.0020 1,124 1.21 M $0.0132 2,000 $0.0410" in text
    assert any(line.startswith("Total 5,620 ") for line in text)


def test_a_reference_that_failed_is_told(tmp_path: Path) -> None:
    folder = swept(tmp_path / "s", changes={"gold": {"status": "failed", "exit_code": 3, "error_message": "late"}})
    assert "gold: late" in shown(folder)
    assert "| gold | gold | failed | late |" in (folder / "summary.md").read_text(encoding="utf-8")
