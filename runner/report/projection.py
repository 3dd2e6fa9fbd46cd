"""What a month of users would cost, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from runner.llm.projection import KINDS, Kind, Projection
from runner.words.wording import Wording, wording


def projection_view(projection: Projection, asked: Sequence[int | None], language: str) -> list[RenderableType]:
    """`asked`: 1e-9 USD that models of a run cost for one question, for each run that asks any."""
    say = wording(language, "projection")
    title = say("title", days=projection.days, sessions=f"{projection.sessions_per_day:,}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("turns", *KINDS, "usd", "by_tokens"):
        table.add_column(say(name), justify="right", no_wrap=True)
    for month in projection.months():
        each = [_usd(line.nano_usd, say) for line in month.lines]
        totals = [_usd(month.nano_usd, say), _usd(month.nano_usd_by_tokens, say)]
        table.add_row(str(month.turns_per_session), *each, *totals)
    units = [_unit(projection, kind, say) for kind in KINDS]
    return [Text(), Text(title), table, Text(), *map(Text, (*units, *_asked(projection, asked, say)))]


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


def _asked(projection: Projection, asked: Sequence[int | None], say: Wording) -> Iterator[str]:
    for nano in asked:
        months = [
            say("with_turns", usd=_usd(None if nano is None else nano * projection.questions(turns), say), turns=turns)
            for turns in projection.turns_per_session
        ]
        each = say("unknown") if nano is None else f"${nano / 1e9:.6f}"
        yield say("asked", each=each, months=", ".join(months))


def _usd(nano: int | None, say: Wording) -> str:
    """Whole dollars from ten on."""
    if nano is None:
        return say("unknown")
    return f"${nano / 1e9:,.0f}" if nano >= 10**10 else f"${nano / 1e9:,.2f}"
