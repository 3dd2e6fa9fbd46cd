"""Sections of compare.md with the metrics of both runs."""

from __future__ import annotations

from collections.abc import Sequence

from runner.report import metric
from runner.report.comparison_words import (
    MARKS,
    Record,
    chance,
    differs,
    interval,
    label,
    listed,
    metrics_of,
    nothing,
    of_role,
    shown_verdict,
    signed,
)
from runner.report.document import section
from runner.report.markdown import Markdown, bold, escape, table
from runner.words.wording import Wording

SAME = 24  # metrics without any difference that are named


def main_metrics(record: Record, say: Wording, level: int = 2) -> str:
    found = of_role(record, "main")
    if not found:
        return section(say("compare.head.main"), escape(nothing(record, say)), level=level)
    notes = "\n\n".join(map(escape, notes_of(found, record, say)))
    return section(say("compare.head.main"), _table(found, record, say), notes, level=level)


def other_metrics(record: Record, say: Wording) -> str:
    return "\n\n".join(
        filter(None, (_secondary(record, role, head, say) for role, head in (("other", "other"), ("leg", "legs"))))
    )


def _secondary(record: Record, role: str, heading: str, say: Wording) -> str:
    """A table of what differs and a line of what does not."""
    found = of_role(record, role)
    moved = [entry for entry in found if differs(entry)]
    still = [label(entry, record, say) for entry in found if not differs(entry)]
    same = escape(say("compare.same", metrics=listed(still, say, SAME))) if still else ""
    return section(say(f"compare.head.{heading}"), _table(moved, record, say) if moved else "", same)


def _table(entries: Sequence[Record], record: Record, say: Wording) -> str:
    names = ("metric", "baseline", "candidate", "difference", "interval", "p", "effect", "mde", "n", "verdict")
    headers = {"interval": say("interval"), "n": "n"}
    rows = [
        (
            label(entry, record, say),
            metric.four(entry["baseline"], say),
            metric.four(entry["candidate"], say),
            signed(entry["difference"], say),
            interval(entry, say),
            chance(entry["p_holm"], say) if differs(entry) else say("none"),
            signed(entry["effect_size"], say, 2),
            say("none") if entry["mde"] is None else f"{entry['mde']:.4f}",
            str(entry["n_paired"]),
            _marked(entry, record, say),
        )
        for entry in entries
    ]
    return table([headers.get(name) or say(f"compare.{name}") for name in names], rows, right=range(1, 9))


def _marked(entry: Record, record: Record, say: Wording) -> Markdown:
    text = shown_verdict(entry, record, say)
    return bold(f"{MARKS[entry['verdict']]} {text}") if entry["verdict"] in MARKS else escape(text)


def notes_of(entries: Sequence[Record], record: Record, say: Wording) -> list[str]:
    found = []
    for entry in entries:
        name, failed, noise = label(entry, record, say), entry["failed"], entry["judge_noise"]
        if entry["left_out"]:
            found.append(say("compare.left_out", metric=name, count=entry["left_out"], **failed))
        elif any(failed.values()):
            found.append(say("compare.failed", metric=name, **failed))
        if noise:
            within = say("compare.within" if abs(entry["difference"]) <= noise else "compare.beyond")
            found.append(say("compare.judge_noise", metric=name, noise=f"{noise:.4f}", within=within))
    return found


def yes_no(record: Record, say: Wording) -> str:
    found = [entry for entry in metrics_of(record) if entry["mcnemar"] and differs(entry) and entry["role"] != "leg"]
    rows = [
        (
            label(entry, record, say),
            str(entry["mcnemar"]["b"]),
            str(entry["mcnemar"]["c"]),
            chance(entry["mcnemar"]["p"], say),
            str(entry["n_paired"]),
        )
        for entry in found
    ]
    names = ("metric", "only_baseline", "only_candidate", "mcnemar")
    headers = [*(say(f"compare.{name}") for name in names), "n"]
    return section(say("compare.head.yes_no"), table(headers, rows, right=range(1, 5)) if rows else "")
