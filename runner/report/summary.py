"""summary.md of one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from runner.report import (
    agent_section,
    comparison_section,
    diagnosis_section,
    judge_section,
    links_section,
    memory_section,
    metric_sections,
    models_section,
    run_sections,
    trace_section,
    worst_section,
)
from runner.report.document import Document
from runner.system.folder import open_run
from runner.system.writing import replacing

SECTIONS: tuple[Callable[[Document], str], ...] = (
    run_sections.head,
    metric_sections.main,
    comparison_section.comparison,
    memory_section.memory,
    trace_section.traces,
    agent_section.agent,
    links_section.links,
    metric_sections.legs,
    metric_sections.cutoffs,
    diagnosis_section.pattern,
    diagnosis_section.cross,
    metric_sections.slices,
    run_sections.lost,
    run_sections.unanswerable,
    judge_section.citations,
    judge_section.judge,
    models_section.cost,
    run_sections.latency,
    run_sections.index,
    run_sections.problems,
    worst_section.worst,
)


def write(folder: Path) -> None:
    """Write summary.md from run.json, summary.json, per_item.jsonl and errors.jsonl. The same files give the
    same bytes; a reader sees the old file or the new one. Raises InputError when `folder` is no run folder."""
    replace_text(folder / "summary.md", render(Document.of(open_run(folder))))


def render(document: Document) -> str:
    sections = [section(document) for section in SECTIONS]
    return "\n\n".join(section for section in sections if section) + "\n"


def replace_text(path: Path, text: str) -> None:
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")
