"""A comparison as a table for the terminal; fits 80 columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from runner.metadata import read_json
from runner.report import metric
from runner.report.comparison_flips import right
from runner.report.comparison_words import (
    MARKS,
    Record,
    chance,
    differs,
    gate_lines,
    headline,
    interval,
    label,
    of_role,
    shown_verdict,
    signed,
    warnings,
)
from runner.report.wording import Wording, wording_of

STYLES = {"better": "bold green", "worse": "bold red", "mixed": "bold yellow"}


def comparison_view(folder: Path, run: Mapping[str, Any]) -> list[RenderableType]:
    """Of the comparison in a run folder, in the language of the run; nothing where there is none."""
    record = read_json(folder / "compare.json")
    return [] if record is None else comparison_panels(record, wording_of(run))


def comparison_panels(record: Record, say: Wording) -> list[RenderableType]:
    """The verdict, the main metrics, what the gate says, how many questions changed sides."""
    sides = {side: record[side]["label"] for side in ("baseline", "candidate")}
    title = Text.assemble(
        (f"{say('compare.panel', **sides)}: ", "bold"),
        (say.name("verdict", record["verdict"]), STYLES.get(record["verdict"], "bold")),
    )
    alarm = [Text(line, style="bold red") for line in warnings(record, say)]
    fired = "bold red" if record["gate"]["fired"] else ""
    notes = [Text(headline(record, say)), *(Text(line, style=fired) for line in gate_lines(record, say))]
    flips = record["flips"]
    if flips["by"] is not None:
        counts = [f"{say(f'compare.flips.{kind}')}: {len(flips[kind])}" for kind in ("lost", "won")]
        notes.append(Text(f"{say('compare.head.flips')}: {', '.join(counts)}"))
        notes += [Text(right(record, say), style="dim")] if flips["lost"] or flips["won"] else []
    table = [_table(record, say)] if of_role(record, "main") else []
    return [Text(), title, *alarm, *table, *notes, Text(say("compare.pointer"), style="dim")]


def _table(record: Record, say: Wording) -> Table:
    """Two lines a metric."""
    shown = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    shown.add_column(Text(say("compare.metric")), no_wrap=True)
    for name in ("sides", "difference", "p", "mde"):
        shown.add_column(Text(say(f"compare.short.{name}")), justify="right", no_wrap=True)
    shown.add_column(Text(say("compare.verdict")))
    for entry in of_role(record, "main"):
        verdict = entry["verdict"]
        mark = f"{MARKS[verdict]} " if verdict in MARKS else ""
        effect = signed(entry["effect_size"], say, 2)
        shown.add_row(
            Text.assemble(label(entry, record, say), (f"\nn={entry['n_paired']}", "dim")),
            Text(f"{metric.four(entry['baseline'], say)}\n→ {metric.four(entry['candidate'], say)}"),
            Text.assemble(str(signed(entry["difference"], say)), (f"\n{interval(entry, say, 3)}", "dim")),
            Text.assemble(str(chance(entry["p_holm"], say) if differs(entry) else say("none")), (f"\n{effect}", "dim")),
            Text(say("none") if entry["mde"] is None else f"{entry['mde']:.3f}"),
            Text(f"{mark}{shown_verdict(entry, record, say)}", style=STYLES.get(verdict, "")),
        )
    return shown
