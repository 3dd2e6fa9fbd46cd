"""What reasoning traces are worth by domain, of what, by which rules, and how much depends on the weights: rows for
every report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from runner.report import metric
from runner.report.document import Document, section
from runner.report.markdown import Markdown, escape, table
from runner.report.metric import Value
from runner.words.wording import Wording

SPREAD = ("mean", "p10", "p50", "p90")
OUTLIERS = 20  # named at most

Rows = tuple[list[str], list[list[str]]]  # headers, rows


def traces(document: Document) -> str:
    """The section of summary.md."""
    say, found = document.say, document.summary.get("trace")
    if not found:
        return ""
    blocks = [_block(say(f"trace.{name}"), *rows, *notes) for name, rows, notes in parts(found, say)]
    return section(say("trace.title"), *blocks, escape(outliers(found, say)))


def _block(title: str, headers: list[str], rows: list[list[str]], *notes: str) -> str:
    right = range(1, len(headers))
    return section(title, table(headers, rows, right=right), *(escape(note) for note in notes), level=3)


def parts(found: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, Rows, list[str]]]:
    """(name, table, notes) of what there is; the first column of a table names its rows."""
    tables = {
        "domains": (domains(found, say), []),
        "shares": (shares(found, say), [say("trace.shares_explain")]),
        "rules": (rules(found, say), []),
        "sensitivity": (sensitivity(found, say), [say("trace.sensitivity_explain"), least(found, say)]),
        "agreement": (agreement(found, say), [say("trace.rated", n=(found.get("agreement") or {}).get("n"))]),
    }
    for name, (rows, notes) in tables.items():
        if rows[1]:
            yield name, rows, [note for note in notes if note]


def panel(summary: Mapping[str, Any], say: Wording) -> RenderableType | None:
    """Domains, and the rules that fired, for the terminal."""
    found = summary.get("trace") or {}
    values = points(found)
    if not values:
        return None
    shown = Table.grid(padding=(0, 2))
    justifies: tuple[Literal["left", "right"], ...] = ("left", "right", "left", "right")
    for justify in justifies:
        shown.add_column(justify=justify, no_wrap=True)
    for domain, value in values:
        spread = Text(metric.interval(value.low, value.high), style="dim")
        mean = Text(metric.four(value.value, say), style="bold")
        shown.add_row(Text(f"  {domain}"), mean, spread, Text(f"n={value.n}", style="dim"))
    lines: list[RenderableType] = [Text(f"{say('trace.panel')}:"), shown, Text(f"{say('trace.panel_rules')}:")]
    lines += [Text(f"  {name}: {count}") for name, count, *_ in rules(found, say)[1]]
    least_alike = least(found, say)
    return Group(*lines, *([Text(least_alike)] if least_alike else []))


# --- rows -----------------------------------------------------------------------------------------


def points(found: Mapping[str, Any]) -> list[tuple[str, Value]]:
    """(domain, mean score with the 10th and the 90th percentile in place of an interval)"""
    entries = found.get("domains") or {}
    return [
        (domain, Value(domain, entry["mean"], entry["n"], entry["n"], entry["p10"], entry["p90"], entry["mean"]))
        for domain, entry in entries.items()
    ]


def domains(found: Mapping[str, Any], say: Wording) -> Rows:
    headers = [say("trace.domain"), say("trace.n"), *(say(f"trace.{name}") for name in SPREAD)]
    entries = found.get("domains") or {}
    rows = [
        [domain, f"{entry['n']:,}", *(metric.four(entry[name], say) for name in SPREAD)]
        for domain, entry in entries.items()
    ]
    return headers, rows


def shares(found: Mapping[str, Any], say: Wording) -> Rows:
    headers = [say("trace.dimension"), say("trace.share")]
    return headers, [
        [metric.label(name, None, say), f"{share:.1%}"] for name, share in (found.get("shares") or {}).items()
    ]


def rules(found: Mapping[str, Any], say: Wording) -> Rows:
    """In the order in which they are tried."""
    headers = [say("trace.rule"), say("trace.fired"), say("trace.of_all")]
    n = sum(entry["n"] for entry in (found.get("domains") or {}).values())
    fired = found.get("rules") or {}
    return headers, [[say.name("rule", name), f"{count:,}", f"{count / n:.1%}"] for name, count in fired.items()]


def sensitivity(found: Mapping[str, Any], say: Wording) -> Rows:
    """Kendall's tau of every two profiles; nothing where there is one profile only."""
    names, tau = _orders(found)
    if len(names) < 2:
        return [], []
    rows = [[name, *(_three(value, say) for value in values)] for name, values in zip(names, tau, strict=True)]
    return [say("trace.profile"), *names], rows


def least(found: Mapping[str, Any], say: Wording) -> str:
    """The two profiles whose orders differ most, where any do."""
    names, tau = _orders(found)
    pairs = [(tau[a][b], a, b) for a, b in combinations(range(len(names)), 2) if tau[a][b] is not None]
    if not pairs or min(pairs)[0] == 1:
        return ""
    value, a, b = min(pairs)
    return say("trace.least", left=names[a], right=names[b], tau=f"{value:.3f}")


def agreement(found: Mapping[str, Any], say: Wording) -> Rows:
    entry = found.get("agreement") or {}
    rows = [
        [
            say(f"trace.{name}"),
            _three(entry[name], say),
            Markdown(metric.interval(entry[f"{name}_low"], entry[f"{name}_high"], 3)),
        ]
        for name in ("spearman", "kendall")
        if entry
    ]
    return [say("trace.coefficient"), say("head.value"), say("interval")], rows


def outliers(found: Mapping[str, Any], say: Wording) -> str:
    ids = [str(id) for id in found.get("outliers") or ()]
    if not ids:
        return say("trace.no_outliers")
    named = ", ".join(ids[:OUTLIERS])
    more = len(ids) - OUTLIERS
    return say("trace.outliers", ids=say("trace.more", ids=named, count=f"{more:,}") if more > 0 else named)


def result(row: Mapping[str, Any], output: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, str]]:
    """(name, text) of how one trace came to its score."""
    if "before_rules" not in output:
        return
    values = row.get("metrics") or {}
    terms = (
        f"{metric.label(name, None, say)} {values[name]:.4g} × {weight:g}" for name, weight in output["weights"].items()
    )
    before = metric.four(output["before_rules"], say)
    yield say("trace.mixed", profile=output["profile"]), f"{' + '.join(terms)} = {before}"
    fired = ", ".join(say.name("rule", rule) for rule in output["rules"])
    yield say("trace.rules"), f"{fired}: {metric.four(values['score'], say)}" if fired else say("trace.no_rules")
    success = say(f"trace.success.{bool(output['success'])}")
    told = {"success": success, "confidence": f"{output['confidence']:g}", "steps": output["steps"]}
    yield say("trace.told"), say("trace.told_line", **told)


def _orders(found: Mapping[str, Any]) -> tuple[list[str], list[list[float | None]]]:
    entry = found.get("sensitivity") or {}
    return list(entry.get("profiles") or ()), list(entry.get("tau") or ())


def _three(value: float | None, say: Wording) -> str:
    return say("none") if value is None else f"{value:.3f}"
