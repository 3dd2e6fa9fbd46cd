"""What a month of users would cost, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from runner.llm.projection import KINDS, Kind, Projection

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "A month of {days} days with {sessions} sessions a day:",
        "turns": "turns a session",
        "update": "memory updates",
        "rerank": "reranks",
        "answer": "answers",
        "usd": "USD a month",
        "by_tokens": "by tokens",
        "one": "{kind}, {often}: {usd} each ({input} tokens in, {output} out, {model})",
        "often.update": "every {n} turns",
        "often.rerank": "{n} a turn",
        "often.answer": "{n} a turn",
        "asked": "What this run asks, without its judge: {each} a question; a month {months}",
        "with_turns": "{usd} ({turns} turns)",
        "unknown": "unknown",
    },
    "ko": {
        "title": "한 달({days}일), 하루 세션 {sessions}개 기준:",
        "turns": "세션당 턴",
        "update": "메모리 갱신",
        "rerank": "리랭커",
        "answer": "답변",
        "usd": "월 USD",
        "by_tokens": "토큰 기준",
        "one": "{kind}, {often}: 1건 {usd}(입력 {input} 토큰, 출력 {output} 토큰, {model})",
        "often.update": "{n}턴마다 1회",
        "often.rerank": "턴마다 {n}회",
        "often.answer": "턴마다 {n}회",
        "asked": "이 실행이 호출하는 대로라면(판정 모델 제외) 질문당 {each}, 한 달 {months}",
        "with_turns": "{usd}({turns}턴)",
        "unknown": "미상",
    },
}


def projection_view(projection: Projection, asked: Sequence[int | None], language: str) -> list[RenderableType]:
    """`asked`: 1e-9 USD that models of a run cost for one question, for each run that asks any."""
    say = WORDS[language]
    title = say["title"].format(days=projection.days, sessions=f"{projection.sessions_per_day:,}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("turns", *KINDS, "usd", "by_tokens"):
        table.add_column(say[name], justify="right", no_wrap=True)
    for month in projection.months():
        each = [_usd(line.nano_usd, say) for line in month.lines]
        totals = [_usd(month.nano_usd, say), _usd(month.nano_usd_by_tokens, say)]
        table.add_row(str(month.turns_per_session), *each, *totals)
    units = [_unit(projection, kind, say) for kind in KINDS]
    return [Text(), Text(title), table, Text(), *map(Text, (*units, *_asked(projection, asked, say)))]


def _unit(projection: Projection, kind: Kind, say: Mapping[str, str]) -> str:
    request, nano = projection.requests[kind], projection.unit(kind)
    often = {"update": projection.update_every, "rerank": projection.reranks_per_turn, "answer": 1}
    return say["one"].format(
        kind=say[kind],
        often=say[f"often.{kind}"].format(n=often[kind]),
        usd=say["unknown"] if nano is None else f"${nano / 1e9:.6g}",
        input=f"{request['input_tokens']:,}",
        output=f"{request['output_tokens']:,}",
        model=request["model"],
    )


def _asked(projection: Projection, asked: Sequence[int | None], say: Mapping[str, str]) -> Iterator[str]:
    for nano in asked:
        months = [
            say["with_turns"].format(
                usd=_usd(None if nano is None else nano * projection.questions(turns), say), turns=turns
            )
            for turns in projection.turns_per_session
        ]
        each = say["unknown"] if nano is None else f"${nano / 1e9:.6f}"
        yield say["asked"].format(each=each, months=", ".join(months))


def _usd(nano: int | None, say: Mapping[str, str]) -> str:
    """Whole dollars from ten on."""
    if nano is None:
        return say["unknown"]
    return f"${nano / 1e9:,.0f}" if nano >= 10**10 else f"${nano / 1e9:,.2f}"
