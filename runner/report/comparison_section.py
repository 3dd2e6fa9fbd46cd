"""The section of summary.md about the comparison with a baseline."""

from __future__ import annotations

from runner.report.comparison_metrics import main_metrics
from runner.report.comparison_words import gate_lines, headline, warnings
from runner.report.document import Document, section
from runner.report.markdown import bold, escape, quote
from runner.system.metadata import read_json


def comparison(document: Document) -> str:
    """What compare.md begins with; nothing where the run was not compared."""
    say, record = document.say, read_json(document.folder.path / "compare.json")
    if record is None:
        return ""
    told = [*map(bold, warnings(record, say)), headline(record, say), *gate_lines(record, say)]
    title = say("head.compare", baseline=record["baseline"]["label"])
    return section(title, quote(told), main_metrics(record, say, level=3), escape(say("compare.full")))
