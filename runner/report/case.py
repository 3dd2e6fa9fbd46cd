"""One case on the terminal, with everything that is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from runner.report.document import Document
from runner.report.folder import open_run
from runner.report.wording import Wording
from runner.report.worst_section import facts_of

WIDTH = 100


def case_view(folder: Path) -> RenderableType:
    """The case that a run folder holds, or the first of several."""
    document = Document.of(open_run(folder))
    row = next(document.folder.rows(), None)
    if row is None:
        return Text(document.say("metrics.none"))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, text in [*facts_of(row, document.k, document.say), *_contexts(row), *_verdicts(row, document.say)]:
        table.add_row(Text(name), Text(text))
    status = document.say.name("status", str(row.get("status")))
    return Panel(Group(table), title=Text(f"{row.get('id')} ({status})"), width=WIDTH)


def _contexts(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    output = row.get("output")
    contexts = output.get("contexts") if isinstance(output, Mapping) else None
    for number, context in enumerate(contexts or (), start=1):
        yield f"[{number}] {context.get('id')}", str(context.get("text", ""))


def _verdicts(row: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, str]]:
    for rubric, judgement in (row.get("judgements") or {}).items():
        for name, value in (judgement.get("details") or {}).items():
            for item in value if isinstance(value, list) else [value]:
                yield f"{say.name('metric', rubric)}, {name}", _shown(item)


def _shown(item: Any) -> str:
    if isinstance(item, Mapping):
        return ", ".join(f"{name}: {value}" for name, value in item.items() if value is not None)
    return str(item)
