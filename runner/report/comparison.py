"""compare.md: what a comparison of runs amounts to, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from runner.report import comparison_metrics
from runner.report import comparison_sections as sections
from runner.report.comparison_flips import flips
from runner.report.comparison_words import Record, gate_lines, headline, own, warnings
from runner.report.document import section
from runner.report.markdown import bold, escape, table
from runner.report.summary import replace_text
from runner.words.wording import Wording

SECTIONS: tuple[Callable[[Record, Wording], str], ...] = (
    sections.head,
    comparison_metrics.main_metrics,
    sections.gate,
    sections.runs,
    sections.differences,
    flips,
    sections.slices,
    sections.expense,
    comparison_metrics.yes_no,
    comparison_metrics.other_metrics,
    sections.not_comparable,
    sections.reading,
)


def write(path: Path, records: Sequence[Record], say: Wording) -> None:
    """One comparison, or several with the same baseline. A reader sees the old file or the new one."""
    replace_text(path, render(records, say))


def render(records: Sequence[Record], say: Wording) -> str:
    texts = [_render(record, say) for record in records]
    return "\n\n".join([_overview(records, say), *texts] if len(records) > 1 else texts) + "\n"


def _render(record: Record, say: Wording) -> str:
    found = [each(record, own(say, record)) for each in SECTIONS]
    return "\n\n".join(text for text in found if text)


def _overview(records: Sequence[Record], say: Wording) -> str:
    rows = [
        (record["candidate"]["label"], bold(say.name("verdict", record["verdict"])), _told(record, own(say, record)))
        for record in records
    ]
    headers = [say("compare.candidate"), say("compare.verdict"), ""]
    title = escape(say("compare.titles", baseline=records[0]["baseline"]["label"]))
    return f"# {title}\n\n{section(say('compare.head.overview'), table(headers, rows))}"


def _told(record: Record, say: Wording) -> str:
    return " ".join([*warnings(record, say), headline(record, say), *gate_lines(record, say)])
