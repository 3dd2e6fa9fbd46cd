"""report.html of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from runner.report.document import Document
from runner.report.html import (
    agent_sections,
    comparison_sections,
    link_sections,
    loss_sections,
    memory_sections,
    metric_sections,
    trace_quality_sections,
    trust_sections,
)
from runner.report.html.cases import cases_of
from runner.report.html.cases_section import cases_section
from runner.report.html.head import head
from runner.report.html.page import FILE, Page, Section
from runner.system.folder import open_run, read_json

SECTIONS: tuple[Callable[[Document], Section | None], ...] = (
    metric_sections.panels,
    memory_sections.memory,
    trace_quality_sections.traces,
    agent_sections.agent,
    link_sections.links,
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
    record = _comparison(folder)
    if record is not None:
        found[1:1] = comparison_sections.sections(record, document.say)
    flips = (record or {}).get("flips") or {}
    changes = {flip["id"]: kind for kind in ("lost", "won") for flip in flips.get(kind) or ()}
    cases, data = cases_section(document, cases_of(document, changes))
    title = document.say("title", experiment=document.run.get("experiment", ""))
    Page(document.say, title, head(document), [*found, cases], data).write(folder / FILE)


def _comparison(folder: Path) -> Mapping[str, Any] | None:
    """compare.json, where the run was compared with a baseline."""
    path = folder / "compare.json"
    return read_json(path, "run") if path.is_file() else None
