"""report.html of finished runs that were compared with a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from runner.report.comparison_words import Record, headline
from runner.report.html import comparison_sections
from runner.report.html.markup import Html, found_in_data, table, tag
from runner.report.html.page import FILE, Page, Section
from runner.words.wording import Wording


def write_comparison(folder: Path, records: Sequence[Record], say: Wording) -> None:
    """Write report.html from one comparison, or several with the same baseline. The same records give the same
    bytes."""
    first = records[0]
    baseline, candidate = first["baseline"]["label"], first["candidate"]["label"]
    if len(records) == 1:
        title = say("compare.title", candidate=candidate, baseline=baseline)
        sections = comparison_sections.sections(first, say)
    else:
        title = say("compare.titles", baseline=baseline)
        sections = [
            _overview(records, say),
            *(each for n, record in enumerate(records) for each in _of(n, record, say)),
        ]
    Page(say, title, tag("header", tag("h1", title)), sections).write(folder / FILE)


def _overview(records: Sequence[Record], say: Wording) -> Section:
    rows = [[_link(n, record), _verdict(record, say), headline(record, say)] for n, record in enumerate(records)]
    headers = [say("compare.candidate"), say("compare.verdict"), ""]
    title = say("compare.head.overview")
    return Section("overview", title, table(headers, rows, label=title))


def _link(number: int, record: Record) -> Html:
    return tag("a", found_in_data(record["candidate"]["label"]), href=f"#comparison-{number}")


def _verdict(record: Record, say: Wording) -> Html:
    return tag("strong", say.name("verdict", record["verdict"]), class_=f"verdict {record['verdict']}")


def _of(number: int, record: Record, say: Wording) -> list[Section]:
    """The sections of one comparison beside others, each under the name of its candidate."""
    label = record["candidate"]["label"]
    first, *rest = comparison_sections.sections(record, say)
    sections = [replace(first, title=label), *(replace(each, title=f"{each.title}: {label}") for each in rest)]
    return [replace(each, anchor=f"{each.anchor}-{number}") for each in sections]
