"""Sections of a report on reasoning traces: scores by domain, their parts, the rules that fired, and the effect of the
weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from runner.report.blocks import EVERYWHERE, FILES, Cell, Chart, Fact, Matrix, Note, Section, Table, section
from runner.report.document import Document
from runner.report.metric import Value, four, interval, label
from runner.report.reporting import Pipeline
from runner.report.sweep import Sweep
from runner.system.folder import identities
from runner.words.wording import Wording

SPREAD = ("mean", "p10", "p50", "p90")
PIPELINE = Pipeline(("dataset", "embedder"), warnings={"profile": "trace.weighed"})  # with the judge: run_facts
OUTLIERS = 20  # named at most

Traces = Mapping[str, Any]  # `trace` of summary.json


def sections(document: Document) -> Iterator[Section | None]:
    """The section of traces: scores by domain, the least alike, what could not be judged."""
    say, traces = document.say, document.summary.get("trace")
    if not traces:
        return
    unknown = _unknown(traces, say)
    not_judged = Note(say("trace.not_judged"), "quiet") if traces.get("completion_not_judged") else None
    timing = document.summary.get("timing") or {}
    is_embedded = "embedding_share" in (timing.get("latency") or {})
    embedding_note = Note(say("trace.embedding_share"), "quiet") if is_embedded else None
    budget_note = _budget(timing.get("trace_budget") or {}, say)
    if not traces.get("domains"):
        yield section("traces", say("trace.title"), unknown, not_judged, budget_note, embedding_note)
        return
    least = _least_alike(traces, say)
    yield section(
        "traces",
        say("trace.title"),
        unknown,
        not_judged,
        budget_note,
        embedding_note,
        section("", say("trace.domains"), _domains(traces, say), _chart({"": traces}, say)),
        section("", say("trace.shares"), _shares(traces, say), Note(say("trace.shares_explain"), "quiet"), media=FILES),
        section("", say("trace.rules"), _rules(traces, say)),
        _orders(traces, say),
        Note(least, media=frozenset({"terminal"})),
        _agreement(traces, say),
        Note(_outliers(traces, say)),
    )


def _budget(counts: Mapping[str, int], say: Wording) -> Note | None:
    """How many traces took longer than the budget; nothing where none did."""
    return Note(say("trace.over_budget", **counts), media=EVERYWHERE) if counts.get("over") else None


def _unknown(traces: Traces, say: Wording) -> Note | None:
    """How many traces have no score, and why."""
    count = traces.get("unknown_success")
    return Note(say("trace.unknown_success", count=f"{count:,}"), media=EVERYWHERE) if count else None


def run_facts(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The profile that scores are weighed by, how novelty is measured, with the order of traces it depends on, and the
    judge, where it was asked."""
    choices, settings = run.get("choices") or {}, (run.get("config") or {}).get("novelty") or {}
    if choices.get("profile") and "trace_weights" in identities(run)[0]:
        yield "profile", choices["profile"]
    if novelty := choices.get("novelty"):
        yield "novelty", f"{novelty} (order={settings.get('order')})" if settings else novelty
    if choices.get("judge") and "judge" in (run.get("identity") or {}):
        yield "judge", choices["judge"]


def sweep_sections(sweep: Sweep) -> Iterator[Section | None]:
    """The domains of all runs in one chart, and their means in a table; what the weights change."""
    say = sweep.say
    runs = {
        " ".join(f"{name}={value}" for name, value in cell.params.items()) or cell.folder: cell.summary["trace"]
        for cell in sweep.cells
        if cell.status == "completed" and cell.summary.get("trace")
    }
    if not runs:
        return
    yield section(
        "domains",
        say("trace.by_profile"),
        _chart(runs, say),
        _by_domain(runs, say),
        Note(f"{say('trace.panel')}.", "quiet"),
    )
    shared = [traces.get("sensitivity") for traces in runs.values()]
    if all(each == shared[0] for each in shared):  # the same traces, scored in the same way but for the weights
        yield _orders({"sensitivity": shared[0]}, say)


def case_facts(row: Mapping[str, Any], say: Wording) -> Iterator[Fact]:
    """How the score of one trace was computed; the expected steps of a trace are not known."""
    output = row.get("output")
    if not isinstance(output, Mapping) or "before_rules" not in output:
        return
    yield Fact("", key="expected")
    success = say(f"trace.success.{'unknown' if output['success'] is None else bool(output['success'])}")
    facts = {"success": success, "confidence": f"{output['confidence']:g}", "steps": output["steps"]}
    if output["before_rules"] is None:
        yield Fact(label("score", None, say), say("trace.no_score"), after="answer")
        yield Fact(say("trace.told"), say("trace.told_line", **facts), after="answer")
        return
    values = row.get("metrics") or {}
    terms = (f"{label(name, None, say)} {values[name]:.4g} × {weight:g}" for name, weight in output["weights"].items())
    before = four(output["before_rules"], say)
    yield Fact(say("trace.mixed", profile=output["profile"]), f"{' + '.join(terms)} = {before}", after="answer")
    fired = ", ".join(say.name("rule", rule) for rule in output["rules"])
    rules = f"{fired}: {four(values['score'], say)}" if fired else say("trace.no_rules")
    yield Fact(say("trace.rules"), rules, after="answer")
    yield Fact(say("trace.told"), say("trace.told_line", **facts), after="answer")


def _points(traces: Traces) -> dict[str, Value]:
    """Domain -> mean score with the 10th and the 90th percentile in place of an interval."""
    return {
        domain: Value(domain, entry["mean"], entry["n"], entry["n"], entry["p10"], entry["p90"], entry["mean"])
        for domain, entry in (traces.get("domains") or {}).items()
    }


def _domains(traces: Traces, say: Wording) -> Table:
    points = _points(traces)
    headers = [say("trace.domain"), say("trace.n"), *(say(f"trace.{name}") for name in SPREAD)]
    rows: list[list[str | Cell]] = [
        [
            domain,
            f"{entry['n']:,}",
            Cell(four(entry["mean"], say), drawing=points[domain]),
            *(four(entry[name], say) for name in SPREAD[1:]),
        ]
        for domain, entry in (traces.get("domains") or {}).items()
    ]
    return Table(headers, rows, say("trace.domain"), media=EVERYWHERE, narrow=True)


def _chart(runs: Mapping[str, Traces], say: Wording) -> Chart:
    points = {name: _points(traces) for name, traces in runs.items()}
    domains = list(dict.fromkeys(domain for values in points.values() for domain in values))
    lines = {name: [values.get(domain) for domain in domains] for name, values in points.items()}
    return Chart(
        "trace_scores", say("trace.domain"), domains, lines, f"{label('score', None, say)} ({say('trace.range')})"
    )


def _by_domain(runs: Mapping[str, Traces], say: Wording) -> Table:
    """A run a row, a domain a column."""
    points = {name: _points(traces) for name, traces in runs.items()}
    domains = list(dict.fromkeys(domain for values in points.values() for domain in values))
    rows = [[name, *(_mean(values.get(domain), say) for domain in domains)] for name, values in points.items()]
    return Table([say("sweep.folder"), *domains], rows)


def _mean(value: Value | None, say: Wording) -> str:
    if value is None or value.value is None:
        return say("none")
    return f"{four(value.value, say)} {interval(value.low, value.high)}"


def _shares(traces: Traces, say: Wording) -> Table:
    rows = [[label(name, None, say), f"{share:.1%}"] for name, share in (traces.get("shares") or {}).items()]
    return Table([say("trace.dimension"), say("trace.share")], rows, narrow=True)


def _rules(traces: Traces, say: Wording) -> Table:
    """The rules, in the order in which they are tried."""
    headers = [say("trace.rule"), say("trace.fired"), say("trace.of_all")]
    n = sum(entry["n"] for entry in (traces.get("domains") or {}).values())
    rows = [
        [say.name("rule", name), f"{count:,}", f"{count / n:.1%}"]
        for name, count in (traces.get("rules") or {}).items()
    ]
    return Table(headers, rows, say("trace.panel_rules"), media=EVERYWHERE, narrow=True)


def _orders(traces: Traces, say: Wording) -> Section | None:
    """Kendall's tau of every two profiles; nothing where there is one profile only."""
    names, tau = _tau(traces)
    if len(names) < 2:
        return None
    return section(
        "",
        say("trace.sensitivity"),
        Matrix("trace_orders", names, tau, say("trace.profile"), say("trace.tau"), say("none")),
        Note(say("trace.sensitivity_explain"), "quiet"),
        Note(_least_alike(traces, say), "quiet"),
    )


def _least_alike(traces: Traces, say: Wording) -> str:
    """The two profiles whose orders differ most, where any do."""
    names, tau = _tau(traces)
    pairs = [(tau[a][b], a, b) for a, b in combinations(range(len(names)), 2) if tau[a][b] is not None]
    if not pairs or min(pairs)[0] == 1:
        return ""
    value, a, b = min(pairs)
    return say("trace.least", left=names[a], right=names[b], tau=f"{value:.3f}")


def _tau(traces: Traces) -> tuple[list[str], list[list[float | None]]]:
    entry = traces.get("sensitivity") or {}
    return list(entry.get("profiles") or ()), list(entry.get("tau") or ())


def _agreement(traces: Traces, say: Wording) -> Section | None:
    """The agreement with ratings by people."""
    entry = traces.get("agreement")
    if not entry:
        return None
    rows = [
        [
            say(f"trace.{name}"),
            say("none") if entry[name] is None else f"{entry[name]:.3f}",
            interval(entry[f"{name}_low"], entry[f"{name}_high"], 3),
        ]
        for name in ("spearman", "kendall")
    ]
    headers = [say("trace.coefficient"), say("head.value"), say("interval")]
    rated = Note(say("trace.rated", n=entry.get("n")), "quiet")
    return section("", say("trace.agreement"), Table(headers, rows, narrow=True), rated)


def _outliers(traces: Traces, say: Wording) -> str:
    ids = [str(id) for id in traces.get("outliers") or ()]
    if not ids:
        return say("trace.no_outliers")
    named = ", ".join(ids[:OUTLIERS])
    more = len(ids) - OUTLIERS
    return say("trace.outliers", ids=say("trace.more", ids=named, count=f"{more:,}") if more > 0 else named)
