"""How many questions were answered right, and how that was decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from runner.metrics.right import LABEL, NAME, UNDECIDED, By
from runner.report import metric
from runner.report.blocks import FILES, TERMINAL, Note, Section, Table, section
from runner.report.document import Document
from runner.report.metrics import rows_of


def right(document: Document) -> Section | None:
    """The section on right answers; None where the evaluation does not measure them."""
    say, counts = document.say, document.counts.get(LABEL) or {}
    if not counts:
        return None
    total = sum(counts.values())
    ways = _ways(counts)
    rows = [
        [
            say.name("right_by", by),
            f"{counts[by]:,}",
            f"{counts[by] / total:.1%}",
            say.texts.get(f"right_means.{by}", ""),
        ]
        for by in ways
    ]
    headers = [say("right.by"), say("diagnosis.count"), say("diagnosis.share"), say("lost.meaning")]
    return section(
        NAME,
        say("right.title"),
        rows_of(document, [NAME]),
        Note(_in_numbers(document, counts), "strong", media=FILES),
        Note(how_decided(document), "quiet", TERMINAL),
        Table(headers, rows, say("right.by"), right=(1, 2), media=FILES),
        Note(say("right.stand_in", count=f"{counts['stand_in']:,}") if counts.get("stand_in") else "", "quiet"),
    )


def how_decided(document: Document) -> str:
    """By what and how often; empty where the evaluation does not measure right answers."""
    say, counts = document.say, document.counts.get(LABEL) or {}
    ways = ", ".join(f"{say.name('right_by', by)} {counts[by]:,}" for by in _ways(counts))
    return say("right.decided", ways=ways) if ways else ""


def _ways(counts: Mapping[str, int]) -> list[str]:
    known = [by for by in get_args(By) if counts.get(by)]
    return [*known, *sorted(set(counts) - {*known})]


def _in_numbers(document: Document, counts: Mapping[str, int]) -> str:
    say, value = document.say, metric.value_of(document.metrics, NAME)
    undecided = sum(counts.get(by, 0) for by in UNDECIDED)
    if value.value is None:
        return say("right.none", undecided=f"{undecided:,}")
    line = say(
        "right.line",
        right=f"{round(value.value * value.n):,}",
        total=f"{value.n:,}",
        share=f"{value.value:.1%}",
        interval=metric.interval(value.low, value.high, 3),
    )
    return f"{line} {say('right.undecided', undecided=f'{undecided:,}')}" if undecided else line
