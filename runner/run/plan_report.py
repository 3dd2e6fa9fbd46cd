"""What a command will ask of models, as a table and as one line."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from runner.llm.projection import Projection
from runner.llm.rehearsal import Expected
from runner.run.planning import CellPlan, Planned
from runner.words.wording import Wording, wording


def plan_view(planned: Planned, language: str) -> list[RenderableType]:
    return [*_asked_view(planned, language), *_projected(planned, language)]


def _projected(planned: Planned, language: str) -> Iterator[RenderableType]:
    """Runs of one command are in use alike, unless that is what is swept."""
    from runner.report.projection import projection_view

    views: dict[str, tuple[Projection, list[int | None]]] = {}
    for cell in planned.cells:
        if cell.projection is not None:
            _, asked = views.setdefault(repr(cell.projection.months()), (cell.projection, []))
            asked += [cell.nano_usd_a_case] if cell.expected else []
    for projection, asked in views.values():
        yield from projection_view(projection, list(dict.fromkeys(asked)), language)


def _asked_view(planned: Planned, language: str) -> list[RenderableType]:
    say = wording(language, "plan")
    if not any(cell.expected or cell.stopped for cell in planned.cells):
        return [Text(say("nothing"))]
    lines = [Text(line) for line in _lines(planned, say)]
    return [_table(planned, say), Text(), *lines] if any(cell.expected for cell in planned.cells) else [*lines]


def _table(planned: Planned, say: Wording) -> Table:
    first = 1 if len(planned.cells) == 1 else 0  # a run alone needs no name
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for number, column in enumerate(say("columns").split(",")[first:], start=first):
        table.add_column(column, justify="left" if number < 3 else "right", no_wrap=number > 2, overflow="fold")
    for number, cell in enumerate(planned.cells):
        for account, expected in sorted(cell.expected.items(), key=lambda item: item[0].role):
            names = (_run_name(cell, number), account.role, account.model)
            table.add_row(*names[first:], *_numbers(expected, say))
    table.add_row(*(say("all"), "", "")[: 3 - first], *_numbers(planned.total, say), style="bold")
    return table


def cost_line(planned: Planned, language: str) -> str:
    """`1,124 requests to models (…), about 1,210,000 tokens, $0.21, about 7 minutes`, and what is saved."""
    say, total = wording(language, "plan"), planned.total
    saved = total.stored + total.shared
    if not total.live + saved:
        return say("nothing")
    if not total.live:
        return say("none", stored=f"{saved:,}")
    models = ", ".join(f"{model}: {count:,}" for model, count in sorted(planned.live.items()))
    line = say(
        "line",
        live=f"{total.live:,}",
        models=models,
        tokens=f"{total.input_tokens + total.output_tokens:,}",
        usd=usd(total.nano_usd, say),
        time=_duration(planned.seconds, say),
    )
    if not saved:
        return line
    return f"{line}; " + say("saved", requests=f"{saved:,}", usd=usd(total.saved_nano_usd, say))


def usd(nano: int | None, say: Wording) -> str:
    """To the hundredth of a cent below a dollar."""
    if nano is None:
        return say("unknown")
    return f"${nano / 1e9:,.2f}" if nano >= 10**9 else f"${nano / 1e9:.4f}"


def _lines(planned: Planned, say: Wording) -> Iterator[str]:
    from runner.llm.tokens import is_exact
    from runner.run.planning import SECONDS

    for number, cell in enumerate(planned.cells):
        if cell.stopped:
            key = "it_stopped" if len(planned.cells) == 1 else "stopped"
            yield say(key, run=_run_name(cell, number), reason=cell.stopped)
    yield cost_line(planned, say.language)
    if planned.live:
        yield say("assumed", counted=say("counted" if is_exact() else "estimated"), seconds=SECONDS)


def _run_name(cell: CellPlan, number: int) -> str:
    return " ".join(cell.swept) or str(number)


def _numbers(expected: Expected, say: Wording) -> list[str]:
    counts = (expected.live, expected.stored + expected.shared, expected.input_tokens, expected.output_tokens)
    return [*(f"{count:,}" for count in counts), say("?") if expected.nano_usd is None else usd(expected.nano_usd, say)]


def _duration(seconds: float, say: Wording) -> str:
    minutes = seconds >= 100
    return say("minutes" if minutes else "seconds", value=round(seconds / 60 if minutes else seconds))
