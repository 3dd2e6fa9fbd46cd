"""The requests of each run of a sweep to models, and their cost."""

from __future__ import annotations

from runner.report import usage
from runner.report.blocks import EVERYWHERE, TERMINAL, Cell, Fit, Note, Section, Stack, Table, section
from runner.report.sweep import Cell as Run
from runner.report.sweep import Sweep
from runner.report.usage import Consumption
from runner.words.wording import Wording

HEADERS = ("case", "requests", "tokens", "usd", "cached", "usd_saved")
COLUMNS = (
    *("case_cost_usd", "case_tokens", "cost_usd", "cost_saved_usd", "requests_live", "requests_cached"),
    *("input_tokens", "output_tokens"),
)


def has_cost(sweep: Sweep) -> bool:
    """Whether any run of the sweep asked a model."""
    return any(spent.requests for cell in sweep.runs for spent in cell.spent) or bool(_unanswered_lines(sweep))


def costs(sweep: Sweep) -> Section | None:
    """A row for each run, and the total; nothing where no model was called."""
    if not has_cost(sweep):
        return None
    say, params = sweep.say, sweep.params
    headers = [say("sweep.folder"), *params, *(say(f"cost.{name}") for name in HEADERS)]
    rows = [*(_run(sweep, run) for run in sweep.runs), _totals(sweep)]
    first = len(params) + 1
    short = [say.texts.get(f"cost.short.{name}") or say(f"cost.{name}") for name in HEADERS]
    left = [Stack(name, (place,)) for place, name in enumerate(params, start=1)] or [Stack(headers[0], (0,))]
    fit = Fit([*left, *(Stack(name, (place,)) for place, name in enumerate(short, start=first))], len(left))
    groups = [("", len(rows) - 1), ("", 1)]
    right = range(first, len(headers))
    table = Table(headers, rows, say("head.cost"), groups, right, media=EVERYWHERE, fit=fit)
    explained = " ".join([say("cost.case_explain"), say("cost.explain"), *_unanswered_lines(sweep)])
    in_short = [Note(line, media=TERMINAL) for line in _unanswered_lines(sweep)]
    title = Note(say("sweep.cost_panel"), "strong", TERMINAL)
    return section("cost", say("head.cost"), title, table, Note(explained, "quiet"), *in_short, untitled=TERMINAL)


def _run(sweep: Sweep, run: Run) -> list[str | Cell]:
    """The row of a run. The terminal has no column of folders, so a reference is named by its folder there."""
    params: list[str | Cell] = [run.params.get(name, "") for name in sweep.params]
    if params and run not in sweep.cells:
        params[0] = Cell("", short=run.folder)
    return [run.folder, *params, *_cells(run, sweep.say)]


def _totals(sweep: Sweep) -> list[str | Cell]:
    word = sweep.say("cost.total")
    names = [Cell("", "strong", short="" if place else word) for place in range(len(sweep.params))]
    sums = (Cell(text, "strong") for text in _amounts(*_total(sweep), sweep.say))
    return [Cell(word, "strong"), *names, "", *sums]


def numbers(run: Run) -> list[float | int | None]:
    """COLUMNS of one run; USD are None where a price is unknown, as is the cost of a case where no case asked."""
    live, cached = run.spent
    usd = [None if spent.unpriced else spent.usd for spent in (live, cached)]
    case = usage.of_a_case(run.summary) or (None, None)
    return [*case, *usd, live.requests, cached.requests, live.input_tokens, live.output_tokens]


def _unanswered_lines(sweep: Sweep) -> list[str]:
    return usage.unanswered_notes(
        [use for cell in sweep.runs for use in cell.uses], sweep.say, "cost.unanswered_explain"
    )


def _total(sweep: Sweep) -> tuple[Consumption, Consumption]:
    live, cached = zip(*(cell.spent for cell in sweep.runs), strict=True)
    return usage.total(live), usage.total(cached)


def _cells(run: Run, say: Wording) -> list[str]:
    """The cost of a case, and that of the run."""
    case = usage.of_a_case(run.summary)
    cost = "" if case is None else say("cost.unknown") if case[0] is None else usage.dollars(case[0])
    return [cost, *_amounts(*run.spent, say)]


def _amounts(live: Consumption, cached: Consumption, say: Wording) -> list[str]:
    costs = usage.money(live, say), usage.money(cached, say)
    return [f"{live.requests:,}", usage.count(live.tokens), costs[0], f"{cached.requests:,}", costs[1]]
