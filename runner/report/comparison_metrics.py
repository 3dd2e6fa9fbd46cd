"""Sections of a comparison on metrics: the table of both runs, and the notes below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from runner.report.blocks import PAGE, Cell, Difference, Fit, Media, Note, Section, Stack, Table, section
from runner.report.comparison_words import (
    MARKS,
    Record,
    chance,
    differs,
    interval,
    label,
    list_items,
    metrics_of,
    no_main_metric_text,
    of_role,
    shown_verdict,
    signed_number,
)
from runner.report.metric import four
from runner.words.wording import Wording

SAME = 24  # metrics without any difference that are named
NARROWEST = 12  # columns of the terminal that the name of a metric may be folded to


@dataclass(frozen=True, slots=True)
class Row:
    """A metric of both runs. `widest`: the largest end of an interval in its table, as a share of a metric's range."""

    entry: Record
    record: Record
    say: Wording
    widest: float


@dataclass(frozen=True, slots=True)
class Column:
    """`name`: of its header, compare.NAME. `stack`: the column of the terminal below whose entry it is shown; a column
    of its own, and the first to be left out where there is no room, where it is `name`; not shown in the terminal where
    it is empty. `not_in`: where it is left out."""

    name: str
    cell: Callable[[Row], str | Cell]
    is_number: bool = True
    stack: str = ""
    not_in: Media = frozenset()


def main(record: Record, say: Wording) -> Section | None:
    """The table of main metrics with their verdicts."""
    entries, title = of_role(record, "main"), say("compare.head.main")
    if not entries:
        return section("main", title, Note(no_main_metric_text(record, say)))
    return section("main", title, table(entries, record, say), *_notes(entries, record, say))


def secondary(record: Record, role: str, name: str, say: Wording) -> Section | None:
    """A table of what differs and a line of what does not."""
    entries = of_role(record, role)
    moved = [entry for entry in entries if differs(entry)]
    still = [label(entry, record, say) for entry in entries if not differs(entry)]
    same = Note(say("compare.same", metrics=list_items(still, say, SAME)) if still else "", "quiet")
    return section(name, say(f"compare.head.{name}"), table(moved, record, say), same, folded=True)


def table(entries: Sequence[Record], record: Record, say: Wording) -> Table:
    """One row an entry; all intervals are drawn on one scale."""
    widest = max([1.5 * record["margin"], *(reach(entry, say) for entry in entries if _span(entry, say))], default=1.0)
    headers = [_header(column.name, say) for column in COLUMNS]
    rows = [[column.cell(Row(entry, record, say, widest)) for column in COLUMNS] for entry in entries]
    right = [place for place, column in enumerate(COLUMNS) if column.is_number]
    not_in = {place: column.not_in for place, column in enumerate(COLUMNS)}
    return Table(headers, rows, say("compare.head.main"), right=right, fit=_fit(headers, say), not_in=not_in)


def _header(name: str, say: Wording) -> str:
    return say.texts.get(f"compare.{name}") or say.texts.get(name, name)


def _fit(headers: Sequence[str], say: Wording) -> Fit:
    names = list(dict.fromkeys(column.stack for column in COLUMNS if column.stack))
    stacks = []
    for name in names:
        places = [place for place, column in enumerate(COLUMNS) if column.stack == name]
        lead = sorted(places, key=lambda place: COLUMNS[place].name != name)
        stacks.append(Stack(say.texts.get(f"compare.short.{name}", headers[lead[0]]), lead))
    behind = names[1:]
    order = sorted(range(len(behind)), key=lambda n: BY_WEIGHT.index(behind[n]) if behind[n] in BY_WEIGHT else 99)
    return Fit(stacks, fold=NARROWEST, order=order, kept=2)


def _span(entry: Record, say: Wording) -> float:
    return say.catalogue.span(entry["name"])


def reach(entry: Record, say: Wording) -> float:
    """The largest end of its interval, as a share of its metric's range where it has one."""
    ends = (abs(float(entry[end] or 0.0)) for end in ("ci_low", "ci_high", "difference"))
    return max(ends) / (_span(entry, say) or 1.0)


# --- columns --------------------------------------------------------------------------------------


def _name(row: Row) -> str:
    return label(row.entry, row.record, row.say)


def _baseline(row: Row) -> str:
    return four(row.entry["baseline"], row.say)


def _candidate(row: Row) -> Cell:
    value = four(row.entry["candidate"], row.say)
    return Cell(value, short=f"→ {value}")


def _difference(row: Row) -> Cell:
    """All bars of a table have one scale."""
    entry, span = row.entry, _span(row.entry, row.say)
    bar = draw_difference(entry, row.widest * span or reach(entry, row.say) or 1.0, row.record["margin"] * span)
    return Cell(signed_number(entry["difference"], row.say), drawing=bar, detail=interval(entry, row.say))


def draw_difference(entry: Record, widest: float, margin: float) -> Difference | None:
    """The interval of a difference as a picture; None where there is no difference."""
    if entry["difference"] is None:
        return None
    ends = entry["ci_low"], entry["ci_high"]
    return Difference(entry["difference"], *ends, widest, margin, entry["verdict"] or "none")


def _interval(row: Row) -> Cell:
    return Cell(interval(row.entry, row.say), short=interval(row.entry, row.say, 3))


def _p(row: Row) -> str:
    return chance(row.entry["p_holm"] if differs(row.entry) else None, row.say)


def _effect(row: Row) -> str:
    return signed_number(row.entry["effect_size"], row.say, 2)


def _mde(row: Row) -> Cell:
    mde = row.entry["mde"]
    return Cell(four(mde, row.say), short=row.say("none") if mde is None else f"{mde:.3f}")


def _n(row: Row) -> Cell:
    return Cell(str(row.entry["n_paired"]), short=f"n={row.entry['n_paired']}")


def _verdict(row: Row) -> Cell:
    """The verdict; in the terminal, its part in brackets has a line of its own."""
    verdict, text = row.entry["verdict"], shown_verdict(row.entry, row.record, row.say)
    if verdict not in MARKS:
        return Cell(text, verdict=verdict or "none", short=text.replace(" (", "\n("))
    marked = f"{MARKS[verdict]} {text}"
    return Cell(marked, "strong", verdict=verdict, short=marked.replace(" (", "\n("))


COLUMNS = (
    Column("metric", _name, is_number=False, stack="metric"),
    Column("baseline", _baseline, stack="sides"),
    Column("candidate", _candidate, stack="sides"),
    Column("difference", _difference, stack="difference"),
    Column("interval", _interval, stack="difference", not_in=PAGE),  # which has it below the difference
    Column("p", _p, stack="p"),
    Column("effect", _effect, stack="p"),
    Column("mde", _mde, stack="verdict"),
    Column("n", _n, stack="metric"),
    Column("verdict", _verdict, is_number=False, stack="verdict"),
)
BY_WEIGHT = ("difference", "verdict", "sides", "p")


# --- below the table ------------------------------------------------------------------------------


def _notes(entries: Sequence[Record], record: Record, say: Wording) -> Iterator[Note]:
    for entry in entries:
        name, failed, noise = label(entry, record, say), entry["failed"], entry["judge_noise"]
        if entry["left_out"]:
            yield Note(say("compare.left_out", metric=name, count=entry["left_out"], **failed), "quiet")
        elif any(failed.values()):
            yield Note(say("compare.failed", metric=name, **failed), "quiet")
        if noise:
            within = say("compare.within" if abs(entry["difference"]) <= noise else "compare.beyond")
            yield Note(say("compare.judge_noise", metric=name, noise=f"{noise:.4f}", within=within), "quiet")


def yes_no(record: Record, say: Wording) -> Section | None:
    """Metrics of two values: how many cases only one side has, and McNemar's p."""
    rows = [
        [
            label(entry, record, say),
            str(entry["mcnemar"]["b"]),
            str(entry["mcnemar"]["c"]),
            chance(entry["mcnemar"]["p"], say),
            str(entry["n_paired"]),
        ]
        for entry in metrics_of(record)
        if entry["mcnemar"] and differs(entry) and entry["role"] != "leg"
    ]
    names = ("metric", "only_baseline", "only_candidate", "mcnemar")
    headers = [*(say(f"compare.{name}") for name in names), "n"]
    return section("yes_no", say("compare.head.yes_no"), Table(headers, rows), folded=True)
