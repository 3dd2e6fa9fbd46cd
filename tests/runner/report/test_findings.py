"""The report of a sweep begins with what the terminal says of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner import report
from runner.compare.sweep import compare_sweep
from runner.report.brief import brief_sweep
from runner.report.findings import findings
from runner.report.sweep import read_sweep
from runner.system.folder import open_sweep
from tests.run_folders import dump
from tests.shown_panels import lines_of
from tests.swept_folders import write_swept

N = 12


def swept(folder: Path, language: str, second: float) -> Path:
    runs = {"k=3": {"faithfulness": [0.5] * N}, "k=5": {"faithfulness": [second] * N}}
    write_swept(folder, runs, ks=(3, 5), language=language)
    for cell in ("0", "1"):
        path = folder / cell / "per_item.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for place, row in enumerate(rows):
            row["labels"] = {"lost_at": "below_k" if place < 4 else "none"}
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        summary = json.loads((folder / cell / "summary.json").read_text(encoding="utf-8"))
        dump(folder / cell / "summary.json", {**summary, "counts": {"lost_at": {"below_k": 4, "none": N - 4}}})
    statuses = {cell["folder"]: cell["status"] for cell in open_sweep(folder)["cells"]}
    report.write_sweep(folder, compare_sweep(folder, statuses, baseline="0", seed=42, margin=0.02))
    return folder


@pytest.mark.parametrize(
    ("language", "title", "failing", "advice"),
    [
        ("en", "What this sweep shows", "4 of 12 questions fail (k=5)", "rerank, or raise k."),
        ("ko", "이 스윕의 결론", "질문 12개 중 4개 실패 (k=5)", "리랭커를 쓰거나 k를 늘리세요."),
    ],
)
def test_the_files_begin_with_what_the_terminal_says(
    tmp_path: Path, language: str, title: str, failing: str, advice: str
) -> None:
    folder = swept(tmp_path / "s", language, 0.9)
    said = " ".join(" ".join(lines_of(brief_sweep(folder), 300)).split())
    markdown, page = ((folder / name).read_text(encoding="utf-8") for name in ("summary.md", "report.html"))
    for text in (failing, advice, "q-00, q-01, q-02", "+0.400 ["):
        assert text in said
        assert markdown.count(text) == 1, text
    assert markdown.index(title) < markdown.index(failing) < markdown.index(advice) < markdown.index("| 0 | 3 |")
    assert page.index(f"<h2>{title}</h2>") < page.index(failing) < page.index(advice) < page.index('id="runs"')


def test_without_the_rows_of_a_run_nothing_is_said_of_failures(tmp_path: Path) -> None:
    folder = swept(tmp_path / "s", "en", 0.9)
    for cell in ("0", "1"):
        (folder / cell / "per_item.jsonl").unlink()
    section: Any = findings(read_sweep(folder), folder)
    assert [block.text.partition(",")[0] for block in section.blocks] == ["Faithfulness against k=3"]
