"""Sections of a report on the thresholds of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runner.metrics.catalogue import catalogue_in
from runner.metrics.thresholds import RECORDS
from runner.report import metric
from runner.report.blocks import FILES, TERMINAL, Cell, Mark, Note, Section, Table, section
from runner.report.document import Document
from runner.words.wording import LANGUAGES, Wording

Record = Mapping[str, Any]
BAD = ("not_reached", "no_value", "unknown")


def thresholds(document: Document) -> Section | None:
    """None where nothing was asked for."""
    say, records = document.say, records_of(document)
    headers = [say(f"threshold.{name}") for name in ("metric", "asked", "value", "n", "result")]
    rows: list[list[str | Cell]] = [
        [
            Cell(name_of(record, document), is_data=bool(record["slice"])),
            limit_text(record, say),
            Cell(_number(record["value"], say), limits=metric.interval(record["ci_low"], record["ci_high"])),
            f"{record['n']:,}",
            Cell(say.name("threshold", record["status"]), _mark(record)),
        ]
        for record in records
    ]
    return section(
        RECORDS,
        say("threshold.title"),
        *(Note(line_of(record, document), _mark(record), TERMINAL) for record in records),
        Table(headers, rows, say("threshold.title"), right=(1, 2, 3), media=FILES),
        *(Note(record["problem"], "alarm", FILES) for record in records if record["problem"]),
    )


def _mark(record: Record) -> Mark:
    return "alarm" if record["status"] != "passed" else ""


def records_of(document: Document) -> Sequence[Record]:
    """The outcome of each threshold of a run; empty without thresholds."""
    return document.summary.get(RECORDS) or ()


def not_reached(document: Document) -> str:
    """The missed thresholds in one line and in English, like all errors; empty without any."""
    document = replace(document, say=LANGUAGES["en"].about(catalogue_in(document.run)))
    records = records_of(document)
    if problems := [record["problem"] for record in records if record["status"] == "unknown"]:
        return "; ".join(problems)
    bad = [line_of(record, document, with_status=False) for record in records if record["status"] in BAD]
    return document.say("threshold.why", count=len(bad), total=len(records), lines="; ".join(bad)) if bad else ""


def line_of(record: Record, document: Document, *, with_status: bool = True) -> str:
    """`not reached: Correct [ko] 0.6400 [0.5210, 0.7440] (n=50), at least 0.8 asked for`"""
    say = document.say
    interval = metric.interval(record["ci_low"], record["ci_high"])
    value = " ".join(filter(None, [_number(record["value"], say), interval]))
    line = say(
        "threshold.line",
        metric=name_of(record, document),
        value=value,
        n=f"{record['n']:,}",
        asked=limit_text(record, say),
    )
    return f"{say.name('threshold', record['status'])}: {line}" if with_status else line


def name_of(record: Record, document: Document) -> str:
    """`Recall@5 [ko]`."""
    label = metric.label(record["metric"], document.k, document.say)
    return f"{label} [{record['slice']}]" if record["slice"] else label


def limit_text(record: Record, say: Wording) -> str:
    """The limit of a threshold, with its direction."""
    return say(f"threshold.{record['direction'] or 'higher'}", limit=f"{record['limit']:g}")


def _number(value: float | None, say: Wording) -> str:
    return say("none") if value is None else f"{value:.4f}"
