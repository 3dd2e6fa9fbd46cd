"""What people did with suggested links, over time and by language, team and tag; and what a place was: rows for every
report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from runner.report.document import Document, section
from runner.report.markdown import escape, table
from runner.words.wording import Wording

GROUPS = ("time", "language", "team", "tag")
SHOWN = 24  # rows of a table: the latest of a time, the largest of the others

Rows = tuple[list[str], list[list[str]]]  # headers, rows


def links(document: Document) -> str:
    """The section of summary.md."""
    say = document.say
    lines = [escape(line) for line in lines_of(document.summary, say)]
    found = (document.summary.get("links") or {}).get("acceptance")
    blocks = [table(headers, rows, right=range(1, 5)) for _, (headers, rows) in parts(found, say)] if found else []
    told = [section(say("links.acceptance"), *blocks, escape(say("links.explain")), level=3)] if found else []
    return section(say("links.title"), *lines, *told) if lines else ""


def lines_of(summary: Mapping[str, Any], say: Wording) -> list[str]:
    """What the vault is, and how many suggestions were accepted in all."""
    vault = (summary.get("facts") or {}).get("vault")
    if not vault or "expected" not in vault:
        return []
    found = (summary.get("links") or {}).get("acceptance")
    counts = {name: f"{count:,}" for name, count in vault.items()}
    return [say("links.vault_line", **counts), *([_all(found["all"], say)] if found else [])]


def parts(found: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, Rows]]:
    """(name, table) of what there is."""
    for name in GROUPS:
        if found[name]:
            yield name, _rates(found[name], say(f"links.{found['period'] if name == 'time' else name}"), name, say)


def panel(summary: Mapping[str, Any], say: Wording) -> RenderableType | None:
    """How many suggestions were accepted, in all and over time, for the terminal."""
    found = (summary.get("links") or {}).get("acceptance")
    if not found:
        return None
    shown = Table.grid(padding=(0, 2))
    for _ in range(3):
        shown.add_column(no_wrap=True)
    for key, n, _, rate, interval in _rates(found["time"], "", "time", say)[1][-8:]:
        shown.add_row(Text(f"  {key}"), Text(rate, style="bold"), Text(f"{interval}  n={n}", style="dim"))
    return Group(Text(_all(found["all"], say)), shown)


def place(output: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, str]]:
    """(name, text) of where a link was to be suggested."""
    if is_of_a_link(output):
        yield say("links.note"), str(output["source_note"])
        yield say("links.context"), str(output.get("context") or "")


def reason(output: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, str]]:
    """(name, text) of why the first suggestion is one."""
    hits = output.get("retrieved") if is_of_a_link(output) else None
    if hits and hits[0].get("reason"):
        yield say("links.reason"), str(hits[0]["reason"])


def is_of_a_link(output: Mapping[str, Any]) -> bool:
    return "source_note" in output


def _all(entry: Mapping[str, Any], say: Wording) -> str:
    shares = {name: f"{entry[name]:.1%}" for name in ("rate", "low", "high")}
    return say("links.all", n=f"{entry['n']:,}", accepted=f"{entry['accepted']:,}", **shares)


def _rates(groups: Mapping[str, Mapping[str, Any]], title: str, name: str, say: Wording) -> Rows:
    by_size = sorted(groups.items(), key=lambda item: (-item[1]["n"], item[0]))
    entries = list(groups.items())[-SHOWN:] if name == "time" else by_size[:SHOWN]
    headers = [title, *(say(f"links.{column}") for column in ("n", "accepted", "rate", "interval"))]
    return headers, [
        [
            key,
            f"{entry['n']:,}",
            f"{entry['accepted']:,}",
            f"{entry['rate']:.1%}",
            f"{entry['low']:.1%} – {entry['high']:.1%}",
        ]
        for key, entry in entries
    ]
