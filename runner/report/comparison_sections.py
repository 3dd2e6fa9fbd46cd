"""Sections of compare.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from runner.report import metric
from runner.report.comparison_words import (
    MARKS,
    NAMED,
    Record,
    chance,
    differs,
    expense_name,
    gate_lines,
    headline,
    interval,
    k_of,
    listed,
    of_role,
    plain,
    reason_text,
    rule_name,
    signed,
    warnings,
)
from runner.report.document import section
from runner.report.markdown import Markdown, bold, escape, quote, table
from runner.words.wording import Wording

SETTINGS = 30  # differing settings shown
SLICES = 15  # values of a dimension shown
CASES = 20  # ids of cases named
SIDES = ("baseline", "candidate")
ROUNDING = 1e-9  # as for the rules themselves
RULE_HEADERS = ("rule", "baseline", "candidate", "loss", "allowed", "p", "result")


def head(record: Record, say: Wording) -> str:
    title = say("compare.title", candidate=record["candidate"]["label"], baseline=record["baseline"]["label"])
    notes: list[str] = [bold(warning) for warning in warnings(record, say)]
    notes += [bold(say.name("verdict", record["verdict"]).capitalize() + "."), headline(record, say)]
    return f"# {escape(title)}\n\n{quote([*notes, *gate_lines(record, say)])}"


def runs(record: Record, say: Wording) -> str:
    facts = {
        "ran.run": "id", "ran.experiment": "experiment", "ran.evaluation": "evaluation_type", "ran.status": "status",
        "panel.cases": "n_cases", "ran.created": "created_at",
    }  # fmt: skip
    sides = [record[side] for side in SIDES]
    rows = [(say("compare.reference"), *(side["label"] for side in sides))]
    rows += [(say(key), *(_told(side.get(name), key, say) for side in sides)) for key, name in facts.items()]
    rows.append((say("ran.git"), *(_commit(side.get("git"), say) for side in sides)))
    shown = table([say("head.property"), *(say(f"compare.{side}") for side in SIDES)], rows)
    return section(say("compare.head.runs"), shown, "\n\n".join(map(escape, pairs_of(record, say))))


def _told(value: Any, key: str, say: Wording) -> str:
    if value is None:
        return say("none")
    return say.name("status", str(value)) if key == "ran.status" else str(value)


def _commit(git: Mapping[str, Any] | None, say: Wording) -> str:
    if not git:
        return say("none")
    commit = str(git.get("commit"))[:12]
    return say("ran.git_dirty", commit=commit) if git.get("dirty") else commit


def pairs_of(record: Record, say: Wording) -> list[str]:
    pairing = record["pairing"]
    lines = [say("compare.paired", n=pairing["n_paired"], by_id=pairing["by_id"], by_content=pairing["by_content"])]
    for side in SIDES:
        if alone := pairing[f"only_{side}"]:
            told = {"n": len(alone), "side": say(f"compare.{side}"), "cases": listed(alone, say, CASES)}
            lines.append(say("compare.unpaired", **told))
    for name in ("new_question", "new_gold"):
        if pairing[name]:
            cases = listed(pairing[name], say, CASES)
            lines.append(say(f"compare.{name}", n=len(pairing[name]), cases=cases))
    if (pairing["anchored"] or {}).get("cases"):
        lines.append(say("compare.anchored", **pairing["anchored"]))
    return lines


def differences(record: Record, say: Wording) -> str:
    settings = record["config_difference"]
    if not settings:
        return section(say("compare.head.differs"), escape(say("compare.differs.none")))
    rows = [
        (setting["key"], *(say("none") if setting[side] is None else setting[side] for side in SIDES))
        for setting in settings[:SETTINGS]
    ]
    shown = table([say("compare.setting"), *(say(f"compare.{side}") for side in SIDES)], rows)
    more = len(settings) - SETTINGS
    note = escape(say("compare.differs.more", count=more)) if more > 0 else ""
    return section(say("compare.head.differs"), shown, note)


# --- regression rules -----------------------------------------------------------------------------


def gate(record: Record, say: Wording) -> str:
    rules, cases = record["gate"]["rules"], record["gate"]["cases"]
    rows = [_rule(rule, record, say) for rule in rules]
    none = say("none")
    rows += [(say("compare.case", id=case["id"]), *[none] * 5, _case_result(case, say)) for case in cases]
    shown = table([say(f"compare.{name}") for name in RULE_HEADERS], rows, right=range(1, 6)) if rows else ""
    return section(say("compare.head.gate"), shown, escape(say("compare.gate_explain")) if rows else "")


def _rule(rule: Record, record: Record, say: Wording) -> tuple[str, ...]:
    *numbers, result = rule_cells(rule, record, say)
    return *numbers, bold(result) if rule["status"] == "fired" else escape(result)


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
        result = say("compare.chance")
    if rule["reasons"] and rule["status"].startswith("not_"):
        result = f"{result}: {'; '.join(reason_text(reason, say) for reason in rule['reasons'])}"
    return rule_name(rule, record, say), *numbers, loss.replace("-", "−"), allowed, chance(rule["p_holm"], say), result


def _case_result(case: Record, say: Wording) -> str:
    result = case_result(case, say)
    return bold(result) if case["status"] == "fired" else result


def case_result(case: Record, say: Wording) -> str:
    if case["status"] != "fired":
        return say(f"compare.case_{case['status']}")
    lost_at = say.name("lost_at", case["lost_at"]) if case["lost_at"] else say("none")
    return say("compare.case_before" if case["was_right"] is False else "compare.case_fired", lost_at=lost_at)


# --- slices, latency and cost ---------------------------------------------------------------------


def slices(record: Record, say: Wording) -> str:
    """Values of a dimension by the number of their cases; main metrics beside each other."""
    names = [entry["name"] for entry in of_role(record, "main") if differs(entry)]
    cells: dict[str, dict[str, dict[str, Record]]] = defaultdict(lambda: defaultdict(dict))
    for entry in record["slices"]:
        cells[entry["dimension"]][entry["value"]][entry["name"]] = entry
    rows: list[tuple[str, ...]] = []
    hidden = 0
    for dimension, values in cells.items():
        ordered = sorted(values.items(), key=lambda item: (-_n(item[1]), item[0]))
        hidden += len(ordered[SLICES:])
        for value, found in ordered[:SLICES]:
            shown = [_change(found.get(name), say) for name in names]
            rows.append((f"{say.name('slice', dimension)}: {value}", str(_n(found)), *shown))
    if not rows or not names:
        return ""
    headers = [say("compare.slice"), "n", *(metric.label(name, k_of(record), say) for name in names)]
    more = escape(say("compare.slices_more", count=hidden)) if hidden else ""
    shown_rows = table(headers, rows, right=range(1, len(headers)))
    return section(say("compare.head.slices"), escape(say("compare.slices_explain")), shown_rows, more)


def _n(found: Mapping[str, Record]) -> int:
    return max((int(entry["n_paired"]) for entry in found.values()), default=0)


def _change(entry: Record | None, say: Wording) -> str:
    if entry is None:
        return say("none")
    text = signed(entry["difference"], say, 3)
    return Markdown(f"**{text} {MARKS[entry['verdict']]}**") if entry["verdict"] in MARKS else text


def expense(record: Record, say: Wording) -> str:
    rows = [
        (
            expense_name(entry["name"], say),
            *(amount(entry[side], entry["name"], say) for side in SIDES),
            amount(entry["difference"], entry["name"], say, sign=True),
            limits(entry, say),
            str(entry["n_baseline"]),
            str(entry["n_candidate"]),
        )
        for entry in [*record["latency"], *record["cost"]]
    ]
    names = ("measure", "baseline", "candidate", "difference")
    headers = [*(say(f"compare.{name}") for name in names), say("interval")]
    headers += [f"n ({say(f'compare.{side}').lower()})" for side in SIDES]
    shown = table(headers, rows, right=range(1, 7)) if rows else ""
    return section(say("compare.head.expense"), shown, escape(say("compare.expense_explain")) if rows else "")


def amount(value: float | None, name: str, say: Wording, *, sign: bool = False) -> str:
    digits = 6 if name.endswith("usd") else 1
    if value is None:
        return say("none")
    return signed(value, say, digits) if sign else Markdown(f"{value:.{digits}f}")


def limits(entry: Record, say: Wording) -> str:
    return interval(entry, say, 1)


# --- what is left ---------------------------------------------------------------------------------


def not_comparable(record: Record, say: Wording) -> str:
    rows = left_out(record, say)
    shown = table([say("compare.why"), say("compare.metrics")], rows) if rows else ""
    return section(say("compare.head.not_comparable"), shown)


def left_out(record: Record, say: Wording) -> list[tuple[str, str]]:
    """(why, metrics)"""
    grouped: dict[str, list[str]] = defaultdict(list)
    for entry in record["not_comparable"]:
        why = "; ".join(reason_text(reason, say) for reason in entry["reasons"])
        grouped[why].append(metric.label(entry["metric"], None, say))
    return [(why, listed(names, say, 4 * NAMED)) for why, names in grouped.items()]


def reading(record: Record, say: Wording) -> str:
    return section(say("compare.head.reading"), "\n".join(f"- {escape(line)}" for line in how_to_read(record, say)))


def how_to_read(record: Record, say: Wording) -> list[str]:
    values = {"margin": plain(record["margin"]), "alpha": plain(record["alpha"]), "family": record["family"]}
    return [say(f"compare.read.{name}", **values) for name in ("difference", "p", "verdict", "mde")]
