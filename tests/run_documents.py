"""What a report is made from: the document of a run with given sums; and what sections look like."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from runner.report.blocks import Section
from runner.report.document import Document
from runner.report.markdown import markdown
from runner.report.page import html
from runner.report.terminal import renderables
from runner.system.folder import open_run
from tests.run_folders import write_run
from tests.shown_panels import lines_of


def document_of(
    folder: Path, summary: dict[str, Any], language: str = "en", run: dict[str, Any] | None = None
) -> Document:
    config = {"report": {"language": language}}
    return Document.of(open_run(write_run(folder, {"config": config, **(run or {})}, summary)))


def as_markdown(sections: Iterable[Section | None]) -> str:
    return markdown(section for section in sections if section is not None)


def as_html(sections: Iterable[Section | None]) -> str:
    return html([section for section in sections if section is not None])


def as_lines(sections: Iterable[Section | None], width: int = 76) -> list[str]:
    """In the terminal."""
    return lines_of(renderables(section for section in sections if section is not None), width)
