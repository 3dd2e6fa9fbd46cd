"""The expected model requests of a command, as a table and as one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from runner.llm.rehearsal import ExpectedRequests
from runner.run.planning import CellPlan, CommandPlan
from runner.words.wording import Wording, wording

CHANGED = (0.1, 0.3)  # shares of the answers that change between two runs

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from runner.llm.projection import Kind, Projection


def plan_view(planned: CommandPlan, language: str) -> list[RenderableType]:
    """The output of `plan`: requests, tokens and cost of the command, what its comparisons will find, and the cost of
    a month of use."""
    from rich.text import Text

    found = [Text(line) for line in _would_find(planned, wording(language, "plan"))]
    return [*_requests_view(planned, language), *found, *_projections(planned, language)]


def _would_find(planned: CommandPlan, say: Wording) -> Iterator[str]:
    """The differences of right answers that a comparison of so many cases finds, if few or more of them change."""
    from runner.metrics.power import detectable_share

    n = min((cell.n_cases for cell in planned.cells if not cell.stopped), default=0)
    found = [detectable_share(round(share * n), n) for share in CHANGED] if n else []
    if not found:
        return
    few, more = (say("nothing_found") if share is None else f"{float(f'{share:.2g}'):g}" for share in found)
    yield say("would_find", cases=f"{n:,}", few=few, more=more)
    if any(cell.is_clustered for cell in planned.cells):
        yield say("clustered")


def _projections(planned: CommandPlan, language: str) -> Iterator[RenderableType]:
    """The projections to show: one for all runs, unless the sweep changes it."""
    from runner.run.plan_report import projection_view

    views: dict[str, tuple[Projection, list[int | None]]] = {}
    for cell in planned.cells:
        if cell.projection is not None:
            _, costs = views.setdefault(repr(cell.projection.months()), (cell.projection, []))
            costs += [cell.nano_usd_a_case] if cell.expected else []
    for projection, costs in views.values():
        yield from projection_view(projection, list(dict.fromkeys(costs)), language)


def _requests_view(plan: CommandPlan, language: str) -> list[RenderableType]:
    from rich.text import Text

    say = wording(language, "plan", "models")
    if not any(cell.expected or cell.stopped for cell in plan.cells):
        return [Text(say("nothing"))]
    lines = [Text(line) for line in _lines(plan, say)]
    return [_table(plan, say), Text(), *lines] if any(cell.expected for cell in plan.cells) else [*lines]


def _table(plan: CommandPlan, say: Wording) -> Table:
    from rich.table import Table

    first = 1 if len(plan.cells) == 1 else 0  # a single run needs no name
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for number, column in enumerate(say("columns").split(",")[first:], start=first):
        table.add_column(column, justify="left" if number < 3 else "right", no_wrap=number > 2, overflow="fold")
    for number, cell in enumerate(plan.cells):
        for account, expected in sorted(cell.expected.items(), key=lambda item: item[0].role):
            names = (_run_name(cell, number), say.name("role", account.role), account.model)
            table.add_row(*names[first:], *_numbers(expected, say))
    table.add_row(*(say("all"), "", "")[: 3 - first], *_numbers(plan.total, say), style="bold")
    return table


def cost_line(plan: CommandPlan, language: str) -> str:
    """`1,124 requests to models (…), about 1,210,000 tokens, $0.21, about 7 minutes`, and what is saved."""
    say, total = wording(language, "plan"), plan.total
    n_saved = total.n_saved
    if not total.live + n_saved:
        return say("nothing")
    if not total.live:
        return say("none_of_sample" if plan.is_estimated else "none", stored=f"{n_saved:,}")
    services = list(_to_services(plan, say))
    if not plan.live:
        line = "; ".join(services) + say("takes", time=_duration(plan.seconds, say))
        return f"{line}; {_savings(plan, say)}" if n_saved else line
    line = say(
        "line",
        live=_total(plan.live, plan, say),
        models=_counts(plan.live),
        tokens=f"{total.input_tokens + total.output_tokens:,}",
        usd=usd(total.nano_usd, say),
        time=_duration(plan.seconds, say),
    )
    return "; ".join([line, *services, *([_savings(plan, say)] if n_saved else [])])


def _to_services(plan: CommandPlan, say: Wording) -> Iterator[str]:
    """The requests to services, whose cost is unknown."""
    if plan.system_requests:
        yield say("system", asked=_total(plan.system_requests, plan, say), systems=_counts(plan.system_requests))
    if plan.memory_requests:
        requests = _total(plan.memory_requests, plan, say)
        yield say("memory", requests=requests, services=_counts(plan.memory_requests))


def _savings(planned: CommandPlan, say: Wording) -> str:
    total = planned.total
    return say("saved", requests=_about(total.n_saved, planned, say), usd=usd(total.saved_nano_usd, say))


def _counts(requests: Counter[str]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in sorted(requests.items()))


def _total(requests: Counter[str], planned: CommandPlan, say: Wording) -> str:
    return _about(requests.total(), planned, say)


def _about(count: int, planned: CommandPlan, say: Wording) -> str:
    return say("about", count=f"{count:,}") if planned.is_estimated else f"{count:,}"


def usd(nano: int | None, say: Wording) -> str:
    """Four decimals below a dollar, two from there on."""
    if nano is None:
        return say("unknown")
    return f"${nano / 1e9:,.2f}" if nano >= 10**9 else f"${nano / 1e9:.4f}"


def _lines(plan: CommandPlan, say: Wording) -> Iterator[str]:
    from runner.llm.tokens import is_exact
    from runner.run.planning import SECONDS

    for number, cell in enumerate(plan.cells):
        if cell.stopped:
            key = "it_stopped" if len(plan.cells) == 1 else "stopped"
            yield say(key, run=_run_name(cell, number), reason=cell.stopped)
    yield cost_line(plan, say.language)
    if plan.live:
        yield say("assumed", counted=say("counted" if is_exact() else "estimated"), seconds=SECONDS)
    yield from _calls_per_case(plan, say)


def _calls_per_case(plan: CommandPlan, say: Wording) -> Iterator[str]:
    """The requests that the method of the evaluation needs beside the planned ones, and why these are others; nothing
    where it does not say."""
    cells = [cell for cell in plan.cells if cell.expected and cell.calls_per_case]
    if not cells or len({cell.calls_per_case for cell in cells}) > 1:
        return
    calls, total = cells[0].calls_per_case or 0, plan.total
    usual, planned = sum(calls * cell.n_cases for cell in cells), total.live + total.n_saved
    counts = {"planned": planned, "live": total.live, "saved": total.n_saved, "usual": usual}
    cases = f"{sum(cell.n_cases for cell in cells):,}"
    said = say("per_case", calls=calls, cases=cases, **{name: f"{count:,}" for name, count in counts.items()})
    reasons = [say("more")] * (planned > usual) + [say("fewer")] * (planned < usual)
    yield " ".join([said, *reasons, say("refusals")])


def _run_name(cell: CellPlan, number: int) -> str:
    return " ".join(cell.swept) or str(number)


def _numbers(expected: ExpectedRequests, say: Wording) -> list[str]:
    counts = (expected.live, expected.n_saved, expected.input_tokens, expected.output_tokens)
    return [*(f"{count:,}" for count in counts), say("?") if expected.nano_usd is None else usd(expected.nano_usd, say)]


def _duration(seconds: float, say: Wording) -> str:
    minutes = seconds >= 100
    return say("minutes" if minutes else "seconds", value=round(seconds / 60 if minutes else seconds))


def projection_view(
    projection: Projection, nano_usd_a_question: Sequence[int | None], language: str
) -> list[RenderableType]:
    """`nano_usd_a_question`: cost of the models for one question, in 1e-9 USD, for each run that calls any."""
    from rich.table import Table
    from rich.text import Text

    from runner.llm.projection import KINDS

    say = wording(language, "projection")
    title = say("title", days=projection.days, sessions=f"{projection.sessions_per_day:,}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("turns", *KINDS, "usd", "by_tokens"):
        table.add_column(say(name), justify="right", no_wrap=True)
    for month in projection.months():
        by_kind = [_usd(line.nano_usd, say) for line in month.lines]
        totals = [_usd(month.nano_usd, say), _usd(month.nano_usd_by_tokens, say)]
        table.add_row(str(month.turns_per_session), *by_kind, *totals)
    units = [_unit(projection, kind, say) for kind in KINDS]
    return [
        Text(),
        Text(title),
        table,
        Text(),
        *map(Text, (*units, *_cost_lines(projection, nano_usd_a_question, say))),
    ]


def _unit(projection: Projection, kind: Kind, say: Wording) -> str:
    request, nano = projection.requests[kind], projection.unit(kind)
    often = {"update": projection.update_every, "rerank": projection.reranks_per_turn, "answer": 1}
    return say(
        "one",
        kind=say(kind),
        often=say(f"often.{kind}", n=often[kind]),
        usd=say("unknown") if nano is None else f"${nano / 1e9:.6g}",
        input=f"{request['input_tokens']:,}",
        output=f"{request['output_tokens']:,}",
        model=request["model"],
    )


def _cost_lines(projection: Projection, asked: Sequence[int | None], say: Wording) -> Iterator[str]:
    for nano in asked:
        months = [
            say("with_turns", usd=_usd(None if nano is None else nano * projection.questions(turns), say), turns=turns)
            for turns in projection.turns_per_session
        ]
        each = say("unknown") if nano is None else f"${nano / 1e9:.6f}"
        yield say("asked", each=each, months=", ".join(months))


def _usd(nano: int | None, say: Wording) -> str:
    """An amount; whole dollars from ten on."""
    if nano is None:
        return say("unknown")
    return f"${nano / 1e9:,.0f}" if nano >= 10**10 else f"${nano / 1e9:,.2f}"
