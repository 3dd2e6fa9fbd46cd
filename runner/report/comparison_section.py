"""The section of summary.md about the comparison with a baseline."""

from __future__ import annotations

from runner.report.comparison import of_run
from runner.report.document import Document
from runner.report.markdown import markdown
from runner.system.metadata import read_json


def comparison(document: Document) -> str:
    """What compare.md begins with; nothing where the run was not compared."""
    record = read_json(document.folder.path / "compare.json")
    return "" if record is None else markdown(of_run(record, document.say))
