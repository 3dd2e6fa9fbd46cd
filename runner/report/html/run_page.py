"""report.html of one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from runner.report.document import Document
from runner.report.folder import open_run
from runner.report.html import loss_sections, metric_sections, trust_sections
from runner.report.html.cases import cases_of
from runner.report.html.cases_section import cases_section
from runner.report.html.head import head
from runner.report.html.page import Page, Section

FILE = "report.html"
SECTIONS: tuple[Callable[[Document], Section | None], ...] = (
    metric_sections.panels,
    loss_sections.diagnosis,
    loss_sections.lost,
    loss_sections.unanswerable,
    metric_sections.slices,
    metric_sections.cutoffs,
    trust_sections.judge,
    trust_sections.cost,
    trust_sections.latency,
    trust_sections.problems,
)


def write(folder: Path) -> None:
    """Write report.html from the files of a run folder. The same files give the same bytes. Raises InputError when
    `folder` is no run folder."""
    document = Document.of(open_run(folder))
    found = [section for each in SECTIONS if (section := each(document)) is not None]
    cases, data = cases_section(document, cases_of(document))
    title = document.say("title", experiment=document.run.get("experiment", ""))
    Page(document.say, title, head(document), [*found, cases], data).write(folder / FILE)
