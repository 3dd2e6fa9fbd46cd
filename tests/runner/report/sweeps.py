"""A small sweep as the terminal shows it."""

import json
from pathlib import Path

from runner import report
from tests.run_folders import dump
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
