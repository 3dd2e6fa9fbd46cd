"""What reasoning traces are worth in the runs of a sweep, and the effect of the weights: rows for every report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.report import metric
from runner.report.document import section
from runner.report.markdown import Markdown, escape, table
from runner.report.metric import Value
from runner.report.sweep import Sweep
from runner.report.trace_section import Rows, least, points, sensitivity

Runs = Mapping[str, Mapping[str, Any]]


def runs_of(sweep: Sweep) -> Runs:
    """`trace` of summary.json of the completed runs, by what sets them apart."""
    return {
        " ".join(f"{name}={value}" for name, value in cell.params.items()) or cell.folder: cell.summary["trace"]
        for cell in sweep.cells
        if cell.status == "completed" and cell.summary.get("trace")
    }


def domains_of(runs: Runs) -> list[str]:
    return list(dict.fromkeys(domain for found in runs.values() for domain, _ in points(found)))


def by_domain(sweep: Sweep, runs: Runs, *, spread: bool) -> Rows:
    """A run a row, a domain a column; `spread`: with percentiles."""
    say, domains = sweep.say, domains_of(runs)
    found = {name: dict(points(trace)) for name, trace in runs.items()}
    rows = [[name, *(_mean(values.get(domain), sweep, spread) for domain in domains)] for name, values in found.items()]
    return [say("sweep.folder"), *domains], rows


def orders(sweep: Sweep, runs: Runs) -> tuple[Rows, Sequence[str]]:
    """Kendall's tau of every two profiles, with notes."""
    say, found = sweep.say, shared(runs)
    return sensitivity(found, say), [note for note in (say("trace.sensitivity_explain"), least(found, say)) if note]


def shared(runs: Runs) -> Mapping[str, Any]:
    """`sensitivity` of runs that scored the same traces in the same way but for the weights; nothing of others."""
    found = [trace.get("sensitivity") for trace in runs.values()]
    return {"sensitivity": found[0]} if found and all(each == found[0] for each in found) else {}


def sections(sweep: Sweep) -> list[str]:
    """Of summary.md."""
    runs = runs_of(sweep)
    if not runs:
        return []
    say = sweep.say
    found = [(say("trace.by_profile"), by_domain(sweep, runs, spread=True), [f"{say('trace.panel')}."])]
    rows, notes = orders(sweep, runs)
    found += [(say("trace.sensitivity"), rows, list(notes))] if rows[1] else []
    return [
        section(title, table(headers, rows, right=range(1, len(headers))), *map(escape, notes))
        for title, (headers, rows), notes in found
    ]


def _mean(value: Value | None, sweep: Sweep, spread: bool) -> str:
    if value is None or value.value is None:
        return sweep.say("none")
    mean = metric.four(value.value, sweep.say)
    return Markdown(f"{mean} {metric.interval(value.low, value.high)}") if spread else mean
