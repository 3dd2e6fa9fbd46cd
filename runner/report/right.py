"""How many questions were answered right, and how that was decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from runner.metrics.judged import CORRECTNESS
from runner.metrics.right import LABEL, NAME, UNDECIDED, By
from runner.report import metric
from runner.report.blocks import FILES, TERMINAL, Note, Section, Table, section
from runner.report.document import Document
from runner.report.metrics import rows_of
from runner.words.wording import Wording

Record = Mapping[str, Any]
BY_WORDS: tuple[By, ...] = ("undecided", "needs_model")  # what a model as judge decides
WORTH_A_MODEL = 0.05  # share of such questions


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
        Note(_in_numbers(document), "strong", media=FILES),
        Note(undecided_line(document.summary, document.say), "strong", TERMINAL),
        Note(how_decided(document), "quiet", TERMINAL),
        Table(headers, rows, say("right.by"), right=(1, 2), media=FILES),
        Note(say("right.stand_in", count=f"{counts['stand_in']:,}") if counts.get("stand_in") else "", "quiet"),
    )


def how_decided(document: Document, most: int | None = None) -> str:
    """By what and how often, of the `most` frequent ways (None: all); empty where the evaluation does not measure right
    answers."""
    say, counts = document.say, document.counts.get(LABEL) or {}
    by_count = sorted(_ways(counts), key=lambda by: -counts[by])[:most]
    ways = ", ".join(f"{say.name('right_by', by)} {counts[by]:,}" for by in by_count)
    others = sum(counts.values()) - sum(counts[by] for by in by_count)
    if others:
        ways = say("right.other_ways", ways=ways, n=f"{others:,}")
    return say("right.decided", ways=ways) if ways else ""


def undecided_line(summary: Record, say: Wording) -> str:
    """How many questions are undecided, and the share of right ones if all of them are wrong, or right; empty where
    every question is decided. `summary`: the content of summary.json."""
    value = metric.value_of(summary.get("metrics") or {}, NAME)
    if not value.undecided or value.if_lowest is None or value.if_highest is None:
        return ""
    total = value.n_scored + value.undecided
    return say(
        "right.undecided",
        undecided=f"{value.undecided:,}",
        total=f"{total:,}",
        share=f"{value.undecided / total:.1%}",
        low=f"{value.if_lowest:.1%}",
        high=f"{value.if_highest:.1%}",
    )


def first_line(summary: Record, say: Wording) -> str:
    """Why nothing follows from the share of right answers; empty where at least half of the questions are decided.
    `summary`: the content of summary.json."""
    metrics, counts = summary.get("metrics") or {}, _counts(summary)
    value = metric.value_of(metrics, NAME)
    if not value.is_undecided:
        return ""
    undecided, total = f"{value.undecided:,}", f"{value.n_scored + value.undecided:,}"
    lines = [say("right.open", metric=metric.label(NAME, None, say), undecided=undecided, total=total)]
    lines += [say(f"right.open.{by}", count=f"{counts[by]:,}") for by in UNDECIDED if counts.get(by)]
    by_words = metric.value_of(metrics, CORRECTNESS).value
    if needs_model(summary) and by_words is not None:
        name = metric.label(CORRECTNESS, None, say)
        lines.append(say("right.open.by_words", metric=name, value=f"{by_words:.4f}"))
    return " ".join(lines)


def needs_model(summary: Record) -> bool:
    """Whether words leave so many questions of a summary.json undecided that it is worth to ask a model as judge."""
    counts = _counts(summary)
    return sum(counts.get(by, 0) for by in BY_WORDS) >= WORTH_A_MODEL * (sum(counts.values()) or 1)


def _counts(summary: Record) -> Mapping[str, int]:
    return (summary.get("counts") or {}).get(LABEL) or {}


def _ways(counts: Mapping[str, int]) -> list[str]:
    known = [by for by in get_args(By) if counts.get(by)]
    return [*known, *sorted(set(counts) - {*known})]


def _in_numbers(document: Document) -> str:
    say, value = document.say, metric.value_of(document.metrics, NAME)
    if value.value is None:
        return say("right.none", undecided=f"{value.undecided:,}")
    line = say(
        "right.line",
        right=f"{round(value.value * value.n_scored):,}",
        total=f"{value.n_scored:,}",
        share=f"{value.value:.1%}",
        interval=metric.interval(value.low, value.high, 3),
    )
    return f"{line} {undecided_line(document.summary, document.say)}".strip()
