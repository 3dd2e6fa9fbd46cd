"""The report of one run: assembled once, and written as summary.md and report.html."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.report import case, cases, comparison, cost, diagnosis, judge, metrics, right, run, thresholds
from runner.report.blocks import FILES, MARKDOWN, Media, Section
from runner.report.document import Document
from runner.report.markdown import markdown
from runner.report.page import FILE, write_page
from runner.system.folder import open_run
from runner.system.metadata import read_json
from runner.system.writing import replacing

AFTER: tuple[Callable[[Document], Section | None], ...] = (
    diagnosis.pattern,
    diagnosis.cross,
    metrics.slices,
    run.failures_by_stage,
    run.unanswerable,
    judge.citations,
    judge.judge,
    cost.cost,
    run.latency,
    run.index,
    run.problems,
)  # what every run has, behind its metrics and what its evaluation brings


def report_of(document: Document, media: Media = FILES) -> list[Section]:
    """The head, then the sections in the order of reading. What is long and of one medium only is made where that is
    among `media`."""
    sections = [
        run.head(document),
        *_without_none([right.right(document), thresholds.thresholds(document)]),
        metrics.metrics(document),
        *_comparison(document, media),
    ]
    sections += _without_none(document.offer.sections(document))
    sections += _without_none(tell(document) for tell in AFTER)
    changes = _changes(document) if "html" in media else {}
    case_list = cases.cases_of(document, changes) if "html" in media else None
    if "markdown" in media:
        sections += _without_none([case.worst(document, None if case_list is None else case_list.ordered)])
    if case_list is not None:
        sections.append(cases.cases(document, changes, case_list=case_list))
    return sections


def write(folder: Path) -> None:
    """Write summary.md and report.html from the files of a run folder. The same files give the same bytes; a reader
    sees the old file or the new one. Raises InputError when `folder` is no run folder."""
    document = Document.of(open_run(folder))
    sections = report_of(document)
    replace_text(folder / "summary.md", _text(sections))
    write_page(folder / FILE, document.say, sections)


def render(document: Document) -> str:
    """summary.md."""
    return _text(report_of(document, MARKDOWN))


def replace_text(path: Path, text: str) -> None:
    """Write a text file that appears whole or not at all."""
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def _text(sections: list[Section]) -> str:
    head, *rest = sections
    return f"{markdown([head], 1)}\n\n{markdown(rest, 2)}\n"


def _without_none(sections: Any) -> Iterator[Section]:
    return (section for section in sections if section is not None)


def _comparison(document: Document, wanted: Media) -> Iterator[Section]:
    """The comparison with a baseline, where there is one."""
    record = read_json(document.folder.path / "compare.json") if wanted else None
    if record is not None:
        yield from comparison.of_run(record, document.say)


def _changes(document: Document) -> Mapping[str, str]:
    """How cases changed against the baseline: `lost` or `won` by id."""
    flips = (read_json(document.folder.path / "compare.json") or {}).get("flips") or {}
    return {flip["id"]: kind for kind in ("lost", "won") for flip in flips.get(kind) or ()}
