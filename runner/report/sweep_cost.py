"""What each run of a sweep asked of models, and what that cost."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from runner.report import usage
from runner.report.columns import fitted, grid
from runner.report.markdown import bold, escape, table
from runner.report.sweep import Cell, Sweep
from runner.report.usage import Spent
from runner.words.wording import Wording

HEADERS = ("case", "requests", "tokens", "usd", "cached", "usd_saved")
COLUMNS = (
    *("case_cost_usd", "case_tokens", "cost_usd", "cost_saved_usd", "requests_live", "requests_cached"),
    *("input_tokens", "output_tokens"),
)


def has_cost(sweep: Sweep) -> bool:
    return any(spent.requests for cell in sweep.runs for spent in cell.spent) or bool(_unanswered(sweep))


def section(sweep: Sweep) -> str:
    """The section of summary.md."""
    headers, rows = costs(sweep)
    if not rows:
        return ""
    rows[-1] = [bold(cell) if cell else "" for cell in rows[-1]]
    say = sweep.say
    shown = table(headers, rows, range(1 + len(sweep.params), len(headers)))
    return "\n\n".join([f"## {escape(say('head.cost'))}", shown, escape(" ".join(notes(sweep)))])


def costs(sweep: Sweep) -> tuple[list[str], list[list[str]]]:
    """(headers, rows); the last row is the total of all. No rows where no model was asked."""
    say = sweep.say
    headers = [say("sweep.folder"), *sweep.params, *(say(f"cost.{name}") for name in HEADERS)]
    if not has_cost(sweep):
        return headers, []
    rows = [[cell.folder, *_params(sweep, cell), *_cells(cell, say)] for cell in sweep.runs]
    total = [say("cost.total"), *([""] * len(sweep.params)), "", *_spent(*_total(sweep), say)]
    return headers, [*rows, total]


def notes(sweep: Sweep) -> list[str]:
    """What is below the table."""
    return [sweep.say("cost.case_explain"), sweep.say("cost.explain"), *_unanswered(sweep)]


def panel(sweep: Sweep) -> list[RenderableType]:
    """The same for the terminal, in 80 columns."""
    if not has_cost(sweep):
        return []
    say = sweep.say
    title = Text(say("sweep.cost_panel"), style="bold")
    shown = grid(title)
    left, columns = _left(sweep), _columns(sweep)
    left, fitting = fitted(left, columns)
    for name, *_ in left:
        shown.add_column(Text(name), overflow="fold")
    for name, *_ in columns[:fitting]:
        shown.add_column(Text(name), justify="right", no_wrap=True)
    texts = zip(*(texts for _, *texts in [*left, *columns[:fitting]]), strict=True)
    for number, row in enumerate(texts, start=1):
        style = "bold" if number > len(sweep.runs) else ""
        shown.add_row(*map(Text, row), style=style, end_section=number == len(sweep.runs))
    return [shown, *map(Text, _unanswered(sweep))]


def _left(sweep: Sweep) -> list[list[str]]:
    """What sets the runs apart, and the word for all of them."""
    blank = [""] * (max(1, len(sweep.params)) - 1)
    heading, total = sweep.params or [sweep.say("sweep.folder")], [sweep.say("cost.total"), *blank]
    rows = [
        _params(sweep, cell) if cell in sweep.cells and sweep.params else [cell.folder, *blank] for cell in sweep.runs
    ]
    return [list(column) for column in zip(heading, *rows, total, strict=True)]


def _columns(sweep: Sweep) -> list[list[str]]:
    say = sweep.say
    rows = [*(_cells(cell, say) for cell in sweep.runs), ["", *_spent(*_total(sweep), say)]]
    headers = [say.texts.get(f"cost.short.{name}") or say(f"cost.{name}") for name in HEADERS]
    return [list(column) for column in zip(headers, *rows, strict=True)]


def numbers(cell: Cell) -> list[float | int | None]:
    """COLUMNS of one run; USD are None where a price is unknown, as is the cost of a case where no case asked."""
    live, cached = cell.spent
    usd = [None if spent.unpriced else spent.usd for spent in (live, cached)]
    case = usage.of_a_case(cell.summary) or (None, None)
    return [*case, *usd, live.requests, cached.requests, live.input_tokens, live.output_tokens]


def _unanswered(sweep: Sweep) -> list[str]:
    return usage.unanswered([use for cell in sweep.runs for use in cell.uses], sweep.say, "cost.unanswered_explain")


def _total(sweep: Sweep) -> tuple[Spent, Spent]:
    live, cached = zip(*(cell.spent for cell in sweep.runs), strict=True)
    return usage.total(live), usage.total(cached)


def _params(sweep: Sweep, cell: Cell) -> list[str]:
    return [cell.params.get(name, "") for name in sweep.params]


def _cells(cell: Cell, say: Wording) -> list[str]:
    """What a case costs, and what the run has spent."""
    case = usage.of_a_case(cell.summary)
    cost = "" if case is None else say("cost.unknown") if case[0] is None else usage.dollars(case[0])
    return [cost, *_spent(*cell.spent, say)]


def _spent(live: Spent, cached: Spent, say: Wording) -> list[str]:
    costs = usage.money(live, say), usage.money(cached, say)
    return [f"{live.requests:,}", usage.count(live.tokens), costs[0], f"{cached.requests:,}", costs[1]]
