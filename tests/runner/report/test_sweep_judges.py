"""The section of judges side by side, in every medium and both languages."""

import shutil
from pathlib import Path

import pytest
from rich.cells import cell_len

from runner import report
from runner.compare.sweep import compare_sweep
from runner.system.folder import open_sweep
from tests.judged_folders import write_judged
from tests.shown_panels import lines_of


@pytest.fixture(params=["en", "ko"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    scores = {"judge=lexical": [0.0] * 12 + [1.0] * 12, "judge=openai": [0.02 * n for n in range(12)] + [1.0] * 12}
    found = write_judged(tmp_path / "s", scores, language=request.param)
    statuses = {cell["folder"]: cell["status"] for cell in open_sweep(found)["cells"]}
    report.write_sweep(found, compare_sweep(found, statuses, baseline="0", seed=42, margin=0.02))
    return found


def is_korean(folder: Path) -> bool:
    return "판정기 비교" in (folder / "summary.md").read_text(encoding="utf-8")


def test_agreement_cost_and_answers_are_in_the_files(folder: Path) -> None:
    text = (folder / "summary.md").read_text(encoding="utf-8")
    title = "판정기 비교" if is_korean(folder) else "Judges side by side"
    _, _, section = text.partition(f"## {title}")
    assert "| judge=openai | 0.5550 | 24 | 0 |  |" in section
    assert "| +0.0550 | [" in section
    assert "| q-11 | " in section and "Question 11? | Answer 11." in section
    assert "python -m runner calibrate LABELS.jsonl judge=lexical\n" in section
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert title in page and "Question 11?" in page and "calibrate LABELS.jsonl judge=openai" in page


def test_another_judge_is_no_difference_between_systems(folder: Path) -> None:
    text = (folder / "summary.md").read_text(encoding="utf-8")
    sentence = "판정기의 차이는 시스템의 차이가 아니므로" if is_korean(folder) else "The systems do not differ"
    assert sentence in text
    assert "Pareto" not in text and "파레토" not in text
    for word in ("| better |", "| worse |", "| 개선 |", "| 악화 |", "main metric"):
        assert word not in text


def test_the_terminal_says_it_in_eighty_columns(folder: Path) -> None:
    lines = lines_of(report.sweep_panels(folder))
    assert max(map(cell_len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert "q-11 (0.00, 0.22)" in text and "calibrate LABELS.jsonl judge=openai" in text


def test_what_summary_json_says_outlives_the_rows(folder: Path) -> None:
    before = (folder / "summary.md").read_text(encoding="utf-8")
    for number in range(2):
        (folder / str(number) / "per_item.jsonl").unlink()
    report.write_sweep(folder)
    assert (folder / "summary.md").read_text(encoding="utf-8") == before
    shutil.rmtree(folder)
