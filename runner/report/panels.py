"""Results of a run for the terminal. Fits 80 columns, needs no colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from runner.errors import REFUSED, SPENT
from runner.metrics.right import NAME
from runner.report import metrics, usage
from runner.report.blocks import TERMINAL, Block, Facts, Note, Table, Warnings
from runner.report.document import Document
from runner.report.right import first_line, right
from runner.report.run import cases_line, latency_stages, models_line
from runner.report.summary import report_of
from runner.report.terminal import renderables
from runner.report.trust import warnings
from runner.system.folder import RunFolder, case_counts
from runner.words.bilingual import in_language

WIDTH = 78


def panels(run: RunFolder) -> list[RenderableType]:
    """Evaluation results, generation metrics (where there are any) and details, in the run's language."""
    document = Document.of(run)
    sections = [each for each in report_of(document, TERMINAL) if each.id != NAME]  # which has a panel of its own
    details: list[Block] = [Facts(_facts(document), media=TERMINAL), *sections]
    beside = [] if isinstance(metrics.generation(document), Table) else notes(document)
    return [*_panels_of_scores(document), panel(document.say("panel.details"), [*details, *beside])]


def _panels_of_scores(document: Document) -> list[RenderableType]:
    say = document.say
    decided, generation = right(document), metrics.generation(document)
    blocks: list[RenderableType] = [
        *warning_first(document),
        *head(document),
        *([panel(decided.title, decided.blocks)] if decided is not None else []),
    ]
    results, of_run = metrics.results(document), say("panel.run", id=document.run.get("id", ""))
    has_results = isinstance(results, Table) or not isinstance(generation, Table)
    if has_results:
        blocks.append(panel(title(document), [results], of_run))
    if isinstance(generation, Table):
        blocks.append(panel(say("panel.generation"), [generation, *notes(document)], "" if has_results else of_run))
    return blocks


def title(document: Document) -> str:
    """Of the metrics of a run."""
    return document.say("panel.results") if document.k is None else document.say("panel.results_k", k=document.k)


def warning_first(document: Document) -> Iterator[Text]:
    """Why nothing follows from the headline; nothing where it can be trusted."""
    if line := first_line(document.summary, document.say):
        yield Text(line, style="bold red")


def head(document: Document) -> Iterator[Text]:
    """The experiment, its number of cases, and what it is a reference for."""
    say, summary, choices = document.say, document.summary, document.run.get("choices") or {}
    kind = document.run.get("evaluation_type")
    if kind is not None:
        yield Text(
            say("panel.evaluation" if document.k is None else "panel.evaluation_k", evaluation=kind, k=document.k)
        )
        if dataset := choices.get("dataset") or choices.get("scenario"):
            yield Text(say("panel.dataset", dataset=dataset, total=case_counts(summary)["total"]))
    if document.run.get("reference"):
        yield Text(say(f"reference.{document.run['reference']}"), style="bold")


def panel(title: str, blocks: Sequence[Block], subtitle: str = "") -> Panel:
    """Blocks of the terminal in a frame."""
    return Panel(
        Group(*renderables(blocks)),
        title=Text(title, style="bold"),
        subtitle=Text(subtitle) if subtitle else None,
        width=WIDTH,
    )


def notes(document: Document) -> list[Block]:
    """The reasons to doubt the scores."""
    alarms = [Note(warning, "alarm", TERMINAL) for warning in warnings(document.summary, document.say)]
    if baselines := (document.summary.get("facts") or {}).get("baselines"):
        alarms.append(Note(document.say("baselines", names=", ".join(baselines)), "quiet", TERMINAL))
    return [Warnings(alarms, TERMINAL)] if alarms else []


def _facts(document: Document) -> list[tuple[str, str]]:
    return [*ending_rows(document), *cost(document), *data_problems(document), *_latency(document)]


def ending_rows(document: Document) -> list[tuple[str, str]]:
    """How the run ended, and how to resume it."""
    say, run = document.say, document.run
    rows = [(say("ran.status"), say.name("status", str(run.get("status"))))]
    if run.get("error_message"):
        rows.append((say("worst.error"), in_language(str(run["error_message"]), say.language)))
    return [*rows, (say("panel.cases"), cases_line(document.summary, say)), *_next_step(document)]


def data_problems(document: Document) -> list[tuple[str, str]]:
    """The line that counts problems of the data; empty without problems."""
    say, problems = document.say, document.summary.get("data_problems") or {}
    return [(say("panel.data_problems"), say("data_problems.line", **problems))] if any(problems.values()) else []


def _latency(document: Document) -> list[tuple[str, str]]:
    say, rows = document.say, list[tuple[str, str]]()
    for stage, entry in latency_stages(document.summary):
        value = say("panel.latency_none")
        if entry.get("n"):
            value = say("panel.latency_value", p50=f"{entry['p50_ms']:.1f}", p95=f"{entry['p95_ms']:.1f}", n=entry["n"])
        rows.append((say("panel.latency", stage=say.name("stage", stage)), value))
    return rows


def _next_step(document: Document) -> list[tuple[str, str]]:
    """How to resume a run that stopped before its end."""
    run, summary = document.run, document.summary
    unfinished = run.get("status") in ("partial", "failed") and case_counts(summary)["pending"]
    if summary.get("measured") or not unfinished:
        return []
    error = str(run.get("error_message"))
    how = "_raised" if SPENT.search(error) else "_corrected" if REFUSED.search(error) else ""
    return [(document.say("panel.resume"), document.say(f"panel.goes_on{how}"))]


def cost(document: Document) -> list[tuple[str, str]]:
    """The lines on models, cost, savings by the cache, and requests without a reply."""
    say, run, uses = document.say, document.run, usage.uses(document.summary)
    rows = [(say("ran.models"), models_line(run, say))] if usage.models(run) else []
    if uses:
        rows.append((say("cost.cost"), usage.spending(usage.total(use.all_requests for use in uses), say)))
        saved = usage.total(use.cached for use in uses)
        rows += [(say("cost.saved"), usage.spending(saved, say))] if saved.requests else []
        rows += [(say("cost.unanswered"), line) for line in usage.unanswered_notes(uses, say, "cost.unanswered_line")]
    return rows
