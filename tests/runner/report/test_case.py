import io
from pathlib import Path

from rich.console import Console

from runner import report
from tests.run_folders import row, write_run


def shown(folder: Path) -> str:
    console = Console(file=io.StringIO(), width=80)
    console.print(report.case_view(folder))
    assert isinstance(console.file, io.StringIO)
    return " ".join(" ".join(line.strip("│ ").split()) for line in console.file.getvalue().splitlines())


def test_everything_about_one_case(tmp_path: Path) -> None:
    details = {"claims": [{"text": "It is q.", "supported": True}]}
    judgement = {"score": 1.0, "reasoning": "All claims hold.", "error": None, "details": details}
    text = shown(
        write_run(tmp_path, rows=[row("q", judgements={"faithfulness": judgement}, output={"query": "[red]?"})])
    )
    for part in (
        "q (ok)",
        "Question [red]?",
        "1. doc-1 ✓ First (0.91); 2. doc-2 (0.40)",
        "[1] doc-1#0 The first text.",
        "Judge, Faithfulness All claims hold.",
        "Faithfulness, claims text: It is q., supported: True",
    ):
        assert part in text


def test_a_folder_without_a_case(tmp_path: Path) -> None:
    assert shown(write_run(tmp_path, rows=[])) == "No case was scored, so there are no metrics."
