"""One case on the terminal, with everything that is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from runner.report import metric
from runner.report.document import Document
from runner.report.worst_section import facts_of
from runner.system.folder import open_run
from runner.words.wording import Wording

WIDTH = 100


def case_view(folder: Path) -> RenderableType:
    """The case that a run folder holds, or the first of several."""
    document = Document.of(open_run(folder))
    row = next(document.folder.rows(), None)
    if row is None:
        return Text(document.say("metrics.none"))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")  # rich would cut wide letters that do not fit with an ellipsis
    say = document.say
    parts = (history(row, say), facts_of(row, document.k, say), _contexts(row, say), judgements(row, say))
    for name, text in (fact for part in parts for fact in part):
        table.add_row(Text(name), Text(text))
    status = say.name("status", str(row.get("status")))
    return Panel(Group(table), title=Text(f"{row.get('id')} ({status})"), width=WIDTH)


def _output(row: Mapping[str, Any]) -> Mapping[str, Any]:
    output = row.get("output")
    return output if isinstance(output, Mapping) else {}


def history(row: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, str]]:
    """The turns before the question, oldest first."""
    turns = _output(row).get("history") or ()
    said = [(turn["role"], turn["text"]) if isinstance(turn, Mapping) else tuple(turn) for turn in turns]
    lines = (f"{say.name('turn', str(role))}: {text}" for role, text in said)
    if said:
        yield say("case.history"), "\n".join(lines)


def _contexts(row: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, str]]:
    """What was remembered beside the documents, which alone have numbers that an answer may cite."""
    output = _output(row)
    for context in output.get("remembered") or ():
        yield str(context.get("id")), str(context.get("text", ""))
    for number, context in enumerate(output.get("contexts") or (), start=1):
        yield f"[{number}] {context.get('id')}", str(context.get("text", ""))
    for number in output.get("citations_out_of_range") or ():
        yield say("case.citations"), say("case.cites_nothing_there", number=number)


def judgements(row: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, str]]:
    """Each vote, each claim with its verdict, and whatever else a judge has left."""
    for rubric, judgement in (row.get("judgements") or {}).items():
        for name, value in (judgement.get("details") or {}).items():
            title = f"{metric.rubric(rubric, say)}, {_title(name, say)}"
            if name == "votes":
                yield title, ", ".join(f"{label}: {_vote(score, say)}" for label, score in value.items())
            elif name == "scores":
                for criterion, entry in value.items():
                    yield f"{title}, {say.name('criterion', criterion)}", _graded(entry, say)
            elif name == "failures":
                yield title, "\n".join(f"{label}: {error}" for label, error in value.items())
            else:
                said = value is not None and value is not False
                for item in value if isinstance(value, list) else [value] if said else []:
                    yield title, say.name("asked", str(item)) if name == "kind" else _shown(item, say)


def _title(name: str, say: Wording) -> str:
    """`first/claims` are the claims as the judge `first` of a panel took them."""
    judge, _, kind = name.rpartition("/")
    return f"{say.name('detail', kind)} ({judge})" if judge else say.name("detail", kind)


def _vote(score: float | None, say: Wording) -> str:
    return say("case.failed_vote") if score is None else f"{score:.2f}"


def _graded(entry: Mapping[str, Any], say: Wording) -> str:
    """`7.5/10 (number): the reason`"""
    types = ", ".join(say.name("fault", type) for type in entry.get("types") or ())
    return f"{entry['score']:.4g}/10{f' ({types})' if types else ''}: {entry.get('reason') or '–'}"


def _shown(item: Any, say: Wording) -> str:
    if isinstance(item, bool):
        return say("yes" if item else "no")
    if isinstance(item, float):
        return f"{item:.4g}"
    if not isinstance(item, Mapping):
        return str(item)
    if "claim" not in item or "verdict" not in item:
        return _listed(item, say)
    rest = {name: value for name, value in item.items() if name not in ("claim", "verdict", "context", "chunk")}
    chunk = item.get("context") or item.get("chunk")
    place, more = f" [{chunk}]" if chunk else "", _listed(rest, say)
    return f"{say.name('verdict', str(item['verdict']))}{place}: {item['claim']}" + (f" ({more})" if more else "")


def _listed(item: Mapping[str, Any], say: Wording) -> str:
    """`score: 0.5, missing: refund, parcel`"""
    told = {name: value for name, value in item.items() if value not in (None, [], "")}
    return ", ".join(f"{say.name('detail', name)}: {_plain(value)}" for name, value in told.items())


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
