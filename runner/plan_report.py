"""What a command will ask of models, as a table and as one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from runner.llm.projection import Projection
from runner.llm.rehearsal import Expected
from runner.planning import CellPlan, Planned

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "columns": "run,asks,model,requests,saved,input,output,USD",
        "all": "all",
        "unknown": "unknown price",
        "?": "unknown",
        "nothing": "No run of this command asks a model.",
        "line": "{live} requests to models ({models}), about {tokens} tokens, {usd}, about {time}",
        "saved": "the cache and requests that several runs share save {requests} ({usd})",
        "none": "nothing to ask: all {stored} replies are stored or shared",
        "assumed": "Tokens of replies are assumed; prompts are {counted}. Time at {seconds} s a request.",
        "counted": "counted",
        "estimated": "estimated (exactly with the extra tokens)",
        "stopped": "run {run} will end before it asks anything: {reason}",
        "it_stopped": "The run will end before it asks anything: {reason}",
        "minutes": "{value} minutes",
        "seconds": "{value} s",
    },
    "ko": {
        "columns": "실행,역할,모델,요청,절약,입력,출력,USD",
        "all": "합계",
        "unknown": "가격 미상",
        "?": "미상",
        "nothing": "이 명령의 어떤 실행도 모델을 호출하지 않습니다.",
        "line": "모델 요청 {live}건({models}), 약 {tokens} 토큰, {usd}, 약 {time}",
        "saved": "캐시와 실행 간 공유로 {requests}건 절약({usd})",
        "none": "호출할 것이 없습니다. 응답 {stored}건이 모두 저장되어 있거나 공유됩니다",
        "assumed": "응답 토큰은 가정값이고 프롬프트는 {counted}입니다. 시간은 요청당 {seconds}초로 계산했습니다.",
        "counted": "실제로 센 값",
        "estimated": "추정값(추가 패키지 tokens를 설치하면 정확히 셉니다)",
        "stopped": "모델을 호출하기 전에 끝나는 실행: {run} ({reason})",
        "it_stopped": "이 실행은 모델을 호출하기 전에 끝납니다: {reason}",
        "minutes": "{value}분",
        "seconds": "{value}초",
    },
}


QUESTION = {"en": "Go on? [y/N] ", "ko": "계속할까요? [y/N] "}


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
    say = WORDS[language]
    if not any(cell.expected or cell.stopped for cell in planned.cells):
        return [Text(say["nothing"])]
    lines = [Text(line) for line in _lines(planned, say)]
    return [_table(planned, say), Text(), *lines] if any(cell.expected for cell in planned.cells) else [*lines]


def _table(planned: Planned, say: Mapping[str, str]) -> Table:
    first = 1 if len(planned.cells) == 1 else 0  # a run alone needs no name
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for number, column in enumerate(say["columns"].split(",")[first:], start=first):
        table.add_column(column, justify="left" if number < 3 else "right", no_wrap=number > 2, overflow="fold")
    for number, cell in enumerate(planned.cells):
        for account, expected in sorted(cell.expected.items(), key=lambda item: item[0].role):
            names = (_run_name(cell, number), account.role, account.model)
            table.add_row(*names[first:], *_numbers(expected, say))
    table.add_row(*(say["all"], "", "")[: 3 - first], *_numbers(planned.total, say), style="bold")
    return table


def cost_line(planned: Planned, language: str) -> str:
    """`1,124 requests to models (…), about 1,210,000 tokens, $0.21, about 7 minutes`, and what is saved."""
    say, total = WORDS[language], planned.total
    saved = total.stored + total.shared
    if not total.live + saved:
        return say["nothing"]
    if not total.live:
        return say["none"].format(stored=f"{saved:,}")
    models = ", ".join(f"{model}: {count:,}" for model, count in sorted(planned.live.items()))
    line = say["line"].format(
        live=f"{total.live:,}",
        models=models,
        tokens=f"{total.input_tokens + total.output_tokens:,}",
        usd=usd(total.nano_usd, say),
        time=_duration(planned.seconds, say),
    )
    if not saved:
        return line
    return f"{line}; " + say["saved"].format(requests=f"{saved:,}", usd=usd(total.saved_nano_usd, say))


def usd(nano: int | None, say: Mapping[str, str]) -> str:
    """To the hundredth of a cent below a dollar."""
    if nano is None:
        return say["unknown"]
    return f"${nano / 1e9:,.2f}" if nano >= 10**9 else f"${nano / 1e9:.4f}"


def _lines(planned: Planned, say: Mapping[str, str]) -> Iterator[str]:
    from runner.llm.tokens import is_exact
    from runner.planning import SECONDS

    for number, cell in enumerate(planned.cells):
        if cell.stopped:
            text = say["it_stopped" if len(planned.cells) == 1 else "stopped"]
            yield text.format(run=_run_name(cell, number), reason=cell.stopped)
    yield cost_line(planned, "ko" if say is WORDS["ko"] else "en")
    if planned.live:
        yield say["assumed"].format(counted=say["counted" if is_exact() else "estimated"], seconds=SECONDS)


def _run_name(cell: CellPlan, number: int) -> str:
    return " ".join(cell.swept) or str(number)


def _numbers(expected: Expected, say: Mapping[str, str]) -> list[str]:
    counts = (expected.live, expected.stored + expected.shared, expected.input_tokens, expected.output_tokens)
    return [*(f"{count:,}" for count in counts), say["?"] if expected.nano_usd is None else usd(expected.nano_usd, say)]


def _duration(seconds: float, say: Mapping[str, str]) -> str:
    minutes = seconds >= 100
    return say["minutes" if minutes else "seconds"].format(value=round(seconds / 60 if minutes else seconds))
