"""Results of a run for the terminal. Fits 80 columns, needs no colour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from runner.errors import SPENT
from runner.report import metric, usage
from runner.report.agent_section import panel as agent
from runner.report.document import k_of
from runner.report.judge_panel import controls, votes
from runner.report.links_section import panel as links
from runner.report.memory_section import panel as memory
from runner.report.metric import Value
from runner.report.trace_section import panel as traces
from runner.report.trust import warnings
from runner.system.folder import case_counts
from runner.words.wording import Wording, wording_of

WIDTH = 78
LEG_METRICS = 2  # at most


def panels(run: Mapping[str, Any], summary: Mapping[str, Any]) -> list[RenderableType]:
    """Evaluation results, generation metrics (where there are any) and details, in the run's language."""
    say = wording_of(run)
    metrics = summary.get("metrics") or {}
    k = k_of(summary, run)
    title = say("panel.results") if k is None else say("panel.results_k", k=k)
    results = metric.values(metrics, [*metric.result_names(metrics, say), *_leg_names(metrics, say)])
    generation = metric.values(metrics, metric.of_groups(metrics, say, "answers"))
    reference = [Text(say(f"reference.{run['reference']}"), style="bold")] if run.get("reference") else []
    footnote = _footnote(summary, say)
    details = _details(run, summary, say)
    shown: list[RenderableType] = [
        *reference,
        _panel(title, [_table(results, k, say)], say("panel.run", id=run.get("id", ""))),
    ]
    if generation:
        shown.append(_panel(say("panel.generation"), [_table(generation, k, say), *footnote]))
    shown.append(_panel(say("panel.details"), details if generation else [*details, *footnote]))
    return shown


def _footnote(summary: Mapping[str, Any], say: Wording) -> list[RenderableType]:
    """What speaks against the scores."""
    notes = [Text(warning, style="bold red") for warning in warnings(summary, say)]
    baselines = (summary.get("facts") or {}).get("baselines")
    if baselines:
        notes.append(Text(say("baselines", names=", ".join(baselines)), style="dim"))
    return [Text(), *notes] if notes else []


def _leg_names(metrics: Mapping[str, Any], say: Wording) -> list[str]:
    """The headlines that the legs have as well."""
    legs = metric.legs(metrics)
    names = [name for name in say.catalogue.headlines(metrics) if any(f"{leg}/{name}" in metrics for leg in legs)]
    return [f"{leg}/{name}" for leg in legs for name in names[:LEG_METRICS]]


def _panel(title: str, parts: Sequence[RenderableType], subtitle: str = "") -> Panel:
    return Panel(
        Group(*parts),
        title=Text(title, style="bold"),
        subtitle=Text(subtitle) if subtitle else None,
        width=WIDTH,
    )


def _table(values: Iterable[Value], k: int | None, say: Wording) -> RenderableType:
    """Metric, value, interval, scored / applicable."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for value in values:
        table.add_row(
            Text(f"{metric.label(value.name, k, say)}:"),
            Text(metric.four(value.value, say), style="bold"),
            Text(metric.interval(value.low, value.high), style="dim"),
            Text(f"{value.n_scored}/{value.n}", style="bold red" if value.partly_scored else "dim"),
        )
    return table if table.row_count else Text(say("metrics.none"))


def _details(run: Mapping[str, Any], summary: Mapping[str, Any], say: Wording) -> list[RenderableType]:
    metrics, counts = summary.get("metrics") or {}, summary.get("counts") or {}
    blocks: list[list[RenderableType]] = [[_facts(run, summary, say)]]
    unanswerable = metric.values(metrics, metric.of_groups(metrics, say, "unanswerable"))
    if unanswerable:
        called = counts.get("answerability")
        blocks.append([_table(unanswerable, None, say), *([_two_by_two(called, say)] if called else [])])
    panels_of = (memory, traces, agent, links, controls, votes)
    blocks += [[shown] for panel_of in panels_of if (shown := panel_of(summary, say)) is not None]
    if counts.get("lost_at"):
        blocks.append([_lost(counts["lost_at"], say)])
    return [part for block in blocks for part in [*block, Text()]][:-1]


def _facts(run: Mapping[str, Any], summary: Mapping[str, Any], say: Wording) -> Table:
    table = Table.grid(padding=(0, 2))
    rows = [(say("ran.status"), say.name("status", str(run.get("status"))))]
    if run.get("error_message"):
        rows.append((say("worst.error"), str(run["error_message"])))
    rows += [(say("panel.cases"), cases_line(summary, say)), *_left(run, summary, say), *_cost(run, summary, say)]
    problems = summary.get("data_problems") or {}
    if any(problems.values()):
        rows.append((say("panel.data_problems"), say("data_problems.line", **problems)))
    rows += [
        (say("panel.latency", stage=say.name("stage", stage)), _percentiles(entry, say))
        for stage, entry in stages(summary)
    ]
    for name, text in rows:
        table.add_row(Text(f"{name}:"), Text(text))
    return table


def stages(summary: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """(stage, latency); the whole case comes last."""
    latency = (summary.get("timing") or {}).get("latency") or {}
    return sorted(latency.items(), key=lambda item: item[0] == "case")


def cases_line(summary: Mapping[str, Any], say: Wording) -> str:
    counts = case_counts(summary)
    return say("cases.line_pending" if counts["pending"] else "cases.line", **counts)


def _left(run: Mapping[str, Any], summary: Mapping[str, Any], say: Wording) -> list[tuple[str, str]]:
    """How to go on from a run that stopped before its end."""
    unfinished = run.get("status") in ("partial", "failed") and case_counts(summary)["pending"]
    if summary.get("measured"):
        return []
    how = "panel.goes_on_raised" if SPENT.search(str(run.get("error_message"))) else "panel.goes_on"
    return [(say("panel.next"), say(how))] if unfinished else []


def models_line(run: Mapping[str, Any], say: Wording) -> str:
    """`generator openai:a; judge openai:b, openai:c`"""
    return "; ".join(f"{say.name('role', role)} {', '.join(names)}" for role, names in usage.models(run).items())


def _cost(run: Mapping[str, Any], summary: Mapping[str, Any], say: Wording) -> list[tuple[str, str]]:
    found = usage.uses(summary)
    rows = [(say("ran.models"), models_line(run, say))] if usage.models(run) else []
    if found:
        rows.append((say("cost.cost"), usage.spending(usage.total(use.live for use in found), say)))
        saved = usage.total(use.cached for use in found)
        rows += [(say("cost.saved"), usage.spending(saved, say))] if saved.requests else []
        rows += [(say("cost.unanswered"), line) for line in usage.unanswered(found, say, "cost.unanswered_line")]
    return rows


def _percentiles(entry: Mapping[str, Any], say: Wording) -> str:
    if not entry.get("n"):
        return say("panel.latency_none")
    return say("panel.latency_value", p50=f"{entry['p50_ms']:.1f}", p95=f"{entry['p95_ms']:.1f}", n=entry["n"])


def _two_by_two(counts: Mapping[str, int], say: Wording) -> Table:
    """Rows: what the question is. Columns: what the system called it."""
    table = Table(box=None, padding=(0, 3, 0, 0), title_justify="left")
    table.add_column(Text(say("answerability.corner")))
    table.add_column(Text(say("answerability.predicted_yes")), justify="right")
    table.add_column(Text(say("answerability.predicted_no")), justify="right")
    for name, cells in two_by_two(counts):
        table.add_row(Text(say(f"answerability.{name}")), *(Text(str(cell)) for cell in cells))
    return table


def two_by_two(counts: Mapping[str, int]) -> list[tuple[str, tuple[int, int]]]:
    """(row, (called unanswerable, answered)); unanswerable is the positive class."""
    return [
        ("is_yes", (counts.get("true_positive", 0), counts.get("false_negative", 0))),
        ("is_no", (counts.get("false_positive", 0), counts.get("true_negative", 0))),
    ]


def _lost(counts: Mapping[str, int], say: Wording) -> RenderableType:
    failing = lost_counts(counts)
    if not failing:
        return Text(say("lost.nothing"))
    table = Table.grid(padding=(0, 3))
    table.add_column()
    table.add_column(justify="right")
    for place, count in failing:
        table.add_row(Text(f"  {say.name('lost_at', place)}"), Text(str(count)))
    total = say("lost.total", failing=sum(count for _, count in failing), total=sum(counts.values()))
    return Group(Text(f"{say('lost.title')} ({total}):"), table)


def lost_counts(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """(place, failing questions), along the pipeline."""
    order = (
        "not_in_corpus", "not_retrieved", "below_k", "wrong_answer", "answered_unanswerable", "refused_answerable",
        "forgotten", "refused_known", "not_asked", "stale_answer", "unused", "made_up",
    )  # fmt: skip
    places = [*order, *sorted(set(counts) - {*order, "none"})]
    return [(place, counts[place]) for place in places if counts.get(place)]
