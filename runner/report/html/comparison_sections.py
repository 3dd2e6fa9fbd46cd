"""Sections of the page about a comparison with a baseline. `record` is compare.json."""

from __future__ import annotations

from collections.abc import Sequence

from runner.report import metric
from runner.report.comparison_flips import facts_of, name_of, notes_of
from runner.report.comparison_metrics import SAME
from runner.report.comparison_metrics import notes_of as metric_notes
from runner.report.comparison_sections import (
    RULE_HEADERS,
    SETTINGS,
    SIDES,
    amount,
    case_result,
    how_to_read,
    left_out,
    limits,
    pairs_of,
    rule_cells,
)
from runner.report.comparison_words import (
    MARKS,
    Record,
    chance,
    differs,
    expense_name,
    gate_lines,
    headline,
    interval,
    label,
    listed,
    nothing,
    of_role,
    own,
    shown_verdict,
    signed,
    warnings,
)
from runner.report.html.bars import difference_bar, share_bar, verdict_class
from runner.report.html.head import told
from runner.report.html.markup import Html, found_in_data, joined, paragraph, table, tag
from runner.report.html.page import Section
from runner.words.wording import Wording

OTHERS = (("other", "other"), ("leg", "legs"))
FLIPS = {"lost": 50, "won": 50}  # shown with everything about them
NAMED = 100  # named beyond those


def sections(record: Record, say: Wording) -> list[Section]:
    """The verdict, the questions that changed sides, and what was compared."""
    say = own(say, record)
    return [verdict(record, say), *_flips(record, say), _runs(record, say)]


def verdict(record: Record, say: Wording) -> Section:
    """What the comparison amounts to, and the numbers that it rests on."""
    title = say("head.compare", baseline=record["baseline"]["label"])
    word = say.name("verdict", record["verdict"]).capitalize()
    main = of_role(record, "main")
    blocks = [
        told((warning, True) for warning in warnings(record, say)),
        tag("p", tag("strong", word, class_=f"verdict {record['verdict']}"), ". ", headline(record, say)),
        *map(paragraph, gate_lines(record, say)),
        _metrics(record, main, say("compare.head.main"), say) if main else paragraph(nothing(record, say)),
        *(paragraph(note, "note") for note in metric_notes(main, record, say)),
        _gate(record, say),
        *(_others(record, role, say(f"compare.head.{name}"), say) for role, name in OTHERS),
        _not_compared(record, say),
        _folded(say("compare.head.reading"), tag("ul", *(tag("li", line) for line in how_to_read(record, say)))),
    ]
    return Section("comparison", title, joined(blocks))


def _folded(title: str, body: Html) -> Html:
    return tag("details", tag("summary", title), body, data_print=True) if body else Html("")


def _others(record: Record, role: str, title: str, say: Wording) -> Html:
    """A table of what differs and a line of what does not."""
    found = of_role(record, role)
    moved = [entry for entry in found if differs(entry)]
    still = [label(entry, record, say) for entry in found if not differs(entry)]
    same = say("compare.same", metrics=listed(still, say, SAME)) if still else ""
    shown = _metrics(record, moved, title, say) if moved else Html("")
    return _folded(title, joined([shown, paragraph(same, "note")]))


def _metrics(record: Record, entries: Sequence[Record], title: str, say: Wording) -> Html:
    """All bars of a table have one scale, from the largest end of an interval as a share of its metric's range."""
    widest = max(
        [1.5 * record["margin"], *(_reach(entry, say) for entry in entries if say.catalogue.span(entry["name"]))]
    )
    names = ("metric", "verdict", "baseline", "candidate", "difference", "p", "effect", "mde")
    headers = [*(say(f"compare.{name}") for name in names), "n"]
    rows = [_metric(record, entry, widest, say) for entry in entries]
    return table(headers, rows, label=title, right=(2, 3, 5, 6, 7, 8), class_="slices")


def _reach(entry: Record, say: Wording) -> float:
    """The largest end of its interval, as a share of its metric's range where it has one."""
    ends = (abs(float(entry[end] or 0.0)) for end in ("ci_low", "ci_high", "difference"))
    return max(ends) / (say.catalogue.span(entry["name"]) or 1.0)


def _metric(record: Record, entry: Record, widest: float, say: Wording) -> Sequence[str]:
    mark = MARKS.get(entry["verdict"])
    word = shown_verdict(entry, record, say)
    range_ = say.catalogue.span(entry["name"])
    bar = difference_bar(entry, widest * range_ or _reach(entry, say) or 1.0, record["margin"] * range_)
    measured = tag("span", tag("strong", signed(entry["difference"], say)), bar, class_="measured signed")
    return [
        label(entry, record, say),
        tag("span", f"{mark} {word}" if mark else word, class_=verdict_class(entry)),
        metric.four(entry["baseline"], say),
        metric.four(entry["candidate"], say),
        joined([measured, tag("span", interval(entry, say), class_="quiet")]),
        chance(entry["p_holm"] if differs(entry) else None, say),
        signed(entry["effect_size"], say, 2),
        say("none") if entry["mde"] is None else f"{entry['mde']:.4f}",
        f"{entry['n_paired']:,}",
    ]


def _gate(record: Record, say: Wording) -> Html:
    rules, cases = record["gate"]["rules"], record["gate"]["cases"]
    if not rules and not cases:
        return Html("")
    blank = [""] * (len(RULE_HEADERS) - 2)
    rows = [_marked(rule_cells(rule, record, say), rule["status"]) for rule in rules]
    rows += [
        _marked([say("compare.case", id=case["id"]), *blank, case_result(case, say)], case["status"]) for case in cases
    ]
    title = say("compare.head.gate")
    headers = [say(f"compare.{name}") for name in RULE_HEADERS]
    shown = table(headers, rows, label=title, right=range(1, 6))
    return joined([tag("h3", title), shown, paragraph(say("compare.gate_explain"), "note")])


def _marked(cells: Sequence[str], status: str) -> Sequence[str]:
    *rest, result = cells
    return [*rest, tag("span", result, class_="failing") if status == "fired" else result]


def _not_compared(record: Record, say: Wording) -> Html:
    rows = left_out(record, say)
    title = say("compare.head.not_comparable")
    return _folded(title, table([say("compare.why"), say("compare.metrics")], rows, label=title) if rows else Html(""))


# --- questions that changed sides -----------------------------------------------------------------


def _flips(record: Record, say: Wording) -> list[Section]:
    found, title = record["flips"], say("compare.head.flips")
    if found["by"] is None:
        return []
    explained, *notes = notes_of(record, say)
    blocks = [_sides(record, say), paragraph(" ".join([explained, *notes]), "note")]
    blocks += [_kind(record, kind, say) for kind in ("lost", "won") if found[kind]]
    return [Section("flips", title, joined(blocks))]


def _sides(record: Record, say: Wording) -> Html:
    found = record["flips"]
    counts = {
        "both_right": found["right_in_both"],
        "lost": len(found["lost"]),
        "won": len(found["won"]),
        "both_wrong": found["wrong_in_both"],
    }
    kinds = {"both_right": "rest", "lost": "loss", "won": "gain", "both_wrong": "whole"}
    total, start, rows = sum(counts.values()) or 1, 0, []
    for name, count in counts.items():
        bar = share_bar(start / total, count / total, kinds[name])
        rows.append([say(f"compare.flips.{name}"), bar, f"{count:,}", f"{count / total:.1%}"])
        start += count
    headers = ["", "", say("compare.flips.questions"), say("diagnosis.share")]
    return table(headers, rows, label=say("compare.head.flips"), right=(2, 3), class_="waterfall")


def _kind(record: Record, kind: str, say: Wording) -> Html:
    found = record["flips"][kind]
    shown, rest = found[: FLIPS[kind]], found[FLIPS[kind] :]
    title = f"{say(f'compare.flips.{kind}')} ({len(found):,})"
    named = listed([name_of(flip, say) for flip in rest], say, NAMED) if rest else ""
    more = paragraph(f"{say('compare.flips.more', count=len(rest))} {named}", "note") if rest else ""
    return joined([tag("h3", title), *(_flip(flip, record, say) for flip in shown), more])


def _flip(flip: Record, record: Record, say: Wording) -> Html:
    """Closed to its question."""
    facts = [(name, text) for name, text in facts_of(flip, record, say) if text]
    question = (flip["texts"] or {}).get("question") or ""
    summary = tag("summary", found_in_data(name_of(flip, say), class_="id"), found_in_data(str(question)))
    listed_facts = joined(part for name, text in facts for part in (tag("dt", name), _told(text)))
    return tag("details", summary, tag("div", tag("dl", listed_facts), class_="detail"), class_="flip")


def _told(text: str) -> Html:
    return tag("dd", found_in_data(text, "p"))


# --- what was compared ----------------------------------------------------------------------------


def _runs(record: Record, say: Wording) -> Section:
    settings = record["config_difference"]
    rows = [
        (setting["key"], *(say("none") if setting[side] is None else setting[side] for side in SIDES))
        for setting in settings[:SETTINGS]
    ]
    headers = [say("compare.setting"), *(say(f"compare.{side}") for side in SIDES)]
    more = len(settings) - SETTINGS
    differs = say("compare.head.differs")
    blocks = [
        *map(paragraph, pairs_of(record, say)),
        tag("h3", differs),
        table(headers, rows, label=differs) if rows else paragraph(say("compare.differs.none")),
        paragraph(say("compare.differs.more", count=more), "note") if more > 0 else Html(""),
        _expense(record, say),
    ]
    return Section("compared", say("compare.head.runs"), joined(blocks))


def _expense(record: Record, say: Wording) -> Html:
    rows = [
        (
            expense_name(entry["name"], say),
            *(amount(entry[side], entry["name"], say) for side in SIDES),
            amount(entry["difference"], entry["name"], say, sign=True),
            limits(entry, say),
            f"{entry['n_baseline']:,}",
            f"{entry['n_candidate']:,}",
        )
        for entry in [*record["latency"], *record["cost"]]
    ]
    if not rows:
        return Html("")
    headers = [say(f"compare.{name}") for name in ("measure", "baseline", "candidate", "difference")]
    headers += [say("interval"), *(f"n ({say(f'compare.{side}').lower()})" for side in SIDES)]
    title = say("compare.head.expense")
    shown = table(headers, rows, label=title, right=range(1, 7))
    return joined([tag("h3", title), shown, paragraph(say("compare.expense_explain"), "note")])
