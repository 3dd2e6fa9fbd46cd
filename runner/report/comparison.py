"""What a comparison of runs amounts to, and why: compare.md, its page, the terminal, and its part of a run's report.

`record` is compare.json (runner.compare.record).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from runner.report import metric
from runner.report.blocks import (
    MARKDOWN,
    PAGE,
    TERMINAL,
    Block,
    Cell,
    Mark,
    Note,
    Points,
    Section,
    Table,
    Warnings,
    section,
)
from runner.report.comparison_flips import flips, right_rule
from runner.report.comparison_metrics import main, secondary, table, yes_no
from runner.report.comparison_words import (
    MARKS,
    NAMED,
    Record,
    amount,
    chance,
    changes,
    cluster_lines,
    decision_lines,
    differs,
    expense_name,
    gate_lines,
    headline,
    interval,
    k_of,
    last_lines,
    list_items,
    loss_text,
    of_role,
    own_wording,
    plain,
    reason_text,
    rule_name,
    signed_number,
    warnings,
)
from runner.report.markdown import Markdown, markdown
from runner.report.page import FILE, write_page
from runner.report.terminal import renderables
from runner.system.metadata import read_json
from runner.system.writing import replacing
from runner.words.wording import Wording, wording_of

SETTINGS = 30  # differing settings shown
SLICES = 15  # values of a dimension shown
CASES = 20  # ids of cases named
SIDES = ("baseline", "candidate")
ROUNDING = 1e-9  # as for the rules themselves
RULE_HEADERS = ("rule", "baseline", "candidate", "loss", "allowed", "finds", "p", "result")
TOLD = ("flips", "compared", "settings", "expense")  # on a page by themselves, not below the verdict


# --- where it is shown ----------------------------------------------------------------------------


def write(path: Path, records: Sequence[Record], say: Wording) -> None:
    """compare.md: one comparison, or several with the same baseline. A reader sees the old file or the new one."""
    with replacing(path) as scratch:
        scratch.write_text(render(records, say), encoding="utf-8")


def render(records: Sequence[Record], say: Wording) -> str:
    """compare.md of one candidate, or of several with an overview before them."""
    heads = [_overview(records, say)] if len(records) > 1 else []
    parts = [_append_blocks(head(record, say), sections(record, say)) for record in records]
    return markdown([*heads, *parts], level=1) + "\n"


def _append_blocks(head: Section, below: Sequence[Section]) -> Section:
    return replace(head, blocks=[*head.blocks, *below])


def write_comparison(folder: Path, records: Sequence[Record], say: Wording) -> None:
    """report.html of one comparison, or several with the same baseline. The same records give the same bytes."""
    if len(records) == 1:
        title, (first, *further) = replace(head(records[0], say), blocks=[]), of_page(records[0], say)
        write_page(folder / FILE, say, [title, replace(first, title=say("compare.verdict")), *further])
        return
    overview = _overview(records, say)
    below = [each for number, record in enumerate(records) for each in _sections_of_one(number, record, say)]
    write_page(folder / FILE, say, [replace(overview, blocks=[]), *overview.blocks, *below])


def _sections_of_one(number: int, record: Record, say: Wording) -> Iterator[Section]:
    """The sections of one comparison beside others, each under the name of its candidate."""
    label = record["candidate"]["label"]
    for place, part in enumerate(of_page(record, say)):
        title = f"{part.title}: {label}" if place else label
        yield replace(part, id=f"{part.id}-{number}", title=title)


def panels(record: Record, say: Wording) -> list[RenderableType]:
    """The panels of the terminal."""
    return renderables(_in_short(record, own_wording(say, record)), dense=True)


def comparison_view(folder: Path, run: Mapping[str, Any]) -> list[RenderableType]:
    """The comparison in a run folder for the terminal, in the language of the run; empty where there is none."""
    record = read_json(folder / "compare.json")
    return [] if record is None else panels(record, wording_of(run))


def of_run(record: Record, say: Wording) -> list[Section]:
    """Sections of the report of a run that was compared with a baseline: summary.md has what compare.md begins
    with."""
    first, *further = of_page(record, say)
    in_markdown = ("main", "verdict")
    blocks = [b if not isinstance(b, Section) or b.id in in_markdown else replace(b, media=PAGE) for b in first.blocks]
    full = Note(own_wording(say, record)("compare.full"), media=MARKDOWN)
    return [replace(first, blocks=[*blocks, full]), *(replace(part, media=PAGE) for part in further)]


def of_page(record: Record, say: Wording) -> list[Section]:
    """The verdict with its numbers, the questions whose outcome changed, and what was compared."""
    by_id = {each.id: each for each in sections(record, say)}
    verdict = Section(
        "comparison",
        own_wording(say, record)("head.compare", baseline=record["baseline"]["label"]),
        [*head(record, say).blocks, *(each for id, each in by_id.items() if id not in TOLD)],
    )
    compared = by_id["compared"]
    besides = [by_id[id] for id in ("settings", "expense") if id in by_id]
    return [verdict, by_id["flips"], replace(compared, blocks=[*compared.blocks, *besides])]


# --- what is shown --------------------------------------------------------------------------------


def head(record: Record, say: Wording) -> Section:
    """The title of a comparison, and the warnings about it."""
    say = own_wording(say, record)
    labels = {side: record[side]["label"] for side in SIDES}
    return Section("", say("compare.title", **labels), [Warnings(list(_notes(record, say)))])


def _notes(record: Record, say: Wording) -> Iterator[Note]:
    yield from (Note(warning, "alarm") for warning in warnings(record, say))
    verdict = record["verdict"]
    yield Note(say.name("verdict", verdict).capitalize() + ".", "strong", verdict=verdict)
    yield Note(headline(record, say))
    yield from (Note(line) for line in (*decision_lines(record, say), *changes(record, say)))
    yield from (Note(line) for line in gate_lines(record, say))
    yield from (Note(line, "strong") for line in last_lines(record, say))


def sections(record: Record, say: Wording) -> list[Section]:
    """The sections of a comparison in their order, without those that have nothing to say."""
    say = own_wording(say, record)
    candidates = (
        main(record, say),
        gate(record, say),
        runs(record, say),
        differences(record, say),
        flips(record, say),
        slices(record, say),
        expense(record, say),
        yes_no(record, say),
        secondary(record, "other", "other", say),
        secondary(record, "leg", "legs", say),
        not_comparable(record, say),
        reading(record, say),
    )
    return [part for part in candidates if part is not None]


def _in_short(record: Record, say: Wording) -> Iterator[Block]:
    """The verdict, the main metrics, what the gate says, how many questions changed sides."""
    labels = {side: record[side]["label"] for side in SIDES}
    title = f"{say('compare.panel', **labels)}: {say.name('verdict', record['verdict'])}"
    entries = of_role(record, "main")
    fired: Mark = "alarm" if record["gate"]["fired"] else ""
    blocks: list[Block] = [
        Note(""),
        Note(title, "strong", verdict=record["verdict"]),
        *(Note(line, "alarm") for line in warnings(record, say)),
        *([table(entries, record, say)] if entries else []),
        Note(headline(record, say)),
        *(Note(line) for line in (*decision_lines(record, say), *changes(record, say))),
        *(Note(line, "quiet") for line in cluster_lines(record, say)),
        *(Note(line, fired) for line in gate_lines(record, say)),
        *_flips_in_short(record, say),
        Note(say("compare.pointer"), "quiet"),
        *(Note(line, "alarm") for line in last_lines(record, say)),
    ]
    yield from (replace(block, media=TERMINAL) for block in blocks)


def _flips_in_short(record: Record, say: Wording) -> Iterator[Note]:
    flip_counts = record["flips"]
    if flip_counts["by"] is None:
        return
    counts = [f"{say(f'compare.flips.{kind}')}: {len(flip_counts[kind])}" for kind in ("lost", "won")]
    yield Note(f"{say('compare.head.flips')}: {', '.join(counts)}")
    if flip_counts["lost"] or flip_counts["won"]:
        yield Note(right_rule(record, say), "quiet")


def _overview(records: Sequence[Record], say: Wording) -> Section:
    rows: list[list[str | Cell]] = [
        [
            Cell(record["candidate"]["label"], href=f"comparison-{number}", is_data=True),
            Cell(say.name("verdict", record["verdict"]), "strong", verdict=record["verdict"]),
            _in_a_line(record, own_wording(say, record)),
        ]
        for number, record in enumerate(records)
    ]
    headers = [say("compare.candidate"), say("compare.verdict"), ""]
    title = say("compare.head.overview")
    inner = Section("overview", title, [Table(headers, rows, title, right=())])
    return Section("", say("compare.titles", baseline=records[0]["baseline"]["label"]), [inner])


def _in_a_line(record: Record, say: Wording) -> str:
    return " ".join([*warnings(record, say), headline(record, say), *gate_lines(record, say)])


def runs(record: Record, say: Wording) -> Section | None:
    """The two runs side by side: id, experiment, status, number of cases, commit."""
    facts = {
        "ran.run": "id", "ran.experiment": "experiment", "ran.evaluation": "evaluation_type", "ran.status": "status",
        "panel.cases": "n_cases", "ran.created": "created_at",
    }  # fmt: skip
    sides = [record[side] for side in SIDES]
    rows = [[say("compare.reference"), *(side["label"] for side in sides)]]
    rows += [[say(key), *(_fact(side.get(name), key, say) for side in sides)] for key, name in facts.items()]
    rows.append([say("ran.git"), *(_commit(side.get("git"), say) for side in sides)])
    headers = [say("head.property"), *(say(f"compare.{side}") for side in SIDES)]
    pairs = (Note(line) for line in _pairs(record, say))
    return section("compared", say("compare.head.runs"), Table(headers, rows, right=()), *pairs)


def _fact(value: Any, key: str, say: Wording) -> str:
    if value is None:
        return say("none")
    return say.name("status", str(value)) if key == "ran.status" else str(value)


def _commit(git: Mapping[str, Any] | None, say: Wording) -> str:
    if not git:
        return say("none")
    commit = str(git.get("commit"))[:12]
    return say("ran.git_dirty", commit=commit) if git.get("dirty") else commit


def _pairs(record: Record, say: Wording) -> Iterator[str]:
    pairing = record["pairing"]
    yield say("compare.paired", n=pairing["n_paired"], by_id=pairing["by_id"], by_content=pairing["by_content"])
    yield from cluster_lines(record, say)
    for side in SIDES:
        if alone := pairing[f"only_{side}"]:
            cases = list_items(alone, say, CASES)
            yield say("compare.unpaired", n=len(alone), side=say(f"compare.{side}"), cases=cases)
    for name in ("new_question", "new_gold"):
        if pairing[name]:
            yield say(f"compare.{name}", n=len(pairing[name]), cases=list_items(pairing[name], say, CASES))
    if (pairing["anchored"] or {}).get("cases"):
        yield say("compare.anchored", **pairing["anchored"])


def differences(record: Record, say: Wording) -> Section | None:
    """The settings that differ, at most SETTINGS of them."""
    settings, title = record["config_difference"], say("compare.head.differs")
    if not settings:
        return section("settings", title, Note(say("compare.differs.none")))
    rows = [
        [setting["key"], *(say("none") if setting[side] is None else setting[side] for side in SIDES)]
        for setting in settings[:SETTINGS]
    ]
    headers = [say("compare.setting"), *(say(f"compare.{side}") for side in SIDES)]
    more = len(settings) - SETTINGS
    note = Note(say("compare.differs.more", count=more) if more > 0 else "", "quiet")
    return section("settings", title, Table(headers, rows, title, right=()), note)


# --- regression rules -----------------------------------------------------------------------------


def gate(record: Record, say: Wording) -> Section | None:
    """The outcome of each rule of the gate, and of each case that must not break."""
    rules, cases = record["gate"]["rules"], record["gate"]["cases"]
    rows = [_result(rule_cells(rule, record, say), rule["status"]) for rule in rules]
    blank = [say("none")] * (len(RULE_HEADERS) - 2)
    rows += [
        _result([say("compare.case", id=case["id"]), *blank, _case_result(case, say)], case["status"]) for case in cases
    ]
    title = say("compare.head.gate")
    table = Table([say(f"compare.{name}") for name in RULE_HEADERS], rows, title, right=range(1, 7))
    return section("gate", title, table, Note(say("compare.gate_explain") if rows else "", "quiet"))


def _result(cells: Sequence[str], status: str) -> list[str | Cell]:
    *rest, result = cells
    return [*rest, Cell(result, "strong", verdict="worse") if status == "fired" else result]


def rule_cells(rule: Record, record: Record, say: Wording) -> tuple[str, ...]:
    """RULE_HEADERS of one rule."""
    digits = 1 if rule["metric"].startswith("latency.") else 4
    percent = rule["relative"]
    numbers = [say("none") if rule[side] is None else f"{rule[side]:.{digits}f}" for side in SIDES]
    nothing = "∞" if rule["status"] == "fired" else say("none")
    loss = nothing if rule["loss"] is None else f"{rule['loss']:.1%}" if percent else f"{rule['loss']:.{digits}f}"
    allowed = f"{rule['margin']:.1%}" if percent else plain(rule["margin"])
    if rule["significant"]:
        allowed = say("compare.significant", margin=allowed)
    result = say.name("gate", rule["status"])
    if rule["status"] == "passed" and (rule["loss"] or 0) > rule["margin"] + ROUNDING:
        result = say(f"compare.doubt.{rule.get('doubt') or 'chance'}")
    if rule["reasons"] and rule["status"].startswith("not_"):
        result = f"{result}: {'; '.join(reason_text(reason, say) for reason in rule['reasons'])}"
    detectable = rule.get("detectable")
    finds = say("none") if detectable is None else loss_text(rule, detectable)
    p = chance(rule["p_holm"], say)
    return rule_name(rule, record, say), *numbers, loss.replace("-", "−"), allowed, finds, p, result


def _case_result(case: Record, say: Wording) -> str:
    if case["status"] != "fired":
        return say(f"compare.case_{case['status']}")
    lost_at = say.name("lost_at", case["lost_at"]) if case["lost_at"] else say("none")
    return say("compare.case_before" if case["was_right"] is False else "compare.case_fired", lost_at=lost_at)


# --- slices, latency and cost ---------------------------------------------------------------------


def slices(record: Record, say: Wording) -> Section | None:
    """Values of a dimension by the number of their cases; main metrics beside each other."""
    names = [entry["name"] for entry in of_role(record, "main") if differs(entry)]
    cells: dict[str, dict[str, dict[str, Record]]] = defaultdict(lambda: defaultdict(dict))
    for entry in record["slices"]:
        cells[entry["dimension"]][entry["value"]][entry["name"]] = entry
    rows: list[list[str | Cell]] = []
    hidden = 0
    for dimension, values in cells.items():
        ordered = sorted(values.items(), key=lambda item: (-_n(item[1]), item[0]))
        hidden += len(ordered[SLICES:])
        for value, entries in ordered[:SLICES]:
            changes = [_change(entries.get(name), say) for name in names]
            rows.append([f"{say.name('slice', dimension)}: {value}", str(_n(entries)), *changes])
    if not rows or not names:
        return None
    headers = [say("compare.slice"), "n", *(metric.label(name, k_of(record), say) for name in names)]
    title, more = say("compare.head.slices"), Note(say("compare.slices_more", count=hidden) if hidden else "", "quiet")
    return section("slices", title, Note(say("compare.slices_explain"), "quiet"), Table(headers, rows, title), more)


def _n(entries: Mapping[str, Record]) -> int:
    return max((int(entry["n_paired"]) for entry in entries.values()), default=0)


def _change(entry: Record | None, say: Wording) -> str | Cell:
    if entry is None:
        return say("none")
    text, verdict = signed_number(entry["difference"], say, 3), entry["verdict"]
    return Cell(Markdown(f"{text} {MARKS[verdict]}"), "strong", verdict=verdict) if verdict in MARKS else text


def expense(record: Record, say: Wording) -> Section | None:
    """Latency and cost of both sides, with interval and the number of values."""
    rows = [
        [
            expense_name(entry["name"], say),
            *(amount(entry[side], entry["name"], say) for side in SIDES),
            amount(entry["difference"], entry["name"], say, sign=True),
            interval(entry, say, 1),
            str(entry["n_baseline"]),
            str(entry["n_candidate"]),
        ]
        for entry in [*record["latency"], *record["cost"]]
    ]
    headers = [say(f"compare.{name}") for name in ("measure", "baseline", "candidate", "difference")]
    headers += [say("interval"), *(f"n ({say(f'compare.{side}').lower()})" for side in SIDES)]
    title, explained = say("compare.head.expense"), Note(say("compare.expense_explain") if rows else "", "quiet")
    return section("expense", title, Table(headers, rows, title), explained)


# --- omissions --------------------------------------------------------------------------------------


def not_comparable(record: Record, say: Wording) -> Section | None:
    """Metrics without a comparison, grouped by the reason."""
    metrics_by_reason: dict[str, list[str]] = defaultdict(list)
    for entry in record["not_comparable"]:
        why = "; ".join(reason_text(reason, say) for reason in entry["reasons"])
        metrics_by_reason[why].append(metric.label(entry["metric"], None, say))
    rows = [[why, list_items(names, say, 4 * NAMED)] for why, names in metrics_by_reason.items()]
    table = Table([say("compare.why"), say("compare.metrics")], rows, right=())
    return section("not_comparable", say("compare.head.not_comparable"), table, folded=True)


def reading(record: Record, say: Wording) -> Section | None:
    """How to read differences, p-values, verdicts and the smallest detectable difference."""
    values = {"margin": plain(record["margin"]), "alpha": plain(record["alpha"]), "family": record["family"]}
    lines = [say(f"compare.read.{name}", **values) for name in ("difference", "p", "verdict", "mde")]
    return section("reading", say("compare.head.reading"), Points(lines), folded=True)
