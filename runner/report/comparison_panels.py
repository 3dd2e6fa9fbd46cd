"""A comparison as a table for the terminal; fits 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from runner.report import metric
from runner.report.columns import GAP, WIDTH, folded, grid
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
    own,
    shown_verdict,
    signed,
    warnings,
)
from runner.system.metadata import read_json
from runner.words.wording import Wording, wording_of

STYLES = {"better": "bold green", "worse": "bold red", "mixed": "bold yellow"}
NARROWEST = 12  # columns of the terminal that the name of a metric may be folded to


def comparison_view(folder: Path, run: Mapping[str, Any]) -> list[RenderableType]:
    """Of the comparison in a run folder, in the language of the run; nothing where there is none."""
    record = read_json(folder / "compare.json")
    return [] if record is None else comparison_panels(record, wording_of(run))


def comparison_panels(record: Record, say: Wording) -> list[RenderableType]:
    """The verdict, the main metrics, what the gate says, how many questions changed sides."""
    say = own(say, record)
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
    """Two lines a metric or more; beside the metric as many columns as there is room for, the weightiest first."""
    shown = grid()
    entries = of_role(record, "main")
    columns = {
        name: [Text(say(f"compare.short.{name}")), *(cell(entry, record, say) for entry in entries)]
        for name, cell in CELLS.items()
    }
    room, taken = min(WIDTH, Console().width) - GAP, list[str]()
    for name in BY_WEIGHT:
        width = max(map(_width, columns[name])) + GAP
        if room - width < NARROWEST and len(taken) > 1:
            break
        room -= width
        taken.append(name)
    shown.add_column(Text(say("compare.metric")), overflow="fold")
    for name in (name for name in CELLS if name in taken):
        shown.add_column(columns[name][0], justify="left" if name == "verdict" else "right", overflow="fold")
    for number, entry in enumerate(entries, start=1):
        name = folded(label(entry, record, say), max(room, NARROWEST))
        metric_name = Text.assemble(name, (f"\nn={entry['n_paired']}", "dim"))
        shown.add_row(metric_name, *(columns[each][number] for each in CELLS if each in taken))
    return shown


def _width(text: Text) -> int:
    return max(map(cell_len, text.plain.splitlines()))


def _sides(entry: Record, record: Record, say: Wording) -> Text:
    return Text(f"{metric.four(entry['baseline'], say)}\n→ {metric.four(entry['candidate'], say)}")


def _difference(entry: Record, record: Record, say: Wording) -> Text:
    return Text.assemble(str(signed(entry["difference"], say)), (f"\n{interval(entry, say, 3)}", "dim"))


def _p(entry: Record, record: Record, say: Wording) -> Text:
    p = chance(entry["p_holm"], say) if differs(entry) else say("none")
    return Text.assemble(str(p), (f"\n{signed(entry['effect_size'], say, 2)}", "dim"))


def _verdict(entry: Record, record: Record, say: Wording) -> Text:
    """What is in brackets has a line of its own."""
    verdict = entry["verdict"]
    text = shown_verdict(entry, record, say).replace(" (", "\n(")
    mark = f"{MARKS[verdict]} " if verdict in MARKS else ""
    detectable = say("none") if entry["mde"] is None else f"{entry['mde']:.3f}"
    return Text.assemble((f"{mark}{text}", STYLES.get(verdict, "")), (f"\n{detectable}", "dim"))


CELLS: Mapping[str, Callable[[Record, Record, Wording], Text]] = {
    "sides": _sides, "difference": _difference, "p": _p, "verdict": _verdict
}  # fmt: skip
BY_WEIGHT = ("difference", "verdict", "sides", "p")
