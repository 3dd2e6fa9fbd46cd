"""The summary.md of a run."""

from pathlib import Path

from runner import report


def written(folder: Path) -> str:
    report.write(folder)
    return (folder / "summary.md").read_text(encoding="utf-8")
