"""How long a memory keeps facts, what contexts are made of, and what keeping it came to: rows for every report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from runner.report import metric
from runner.report.document import Document, section
from runner.report.markdown import escape, table
from runner.report.metric import Value
from runner.words.wording import Wording

BY = ("turns", "updates")


def memory(document: Document) -> str:
    """The section of summary.md."""
    say, found = document.say, document.summary.get("memory")
    if not found:
        return ""
    tables = [table(*each, right=(1, 2, 3)) for by in BY if (each := retention(found, by, say))[1]]
    headers, rows = sections(found, say)
    return section(
        say("memory.title"),
        section(say("memory.retention"), *tables, escape(say("memory.explain")), level=3) if tables else "",
        section(say("memory.used"), table(headers, rows, right=(1, 2, 3)), level=3) if rows else "",
        escape(upkeep(found, say)),
    )


def panel(summary: Mapping[str, Any], say: Wording) -> RenderableType | None:
    """Retention by turns, for the terminal."""
    values = points(summary.get("memory") or {}, "turns")
    if not values:
        return None
    shown = Table.grid(padding=(0, 2))
    justifies: tuple[Literal["left", "right"], ...] = ("left", "right", "left", "right")
    for justify in justifies:
        shown.add_column(justify=justify, no_wrap=True)
    for label, value in values:
        share = Text(metric.four(value.value, say), style="bold")
        interval = Text(metric.interval(value.low, value.high), style="dim")
        shown.add_row(Text(f"  {label}"), share, interval, Text(f"n={value.n}", style="dim"))
    return Group(Text(f"{say('memory.panel')}:"), shown)


def points(found: Mapping[str, Any], by: str) -> list[tuple[str, Value]]:
    """(bin, share) of the bins that have facts."""
    bins = (found.get("retention") or {}).get(by) or ()
    return [
        (bin["label"], Value(bin["label"], bin["share"], bin["n"], bin["n"], bin["low"], bin["high"], bin["share"]))
        for bin in bins
        if bin["n"]
    ]


def places(curves: Iterable[Mapping[str, Any]], by: str) -> list[str]:
    """Bins that some curve has a fact in, in order."""
    bins = [bin for memory in curves for bin in (memory.get("retention") or {}).get(by) or ()]
    known = {bin["label"] for bin in bins if bin["n"]}
    return [label for label in dict.fromkeys(bin["label"] for bin in bins) if label in known]


def retention(found: Mapping[str, Any], by: str, say: Wording) -> tuple[list[str], list[list[str]]]:
    """(headers, rows)"""
    headers = [say(f"memory.{by}"), say("memory.facts"), say("memory.share"), say("memory.interval")]
    rows = [
        [label, str(value.n), metric.four(value.value, say), metric.interval(value.low, value.high)]
        for label, value in points(found, by)
    ]
    return headers, rows


def sections(found: Mapping[str, Any], say: Wording) -> tuple[list[str], list[list[str]]]:
    """(headers, rows)"""
    headers = [say(f"memory.{name}") for name in ("section", "tokens", "budget", "cut")]
    rows = [
        [
            say.name("context", name),
            f"{entry['tokens']:,.1f}",
            say("memory.no_budget") if entry["budget"] is None else f"{entry['budget']:,}",
            str(entry["cut"]),
        ]
        for name, entry in (found.get("sections") or {}).items()
    ]
    return headers, rows


def upkeep(found: Mapping[str, Any], say: Wording) -> str:
    kept = found.get("upkeep") or {}
    return say("memory.upkeep", **{name: f"{number:,}" for name, number in kept.items()}) if kept else ""
