"""What a report is made from: the document of a run with given sums."""

from pathlib import Path
from typing import Any

from runner.report.document import Document
from runner.system.folder import open_run
from tests.run_folders import write_run


def document_of(folder: Path, summary: dict[str, Any], language: str = "en") -> Document:
    return Document.of(open_run(write_run(folder, {"config": {"report": {"language": language}}}, summary)))
